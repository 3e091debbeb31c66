"""Summaries of idle conversations: written, offered, stale, forgotten (TR "Summary lineage")."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compiler.budget import ContextBudgets
from compiler.request import HistoryMessage, MessageId, RunId
from compiler.summaries import SUMMARY_REQUEST
from compiler.tokens import ModelIdentity
from sessions.memory.index import SUMMARY_APART
from sessions.memory.results import Forgotten, Kept, NoteState, NoteView
from sessions.memory.rules import MemoryContext
from sessions.memory.service import MemoryService
from sessions.registry import Registry
from sessions.store.consent import ConsentLevel
from sessions.store.database import Database
from sessions.store.history import HistoryStore
from sessions.summaries import SummaryDesk
from sessions.tokens.desk import TokenDesk
from support.session_world import (
    EMBER,
    HEARTH,
    FakeClient,
    World,
    ask,
    eventually,
    scope_of,
    seen,
    session_world,
)
from support.word_tokens import IDENTITY, WordTokenizer

WORDS = "We talked about the apples, and which of them keep over the winter. " * 6
GIST = "Ada asked about apples; which keep over the winter is still open."


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with session_world(tmp_path, remembers=True) as made:
        made.engine.behave = summing_up
        yield made


def summing_up(client: FakeClient, text: str) -> None:
    client.reply(GIST if SUMMARY_REQUEST[:40] in text else "answer")


def memory_of(world: World) -> MemoryService:
    assert world.parts.memory is not None
    return world.parts.memory


def ctx() -> MemoryContext:
    return MemoryContext(imp=EMBER, scope=scope_of(), by_model=False)


async def talked(world: World, registry: Registry, first: int = 1, count: int = 5) -> RunId:
    """Talk for some turns, and let the session go idle."""
    runs: list[RunId | None] = []
    for number in range(first, first + count):
        await world.parts.history.append(seen(number, f"{WORDS}{number}", label="Ada"))
        runs.append((await ask(registry, number, f"{WORDS}{number}")).run_id)
    await eventually(lambda: registry.views()[0].state.value == "idle")
    world.clock.advance(301)
    await eventually(lambda: not registry.views())
    assert runs[-1] is not None
    return runs[-1]


async def kept(world: World) -> tuple[NoteView, ...]:
    """The notes about the channel, as ``/memory list`` shows them."""
    return (await memory_of(world).list_here(ctx())).notes


def blocks(text: str) -> dict[str, Any]:
    return {each["block"]: each for each in map(json.loads, text.splitlines())}


async def stale(world: World) -> list[str | None]:
    """Why each summary stands for nothing any more, the oldest first."""
    rows = await world.database.read(
        lambda db: db.execute(
            "SELECT stale FROM summaries JOIN memory_records USING (record_id)"
            " ORDER BY created_ms, record_id"
        ).fetchall()
    )
    return [row[0] for row in rows]


async def next_first_turn(world: World, registry: Registry, number: int = 90) -> dict[str, Any]:
    await ask(registry, number, "And the pears?")
    return blocks(world.engine.prompts[-1][1])


async def test_without_the_setting_nothing_is_summed_up(world: World) -> None:
    async with world.registry() as registry:
        await talked(world, registry)
    assert len(world.engine.prompts) == 5
    assert await kept(world) == ()


async def test_it_stands_for_the_messages_that_it_was_made_of(world: World) -> None:
    """Written as a traced turn; in a later first turn the summary is there and they are not."""
    async with world.registry(summaries=True) as registry:
        run_id = await talked(world, registry)
        asked = [event["turn_id"] for event in world.trace(run_id) if event.get("phase") == "turn"]
        assert asked[-1] == f"summary:{run_id}"
        (note,) = await kept(world)
        assert note.text == f"Summary of 5 earlier messages, by the model: {GIST}"
        given = await next_first_turn(world, registry)
        (item,) = given["memory"]["items"]
        assert (item["status"], item["text"]) == ("summary", note.text)
        assert "history" not in given
        await ask(registry, 91, "apples?")
        assert "memory" not in blocks(world.engine.prompts[-1][1])


async def test_what_came_after_it_stays_history(world: World) -> None:
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
        await world.parts.history.append(seen(80, "Somebody passed by."))
        given = await next_first_turn(world, registry)
    assert [each["text"] for each in given["history"]["items"]] == ["Somebody passed by."]


async def test_a_short_conversation_is_not_replaced(world: World) -> None:
    """It may stand only where it saves more than its overhead."""
    async with world.registry(summaries=True) as registry:
        for number in range(1, 6):
            await world.parts.history.append(seen(number, "Apples?"))
            await ask(registry, number, "Apples?")
        await eventually(lambda: registry.views()[0].state.value == "idle")
        world.clock.advance(301)
        await eventually(lambda: not registry.views())
        given = await next_first_turn(world, registry)
        assert len(await kept(world)) == 1
    assert "memory" not in given
    assert len(given["history"]["items"]) == 5


@pytest.mark.parametrize("change", ["deleted", "edited"])
async def test_it_is_stale_once_a_message_is_not_what_it_was(world: World, change: str) -> None:
    """TR: at once when a source is gone or changed; no later event makes it fresh again."""
    message_id = MessageId("discord:2")
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
        if change == "deleted":
            await world.parts.history.delete(message_id)
        else:
            await world.parts.history.edit(message_id, "Something else.")
        assert await stale(world) == ["source-gone" if change == "deleted" else "source-changed"]
        given = await next_first_turn(world, registry)
        assert "memory" not in given
        await registry.reset(HEARTH)
        if change == "edited":
            await world.parts.history.edit(message_id, f"{WORDS}2")
        again = await next_first_turn(world, registry, 91)
    assert "memory" not in again
    assert GIST not in json.dumps(again)


def divergences(world: World, registry: Registry) -> list[Any]:
    """The conflicts of the latest turn between a summary and its sources."""
    run_id = registry.views()[0].run_id
    assert run_id is not None
    plan: Any = [event["plan"] for event in world.trace(run_id) if "plan" in event][-1]
    return [each for each in plan["conflicts"] if each[0] == "SUMMARY_SOURCE_DIVERGENCE"]


async def test_a_summary_against_a_message_that_says_otherwise_is_a_conflict(world: World) -> None:
    """Table "Conflicts": the source wins; told for as long as a turn reads that source."""
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
        (summary,) = await kept(world)
        await world.parts.history.edit(MessageId("discord:2"), "Pears, not apples.")
        await next_first_turn(world, registry)
        told = ["SUMMARY_SOURCE_DIVERGENCE", [summary.short_id, "discord:2"], "discord:2"]
        assert divergences(world, registry) == [told]
        await ask(registry, 91, "And the plums?")
        assert divergences(world, registry) == [], "a warm turn reads no history"
        await registry.reset(HEARTH)
        await world.parts.history.delete(MessageId("discord:2"))
        await next_first_turn(world, registry, 92)
        assert divergences(world, registry) == []


async def test_a_summary_against_a_corrected_note_is_a_conflict(world: World) -> None:
    """The note in the place of the one that its session was given is its live source."""
    async with world.registry(summaries=True) as registry:
        note = await memory_of(world).remember(
            ctx(), "The apples keep over the winter.", explicit=True, about_channel=True
        )
        assert isinstance(note, Kept)
        await talked(world, registry)
        summary = next(each for each in await kept(world) if "Summary" in each.text)
        newer = await memory_of(world).correct(ctx(), note.note.short_id, "Apples keep until May.")
        assert isinstance(newer, Kept)
        await next_first_turn(world, registry)
        name = newer.note.short_id
        assert divergences(world, registry) == [
            ["SUMMARY_SOURCE_DIVERGENCE", [summary.short_id, name], name]
        ]


async def test_it_goes_with_a_deleted_message(world: World) -> None:
    """P13: its words repeat what was deleted, so no list and no later turn tells them."""
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
    (summary,) = await kept(world)
    assert GIST in summary.text
    assert await memory_of(world).take_back(MessageId("discord:77777")) == 0
    assert await kept(world) == (summary,)
    assert await memory_of(world).take_back(MessageId("discord:2")) == 1
    assert await kept(world) == ()


async def test_it_goes_with_a_note_that_its_session_was_given(world: World) -> None:
    """What was derived of a forgotten note is forgotten with it."""
    async with world.registry(summaries=True) as registry:
        note = await memory_of(world).remember(
            ctx(), "The apples of Orchard keep over the winter.", explicit=True, about_channel=True
        )
        assert isinstance(note, Kept)
        await talked(world, registry)
        assert len(await kept(world)) == 2
        assert isinstance(await memory_of(world).forget(ctx(), note.note.short_id), Forgotten)
        assert await kept(world) == ()
        given = await next_first_turn(world, registry)
    assert GIST not in json.dumps(given)


async def test_it_goes_with_a_message_that_repeats_a_forgotten_note(world: World) -> None:
    """Issue "Writing and forgetting": derived summaries are destroyed, not only left unused."""
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
        (summary,) = await kept(world)
        said = replace(ctx(), scope=scope_of(message=2))
        note = await memory_of(world).remember(said, "Ada keeps apples.", explicit=True)
        assert isinstance(note, Kept)
        result = await memory_of(world).forget(ctx(), note.note.short_id)
        assert isinstance(result, Forgotten)
        assert len(result.proof.record_hashes) == 2
        assert len(memory_of(world)._core.index) == 0, "its words are not held open either"
        assert await kept(world) == ()
        shown = await memory_of(world).show(ctx(), summary.short_id)
        assert isinstance(shown, NoteView)
        assert (shown.state, shown.text) == (NoteState.FORGOTTEN, "")
        held = await world.database.read(
            lambda db: db.execute("SELECT count(sealed) FROM memory_records").fetchone()
        )
        assert held == (0,)


async def test_a_forgetting_leaves_summaries_of_other_messages(world: World) -> None:
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
        said = replace(ctx(), scope=scope_of(message=50))
        note = await memory_of(world).remember(said, "Ada keeps pears.", explicit=True)
        assert isinstance(note, Kept)
        assert isinstance(await memory_of(world).forget(ctx(), note.note.short_id), Forgotten)
        assert [each.text.partition(":")[0] for each in await kept(world)] == [
            "Summary of 5 earlier messages, by the model"
        ]


async def test_it_is_stale_once_such_a_note_is_corrected(world: World) -> None:
    async with world.registry(summaries=True) as registry:
        note = await memory_of(world).remember(
            ctx(), "The apples keep over the winter.", explicit=True, about_channel=True
        )
        assert isinstance(note, Kept)
        await talked(world, registry)
        await memory_of(world).correct(ctx(), note.note.short_id, "The apples keep until May.")
        assert await stale(world) == ["source-changed"]
        given = await next_first_turn(world, registry)
    assert GIST not in json.dumps(given)
    assert len(given["history"]["items"]) == 5


async def test_it_goes_out_of_reach_with_a_note_of_its_session(world: World) -> None:
    """TR: inaccessible under the current authorization boundary."""
    async with world.registry(summaries=True) as registry:
        note = await memory_of(world).remember(ctx(), "Keeps apples all winter.", explicit=True)
        assert isinstance(note, Kept)
        await talked(world, registry)
        await memory_of(world).set_consent(ctx(), ConsentLevel.OFF)
        assert await stale(world) == ["out-of-reach"]
        given = await next_first_turn(world, registry)
    assert GIST not in json.dumps(given)
    assert len(given["history"]["items"]) == 5


async def test_what_was_made_of_a_summary_is_stale_with_it(world: World) -> None:
    """The second summary's session was given the first one; a message behind both is deleted."""
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
        await talked(world, registry, first=11)
        assert await stale(world) == [None, None]
        shown = await memory_of(world).recall(ctx(), "apples winter summary")
        assert shown.notes == (), "no search of the model's offers one"
        await world.parts.history.delete(MessageId("discord:2"))
        assert await stale(world) == ["source-gone", "source-gone"]


