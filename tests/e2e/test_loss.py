"""Nothing lost and nothing twice: gaps, restarts and kills of the whole bot."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot import catch_up
from bot.leftovers import INTERRUPTED
from bot.playground.entities import ChannelKind, Message
from bot.playground.faults import SEND
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, HEARTH, KINDLING, ORCHARD, WORKSHOP
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from bot.playground.world.permissions import Permission
from bot.threshold import LEFT_OUT
from support.app_world import AppWorld, running
from support.session_world import eventually

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
MEMBER = 1
"""The kind of an overwrite that is for one person."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What outlives a bot: Discord, the model, and the home."""

    pg: Playground
    model: ScriptedModel
    home: Path

    def answers(self, channel: int, asked: Message) -> list[Message]:
        return [m for m in self.pg.messages(channel) if m.reply_to == asked.id]

    def change(self, *statements: str) -> None:
        """Make the database look as a kill leaves it, after Discord has forgotten the nonces."""
        self.pg.talk._nonces.clear()
        with sqlite3.connect(self.home / "inglenook.db") as db:
            for statement in statements:
                db.execute(statement)
        db.close()

    async def first_night(self, settings: Mapping[str, Any] | None = None) -> None:
        """Run a bot until it has read what is said in #hearth, to which it owes nothing."""
        async with running(self.home, self.pg, self.model, settings):
            heard = await self.pg.say(BO, HEARTH, "zero")
            await eventually(lambda: self.knows(heard))

    def knows(self, message: Message) -> bool:
        """Whether a message is in the history."""
        with closing(sqlite3.connect(self.home / "inglenook.db")) as db:
            query = "SELECT count(*) FROM history WHERE message_id = ?"
            (count,) = db.execute(query, (f"discord:{message.id}",)).fetchone()
        return bool(count)

    async def answered(self, channel: int, asked: Message) -> Message:
        return await self.pg.wait_for_message(
            channel, lambda message: message.reply_to == asked.id, after=asked
        )


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with Playground() as pg, ScriptedModel() as model:
        yield Stage(pg, model, tmp_path / "home")


async def lose_connection(stage: Stage) -> None:
    """Cut the gateway, so that the next connection can only begin afresh."""
    stage.pg.gateway.expire_sessions()
    stage.pg.faults.gateway_down = True
    stage.pg.gateway.drop()
    await stage.pg.until(lambda: not stage.pg.connected.is_set() or None)


ALLOWED = {"allow": {"users": [str(CY)]}}


async def test_what_was_missed_in_every_kind_of_channel_is_answered(stage: Stage) -> None:
    """P05: stages, voice and announcement channels have words of their own, and threads have."""
    pg = stage.pg
    kinds = (ChannelKind.STAGE, ChannelKind.VOICE, ChannelKind.ANNOUNCEMENT)
    places = [pg.world.add_channel(ORCHARD, kind.name.lower(), kind=kind) for kind in kinds]
    forum = pg.world.add_channel(ORCHARD, "forum", kind=ChannelKind.FORUM)
    places.append(await pg.create_thread(BO, forum, "a post"))
    async with running(stage.home, pg, stage.model, ALLOWED) as app:
        await app.ask(BO, HEARTH, f"{ME} zero")
    missed = [await pg.say(BO, place, f"{ME} from {place.name}") for place in places]
    async with running(stage.home, pg, stage.model, ALLOWED):
        for place, asked in zip(places, missed, strict=True):
            assert place.name in (await stage.answered(place.id, asked)).content


async def test_records_that_are_older_than_the_channel_answer_nothing_again(stage: Stage) -> None:
    """P04's kind, P24: a copy of the database was put back, or a disk lost its end: what was
    answered since is known and not answered again; what was not is answered."""
    pg, file = stage.pg, stage.home / "inglenook.db"
    await stage.first_night()
    copy = file.read_bytes()
    async with running(stage.home, pg, stage.model) as app:
        before, _ = await app.ask(BO, HEARTH, f"{ME} one")
    file.write_bytes(copy)
    stage.change()
    missed = await pg.say(CY, HEARTH, f"{ME} two")
    async with running(stage.home, pg, stage.model):
        await stage.answered(HEARTH, missed)
    (_, prompt) = (request.last_user_text for request in stage.model.requests)
    assert "one" in prompt, "it belongs to the history"
    assert [m.reply_to for m in pg.messages(HEARTH) if m.author_id == EMBER] == [
        before.id,
        missed.id,
    ]


