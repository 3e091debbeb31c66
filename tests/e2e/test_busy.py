"""Several messages at once: into the running turn, joined to one turn, or taking turns."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, CY, DEE, DIRECT, EMBER, HEARTH, PIER, WORKSHOP
from bot.playground.scripted_model import Answer, Hang, ScriptedModel
from bot.playground.server import Playground
from bot.runs.inspect_text import run_text
from sessions.review.inspection import view_run
from sessions.traces.proof import verify
from sessions.traces.reader import read_trace
from sessions.waiting import MAX_JOINED
from support.app_world import AppWorld, running
from support.session_world import eventually

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
SETTINGS = {
    "talk": {"busy": "steer", "order": "fair", "sender_waiting": 20, "debounce_seconds": 30},
    "allow": {"users": [str(BO)]},
}
"""The time of a burst is never waited for here: enough messages end it."""


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppWorld]:
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, SETTINGS) as world,
    ):
        yield world


async def answer_to(app: AppWorld, asked: Message) -> Message:
    return await app.pg.wait_for_message(
        asked.channel_id, lambda message: message.reply_to == asked.id, after=asked
    )


async def fence(app: AppWorld, channel: int = PIER) -> None:
    """Wait until all that was said so far has been read; a direct message would wait for more."""
    await app.ask(ADA, channel, f"{ME} fence")


def events(app: AppWorld) -> list[dict[str, Any]]:
    """All lines of all traces."""
    files = sorted(app.home.glob("runs/*/context.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def compiled_for(app: AppWorld, message: Message) -> dict[str, Any]:
    """The line in which a message's input was compiled last."""
    found = [
        event
        for event in events(app)
        if event["event"] == "compiled" and event["scope"]["message_id"] == f"discord:{message.id}"
    ]
    return found[-1]


def owed(app: AppWorld) -> set[str]:
    with sqlite3.connect(app.home / "inglenook.db") as db:
        return {row[0] for row in db.execute("SELECT state FROM inbox")}


async def test_a_further_message_goes_into_its_authors_running_turn(app: AppWorld) -> None:
    """Issue "The turn", ``busy = "steer"``: traced before pi has it, an input of the same turn, one
    answer with both texts; too late, or after a stop, it is a turn of its own or dropped."""
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("One.",), before=gate), Answer.of("Two."))
    first = await app.pg.say(BO, HEARTH, f"{ME} first")
    await app.model.wait_for_requests(1)
    with capture_logs() as logs:
        second = await app.pg.say(BO, HEARTH, f"{ME} and this")
        await eventually(lambda: any(each["event"] == "turn.steered" for each in logs))
    line = compiled_for(app, second)
    assert line["turn_id"] == f"discord:message:{first.id}"
    assert line["steers"]["seq"] == compiled_for(app, first)["seq"]
    gate.set()
    assert (await answer_to(app, first)).content == "One.\n\nTwo."
    assert "and this" in app.model.requests[1].last_user_text
    await fence(app, HEARTH)  # the turn is on record when the next one is
    found = read_trace(app.home / "runs" / line["run_id"] / "context.jsonl")
    view = view_run(found)
    assert [turn.outcome for turn in view.turns[:2]] == ["steered", "replied"]
    assert all(not call.problems for call in view.wire.calls)
    report = verify(app.home / "runs" / line["run_id"] / "context.jsonl")
    told = run_text(view, report, turn=2)
    assert f"goes into turn 1, with discord:{second.id}" in told

    app.model.script(Hang())
    hung = await app.pg.say(BO, WORKSHOP, f"{ME} think")
    await app.model.wait_for_requests(4)
    with capture_logs() as logs:
        late = await app.pg.say(BO, WORKSHOP, f"{ME} and CANARY-28")
        await eventually(lambda: any(each["event"] == "turn.steered" for each in logs))
    await app.pg.say(BO, WORKSHOP, f"{ME} stop")
    assert "stopped" in (await answer_to(app, hung)).content
    assert "stopped" in (await answer_to(app, late)).content
    await fence(app, WORKSHOP)
    assert "CANARY-28" not in repr(app.model.requests[-1].messages)
    assert [m.reply_to for m in app.pg.messages(HEARTH)].count(second.id) == 0
    assert owed(app) == {"done"}


async def test_bursts_are_one_turn_and_senders_alternate(app: AppWorld) -> None:
    """Issue "Inbound": debounce joins a burst, visibly in the trace; P13 (a), (b) hold for each of
    its messages while it waits; every one of them is off the inbox with the one answer. And
    ``order = "fair"``: by id within a sender, in turn between them, and the trace says whom they
    passed."""
    await _say_a_burst(app)
    await _take_turns(app)


async def _say_a_burst(app: AppWorld) -> None:
    place = DIRECT[BO]
    await fence(app)  # its engine is up before the time of the burst begins
    said = [await app.pg.say(BO, place, f"word {number}") for number in range(MAX_JOINED - 1)]
    await fence(app)
    assert app.prompts == [], "only the fence"
    await app.pg.edit(BO, said[1], "NEW word")
    await app.pg.delete(BO, said[2])
    await fence(app)
    said.append(await app.pg.say(BO, place, "almost"))
    last = await app.pg.say(BO, place, "the end")
    answer = await answer_to(app, last)
    assert all(f"word {number}" in answer.content for number in range(3, MAX_JOINED - 1))
    assert "NEW word" in answer.content
    assert "word 1\n" not in answer.content
    assert "word 2\n" not in answer.content
    joined = [each["message_id"] for each in compiled_for(app, last)["joined"]]
    left = [each for each in (*said, last) if each is not said[2]]
    assert joined == [f"discord:{message.id}" for message in left]
    assert len(compiled_for(app, last)["joined"][1]["texts_sha256"]) == 2
    assert len([m for m in app.pg.messages(place) if m.author_id == EMBER]) == 1
    await eventually(lambda: owed(app) == {"done"})


async def _take_turns(app: AppWorld) -> None:
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("first",), before=gate))
    asked = len(app.model.requests)
    await app.pg.say(CY, HEARTH, f"{ME} first")
    await app.model.wait_for_requests(asked + 1)
    bos = [await app.pg.say(BO, HEARTH, f"{ME} bo-{number}") for number in range(3)]
    dees = [await app.pg.say(DEE, HEARTH, f"{ME} dee-{number}") for number in range(2)]
    await fence(app)
    gate.set()
    for message in (*bos, *dees):
        await answer_to(app, message)
    names = ("bo-0", "bo-1", "bo-2", "dee-0", "dee-1")
    order = [name for text in app.prompts for name in names if f'{name}"' in text.split("text")[-1]]
    assert order == ["bo-0", "dee-0", "bo-1", "dee-1", "bo-2"]
    assert compiled_for(app, bos[0])["passed"] == []
    assert compiled_for(app, dees[0])["passed"] == [f"discord:{each.id}" for each in bos[1:]]
