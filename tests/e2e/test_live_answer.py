"""What stands in the channel while a turn runs: the growing answer, and a way to stop it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bot.leftovers import INTERRUPTED
from bot.live_answer import WORKING
from bot.playground.entities import Message
from bot.playground.faults import SEND
from bot.playground.ids import ADA, BO, CY, EMBER, HEARTH, PIER, WORKSHOP
from bot.playground.rest.frame import Request
from bot.playground.scripted_model import Answer, Hang, ScriptedModel
from bot.playground.server import Playground
from bot.stop_button import NOT_YOURS, OVER
from support.app_world import running

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
ONE = SEND + "/{message_id}"
STREAMING: dict[str, Any] = {"talk": {"stream": True, "stop_button_seconds": 0}}
SLOW: dict[str, Any] = {
    "talk": {"stop_button_seconds": 0.05},
    "sessions": {"drain_seconds": 0.2},
}


@pytest.fixture
async def pg() -> AsyncIterator[Playground]:
    async with Playground() as made:
        yield made


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as made:
        yield made


def edits(pg: Playground, message: Message) -> list[Request]:
    return [r for r in pg.requests if r.method == "PATCH" and r.path.endswith(f"/{message.id}")]


def answers(pg: Playground, asked: Message) -> list[Message]:
    """All that the bot has said behind a message in its channel."""
    return [m for m in pg.messages(asked.channel_id) if m.author_id == EMBER and m.id > asked.id]


async def shown(pg: Playground, asked: Message, text: str) -> Message:
    """Wait until the reply to a message reads so."""
    return await pg.wait_for_message(
        asked.channel_id,
        lambda message: message.reply_to == asked.id and text in message.content,
        after=asked,
    )


async def changed(pg: Playground, message: Message, text: str) -> None:
    """Wait until a message begins so; an edit is no new message."""
    await pg.watch.until(lambda: True if message.content.startswith(text) else None, timeout=120.0)


async def test_an_answer_grows_in_one_message_and_is_whole_at_the_end(
    pg: Playground, model: ScriptedModel, tmp_path: Path
) -> None:
    """Issue "The turn", ``stream``: edited at most once a second, complete, closed mentions; over
    2000 it goes on; an edit that Discord refuses for now is left out, the last never (omniclaw#135:
    a flood of small updates); a deleted one does not cost the answer."""
    async with running(tmp_path / "home", pg, model, STREAMING) as app:
        gate = asyncio.Event()
        model.script(Answer(chunks=("Hello", *[" @everyone"] * 100, " end."), between=gate))
        asked = await pg.say(BO, HEARTH, f"{ME} sing")
        live = await shown(pg, asked, "Hello")
        assert [part["label"] for part in live.components[0]["components"]] == ["Stop"]
        await pg.watch.until(lambda: None if pg.typing_in(HEARTH) else True, timeout=120.0)
        pg.faults.rate_limit("PATCH", ONE, retry_after=0.2)
        pg.faults.fail("PATCH", ONE, status=502)
        gate.set()
        await pg.watch.until(lambda: True if live.content.endswith("end.") else None, timeout=120.0)
        await app.ask(CY, HEARTH, f"{ME} and on")  # whatever was to come has come
        assert live.content == "Hello" + " @everyone" * 100 + " end."
        assert live.components == []
        assert live.pinged == ()
        assert [m for m in answers(pg, asked) if m.reply_to == asked.id] == [live]
        for request in edits(pg, live):
            assert request.body["allowed_mentions"]["parse"] == []
        with sqlite3.connect(tmp_path / "home" / "inglenook.db") as db:
            kept = db.execute(
                "SELECT text FROM history WHERE message_id = ?", (f"discord:{live.id}",)
            ).fetchall()
        assert kept == [(live.content,)]

        gate.clear()
        long = ("one " * 700, "two " * 300)
        model.script(Answer(chunks=long, between=gate))
        asked = await pg.say(BO, HEARTH, f"{ME} tell")
        live = await shown(pg, asked, "one")
        second = await pg.wait_for_message(
            HEARTH, lambda m: m.author_id == EMBER and m.id > live.id, after=live
        )
        assert second.reply_to is None
        assert live.components == []
        times = [request.at_ns for request in edits(pg, live)]
        assert all(after - before >= 990_000_000 for before, after in pairwise(times))
        gate.set()
        await pg.watch.until(
            lambda: True if second.content.count("two") == 300 else None, timeout=30.0
        )
        assert live.content.split() + second.content.split() == "".join(long).split()
        assert answers(pg, asked) == [live, second]

        gate.clear()
        model.script(Answer(chunks=("Gone", " and back."), between=gate))
        asked = await pg.say(BO, HEARTH, f"{ME} tell")
        live = await shown(pg, asked, "Gone")
        await pg.delete(ADA, live)
        gate.set()
        assert (await shown(pg, asked, "Gone and back.")).id != live.id


async def test_the_button_stops_a_turn_for_who_asked_and_for_owners(
    pg: Playground, model: ScriptedModel, tmp_path: Path
) -> None:
    """Issue "The turn": a button on the running message, without streaming a line after a while;
    nobody else's press counts; the line becomes the answer, or says that it was stopped."""
    async with running(tmp_path / "home", pg, model, SLOW) as app:
        asked = await _held(pg, model, HEARTH)
        live = await shown(pg, asked, WORKING)
        button = live.components[0]["components"][0]["custom_id"]
        refused = await pg.click(CY, live, button)
        assert (refused.ephemeral, refused.text) == (True, NOT_YOURS)
        assert live.content == WORKING
        done = await pg.click(BO, live, button)
        assert (done.ephemeral, done.text) == (True, "Stopped.")
        await changed(pg, live, "I was stopped")
        assert live.components == []
        assert answers(pg, asked) == [live]

        asked = await _held(pg, model, HEARTH)
        live = await shown(pg, asked, WORKING)
        button = live.components[0]["components"][0]["custom_id"]
        assert (await pg.click(ADA, live, button)).text == "Stopped."
        await changed(pg, live, "I was stopped")

        gate = asyncio.Event()
        model.script(Answer(chunks=("Done.",), before=gate))
        asked = await pg.say(BO, HEARTH, f"{ME} think")
        live = await shown(pg, asked, WORKING)
        gate.set()
        await changed(pg, live, "Done.")
        assert answers(pg, asked) == [live]

        asked = await _held(pg, model, HEARTH)
        live = await shown(pg, asked, WORKING)
        await pg.delete(BO, asked)
        await app.ask(CY, HEARTH, f"{ME} and now?")
        await pg.watch.until(lambda: live.id not in {m.id for m in pg.messages(HEARTH)} or None)