async def test_what_changed_while_it_was_written_makes_it_stale(world: World) -> None:
    """Between the reading of its sources and its record."""
    deleted = asyncio.Event()

    def deleting(client: FakeClient, text: str) -> None:
        if SUMMARY_REQUEST[:40] not in text:
            client.reply("answer")
            return

        def then(done: asyncio.Task[bool]) -> None:
            deleted.set()
            assert done.result()
            client.reply(GIST)

        work = asyncio.get_running_loop().create_task(
            world.parts.history.delete(MessageId("discord:2"))
        )
        work.add_done_callback(then)

    world.engine.behave = deleting
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
    assert deleted.is_set()
    assert await stale(world) == ["source-gone"]


async def test_its_lineage_names_who_counted_and_which_model(world: World) -> None:
    """TR's SummaryLineage: identities as plans have them, not names."""
    tokens = TokenDesk(lambda _: WordTokenizer())
    world.parts = replace(
        world.parts,
        tokens=tokens,
        summaries=SummaryDesk(
            world.database,
            memory_of(world),
            history=world.parts.history,
            clock=world.clock,
            tokens=tokens,
        ),
    )
    async with world.registry(summaries=True) as registry:
        run_id = await talked(world, registry)
    (row,) = await world.database.read(
        lambda db: db.execute("SELECT lineage FROM summaries").fetchall()
    )
    lineage = json.loads(row[0])
    plan = [event["plan"] for event in world.trace(run_id) if "plan" in event][-1]
    assert isinstance(plan, dict)
    model = ModelIdentity(
        model_id=plan["model_id"],
        artifact_sha256=plan["model_artifact_hash"],
        config_sha256=plan["model_config_hash"],
    )
    assert lineage["summarizer_model_hash"] == model.sha256
    assert lineage["tokenizer_hash"] == plan["tokenizer_hash"] == IDENTITY.sha256


