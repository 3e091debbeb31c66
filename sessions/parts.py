"""What every session works with, handed in once by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from compiler.budget import ContextBudgets
from compiler.request import EngineIdentity, ImpName, RunScope
from sessions.allowance import Allowance
from sessions.clock import Clock, RunIds, SystemClock
from sessions.engine import Engine
from sessions.gate_desk import GateDesk
from sessions.hands import Hands, ToolSet
from sessions.house.keeper import RuleKeeper
from sessions.house.rules import DirectiveSettings
from sessions.limits import EngineSettings, SessionLimits, TalkSettings
from sessions.memory.service import MemoryService
from sessions.model_gateway import ModelGateway
from sessions.run_feed import RunFeed
from sessions.sources import Sources, engine_identity
from sessions.store.database import Database
from sessions.store.directives import DirectiveStore
from sessions.store.history import HistoryStore
from sessions.store.inbox import InboxStore
from sessions.store.runs import RunStore
from sessions.store.warm import WarmStore
from sessions.summaries import SummaryDesk
from sessions.tokens.desk import TokenDesk
from sessions.tools.table import HOST_NAMES, MEMORY_TOOLS, ToolSpec


def _no_files(scope: RunScope) -> None:
    """Show nothing."""
    del scope


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionParts:
    """Collaborators and settings of all sessions of one home.

    ``engine_settings`` and ``budgets`` are asked again for each new session, so the owner's edits
    count from the next one on, and ``rules`` ask for theirs each time; ``limits`` hold for the
    life of the host.
    """

    home: Path
    engine: Engine
    engine_settings: Callable[[ImpName], EngineSettings]
    budgets: Callable[[ImpName], ContextBudgets]
    sources: Sources
    runs: RunStore
    warm: WarmStore
    history: HistoryStore
    limits: SessionLimits
    clock: Clock
    ids: RunIds
    rules: RuleKeeper
    inbox: InboxStore
    """Which messages are owed an answer; the turns of several write there whose they are."""
    talk: Callable[[], TalkSettings] = TalkSettings
    """Asked anew for each message."""
    memory: MemoryService | None = None
    """What the imp remembers; None: nothing."""
    summaries: SummaryDesk | None = None
    """What stands for earlier conversations; None: nothing."""
    gateway: ModelGateway | None = None
    """Where model calls go through; None: the engine asks its provider by itself."""
    allowance: Allowance | None = None
    """What may be spent; None sets no limit."""
    tokens: TokenDesk | None = None
    """Who counts tokens; None: only characters count."""

    gates: GateDesk | None = None
    """What waits for a person; None: nothing does."""
    feed: RunFeed = field(default_factory=RunFeed)
    """Who looks on while runs change."""

    channel_files: Callable[[RunScope], Path | None] = _no_files
    """Which files of a conversation's channel its box shows, by the trusted scope alone."""
    hands: Hands = field(default_factory=Hands)
    """What imps may do with tools."""

    def tools(self, imp: ImpName, scope: RunScope, settings: EngineSettings) -> ToolSet:
        """Say which tools a session starting now shows to the model."""
        names = {tool.spec.name for tool in self.hands.tools if tool.there()}
        if self.memory is not None and self.memory.enabled:
            names.update(tool.name for tool in MEMORY_TOOLS)
        return self.hands.chooser.choose(
            self.hands.grants(),
            self.specs(names),
            imp=imp,
            trusted=self.hands.trusted(scope),
            boxed=self.hands.boxed(settings),
        )

    def identity(self, imp: ImpName, scope: RunScope, settings: EngineSettings) -> EngineIdentity:
        """Say what a session starting now stands on: the engine, and the tools that it shows."""
        return engine_identity(
            settings,
            version=self.engine.version,
            tools=self.tools(imp, scope, settings).fingerprints,
        )

    def specs(self, names: Container[str]) -> tuple[ToolSpec, ...]:
        """Give the host's tools of these names, in the order of the model's list."""
        known = {tool.name: tool for tool in MEMORY_TOOLS}
        known.update((tool.spec.name, tool.spec) for tool in self.hands.tools)
        return tuple(known[name] for name in HOST_NAMES if name in known and name in names)

    @property
    def tool_seconds(self) -> float:
        """Longest wait for the host's answer to a tool call."""
        return self.memory.settings.tool_seconds if self.memory else self.hands.tool_seconds

    @classmethod
    def over(
        cls,
        *,
        home: Path,
        database: Database,
        engine: Engine,
        engine_settings: Callable[[ImpName], EngineSettings],
        budgets: Callable[[ImpName], ContextBudgets],
        limits: SessionLimits,
        clock: Clock | None = None,
        directives: Callable[[], DirectiveSettings] | None = None,
        memory: MemoryService | None = None,
        gateway: ModelGateway | None = None,
        allowance: Allowance | None = None,
        tokens: TokenDesk | None = None,
        talk: Callable[[], TalkSettings] = TalkSettings,
        channel_files: Callable[[RunScope], Path | None] | None = None,
        hands: Hands | None = None,
        gates: GateDesk | None = None,
        imps: Path | None = None,
    ) -> Self:
        """Put the parts of a home together over its open database.

        ``imps`` is the home that has the identities, if it is another one.
        """
        chosen = clock or SystemClock()
        armed = hands or Hands()
        history = HistoryStore(database)
        feed = RunFeed()
        return cls(
            home=home,
            engine=engine,
            engine_settings=engine_settings,
            budgets=budgets,
            sources=Sources(home, connections=armed.connections, imps=imps),
            runs=RunStore(database, told=feed.tell),
            feed=feed,
            warm=WarmStore(database),
            history=history,
            limits=limits,
            clock=chosen,
            ids=RunIds(chosen),
            rules=RuleKeeper(
                DirectiveStore(database),
                clock=chosen,
                settings=directives or DirectiveSettings,
                budgets=budgets,
            ),
            inbox=InboxStore(database),
            talk=talk,
            memory=memory,
            summaries=None
            if memory is None
            else SummaryDesk(database, memory, history=history, clock=chosen, tokens=tokens),
            gateway=gateway,
            allowance=allowance,
            tokens=tokens,
            channel_files=channel_files or _no_files,
            hands=armed,
            gates=gates,
        )