@pytest.mark.parametrize("restart", [False, True])
async def test_what_was_missed_is_answered_once_and_in_order(
    stage: Stage,
    restart: bool,  # noqa: FBT001
) -> None:
    """P05: a gap of the connection, or of the process: all answered once, in the order of ids."""
    pg = stage.pg
    pg.world.set_overwrite(WORKSHOP, EMBER, kind=MEMBER, deny=Permission.READ_MESSAGE_HISTORY)

    async def meanwhile() -> list[Message]:
        return [
            await pg.say(BO, HEARTH, f"{ME} one"),
            await pg.say(BO, HEARTH, f"{ME} two"),
            await pg.say(CY, DIRECT[CY], "three"),
            await pg.say(BO, WORKSHOP, f"{ME} four"),
        ]

    async def check(app: AppWorld) -> None:
        one, two, three, _ = missed
        await stage.answered(HEARTH, two)
        await stage.answered(DIRECT[CY], three)
        fences = [await app.settle(BO, HEARTH), await app.settle(CY, DIRECT[CY])]
        replies = [m.reply_to for m in pg.messages(HEARTH) if m.author_id == EMBER]
        assert replies == [before.id, one.id, two.id, fences[0].id]
        assert len(stage.answers(DIRECT[CY], three)) == 1
        five = await pg.say(BO, WORKSHOP, f"{ME} five")
        answer = await pg.wait_for_message(WORKSHOP, after=five)
        assert "five" in answer.content

    async with running(stage.home, pg, stage.model, ALLOWED) as app:
        before, _ = await app.ask(BO, HEARTH, f"{ME} zero")
        if not restart:
            await lose_connection(stage)
            missed = await meanwhile()
            pg.faults.gateway_down = False
            await check(app)
    if restart:
        missed = await meanwhile()
        async with running(stage.home, pg, stage.model, ALLOWED) as app:
            await check(app)


async def test_what_was_said_before_the_first_start_is_history(stage: Stage) -> None:
    """P05: a new home owes nothing to the past."""
    asked = await stage.pg.say(BO, HEARTH, f"{ME} long ago")
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.settle()
        assert stage.answers(HEARTH, asked) == []


async def test_a_live_message_waits_for_what_was_missed(stage: Stage) -> None:
    """P05: the order is that of the ids, though the live event came before the reading was done."""
    await stage.first_night()
    missed = await stage.pg.say(BO, HEARTH, f"{ME} missed")
    gate = asyncio.Event()
    stage.pg.faults.hold(gate, "GET", SEND)
    async with running(stage.home, stage.pg, stage.model):
        live = await stage.pg.say(BO, HEARTH, f"{ME} live")
        gate.set()
        await stage.answered(HEARTH, live)
        replies = [m.reply_to for m in stage.pg.messages(HEARTH) if m.author_id == EMBER]
        assert replies == [missed.id, live.id]


async def test_a_thread_never_seen_before_is_caught_up(stage: Stage) -> None:
    """P05: channels and threads first seen begin at what the home has read."""
    await stage.first_night()
    missed = await stage.pg.say(BO, KINDLING, f"{ME} in the thread")
    async with running(stage.home, stage.pg, stage.model) as app:
        await stage.answered(KINDLING, missed)
        await app.settle(BO, KINDLING)
        assert len(stage.answers(KINDLING, missed)) == 1


async def test_what_is_too_old_or_too_much_is_named_to_the_owner(stage: Stage) -> None:
    """P05: limits in count; what is beyond is not answered, and not silently dropped."""
    limits = {"catch_up": {"max_messages": 2}}
    await stage.first_night(limits)
    missed = [await stage.pg.say(BO, HEARTH, f"{ME} {number}") for number in range(4)]
    async with running(stage.home, stage.pg, stage.model, limits) as app:
        told = await stage.pg.wait_for_message(
            DIRECT[ADA], lambda message: LEFT_OUT in message.content
        )
        assert f"<#{HEARTH}>: 2 or more" in told.content
        await stage.answered(HEARTH, missed[3])
        await app.settle(BO, HEARTH)
        assert [len(stage.answers(HEARTH, each)) for each in missed] == [0, 0, 1, 1]