async def test_people_forget_it_as_any_note(world: World) -> None:
    """Then the messages themselves are history again."""
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
        (note,) = await kept(world)
        assert isinstance(await memory_of(world).forget(ctx(), note.short_id), Forgotten)
        given = await next_first_turn(world, registry)
    assert "memory" not in given
    assert given["history"]["items"]


async def test_it_is_never_chosen_for_what_it_says(world: World) -> None:
    """It stands for messages or for nothing; a trace tells that it was left out, and why."""
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
        (note,) = await kept(world)
        for number in range(1, 6):
            await world.parts.history.delete(MessageId(f"discord:{number}"))
        given = await next_first_turn(world, registry)
        now = world.clock.utc_now()
        left = await memory_of(world).select(EMBER, scope_of(), "apples winter", now)
    assert "memory" not in given
    assert left.notes == ()
    assert [(each.note_id, each.reason) for each in left.excluded] == [
        (note.short_id, SUMMARY_APART)
    ]


async def test_another_conversation_is_never_given_it(world: World) -> None:
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
        for number in range(60, 66):
            await world.parts.history.append(seen(number, f"{WORDS}{number}", channel=200))
        await ask(registry, 90, "Apples?", channel=200)
    assert GIST not in world.engine.prompts[-1][1]


async def test_a_failing_summary_ends_the_session_all_the_same(world: World) -> None:
    world.engine.behave = lambda client, text: (
        client.reply("", stop="error", error="500 oops")
        if SUMMARY_REQUEST[:40] in text
        else client.reply("answer")
    )
    async with world.registry(summaries=True) as registry:
        run_id = await talked(world, registry)
    row = await world.parts.runs.get_run(run_id)
    assert row is not None
    assert row.end_reason == "idle"
    assert await kept(world) == ()


