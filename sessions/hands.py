"""What an imp may do, taken together for sessions: rules, box, tools of the host.

The list that the model is shown is a pure function of the grants, the imp, the channel's trust and
whether there is a box, in one fixed order: the engine's own tools, then the host's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.canonical_json import JsonValue
from compiler.request import Connection, ImpName, RunScope
from sessions.gate_filing import GateFiler
from sessions.gates import Gate
from sessions.grants import DEFAULT_GRANTS, Grant, offered
from sessions.limits import EngineSettings
from sessions.tools.call import ToolAnswer, ToolCall, ToolTurn
from sessions.tools.table import (
    BUILTIN_NAMES,
    ToolSpec,
    builtin_fingerprints,
    fingerprints,
)

Arguments: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSet:
    """The tools of one session, in the order of the model's list."""

    builtin: tuple[str, ...] = ()
    host: tuple[ToolSpec, ...] = ()
    fingerprints: tuple[tuple[str, str], ...] = field(init=False)
    """Names and hashes, for the route key."""

    def __post_init__(self) -> None:
        """Hash once: it is asked for at every turn."""
        hashed = (*builtin_fingerprints(self.builtin), *fingerprints(self.host))
        object.__setattr__(self, "fingerprints", hashed)

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return (*self.builtin, *(tool.name for tool in self.host))


def choose_tools(
    grants: Iterable[Grant], host: Iterable[ToolSpec], *, imp: ImpName, trusted: bool, boxed: bool
) -> ToolSet:
    """Say what a session shows.

    Args:
        grants: all rules, the defaults included.
        host: the host's tools that there are, in their order.
        imp: whose session it is.
        trusted: whether the channel is.
        boxed: whether the engine's own tools have something to run in.
    """
    rules = tuple(grants)
    specs = {tool.name: tool for tool in host}
    builtin = BUILTIN_NAMES if boxed else ()
    return ToolSet(
        builtin=offered(rules, builtin, imp=imp, trusted=trusted),
        host=tuple(specs[name] for name in offered(rules, specs, imp=imp, trusted=trusted)),
    )


class ToolChooser:
    """Chooses as ``choose_tools`` does, and again only when the owner's rules are others."""

    def __init__(self) -> None:
        self._grants: tuple[Grant, ...] | None = None
        self._chosen: dict[tuple[Hashable, ...], ToolSet] = {}

    def choose(
        self,
        grants: tuple[Grant, ...],
        host: tuple[ToolSpec, ...],
        *,
        imp: ImpName,
        trusted: bool,
        boxed: bool,
    ) -> ToolSet:
        """See ``choose_tools``; ``grants`` are the owner's, and equal ones may be chosen anew."""
        if grants is not self._grants:
            self._grants, self._chosen = grants, {}
        key = (imp, trusted, boxed, *(tool.name for tool in host))
        found = self._chosen.get(key)
        if found is None:
            rules = (*grants, *DEFAULT_GRANTS)
            found = choose_tools(rules, host, imp=imp, trusted=trusted, boxed=boxed)
            self._chosen[key] = found
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTool:
    """A tool of the host's and who answers it; the arguments are a stranger's."""

    spec: ToolSpec
    answer: Callable[[ToolTurn, ToolCall], Awaitable[ToolAnswer]]
    prepare: Callable[[ToolTurn, Arguments], Awaitable[Arguments | str]] | None = None
    """Gives what a person is asked about where a call has to wait, or why nobody is asked."""
    perform: Callable[[Gate], Awaitable[str]] | None = None
    """Carries out what was approved, and gives what its conversation is told."""
    connection: Callable[[], Connection] | None = None
    """What it connects the imp with, as the system prompt tells it."""
    there: Callable[[], bool] = lambda: True
    """Whether the owner's settings give it anything to do; if not, no model is shown it."""


def _no_rules() -> tuple[Grant, ...]:
    return ()


def _untrusted(scope: RunScope) -> bool:
    del scope
    return False


def _no_box(settings: EngineSettings) -> bool:
    del settings
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What the composition root knows of tools; asked anew each time, so that edits count."""

    grants: Callable[[], tuple[Grant, ...]] = _no_rules
    """The owner's rules; ``DEFAULT_GRANTS`` stand after them."""
    trusted: Callable[[RunScope], bool] = _untrusted
    """Whether owners trust a channel, by its platform's ids."""
    boxed: Callable[[EngineSettings], bool] = _no_box
    """Whether a process of this engine may have file and shell tools."""
    filer: GateFiler | None = None
    """Who takes what has to wait; None refuses it."""
    tools: tuple[HostTool, ...] = field(default=())
    """The host's tools beside those of memory, in the order of ``sessions.tools.table``."""
    tool_seconds: float = 10.0
    """Longest wait for the host's answer where memory says nothing else."""
    chooser: ToolChooser = field(default_factory=ToolChooser, compare=False)

    @property
    def rules(self) -> tuple[Grant, ...]:
        """All rules in their order."""
        return (*self.grants(), *DEFAULT_GRANTS)

    def connections(self, shown: Container[str]) -> tuple[Connection, ...]:
        """Give the connections of the tools that a session shows (WS "Connections")."""
        return tuple(
            tool.connection()
            for tool in self.tools
            if tool.connection is not None and tool.spec.name in shown
        )