@pytest.mark.parametrize("fault", ["limit", "success"])
async def test_a_reading_that_fails_in_passing_is_done_later(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """P05: a rate limit loses nothing, nor does something in between that answers for Discord with
    a success of its own; the channel is asked again."""
    monkeypatch.setattr(catch_up, "RETRY_SECONDS", (0.05, *catch_up.RETRY_SECONDS))
    await stage.first_night()
    missed = await stage.pg.say(BO, HEARTH, f"{ME} missed")
    place = f"/channels/{HEARTH}/messages"
    if fault == "limit":
        stage.pg.faults.rate_limit("GET", place, retry_after=60.0)
    else:
        stage.pg.faults.fail("GET", place, status=200)
    async with running(stage.home, stage.pg, stage.model) as app:
        await stage.answered(HEARTH, missed)
        await app.settle(BO, HEARTH)
        assert len(stage.answers(HEARTH, missed)) == 1


async def test_a_message_written_down_and_not_begun_is_run_at_the_next_start(
    stage: Stage,
) -> None:
    """P05, P06: killed between the record and the turn: it runs, once."""
    async with running(stage.home, stage.pg, stage.model) as app:
        asked, first = await app.ask(BO, HEARTH, f"{ME} hello")
    await stage.pg.delete(ADA, first)
    stage.change(
        "DELETE FROM turns",
        "DELETE FROM replies",
        "DELETE FROM outbox",
        "UPDATE inbox SET state = 'waiting'",
    )
    for _ in range(2):
        async with running(stage.home, stage.pg, stage.model) as app:
            await stage.answered(HEARTH, asked)
            await app.settle(BO, HEARTH)
    assert len(stage.answers(HEARTH, asked)) == 1
    assert len(app.prompts) == 2


async def test_an_answer_that_was_not_sent_is_sent_at_the_next_start(stage: Stage) -> None:
    """P06 (b): killed after the model's answer, before the send: posted, without a second turn."""
    async with running(stage.home, stage.pg, stage.model) as app:
        asked, first = await app.ask(BO, HEARTH, f"{ME} hello")
    await stage.pg.delete(ADA, first)
    stage.change(
        "UPDATE outbox SET state = 'pending', message_id = NULL, content = 'Kept.', nonce = 'x1'"
        " WHERE guild_id IS NOT NULL"
    )
    async with running(stage.home, stage.pg, stage.model) as app:
        answer = await stage.answered(HEARTH, asked)
        assert answer.content == "Kept."
        await app.settle()
    assert len(app.prompts) == 1
    assert len(stage.answers(HEARTH, asked)) == 1


async def test_an_answer_that_was_sent_is_not_sent_again(stage: Stage) -> None:
    """P06 (c): killed after Discord took it, before our note of it; the nonce is long forgotten."""
    async with running(stage.home, stage.pg, stage.model) as app:
        asked, first = await app.ask(BO, HEARTH, f"{ME} hello")
    first.nonce = None
    stage.change(
        "UPDATE outbox SET state = 'pending', message_id = NULL, nonce = 'forgotten', content ="
        " (SELECT text FROM history WHERE is_imp) WHERE guild_id IS NOT NULL"
    )
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.settle()
    assert stage.answers(HEARTH, asked) == [first]
    with sqlite3.connect(stage.home / "inglenook.db") as db:
        rows = db.execute("SELECT state, message_id, content FROM outbox").fetchall()
    db.close()
    assert ("sent", f"discord:{first.id}", "") in rows
    assert all(content == "" for _, _, content in rows)


async def test_a_turn_that_ended_without_its_answer_is_told(stage: Stage) -> None:
    """P06 (b): killed between the record of the turn and the outbox: one honest line, also where
    the turn was made of several messages."""
    async with running(stage.home, stage.pg, stage.model) as app:
        asked, first = await app.ask(BO, HEARTH, f"{ME} hello")
        joined, second = await app.ask(BO, HEARTH, f"{ME} and this")
    await stage.pg.delete(ADA, first)
    await stage.pg.delete(ADA, second)
    stage.change(
        "DELETE FROM outbox",
        f"UPDATE inbox SET state = 'handled', turn_id = 'discord:message:{asked.id}'",  # noqa: S608
    )
    async with running(stage.home, stage.pg, stage.model) as app:
        line = await stage.answered(HEARTH, asked)
        assert INTERRUPTED in line.content
        _, answer = await app.ask(BO, HEARTH, f"{ME} again")
        assert "again" in answer.content
    assert len(stage.answers(HEARTH, asked)) == 1
    assert stage.answers(HEARTH, joined) == []


async def test_a_long_rate_limit_is_waited_for(stage: Stage) -> None:
    """P14's kind: a 429 longer than the library's patience: no storm, the answer comes."""
    stage.pg.faults.rate_limit(retry_after=0.4, times=2)
    async with running(stage.home, stage.pg, stage.model) as app:
        asked, _ = await app.ask(ADA, DIRECT[ADA], "hello")
        await app.settle()
        assert len(stage.answers(DIRECT[ADA], asked)) == 1


async def test_a_part_that_cannot_be_sent_ends_the_answer(stage: Stage) -> None:
    """Outbound: a final failure ends the rest, and nothing of it is posted elsewhere."""
    text = "First part.\n\n" + "word " * 500
    async with running(stage.home, stage.pg, stage.model) as app:
        stage.model.script(Answer.of(text))
        stage.pg.faults.fail(status=403, code=50013, times=1)
        await stage.pg.say(BO, HEARTH, f"{ME} hello")
        _, answer = await app.ask(BO, HEARTH, f"{ME} and now?")
        assert "and now?" in answer.content
        mine = [m for m in stage.pg.messages(HEARTH) if m.author_id == EMBER]
        assert mine == [answer]
        noted = await stage.pg.wait_for_message(
            DIRECT[ADA], lambda message: "could not post" in message.content
        )
        assert f"<#{HEARTH}> (`403/50013`)" in noted.content
        assert "First part" not in noted.content


async def test_one_message_that_cannot_be_read_hides_no_other(stage: Stage) -> None:
    """P05's kind: a form that the library does not know stands among what was missed."""
    await stage.first_night()
    poll: dict[str, object] = {
        "question": {"text": "?"},
        "answers": [],
        "expiry": None,
        "layout_type": 9,
    }
    await stage.pg.say(BO, HEARTH, "odd", extra={"poll": poll})
    missed = [await stage.pg.say(BO, HEARTH, f"{ME} {number}") for number in range(101)]
    limits = {"catch_up": {"max_messages": 1}}
    async with running(stage.home, stage.pg, stage.model, limits) as app:
        await stage.answered(HEARTH, missed[-1])
        await app.settle(BO, HEARTH)
        assert [len(stage.answers(HEARTH, each)) for each in missed[-2:]] == [0, 1]


async def test_a_message_that_cannot_be_fetched_now_is_taken_up_later(stage: Stage) -> None:
    """P06's kind: Discord is in trouble just as a debt is to be paid; it stays a debt."""
    async with running(stage.home, stage.pg, stage.model) as app:
        asked, first = await app.ask(BO, HEARTH, f"{ME} hello")
    await stage.pg.delete(ADA, first)
    stage.change(
        "DELETE FROM turns",
        "DELETE FROM replies",
        "DELETE FROM outbox",
        "UPDATE inbox SET state = 'waiting'",
    )
    stage.pg.faults.rate_limit("GET", SEND + "/{message_id}", retry_after=60.0)
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.ask(CY, WORKSHOP, f"{ME} elsewhere")
        await stage.pg.wait_for_request("GET", SEND + "/{message_id}")
        next_one, _ = await app.ask(BO, HEARTH, f"{ME} anybody?")
        assert len(stage.answers(HEARTH, asked)) == 1
        replies = [m.reply_to for m in stage.pg.messages(HEARTH) if m.author_id == EMBER]
        assert replies == [asked.id, next_one.id]


async def test_an_answer_for_a_locked_thread_goes_nowhere_else(stage: Stage) -> None:
    """P14's kind: archived and locked while the turn runs: final, told to the owner, once."""
    gate = asyncio.Event()
    stage.model.script(Answer(chunks=("CANARY-14",), before=gate))
    async with running(stage.home, stage.pg, stage.model) as app:
        await stage.pg.say(BO, KINDLING, f"{ME} hello")
        await stage.model.wait_for_requests(1)
        await stage.pg.archive(ADA, KINDLING, locked=True)
        gate.set()
        noted = await stage.pg.wait_for_message(
            DIRECT[ADA], lambda message: "could not post" in message.content
        )
        assert f"<#{KINDLING}>" in noted.content
        await app.settle()
        everything = "".join(
            message.content
            for channel in (HEARTH, KINDLING, WORKSHOP, DIRECT[ADA], DIRECT[BO])
            for message in stage.pg.messages(channel)
        )
        assert "CANARY-14" not in everything
