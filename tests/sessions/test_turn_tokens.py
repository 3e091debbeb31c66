"""Tokens in the life of a session: counted, measured, and a way out when they run out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sessions.inbound import OutcomeKind
from sessions.limits import TalkSettings
from sessions.pi.protocol import CallUsage
from sessions.review.inspection import view_run
from sessions.tokens.desk import TokenDesk
from sessions.traces.reader import read_trace
from support.session_world import (
    World,
    ask,
    eventually,
    hold,
    inbound,
    only_run,
    session_world,
)
from support.word_tokens import WordTokenizer


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with session_world(tmp_path) as made:
        made.parts = replace(made.parts, tokens=TokenDesk(lambda _: WordTokenizer()))
        made.settings = replace(made.settings, context_window=4_000, max_tokens=200)
        yield made


def turns(world: World, run: str) -> list[dict[str, object]]:
    return [event for event in world.trace(run) if event.get("phase") == "turn"]


def tokens(event: dict[str, object]) -> dict[str, Any]:
    found = event["tokens"]
    assert isinstance(found, dict)
    return found


async def test_the_trace_shows_both_budgets_and_who_counted(world: World) -> None:
    async with world.registry() as registry:
        await ask(registry, 1)
        run = only_run(registry)
    (event,) = turns(world, run)
    assert tokens(event)["counting"] == "exact"
    assert tokens(event)["context_window"] == 4_000
    assert isinstance(event["budget"], dict)
    assert isinstance(event["plan"], dict)
    assert event["plan"]["tokenizer_id"] == "test:words"
    trace = read_trace(world.home / "runs" / run / "context.jsonl")
    shown = view_run(trace, None, ()).turns[0].compilation.tokens
    assert shown is not None
    assert (shown.counting, shown.counted_by) == ("exact", "test:words")
    assert shown.limit_tokens == 4_000 - 200 - world.settings.token_margin


async def test_what_pi_holds_counts_in_the_next_turn(world: World) -> None:
    """The figure is pi's own."""
    world.engine.context_tokens = 2_345
    async with world.registry() as registry:
        await ask(registry, 1)
        await ask(registry, 2)
        run = only_run(registry)
    first, second = (tokens(event) for event in turns(world, run))
    assert first["held_tokens"] == 0
    own = second["system_tokens"] + second["wrapper_tokens"] + second["held_tokens"]
    assert own == 2_345


async def test_what_is_said_into_a_turn_has_the_room_that_it_left(world: World) -> None:
    """All that came before in the same turn is held by then, before pi has told of any of it."""
    world.engine.behave = hold
    world.parts = replace(world.parts, talk=lambda: TalkSettings(busy="steer"))
    async with world.registry() as registry:
        registry.submit(inbound(1, "First words."))
        await eventually(lambda: len(world.engine.prompts) == 1)
        run = only_run(registry)
        for number in (2, 3):
            registry.submit(inbound(number, "And more."))
            await eventually(lambda: len(turns(world, run)) == number)  # noqa: B023
        counted = [tokens(event) for event in turns(world, run)]
        await eventually(lambda: len(world.engine.last.queue) == 2)
        world.engine.last.take_up()
        world.engine.last.reply("All.")

    def used(account: dict[str, Any]) -> int:
        names = ("system", "wrapper", "held", "current", "required", "advisory")
        return sum(account[f"{name}_tokens"] for name in names)

    for before, after in pairwise(counted):
        held = after["system_tokens"] + after["wrapper_tokens"] + after["held_tokens"]
        assert held == used(before)


async def test_the_wrapper_is_measured_from_the_first_answer(world: World) -> None:
    """T: what the provider counts beyond system prompt and input."""
    async with world.registry() as registry:
        await ask(registry, 1)
        run = only_run(registry)
    first = tokens(turns(world, run)[0])
    own = sum(
        first[name]
        for name in ("system_tokens", "current_tokens", "required_tokens", "advisory_tokens")
    )
    world.engine.usage = CallUsage(input=own + 20, cache_read=11, output=3)
    async with world.registry() as registry:
        await ask(registry, 2, channel=101)
        await ask(registry, 3, channel=101)
        runs = [view.run_id for view in registry.views() if view.channel_id.endswith("101")]
    measured = [tokens(event)["wrapper_tokens"] for event in turns(world, str(runs[0]))]
    assert measured == [first["wrapper_tokens"], 31]


async def test_a_full_window_gives_the_message_a_fresh_session(world: World) -> None:
    """The same message is answered, once, and nothing is cut."""
    world.engine.context_tokens = 3_500
    async with world.registry() as registry:
        await ask(registry, 1)
        before = only_run(registry)
        outcome = await ask(registry, 2, "word " * 200)
        after = only_run(registry)
    assert outcome.kind is OutcomeKind.REPLIED
    assert after != before
    assert [event["status"] for event in turns(world, before)] == ["compiled", "failed"]
    assert len(turns(world, after)) == 1
    prompts = [text for _, text in world.engine.prompts if "word word" in text]
    assert len(prompts) == 1


async def test_a_message_over_the_window_overflows_in_tokens(world: World) -> None:
    async with world.registry() as registry:
        outcome = await ask(registry, 1, "word " * 3_900)
        again = await ask(registry, 2)
    assert outcome.kind is OutcomeKind.OVERFLOW
    assert outcome.overflow is not None
    assert outcome.overflow.unit == "tokens"
    assert outcome.overflow.size > outcome.overflow.limit > 1_000
    assert again.kind is OutcomeKind.REPLIED


async def test_the_first_turn_alone_names_what_the_session_starts_from(world: World) -> None:
    async with world.registry() as registry:
        await ask(registry, 1)
        await ask(registry, 2)
        run = only_run(registry)
    first, second = turns(world, run)
    assert isinstance(first["startup"], dict)
    assert second["startup"] is None


async def test_a_start_over_the_window_starts_nothing(world: World) -> None:
    """TR: the compile fails before inference."""
    world.settings = replace(world.settings, context_window=700)
    async with world.registry() as registry:
        outcome = await ask(registry, 1)
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, "tokens_too_large")
    assert world.engine.clients == []