async def test_a_reset_conversation_is_not_summed_up(world: World) -> None:
    """Who resets wants it to be over."""
    async with world.registry(summaries=True) as registry:
        for number in range(1, 6):
            await world.parts.history.append(seen(number, WORDS))
            await ask(registry, number, WORDS)
        await registry.reset(HEARTH)
    assert len(world.engine.prompts) == 5


class _Counted(HistoryStore):
    """Notes which messages are looked up."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.asked: list[str] = []

    async def standing(self, message_ids: Iterable[MessageId]) -> dict[str, HistoryMessage]:
        found = await super().standing(message_ids)
        self.asked += found
        return found


async def test_summaries_of_earlier_days_cost_a_first_turn_nothing(tmp_path: Path) -> None:
    """A turn's work does not grow with the conversation: what it does not read is not checked."""
    budgets, gists = ContextBudgets(history_max_messages=5), itertools.count()

    def differing(client: FakeClient, text: str) -> None:
        asked = SUMMARY_REQUEST[:40] in text
        client.reply(f"{GIST} Gist {next(gists)}." if asked else "answer")

    async with session_world(tmp_path, budgets=budgets, remembers=True) as world:
        world.engine.behave = differing
        async with world.registry(summaries=True) as registry:
            for first in (1, 11, 21, 31):
                await talked(world, registry, first=first)
            assert len(await kept(world)) == 4
            assert world.parts.summaries is not None
            counted = world.parts.summaries._history = _Counted(world.database)
            given = await next_first_turn(world, registry)
    assert len(given["memory"]["items"]) == 1
    assert set(counted.asked) == {f"discord:{n}" for n in (*range(21, 26), *range(31, 36))}


async def test_a_note_of_the_same_words_does_not_become_the_summary(world: World) -> None:
    """It is what its person said of it: a deleted message would take it along."""
    words = f"Summary of 5 earlier messages, by the model: {GIST}"
    note = await memory_of(world).remember(ctx(), words, explicit=True, about_channel=True)
    assert isinstance(note, Kept)
    async with world.registry(summaries=True) as registry:
        await talked(world, registry)
    assert await stale(world) == []
    assert await memory_of(world).take_back(MessageId("discord:2")) == 0
    assert [each.short_id for each in await kept(world)] == [note.note.short_id]
