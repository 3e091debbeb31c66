"""What a person's message would be answered from, before anything happens.

The way is that of a real turn (``sessions.start``, ``sessions.take``): the same sources, the same
selection, the same compiler. What differs is what comes after: no run, no trace, no process, no
model. It is compiled as the first turn of a fresh session, which is given the most.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Final

from compiler.compile import UNKNOWN_MODEL, CompiledContext, Model, compile_start, compile_turn
from compiler.request import (
    ContextPhase,
    ContextRequest,
    ImpName,
    MemorySelection,
    MessageInput,
    RunId,
    RunScope,
    RunSurface,
    SourceSnapshot,
)
from sessions.limits import EngineSettings
from sessions.parts import SessionParts
from sessions.start import start_request

PREVIEW_ID: Final = RunId("preview")
"""Stands where a run's id does; no prompt holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A start and a turn that were compiled and go no further."""

    start: CompiledContext
    turn: CompiledContext
    selection: MemorySelection
    """The notes offered and left out, with reason codes."""


async def preview(parts: SessionParts, imp: ImpName, scope: RunScope, *, text: str) -> Preview:
    """Compile what a message would be answered from.

    Args:
        parts: what sessions work with.
        imp: who would answer.
        scope: where, and as whom: trusted ids, without a message.
        text: what would be said; notes are ranked by it.

    Raises:
        SafeError: what a real turn would fail with.
    """
    settings, budgets = parts.engine_settings(imp), parts.budgets(imp)
    engine = parts.identity(imp, scope, settings)
    model = await _model(parts, settings)
    before = start_request(PREVIEW_ID, imp, scope)
    sources = await parts.sources.read_start(imp, scope, engine)
    start = compile_start(before, sources, budgets, model)
    selection = MemorySelection()
    if parts.memory is not None:
        selection = await parts.memory.select(imp, scope, text, parts.clock.utc_now())
        await parts.memory.before_history()
    snapshot = SourceSnapshot(
        engine=engine,
        memory=selection,
        house_rules=(await parts.rules.rules(scope)).in_prompt,
        history=()
        if scope.channel_id is None
        else await parts.history.recent(scope.channel_id, budgets.history_max_messages),
    )
    compiling = partial(compile_turn, _request(imp, scope, text), snapshot, budgets)
    turn = await asyncio.to_thread(compiling, start.system, model)
    return Preview(start=start, turn=turn, selection=selection)


async def _model(parts: SessionParts, settings: EngineSettings) -> Model:
    """Count tokens as a turn would, unless a model's server would have to be asked."""
    if parts.tokens is None or parts.tokens.asks_elsewhere(settings):
        return UNKNOWN_MODEL
    return await parts.tokens.model(settings)


def _request(imp: ImpName, scope: RunScope, text: str) -> ContextRequest:
    return ContextRequest(
        run_id=PREVIEW_ID,
        phase=ContextPhase.TURN,
        surface=RunSurface.DISCORD_SESSION,
        imp=imp,
        scope=scope,
        message=MessageInput(
            provider=scope.provider,
            author_label="preview",
            role=scope.role,
            text=text,
            author_id=scope.user_id,
        ),
    )