async def test_a_killed_host_leaves_one_honest_line_and_a_button_that_answers(
    pg: Playground, model: ScriptedModel, tmp_path: Path
) -> None:
    """P06 for a message that only stood for the answer: the next start makes it the line that the
    turn was interrupted, whether it was noted as sent or not; its button says that it is over; an
    answer that was decided becomes the whole of it."""
    home = tmp_path / "home"
    places = (HEARTH, WORKSHOP, PIER)
    async with running(home, pg, model, SLOW):
        asked = [await _held(pg, model, place) for place in places]
        live = [await shown(pg, each, WORKING) for each in asked]
    for message, components in zip(live, [_stop(each) for each in asked], strict=True):
        message.content, message.components, message.nonce = WORKING, components, None
    _kill(home, asked)
    pg.talk._nonces.clear()
    button = live[0].components[0]["components"][0]["custom_id"]
    async with running(home, pg, model, SLOW) as app:
        await changed(pg, live[0], INTERRUPTED)
        await changed(pg, live[1], INTERRUPTED)
        await changed(pg, live[2], "The answer.")
        live[0].components = _stop(asked[0])  # somebody's client shows it still
        assert (await pg.click(BO, live[0], button)).text == OVER
        await app.settle()
    for message, question in zip(live, asked, strict=True):
        assert answers(pg, question) == [message]


async def _held(pg: Playground, model: ScriptedModel, place: int) -> Message:
    """Begin a turn that will not end by itself."""
    model.script(Hang())
    before = len(model.requests)
    asked = await pg.say(BO, place, f"{ME} think")
    await model.wait_for_requests(before + 1)
    return asked


def _stop(asked: Message) -> list[dict[str, Any]]:
    button = {"type": 2, "style": 2, "label": "Stop", "custom_id": f"stop:{asked.id}:{BO}"}
    return [{"type": 1, "components": [button]}]


def _kill(home: Path, asked: list[Message]) -> None:
    """Make the database look as a kill leaves it: two turns that ran, and one decided answer."""
    one, other, decided = (f"discord:message:{message.id}" for message in asked)
    with sqlite3.connect(home / "inglenook.db") as db:
        for turn_id in (one, other):
            db.execute("DELETE FROM outbox WHERE turn_id = ?", (turn_id,))
            db.execute("UPDATE inbox SET state = 'waiting' WHERE turn_id = ?", (turn_id,))
        db.execute("DELETE FROM replies")
        db.execute(
            "UPDATE outbox SET state = 'pending', message_id = NULL, content = ?"
            " WHERE parcel LIKE ?",
            (WORKING, f"live:{other}:%"),
        )
        db.execute(
            "UPDATE outbox SET state = 'pending', message_id = NULL, content = 'The answer.'"
            " WHERE turn_id = ?",
            (decided,),
        )
    db.close()
