"""A look ahead: the way of a real turn, without its consequences."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.errors import CompileError
from compiler.request import Place, RunScope
from sessions.memory.rules import MemoryContext
from sessions.memory.service import MemoryService
from sessions.preview import preview
from support.session_world import ADA, EMBER, World, inbound, scope_of, seen, session_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with session_world(tmp_path, remembers=True) as opened:
        yield opened


def service(world: World) -> MemoryService:
    assert world.parts.memory is not None
    return world.parts.memory


def dm_scope() -> RunScope:
    return replace(scope_of(900), place=Place.DM, guild_id=None)


async def keep(world: World, scope: RunScope, text: str) -> str:
    ctx = MemoryContext(imp=EMBER, scope=scope, by_model=False)
    result = await service(world).remember(ctx, text, explicit=True)
    note = getattr(result, "note", None)
    assert note is not None, result
    return str(note.short_id)


async def test_it_shows_what_a_turn_would_be_given(world: World) -> None:
    """Issue "Who may know": what would be used there, what is left out and why."""
    here = await keep(world, scope_of(), "Ada likes tea")
    private = await keep(world, dm_scope(), "Ada likes CANARY cake")
    found = await preview(world.parts, EMBER, scope_of(), text="tea?")
    assert [note.note_id for note in found.selection.notes] == [here]
    assert [(e.note_id, e.reason) for e in found.selection.excluded] == [(private, "audience")]
    assert found.turn.input_prompt is not None
    assert "Ada likes tea" in found.turn.input_prompt
    assert "CANARY" not in found.turn.input_prompt + found.start.system_prompt
    other = await preview(world.parts, EMBER, replace(dm_scope(), user_id=ADA), text="tea?")
    assert [note.note_id for note in other.selection.notes] == [private]


async def test_it_is_what_the_turn_is_then_given(world: World) -> None:
    """Brief: the same compile path; all but the message itself is byte for byte the same."""
    await keep(world, scope_of(), "Ada likes tea")
    await world.parts.history.append(seen(1, "the kettle is blue"))
    found = await preview(world.parts, EMBER, scope_of(), text="Hello.")
    message = inbound(2)
    await world.parts.history.append(seen(2, "Hello."))
    async with world.registry() as registry:
        await registry.submit(message).outcome()
    ((_, prompt),) = world.engine.prompts
    assert found.turn.input_prompt is not None
    before_message = found.turn.input_prompt.removesuffix(found.turn.blocks[-1].content)
    assert prompt.startswith(before_message)
    assert "Ada likes tea" in before_message
    assert "the kettle is blue" in before_message
    (started,) = (each.read_text() for each in (world.home / "runs").glob("*/system.md"))
    assert started.endswith(found.start.system_prompt)


async def test_nothing_comes_of_it(world: World) -> None:
    """Before anything happens: no run, no process, no trace."""
    await preview(world.parts, EMBER, scope_of(), text="tea?")
    assert world.engine.clients == []
    assert not (world.home / "runs").exists()
    assert await world.parts.runs.list_runs(limit=10) == ()


async def test_a_failure_is_that_of_a_real_turn(world: World) -> None:
    world.write_identity("x" * 50_000)
    with pytest.raises(CompileError):
        await preview(world.parts, EMBER, scope_of(), text="tea?")
