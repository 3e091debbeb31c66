"""A message too long for one turn, as people send it: a paste, a choice, a reading in parts.

Spec: TR "Current-turn overflow".
"""

from __future__ import annotations

import asyncio
import copy
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot import cli
from bot.parts_line import (
    BEGUN,
    GONE,
    LEFT,
    NO_LONGER,
    NOT_YOURS,
    OFFER,
)
from bot.playground.entities import Message, Upload
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, HEARTH
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from sessions.chunks import ChunkErrorCode, ChunksRefused
from support.app_world import AppWorld, housed, running

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ME = f"<@{EMBER}>"
PARAGRAPH = "The apples were red, and the evening by the fire was mild and long. " * 12
PASTE = "\n\n".join(f"Chapter {number}. {PARAGRAPH}" for number in range(70))


async def paste(app: AppWorld, words: str = "tell me the story") -> tuple[Message, Message]:
    """Paste a long text as Discord sends it, a file, and give it with the line under it."""
    file = Upload(filename="message.txt", data=PASTE.encode(), content_type="text/plain")
    asked = await app.pg.say(BO, HEARTH, f"{ME} {words}", attachments=(file,))
    line = await app.pg.wait_for_message(HEARTH, lambda m: m.reply_to == asked.id, after=asked)
    return asked, line


def button(line: Message, choice: str) -> str:
    rows: Any = line.components
    ids = [each["custom_id"] for row in rows for each in row["components"]]
    (found,) = [each for each in ids if each.startswith(f"parts:{choice}:")]
    return str(found)


async def answer_after(app: AppWorld, line: Message, asked: Message) -> Message:
    return await app.pg.wait_for_message(
        HEARTH, lambda m: m.reply_to == asked.id and m.id != line.id, after=line
    )


def message_of(prompt: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(prompt.splitlines()[-1])
    return found


def file_of(message: dict[str, Any]) -> str:
    (file,) = [part for part in message["parts"] if part["kind"] == "file-text"]
    return str(file["text"])


def inbox_state(app: AppWorld, asked: Message) -> str:
    with closing(sqlite3.connect(app.home / "inglenook.db")) as db:
        query = "SELECT state FROM inbox WHERE message_id = ?"
        (state,) = db.execute(query, (f"discord:{asked.id}",)).fetchone()
    return str(state)


def script_of(parts: int) -> list[Answer]:
    return [*(Answer.of(f"note {n}") for n in range(1, parts + 1)), Answer.of("the whole answer")]


async def test_a_long_paste_is_read_in_parts_and_answered_once(tmp_path: Path) -> None:
    """What happened with its sizes, a button, one line of progress, the answer at the end."""
    async with housed(tmp_path / "home") as app:
        await _read_in_parts(app)


async def _read_in_parts(app: AppWorld) -> None:
    asked, line = await paste(app)
    assert "too long to read at once" in line.content
    assert "characters, and the limit is 24,000" in line.content
    assert line.content.endswith(OFFER)
    assert app.model.requests == []
    app.model.script(*script_of(3))
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("the whole answer",), before=gate))
    await app.pg.click(BO, line, button(line, "read"))
    await app.pg.until(lambda: "Read: 3 of 3." in line.content or None)
    await app.model.wait_for_requests(4)
    assert [m.id for m in app.pg.messages(HEARTH) if m.author_id == EMBER] == [line.id]
    assert inbox_state(app, asked) == "waiting"  # a host killed now owes it a word
    gate.set()
    answer = await answer_after(app, line, asked)
    assert answer.content == "the whole answer"
    await app.pg.until(lambda: line.content == "Read in 3 parts." or None)
    assert line.components == []
    assert inbox_state(app, asked) == "done"
    said = [message_of(prompt) for prompt in app.prompts]
    assert ["tell me the story" in each["text"] for each in said] == [True] * 4
    whole = "".join(file_of(each) for each in said[:3])
    assert "Chapter 0." in whole
    assert "Chapter 69." in whole
    assert [part["text"] for part in said[3]["parts"]] == ["note 1", "note 2", "note 3"]
    for check in (["verify", "latest"], ["replay", "latest"], ["show", "latest"]):
        assert await asyncio.to_thread(cli.main, ["runs", *check, "--home", str(app.home)]) == 0
    (trace,) = (app.home / "runs").glob("*/context.jsonl")
    events = [json.loads(each) for each in trace.read_text().splitlines()]
    failed = [each for each in events if each["event"] == "failed"]
    assert len(failed) == 1, "the press does not try the whole message again"


