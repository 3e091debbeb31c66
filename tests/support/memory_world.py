"""A home with a memory, for tests: people in a direct message, a channel and a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from compiler.request import (
    ChannelId,
    GuildId,
    HistoryMessage,
    ImpName,
    MemorySelection,
    MessageId,
    Place,
    Role,
    RunId,
    RunScope,
    TurnId,
    UserId,
)
from sessions.inbound import SeenMessage
from sessions.limits import MemorySettings
from sessions.memory.results import Forgotten, Kept
from sessions.memory.rules import MemoryContext
from sessions.memory.semantic import MeaningIndex
from sessions.memory.service import MemoryService
from sessions.store.database import Database, open_database
from sessions.store.history import HistoryStore
from sessions.store.key_fault import KEYS_FILE
from sessions.store.runs import RunStore
from sessions.store.vault import Vault, open_vault
from sessions.view import SessionState, SessionView
from support.run_rows import run_row
from support.session_world import BOUND_SECONDS, ManualClock

EMBER = ImpName("ember")
ADA, BO, CY = UserId("discord:7"), UserId("discord:8"), UserId("discord:9")
ORCHARD, HARBOUR = GuildId("discord:1"), GuildId("discord:2")
HEARTH, WORKSHOP = ChannelId("discord:100"), ChannelId("discord:200")


def dm_of(user: UserId) -> ChannelId:
    """The channel of somebody's direct messages."""
    return ChannelId(f"{user}000")


def dm(user: UserId = BO, *, message: int | None = None, role: Role = Role.MEMBER) -> RunScope:
    """A direct message of somebody's."""
    return RunScope(
        provider="discord",
        place=Place.DM,
        channel_id=dm_of(user),
        user_id=user,
        message_id=None if message is None else MessageId(f"discord:{message}"),
        role=role,
    )


def group(
    user: UserId = BO,
    *,
    channel: ChannelId = HEARTH,
    guild: GuildId = ORCHARD,
    message: int | None = None,
    role: Role = Role.MEMBER,
) -> RunScope:
    """A message of somebody's in a server channel."""
    return RunScope(
        provider="discord",
        place=Place.GROUP,
        channel_id=channel,
        guild_id=guild,
        user_id=user,
        message_id=None if message is None else MessageId(f"discord:{message}"),
        role=role,
    )


def thread(user: UserId = BO, *, parent: ChannelId = HEARTH) -> RunScope:
    """A message of somebody's in a thread of a channel."""
    return RunScope(
        provider="discord",
        place=Place.THREAD,
        channel_id=ChannelId(f"{parent}77"),
        parent_channel_id=parent,
        guild_id=ORCHARD,
        user_id=user,
    )


def by_hand(scope: RunScope, *, imp: ImpName = EMBER) -> MemoryContext:
    """A person's own command."""
    return MemoryContext(imp=imp, scope=scope, by_model=False, speaker="Bo")


def by_model(
    scope: RunScope, *, imp: ImpName = EMBER, turn: int = 1, run: str = "run-1", revision: int = 0
) -> MemoryContext:
    """A tool's request in a turn."""
    return MemoryContext(
        imp=imp,
        scope=scope,
        by_model=True,
        speaker="Bo",
        run_id=RunId(run),
        turn_id=TurnId(f"discord:message:{turn}"),
        revision=revision,
    )


@dataclass(slots=True)
class FakeSessions:
    """Sessions that end when told, unless they are busy."""

    running: dict[ChannelId, RunId] = field(default_factory=dict)
    busy: set[ChannelId] = field(default_factory=set)
    resets: list[ChannelId] = field(default_factory=list)
    on_end: Callable[[RunId], None] = lambda _: None

    async def reset(self, channel_id: ChannelId) -> bool:
        """End what runs in a channel."""
        self.resets.append(channel_id)
        found = channel_id in self.running
        if channel_id not in self.busy:
            self.running.pop(channel_id, None)
        return found

    def views(self) -> Sequence[SessionView]:
        """What runs."""
        return tuple(
            SessionView(
                imp=EMBER,
                channel_id=channel,
                is_dm=False,
                state=SessionState.BUSY,
                run_id=run,
                turns=1,
                queued=0,
                quiet_seconds=0.0,
                has_process=True,
            )
            for channel, run in self.running.items()
        )


@dataclass(slots=True)
class Memory:
    """A memory, its stores and its clock."""

    home: Path
    clock: ManualClock
    database: Database
    vault: Vault
    service: MemoryService
    sessions: FakeSessions
    history: HistoryStore
    runs: RunStore

    async def chosen(self, scope: RunScope, text: str = "tea") -> list[str]:
        """The texts that a turn would be given."""
        return [note.text for note in (await self.selection(scope, text)).notes]

    async def selection(self, scope: RunScope, text: str = "tea") -> MemorySelection:
        """What a turn would be given."""
        return await self.service.select(EMBER, scope, text, self.clock.utc_now())

    async def left(self, scope: RunScope, text: str = "tea") -> dict[str, str]:
        """What would be left out, with the reasons."""
        selection = await self.selection(scope, text)
        return {each.note_id: each.reason for each in selection.excluded}

    async def say(self, scope: RunScope, number: int, text: str, *, label: str = "Bo") -> None:
        """Let a message go by."""
        entry = HistoryMessage(
            message_id=MessageId(f"discord:{number}"),
            author_label=label,
            text=text,
            author_id=scope.user_id,
        )
        await self.history.append(SeenMessage(scope=scope, entry=entry))

    async def heard(self, channel: ChannelId) -> list[str]:
        """What the history of a channel still says."""
        return [each.text for each in await self.history.recent(channel, 100)]

    async def run(self, run_id: str, channel: ChannelId) -> Path:
        """Let a run begin, with files of its engine's; give their directory."""
        await self.runs.begin_run(run_row(run_id, channel_id=channel))
        files = self.home / "runs" / run_id / "session"
        files.mkdir(parents=True)
        (files / "one.jsonl").write_text("tea")
        return files

    def later(self, **delta: float) -> None:
        """Let the wall clock move, either way."""
        self.clock.wall += timedelta(**delta)


@asynccontextmanager
async def memory_in(
    home: Path,
    *,
    clock: ManualClock | None = None,
    settings: MemorySettings | None = None,
    shared_context: Callable[[RunScope], bool] = lambda _: False,
    start: bool = True,
    meaning: MeaningIndex | None = None,
) -> AsyncIterator[Memory]:
    """Open the memory of a home, as a host's start does."""
    chosen = clock or ManualClock()
    async with (
        open_database(
            home / "inglenook.db", clock=chosen, patience_seconds=BOUND_SECONDS
        ) as database,
        open_vault(
            home / KEYS_FILE, database, clock=chosen, patience_seconds=BOUND_SECONDS
        ) as vault,
    ):
        sessions = FakeSessions()
        service = MemoryService(
            home=home,
            database=database,
            vault=vault,
            clock=chosen,
            settings=lambda: settings or MemorySettings(),
            shared_context=shared_context,
            meaning=meaning,
        )
        if start:
            await service.start(sessions)
        yield Memory(
            home=home,
            clock=chosen,
            database=database,
            vault=vault,
            service=service,
            sessions=sessions,
            history=HistoryStore(database),
            runs=RunStore(database),
        )


def kept(result: object) -> Kept:
    """The result of a write that must have worked."""
    assert isinstance(result, Kept), result
    return result


def forgotten(result: object) -> Forgotten:
    """The result of a forgetting that must have worked."""
    assert isinstance(result, Forgotten), result
    return result
