"""A thread of its own for each question, and threads that people make."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.leftovers import INTERRUPTED
from bot.playground.entities import Channel, Message
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, HEARTH, ORCHARD, PIER, WORKSHOP
from bot.playground.rest.messages import ONE
from bot.playground.scripted_model import Hang, ScriptedModel
from bot.playground.server import Playground
from support.app_world import AppWorld, running

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ME = f"<@{EMBER}>"
THREADS = f"{ONE}/threads"
STARTER = 'the *first* words\n> of <@1> \u2028 "quoted" é\u0301 👍🏽  '


SETTINGS = {"channels": {"default": {"enabled": True, "threads": "auto"}}}


@pytest.fixture(scope="module")
def house_settings() -> Mapping[str, Any]:
    return SETTINGS


def mine(app: AppWorld, channel: Channel | int) -> list[Message]:
    return [message for message in app.pg.messages(channel) if message.author_id == EMBER]


def asked_for(app: AppWorld) -> int:
    return len([each for each in app.pg.requests if each.route == THREADS])


async def threaded(app: AppWorld, text: str) -> tuple[Channel, Message]:
    """Ask in #hearth and give the thread and the answer in it."""
    asked = await app.pg.say(BO, HEARTH, f"{ME} {text}")
    await app.pg.until(lambda: app.pg.world.channels.get(asked.id))
    answer = await app.pg.wait_for_message(asked.id, after=0)
    return app.pg.world.channel(asked.id), answer


async def test_each_question_gets_one_thread_and_one_answer(app: AppWorld) -> None:
    """P14: whatever creating it answers; later words there belong to the same conversation."""
    thread, answer = await threaded(app, f"@everyone what does <@{CY}> say of **tea**?")
    assert thread.name == "@\u200beveryone what does Cy say of tea?"
    assert answer.reply_to is None
    more = await app.pg.say(CY, thread, "and of coffee?")
    await app.pg.wait_for_message(thread, lambda m: m.reply_to == more.id, after=more)
    first, second = (each for each in app.model.requests if "say of" in each.prompt)
    assert second.prompt.startswith(first.prompt), "one conversation"
    app.pg.faults.fail("POST", THREADS, status=500, after=True)
    made, answer = await threaded(app, "made, but 500")
    assert "made, but 500" in answer.content
    app.pg.faults.fail("POST", THREADS, status=400, code=160004, after=True)
    there, answer = await threaded(app, "there already")
    assert "there already" in answer.content
    # Nothing made, for ten minutes: no storm, and the plain answer in the channel.
    before = asked_for(app)
    app.pg.faults.rate_limit("POST", THREADS, retry_after=600.0, times=99)
    for number in range(2):
        await app.ask(BO, WORKSHOP, f"{ME} limited {number}")
    assert asked_for(app) - before == 1
    app.pg.faults.clear()
    app.pg.faults.fail("POST", THREADS, status=403, code=50013, message="Missing Permissions")
    _, answer = await app.ask(BO, HEARTH, f"{ME} forbidden")
    assert "forbidden" in answer.content
    told = await app.pg.wait_for_message(
        DIRECT[ADA], lambda m: "open threads" in m.content, after=0
    )
    assert "Create Public Threads" in told.content
    await app.ask(CY, thread, "a fence")
    made_of_questions = {each.id for each in app.pg.world.threads_of(ORCHARD)}
    assert {thread.id, made.id, there.id} <= made_of_questions
    assert [m.content.count("limited") for m in mine(app, WORKSHOP)] == [1, 1]
    assert mine(app, HEARTH) == [answer], "no stray line, no second answer"
    assert len(mine(app, made)) == len(mine(app, there)) == 1


async def test_threads_know_how_they_began_unless_it_was_deleted(app: AppWorld) -> None:
    """openclaw#27187, P13 (c): the starter byte for byte, with its author; a deleted one never.

    Also one that was said before the bot listened. Of a question that is deleted while its turn
    runs in its thread, nothing is left there.
    """
    app.pg.faults.swallow("MESSAGE_CREATE")
    starter = await app.pg.say(ADA, WORKSHOP, STARTER)
    thread = await app.pg.create_thread(CY, WORKSHOP, "a made-up name", message=starter)
    await app.ask(BO, thread, f"{ME} what is this about?")
    blocks = [json.loads(line) for line in app.prompts[-1].split("\n") if line.startswith("{")]
    (item,) = next(each["items"] for each in blocks if each.get("block") == "history")
    assert item["text"] == STARTER
    assert (item["author"], item["author_id"]) == ("Ada", f"discord:{ADA}")
    assert "made-up" not in app.prompts[-1]

    # What was said where nothing is kept is not kept for the sake of a thread either.
    chosen = await app.slash(ADA, PIER, "channel threads", mode="off")
    assert "in the channel" in chosen.text
    await asyncio.to_thread(app.live.write_channel, str(PIER), enabled=False)
    hidden = await app.pg.say(BO, PIER, "CANARY-PIER")
    closed = await app.pg.create_thread(ADA, PIER, "closed", message=hidden)
    await app.ask(ADA, closed, f"{ME} what is this about?")
    assert "CANARY-PIER" not in app.prompts[-1]

    attic = app.place()  # where no thread was ever refused
    before = len(app.model.requests)
    app.model.script(Hang())
    asked = await app.pg.say(BO, attic, f"{ME} CANARY-14")
    running_turn = (await app.model.wait_for_requests(before + 1))[-1]
    await app.pg.until(lambda: app.pg.world.channels.get(asked.id))
    await app.pg.delete(BO, asked)
    await asyncio.wait_for(running_turn.ended.wait(), 120)
    _, answer = await app.ask(CY, asked.id, f"{ME} what was asked here?")
    assert mine(app, asked.id) == [answer]
    assert mine(app, attic) == []
    assert "CANARY-14" not in app.prompts[-1]


async def test_what_a_killed_host_owed_is_told_in_the_thread(tmp_path: Path) -> None:
    """P06 and P14: one honest line, where the question's thread is, and none in the channel."""
    home = tmp_path / "home"
    async with Playground() as pg, ScriptedModel() as model:
        async with running(home, pg, model, SETTINGS) as app:
            thread, answer = await threaded(app, "hello")
        await pg.delete(ADA, answer)
        with closing(sqlite3.connect(home / "inglenook.db")) as db, db:
            db.execute("DELETE FROM outbox")
            db.execute("UPDATE inbox SET state = 'handled'")
        async with running(home, pg, model, SETTINGS) as app:
            told = await pg.wait_for_message(thread, after=answer)
            assert INTERRUPTED in told.content
            await app.settle()
            assert mine(app, HEARTH) == []
            assert mine(app, thread) == [told]
