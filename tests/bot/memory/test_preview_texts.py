"""The words of a preview."""

from __future__ import annotations

from pathlib import Path

from bot.memory.preview_texts import preview_text
from sessions.memory.rules import MemoryContext
from sessions.preview import Preview, preview
from support.session_world import EMBER, World, scope_of, session_world


async def look(world: World, notes: int) -> Preview:
    memory = world.parts.memory
    assert memory is not None
    for number in range(notes):
        ctx = MemoryContext(imp=EMBER, scope=scope_of(), by_model=False)
        await memory.remember(ctx, f"note {number} *CANARY* " + "x" * 1_900, explicit=True)
    return await preview(world.parts, EMBER, scope_of(), text="note")


def told(found: Preview, *, answers: bool = True) -> str:
    return preview_text(found, who="<@3>", where="in <#100>", answers=answers)


async def test_it_names_blocks_notes_and_reasons(tmp_path: Path) -> None:
    """Issue: what would be used there, what would be left out and why; the text of what is used
    only.
    """
    async with session_world(tmp_path, remembers=True) as world:
        text = told(await look(world, 8))
    assert text.startswith("If <@3> wrote in <#100> now, a fresh session would be given this.")
    used, _, left = text.partition("**Left out**")
    assert "identity" in used
    assert "memory" in used
    assert "\\*CANARY\\*" in used
    assert "memory: **budget** (no room left): `m-" in left
    assert "CANARY" not in left


async def test_it_says_where_the_imp_would_not_answer(tmp_path: Path) -> None:
    async with session_world(tmp_path, remembers=True) as world:
        found = await look(world, 0)
    assert "I would not answer there" in told(found, answers=False)
    assert "I would not answer there" not in told(found)
    assert "**Left out**" not in told(found)
