"""Builders of requests and snapshots for tests: small, valid, changed by keyword.

Standard library only, so that the golden fixtures also run under a bare Python.
"""

from __future__ import annotations

from compiler.budget import ContextBudgets
from compiler.compile import CompiledContext, compile_start, compile_turn
from compiler.request import (
    ChannelId,
    ContextPhase,
    ContextRequest,
    EngineIdentity,
    GuildId,
    ImpName,
    MemoryNote,
    MemorySelection,
    MessageId,
    MessageInput,
    Place,
    Role,
    RunId,
    RunScope,
    RunSurface,
    SourceSnapshot,
    TaskInput,
    TextSource,
    UserId,
)

ADA = UserId("discord:1001")
BO = UserId("discord:1002")
HEARTH = ChannelId("discord:2001")
WORKSHOP = ChannelId("discord:2002")
ORCHARD = GuildId("discord:3001")
EMBER = ImpName("ember")
RUN = RunId("2026-11-29-23-16-35-abcd")

IDENTITY = TextSource(
    source="imps/ember/identity.md",
    text="# Ember\n\nYou are Ember, a small and warm-hearted imp.\n",
)
PURPOSE = TextSource(
    source="channels/2001/purpose.md", text="Plan the harvest supper of the Orchard.\n"
)
ENGINE = EngineIdentity(
    engine="pi", engine_version="1.6.0", model="embedded/smollm2-135m", preamble="inglenook-v1"
)


def dm_scope(
    *, channel: str = "discord:2100", user: UserId = ADA, message: str | None = None
) -> RunScope:
    """Give the scope of a direct message."""
    return RunScope(
        provider="discord",
        place=Place.DM,
        channel_id=ChannelId(channel),
        user_id=user,
        message_id=None if message is None else MessageId(message),
        role=Role.OWNER,
    )


def group_scope(
    *, channel: str = HEARTH, user: UserId | None = ADA, message: str | None = None
) -> RunScope:
    """Give the scope of a server channel."""
    return RunScope(
        provider="discord",
        place=Place.GROUP,
        channel_id=ChannelId(channel),
        guild_id=ORCHARD,
        user_id=user,
        message_id=None if message is None else MessageId(message),
        role=Role.OWNER,
    )


def thread_scope(
    *, channel: str = "discord:2201", parent: str = HEARTH, user: UserId = ADA
) -> RunScope:
    """Give the scope of a thread of a server channel."""
    return RunScope(
        provider="discord",
        place=Place.THREAD,
        channel_id=ChannelId(channel),
        parent_channel_id=ChannelId(parent),
        guild_id=ORCHARD,
        user_id=user,
        role=Role.OWNER,
    )


def no_scope() -> RunScope:
    """Give the scope of a run that belongs to no channel."""
    return RunScope(provider="local", place=Place.NONE)


def message(text: str = "Good evening, Ember.", **changes: object) -> MessageInput:
    """Give Ada's message; ``changes`` replace fields."""
    fields: dict[str, object] = {
        "provider": "discord",
        "author_label": "Ada",
        "author_id": ADA,
        "role": Role.OWNER,
        "message_id": MessageId("discord:9001"),
        "text": text,
    }
    return MessageInput(**(fields | changes))  # type: ignore[arg-type]  # changed by keyword


def start_request(
    scope: RunScope | None = None,
    *,
    surface: RunSurface = RunSurface.DISCORD_SESSION,
    imp: str = EMBER,
) -> ContextRequest:
    """Ask for the start of a session."""
    return ContextRequest(
        run_id=RUN,
        phase=ContextPhase.START,
        surface=surface,
        imp=ImpName(imp),
        scope=scope or group_scope(),
    )


def turn_request(
    content: MessageInput | TaskInput | None = None,
    scope: RunScope | None = None,
    *,
    surface: RunSurface | None = None,
    imp: str = EMBER,
) -> ContextRequest:
    """Ask for one input: a message of a conversation, or a task."""
    content = content or message()
    is_task = isinstance(content, TaskInput)
    usual = RunSurface.TASK if is_task else RunSurface.DISCORD_SESSION
    return ContextRequest(
        run_id=RUN,
        phase=ContextPhase.TURN,
        surface=surface or usual,
        imp=ImpName(imp),
        scope=scope or group_scope(),
        task=content if isinstance(content, TaskInput) else None,
        message=content if isinstance(content, MessageInput) else None,
    )


def snapshot(**changes: object) -> SourceSnapshot:
    """Give the sources of a conversation with Ember; ``changes`` replace fields."""
    fields: dict[str, object] = {"engine": ENGINE, "identity": IDENTITY}
    return SourceSnapshot(**(fields | changes))  # type: ignore[arg-type]  # changed by keyword


def notes(count: int, text: str = "note", scope: str = "channel") -> MemorySelection:
    """Give so many notes in rank order, ``n0`` first."""
    return MemorySelection(
        notes=tuple(
            MemoryNote(note_id=f"n{index}", scope=scope, text=f"{text} {index}")
            for index in range(count)
        )
    )


def compiled_turn(
    request: ContextRequest | None = None,
    sources: SourceSnapshot | None = None,
    budgets: ContextBudgets | None = None,
) -> CompiledContext:
    """Compile the start of the request's scope, then the turn under it, with equal budgets."""
    request = request or turn_request()
    sources = sources or snapshot()
    budgets = budgets or ContextBudgets()
    start = start_request(request.scope, surface=request.surface, imp=request.imp)
    before = compile_start(start, sources, budgets)
    return compile_turn(request, sources, budgets, before.system)