async def test_only_its_author_and_owners_decide_over_it(app: AppWorld) -> None:
    """Others are refused for themselves alone, and nothing is started."""
    _, line = await paste(app)
    for choice in ("read", "cancel"):
        refused = await app.pg.click(CY, line, button(line, choice))
        assert refused.ephemeral
        assert refused.text == NOT_YOURS
    cancelled = await app.pg.click(ADA, line, button(line, "cancel"))
    assert cancelled.error is None
    assert line.content == LEFT
    assert line.components == []
    await app.settle()
    assert app.prompts == []


async def test_what_needs_the_whole_text_is_refused_with_that_reason(app: AppWorld) -> None:
    _, line = await paste(app, "sort all chapters by length")
    reason = ChunksRefused(ChunkErrorCode.NEEDS_WHOLE_TEXT).safe_message
    assert line.content.endswith(reason)
    assert line.components == []


async def test_a_reading_that_was_stopped_can_go_on(app: AppWorld) -> None:
    """A stop in between: it says how far it was; what was read is not read again."""
    asked, line = await paste(app)
    gate = asyncio.Event()
    app.model.script(Answer.of("note 1"), Answer(chunks=("note 2",), before=gate))
    await app.pg.click(BO, line, button(line, "read"))
    await app.model.wait_for_requests(2)
    await app.pg.until(lambda: "Read: 1 of 3." in line.content or None)
    assert line.content.startswith(BEGUN)
    stopped = await app.pg.click(BO, line, button(line, "stop"))
    assert stopped.error is None
    await app.pg.until(lambda: "Stopped after 1 of 3 parts." in line.content or None)
    gate.set()
    app.model.script(Answer.of("note 2"), Answer.of("note 3"), Answer.of("the whole answer"))
    await app.pg.click(BO, line, button(line, "read"))
    assert (await answer_after(app, line, asked)).content == "the whole answer"
    notes = [part["text"] for part in message_of(app.prompts[-1])["parts"]]
    assert notes == ["note 1", "note 2", "note 3"]
    numbers = [message_of(prompt)["chunk"].get("part") for prompt in app.prompts]
    assert numbers == [1, 2, 2, 3, None]


async def test_a_second_press_starts_nothing(app: AppWorld) -> None:
    """Each click is answered once: the reading that runs is the only one."""
    _, line = await paste(app)
    read = button(line, "read")
    before = copy.deepcopy(line)
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("note 1",), before=gate))
    await app.pg.click(BO, line, read)
    await app.model.wait_for_requests(1)
    again = await app.pg.click(BO, before, read)
    assert again.ephemeral
    assert "already" in again.text
    gate.set()
    await app.pg.until(lambda: line.content == "Read in 3 parts." or None)
    assert len(app.prompts) == 4


async def test_a_message_taken_back_is_read_no_further(app: AppWorld) -> None:
    """P13: no answer to what is gone."""
    asked, line = await paste(app)
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("note 1",), before=gate))
    await app.pg.click(BO, line, button(line, "read"))
    await app.model.wait_for_requests(1)
    await app.pg.delete(BO, asked)
    await app.pg.until(lambda: line.content == GONE or None)
    gate.set()
    await app.settle()
    assert [m.id for m in app.pg.messages(HEARTH) if m.author_id == EMBER] == [line.id]


async def test_a_restart_in_between_is_said_and_it_can_begin_anew(tmp_path: Path) -> None:
    """Its buttons work under the next host, also the one of a reading that no longer runs."""
    home = tmp_path / "home"
    async with Playground() as pg, ScriptedModel() as model:
        async with running(home, pg, model) as app:
            asked, line = await paste(app)
        async with running(home, pg, model) as app:
            gate = asyncio.Event()
            model.script(Answer.of("note 1"), Answer(chunks=("note 2",), before=gate))
            await pg.click(BO, line, button(line, "read"))
            await model.wait_for_requests(2)
            await pg.until(lambda: "Read: 1 of 3." in line.content or None)
            running_buttons = copy.deepcopy(line.components)
            app.stop.set()
            gate.set()
            await pg.until(lambda: "have not answered it" in line.content or None)
        async with running(home, pg, model) as app:
            line.components = running_buttons  # as a host that was killed leaves it
            await pg.click(BO, line, button(line, "stop"))
            assert line.content == NO_LONGER
            model.script(*script_of(3))
            await pg.click(BO, line, button(line, "read"))
            assert (await answer_after(app, line, asked)).content == "the whole answer"
            await app.ask(ADA, DIRECT[ADA], "hello")
    assert "interrupted" not in " ".join(m.content for m in pg.messages(HEARTH))
