"""A long message is read part by part and answered once (TR "Current-turn overflow")."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from compiler.hashing import sha256_text
from compiler.request import MessagePart, PartKind
from sessions.chunks import (
    ChunkErrorCode,
    ChunkProgress,
    ChunksRefused,
    limit_of,
    part_turn,
    plan_reading,
    read,
)
from sessions.inbound import InboundMessage, OutcomeKind, Overflow, TurnOutcome
from sessions.pictures import Picture
from sessions.ticket import Ticket
from support.session_world import (
    BOUND_SECONDS,
    HEARTH,
    FakeClient,
    World,
    ask,
    hold,
    inbound,
    only_run,
)

LIMIT_CHARS = 4_000
STORY = "Translate this, please.\n\n" + "The apples were red and the evening was mild. " * 200


def noting(client: FakeClient, text: str) -> None:
    """Write a note on each part, and answer at the end."""
    said = messages(text)
    client.reply("the answer" if "parts_read" in said["chunk"] else f"note {said['chunk']['part']}")


def messages(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    return found


async def test_the_answer_comes_after_every_part_was_read(world: World) -> None:
    """And it has all notes, in order; nobody sees them."""
    world.engine.behave = noting
    long = inbound(1, STORY)
    progress = plan_reading(long, LIMIT_CHARS)
    told: list[tuple[int, int]] = []
    async with world.registry() as registry:
        result = await read(
            long, progress, registry.submit, on_progress=lambda *at: told.append(at)
        )
    said = [messages(text) for _, text in world.engine.prompts]
    count = len(progress.plan.chunks)
    assert count > 2
    assert (result.outcome.text, result.outcome.turn_id) == ("the answer", long.turn_id)
    assert [each["chunk"].get("part") for each in said] == [*range(1, count + 1), None]
    assert [part["text"] for part in said[-1]["parts"]] == [
        f"note {number}" for number in range(1, count + 1)
    ]
    assert {part["kind"] for part in said[-1]["parts"]} == {"own-notes"}
    assert told == [(number, count) for number in range(1, count + 1)]


async def test_each_part_names_what_it_is_a_part_of(world: World) -> None:
    world.engine.behave = noting
    long = inbound(1, STORY)
    progress = plan_reading(long, LIMIT_CHARS)
    async with world.registry() as registry:
        await read(long, progress, registry.submit)
    for index, (_, text) in enumerate(world.engine.prompts[:-1]):
        said, chunk = messages(text), progress.plan.chunks[index]
        assert said["text"] == STORY[chunk.start : chunk.end]
        assert said["chunk"]["original_sha256"] == sha256_text(STORY)
        assert said["chunk"]["binding"] == progress.plan.binding(index)
        assert len(text.splitlines()[-1]) <= LIMIT_CHARS


async def test_a_stop_between_parts_ends_it_and_it_can_go_on(world: World) -> None:
    """No answer is given of a part of the text; what was read is not read again."""
    world.engine.behave = noting
    long = inbound(1, STORY)
    progress = plan_reading(long, LIMIT_CHARS)

    def stop_at_the_second(client: FakeClient, text: str) -> None:
        if messages(text)["chunk"].get("part") == 2:
            hold(client, text)
        else:
            noting(client, text)

    world.engine.behave = stop_at_the_second
    async with world.registry() as registry, asyncio.TaskGroup() as group:
        reading = group.create_task(read(long, progress, registry.submit))
        async with asyncio.timeout(BOUND_SECONDS):
            while len(world.engine.prompts) < 2:
                world.engine.prompted.clear()
                await world.engine.prompted.wait()
        await registry.stop(HEARTH)
        stopped = await reading
        assert stopped.outcome.kind is OutcomeKind.CUT_OFF
        assert stopped.outcome.turn_id == long.turn_id
        assert len(stopped.progress.notes) == 1
        world.engine.behave = noting
        done = await read(long, stopped.progress, registry.submit)
    assert done.outcome.text == "the answer"
    parts = [messages(text)["chunk"].get("part") for _, text in world.engine.prompts]
    assert parts == [1, 2, *range(2, len(progress.plan.chunks) + 1), None]


async def test_a_closing_host_says_so(world: World) -> None:
    long = inbound(1, STORY)
    progress = plan_reading(long, LIMIT_CHARS)
    async with world.registry() as registry:
        await registry.close()
        result = await read(long, progress, registry.submit)
    assert (result.outcome.kind, result.outcome.error_code) == (
        OutcomeKind.REJECTED,
        "host_closing",
    )


async def test_a_failing_part_ends_it(world: World) -> None:
    world.engine.behave = lambda client, _: client.reply("", stop="error", error="500 oops")
    long = inbound(1, STORY)
    async with world.registry() as registry:
        result = await read(long, plan_reading(long, LIMIT_CHARS), registry.submit)
    assert result.outcome.kind is OutcomeKind.FAILED
    assert len(world.engine.prompts) == 1


async def test_long_notes_do_not_make_the_answer_overflow(world: World) -> None:
    def verbose(client: FakeClient, text: str) -> None:
        client.reply("the answer" if "parts_read" in messages(text)["chunk"] else '"' * 9_000)

    world.engine.behave = verbose
    long = inbound(1, STORY)
    async with world.registry() as registry:
        result = await read(long, plan_reading(long, LIMIT_CHARS), registry.submit)
    assert result.outcome.text == "the answer"
    last = world.engine.prompts[-1][1]
    assert len(last.splitlines()[-1]) <= LIMIT_CHARS
    assert "of 9000 characters" in last


async def test_every_part_is_traced_as_a_turn_of_its_own(world: World) -> None:
    world.engine.behave = noting
    long = inbound(1, STORY)
    async with world.registry() as registry:
        await read(long, plan_reading(long, LIMIT_CHARS), registry.submit)
        run = only_run(registry)
    turns = [event["turn_id"] for event in world.trace(run) if event.get("phase") == "turn"]
    count = len(turns) - 1
    assert turns == [*(part_turn(long.turn_id, index) for index in range(count)), long.turn_id]


def test_what_needs_the_whole_text_is_refused_before_anything_starts() -> None:
    asked = inbound(1, f"Sort these by length:\n{STORY}")
    with pytest.raises(ChunksRefused) as caught:
        plan_reading(asked, LIMIT_CHARS)
    assert caught.value.code is ChunkErrorCode.NEEDS_WHOLE_TEXT


def test_too_much_is_refused() -> None:
    with pytest.raises(ChunksRefused) as caught:
        plan_reading(inbound(1, "word " * 60_000), LIMIT_CHARS)
    assert caught.value.code is ChunkErrorCode.TOO_MANY


async def test_a_long_file_is_read_with_the_words_that_came_with_it(world: World) -> None:
    """TR "Current-turn overflow": a pasted file; what is asked stands in every part."""
    world.engine.behave = noting
    file = MessagePart(kind=PartKind.FILE, name="message.txt", text=STORY)
    quote = MessagePart(kind=PartKind.QUOTE, text="A short quote.")
    asked = inbound(1, "What is it about?")
    asked = replace(asked, message=replace(asked.message, parts=(quote, file)))
    progress = plan_reading(asked, LIMIT_CHARS)
    async with world.registry() as registry:
        result = await read(asked, progress, registry.submit)
    assert result.outcome.text == "the answer"
    said = [messages(text) for _, text in world.engine.prompts]
    assert {each["text"] for each in said} == {"What is it about?"}
    assert [part["kind"] for part in said[0]["parts"]] == ["quote", "file-text"]
    assert [len(each["parts"]) for each in said[1:-1]] == [1] * (len(said) - 2)
    for text, chunk, each in zip(
        world.engine.prompts, progress.plan.chunks, said[:-1], strict=False
    ):
        assert each["parts"][-1]["text"] == STORY[chunk.start : chunk.end]
        assert len(text[1].splitlines()[-1]) <= LIMIT_CHARS


async def test_each_part_has_room_beside_what_comes_with_it(world: World) -> None:
    """Issue "Overflow": a part that is too long itself would end the reading half way."""
    world.engine.behave = noting
    file = MessagePart(kind=PartKind.FILE, name="message.txt", text=STORY)
    quote = MessagePart(kind=PartKind.QUOTE, text='A quote, "with" marks.\n' * 30)
    asked = inbound(1, "What is it about?\n" * 50)
    asked = replace(asked, message=replace(asked.message, parts=(quote, file)))
    progress = plan_reading(asked, 6_000)
    async with world.registry() as registry:
        await read(asked, progress, registry.submit)
    sizes = [len(text.splitlines()[-1]) for _, text in world.engine.prompts]
    assert len(sizes) == len(progress.plan.chunks) + 1
    assert max(sizes) <= 6_000


async def test_a_part_of_which_nothing_is_noted_does_not_end_it() -> None:
    """And what is shown with the message comes once, with the input that asks for the answer."""
    picture = Picture(media_type="image/png", width=1, height=1, data=b"dot")
    long = replace(inbound(1, STORY), pictures=(picture,))
    progress = plan_reading(long, LIMIT_CHARS)
    sent: list[InboundMessage] = []

    def submit(part: InboundMessage) -> Ticket:
        sent.append(part)
        ticket, is_last = Ticket(part), part.turn_id == long.turn_id
        kind = OutcomeKind.REPLIED if is_last else OutcomeKind.SILENT
        text = "the answer" if is_last else ""
        ticket.settle(TurnOutcome(kind=kind, run_id=None, turn_id=part.turn_id, text=text))
        return ticket

    result = await read(long, progress, submit)
    assert result.outcome.text == "the answer"
    assert [each.turn_id for each in sent] == [
        *(part_turn(long.turn_id, index) for index in range(len(progress.plan.chunks))),
        long.turn_id,
    ]
    assert [each.pictures for each in sent] == [()] * len(progress.plan.chunks) + [(picture,)]


def test_a_file_that_says_itself_what_is_asked_may_need_its_whole_text() -> None:
    """A long paste becomes a file without a word beside it (P17); its ends are read for it."""
    file = MessagePart(kind=PartKind.FILE, text=f"Sort these by length:\n{STORY}")
    bare = inbound(1, "")
    with pytest.raises(ChunksRefused) as caught:
        plan_reading(replace(bare, message=replace(bare.message, parts=(file,))), LIMIT_CHARS)
    assert caught.value.code is ChunkErrorCode.NEEDS_WHOLE_TEXT


def test_a_limit_in_tokens_becomes_one_in_characters_with_room_to_spare() -> None:
    message = inbound(1, "word " * 2_000).message
    assert limit_of(message, Overflow(unit="characters", size=10_000, limit=4_000)) == 4_000
    assert limit_of(message, Overflow(unit="tokens", size=2_000, limit=1_000)) == 3_500


def test_no_room_for_a_part_is_refused() -> None:
    with pytest.raises(ChunksRefused) as caught:
        plan_reading(inbound(1, STORY), 2_000)
    assert caught.value.code is ChunkErrorCode.TOO_MANY


async def test_the_parts_of_another_message_are_refused(world: World) -> None:
    """Each part is bound to the text that was planned."""
    progress = plan_reading(inbound(1, STORY), LIMIT_CHARS)
    async with world.registry() as registry:
        for other in (inbound(1, STORY + "x"), inbound(1, "short")):
            with pytest.raises(ValueError, match="parts"):
                await read(other, progress, registry.submit)
        changed: ChunkProgress = replace(
            progress, plan=replace(progress.plan, original_sha256="0" * 64)
        )
        with pytest.raises(ValueError, match="parts"):
            await read(inbound(1, STORY), changed, registry.submit)
        await ask(registry, 2)
