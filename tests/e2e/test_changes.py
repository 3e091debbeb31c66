"""What becomes of messages later, heard or not: edited, deleted, told of in part (P13)."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from bot import look_back
from bot.playground.entities import Channel, Message
from bot.playground.faults import SEND
from bot.playground.ids import ADA, BO, CY, DEE, DIRECT, EMBER, HEARTH, ORCHARD, PIER
from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer, Hang, ScriptedModel
from bot.playground.server import Playground
from bot.playground.world.permissions import Permission
from compiler.request import ChannelId, MessageId, TurnId
from sessions.registry import Registry
from support.app_world import AppWorld, running
from support.session_world import eventually

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ME = f"<@{EMBER}>"
MEMBER = 1
"""The kind of an overwrite that is for one person."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What outlives a bot."""

    pg: Playground
    model: ScriptedModel
    home: Path

    def kept(self) -> str:
        """All that the history holds."""
        with sqlite3.connect(self.home / "inglenook.db") as db:
            rows = db.execute("SELECT author_label, text FROM history").fetchall()
        db.close()
        return repr(rows)

    def owe_again(self, *messages: Message) -> None:
        """Make the database look as if the host had died before it began these."""
        self.pg.talk._nonces.clear()
        with sqlite3.connect(self.home / "inglenook.db") as db:
            for table in ("turns", "replies", "outbox", "warm_sessions"):
                db.execute(f"DELETE FROM {table}")  # noqa: S608
            db.execute("DELETE FROM history WHERE is_imp")
            for message in messages:
                db.execute(
                    "UPDATE inbox SET state = 'waiting' WHERE message_id = ?",
                    (f"discord:{message.id}",),
                )
        db.close()


@pytest_asyncio.fixture(loop_scope="module")
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with Playground() as pg, ScriptedModel() as model:
        yield Stage(pg, model, tmp_path / "home")


async def fence(app: AppWorld) -> None:
    """Wait until all that happened so far has been read."""
    await app.ask(ADA, PIER, f"{ME} fence")


async def queued(app: AppWorld, text: str) -> tuple[Message, asyncio.Event]:
    """Let a message of Bo's wait behind a turn of Cy's, which goes on when the event is set."""
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("one",), before=gate))
    await app.pg.say(CY, HEARTH, f"{ME} first")
    await app.model.wait_for_requests(1)
    waits = await app.pg.say(BO, HEARTH, text)
    await fence(app)
    return waits, gate


async def test_a_queued_message_that_calls_nobody_any_more_runs_with_its_new_words(
    app: AppWorld,
) -> None:
    """P13 (a): whomever the new words address, the old ones reach nobody."""
    waits, gate = await queued(app, f"{ME} CANARY-QUEUED")
    await app.pg.edit(BO, waits, "rather this")
    await fence(app)
    gate.set()
    await app.ask(DEE, HEARTH, f"{ME} end")
    everything = "".join(request.prompt for request in app.model.requests)
    assert "rather this" in everything
    assert "CANARY-QUEUED" not in everything


async def test_an_edit_counts_for_a_message_whose_turn_begins_meanwhile(
    app: AppWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P13 (a), (d): it stops waiting in the midst of its correction; it has its new words by then,
    and the old ones stay in no session."""
    waits, gate = await queued(app, f"{ME} CANARY-MEANWHILE")
    requests, outdate = len(app.model.requests), Registry.outdate

    async def begins(
        registry: Registry, message_id: MessageId, turn_id: TurnId, channel_id: ChannelId
    ) -> None:
        await outdate(registry, message_id, turn_id, channel_id)
        gate.set()
        await app.model.wait_for_requests(requests + 1)

    monkeypatch.setattr(Registry, "outdate", begins)
    await app.pg.edit(BO, waits, f"{ME} rather this")
    await app.ask(DEE, HEARTH, f"{ME} end")
    everything = "".join(request.prompt for request in app.model.requests)
    assert "rather this" in everything
    assert "CANARY-MEANWHILE" not in everything


async def test_who_answered_to_a_deleted_message_quotes_it_no_longer(app: AppWorld) -> None:
    """P13 (c): his own message waits still, without the other's words."""
    said = await app.pg.say(DEE, HEARTH, "CANARY-QUOTED")
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("one",), before=gate))
    await app.pg.say(CY, HEARTH, f"{ME} first")
    await app.model.wait_for_requests(1)
    asked = await app.pg.say(BO, HEARTH, f"{ME} and this?", reply_to=said)
    await fence(app)
    await app.pg.delete(DEE, said)
    await fence(app)
    gate.set()
    answer = await app.pg.wait_for_message(HEARTH, lambda m: m.reply_to == asked.id)
    assert "and this?" in answer.content
    (prompt,) = [text for text in app.prompts if "and this?" in text]
    assert "CANARY-QUOTED" not in prompt


async def test_an_edit_that_tells_only_the_new_words_counts_as_any_other(app: AppWorld) -> None:
    """P13 (a), (f): a MESSAGE_UPDATE without author and type is looked up."""
    waits, gate = await queued(app, f"{ME} CANARY-PARTIAL")
    waits.content = f"{ME} rather this"
    partial = {
        "id": str(waits.id),
        "channel_id": str(HEARTH),
        "guild_id": str(ORCHARD),
        "content": waits.content,
        "edited_timestamp": "2026-11-29T10:00:00+00:00",
    }
    app.pg.inject("MESSAGE_UPDATE", partial)
    await app.pg.wait_for_request("GET", SEND + "/{message_id}")
    kept = Stage(app.pg, app.model, app.home).kept
    await eventually(lambda: "rather this" in kept())  # no fence waits for what is looked up
    app.pg.inject("MESSAGE_UPDATE", {key: partial[key] for key in ("id", "channel_id")})
    gate.set()
    await app.ask(DEE, HEARTH, f"{ME} end")
    everything = "".join(request.prompt for request in app.model.requests)
    assert "rather this" in everything
    assert "CANARY-PARTIAL" not in everything


async def test_a_session_kept_for_the_next_start_ends_with_what_it_holds(stage: Stage) -> None:
    """P13 (c): deleted after a restart, before its conversation goes on: the session that was to be
    taken up again holds it, and so does the answer."""
    async with running(stage.home, stage.pg, stage.model) as app:
        asked, answer = await app.ask(BO, HEARTH, f"{ME} CANARY-13")
        assert "CANARY-13" in answer.content
    async with running(stage.home, stage.pg, stage.model) as app:
        await stage.pg.delete(BO, asked)
        await fence(app)
        await app.ask(CY, HEARTH, f"{ME} hello")
        assert "CANARY-13" not in stage.model.requests[-1].prompt
        assert "CANARY-13" not in stage.kept()


async def test_what_changed_while_nobody_listened_is_found_before_it_is_quoted(
    stage: Stage,
) -> None:
    """P13's kind: deleted and edited while the bot was down, with nothing said since."""
    async with running(stage.home, stage.pg, stage.model) as app:
        asked, _ = await app.ask(BO, HEARTH, f"{ME} CANARY-ONE")
        said = await stage.pg.say(DEE, HEARTH, "CANARY-TWO")
        stays, _ = await app.ask(CY, HEARTH, f"{ME} and this stays")
        await app.ask(ADA, DIRECT[ADA], "unchanged")
    await stage.pg.delete(BO, asked)
    await stage.pg.edit(DEE, said, "corrected")
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.ask(CY, HEARTH, f"{ME} hello")
        prompt = stage.model.requests[-1].prompt
        assert "CANARY" not in prompt
        assert "corrected" in prompt
        assert f"discord:{stays.id}" in prompt
        await app.ask(ADA, DIRECT[ADA], "hello")
        assert "unchanged" in stage.model.requests[-1].prompt, "its warm session goes on"
        before = len(looked(stage))
        await app.ask(CY, HEARTH, f"{ME} hello again")
        assert len(looked(stage)) == before, "once a connection"


async def test_a_session_is_not_taken_up_with_words_that_were_edited_while_away(
    stage: Stage,
) -> None:
    """P13 (d)'s kind: nothing but an edit happened while the bot was down; the conversation goes on
    afresh, from its history as it stands, and one in which nothing was edited goes on as it was."""
    async with running(stage.home, stage.pg, stage.model) as app:
        stage.model.script(Answer.of("Noted."), Answer.of("Noted as well."))
        wrong, _ = await app.ask(BO, HEARTH, f"{ME} tea at CANARY-13")
        await app.ask(ADA, DIRECT[ADA], "tea at six")
    before = stage.model.requests[-1].prompt
    await stage.pg.edit(BO, wrong, f"{ME} tea at seven")
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.ask(CY, HEARTH, f"{ME} when is tea?")
        assert "tea at seven" in stage.model.requests[-1].prompt
        assert "CANARY-13" not in stage.model.requests[-1].prompt
        await app.ask(ADA, DIRECT[ADA], "when is tea?")
        assert stage.model.requests[-1].prompt.startswith(before)


def looked(stage: Stage) -> list[str]:
    return [r.path for r in stage.pg.requests if r.method == "GET" and r.route == SEND]


async def test_an_emptied_channel_is_known_for_one(stage: Stage) -> None:
    """P13 (e)'s kind: purged while the bot was down, its answers as well."""
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.ask(BO, HEARTH, f"{ME} CANARY-ONE")
        await app.ask(BO, HEARTH, f"{ME} CANARY-TWO")
    await stage.pg.bulk_delete(ADA, HEARTH, stage.pg.messages(HEARTH))
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.ask(CY, HEARTH, f"{ME} hello")
        assert "CANARY" not in stage.model.requests[-1].prompt
        assert "CANARY" not in stage.kept()


async def test_only_so_far_is_looked_back(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies further back than is read is neither forgotten nor asked for one by one."""
    monkeypatch.setattr(look_back, "PAGE_MESSAGES", 1)
    monkeypatch.setattr(look_back, "MAX_PAGES", 2)
    async with running(stage.home, stage.pg, stage.model) as app:
        for word in ("one", "two", "three"):
            await app.ask(BO, HEARTH, f"{ME} {word} CANARY")
    first, *_, last = [m for m in stage.pg.messages(HEARTH) if m.author_id == BO]
    for message in (first, last):
        await stage.pg.delete(BO, message)
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.ask(CY, HEARTH, f"{ME} hello")
        prompt = stage.model.requests[-1].prompt
        assert "one CANARY" in prompt
        assert "two CANARY" in prompt
        assert "three CANARY" not in prompt


async def test_a_history_that_may_not_be_read_is_not_taken_for_empty(stage: Stage) -> None:
    """P13's kind: Discord shows an empty page to who may not read; nothing is forgotten for it."""
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.ask(BO, HEARTH, f"{ME} the kettle is blue")
    stage.pg.world.set_overwrite(HEARTH, EMBER, kind=MEMBER, deny=Permission.READ_MESSAGE_HISTORY)
    async with running(stage.home, stage.pg, stage.model) as app:
        asked = await stage.pg.say(CY, HEARTH, f"{ME} and now?")
        await stage.pg.wait_for_message(HEARTH, after=asked)
        assert "the kettle is blue" in stage.model.requests[-1].prompt
        assert "the kettle is blue" in stage.kept()


async def test_what_was_owed_counts_as_it_stands_now(stage: Stage) -> None:
    """P06, P13: written down and not begun; deleted or edited while the bot was down."""
    async with running(stage.home, stage.pg, stage.model) as app:
        gone, _ = await app.ask(BO, HEARTH, f"{ME} CANARY-ONE")
        wrong, _ = await app.ask(BO, HEARTH, f"{ME} CANARY-TWO")
    for message in [m for m in stage.pg.messages(HEARTH) if m.author_id == EMBER]:
        await stage.pg.delete(EMBER, message)
    stage.owe_again(gone, wrong)
    await stage.pg.delete(BO, gone)
    await stage.pg.edit(BO, wrong, f"{ME} rather this")
    before = len(stage.model.requests)
    async with running(stage.home, stage.pg, stage.model) as app:
        answer = await stage.pg.wait_for_message(HEARTH, lambda m: m.reply_to == wrong.id)
        assert "rather this" in answer.content
        await app.ask(DEE, HEARTH, f"{ME} end")
    assert not any("CANARY" in each.prompt for each in stage.model.requests[before:])
    assert "CANARY" not in stage.kept()


async def test_nobody_is_told_of_an_interruption_who_would_not_read_it(stage: Stage) -> None:
    """P06, P10, P13: a turn that was cut off by a kill: no line for a bot, which would answer it,
    nor for a message that its author took back."""
    settings = {"allow": {"bots": [str(DEE)]}}
    stage.pg.world.user(DEE).bot = True
    async with running(stage.home, stage.pg, stage.model, settings) as app:
        by_bot, one = await app.ask(DEE, HEARTH, f"{ME} from a bot")
        taken_back, two = await app.ask(BO, HEARTH, f"{ME} CANARY-13")
        cut_off, three = await app.ask(CY, HEARTH, f"{ME} and mine?")
    for message in (one, two, three):
        await stage.pg.delete(EMBER, message)
    await stage.pg.delete(BO, taken_back)
    stage.pg.talk._nonces.clear()
    with sqlite3.connect(stage.home / "inglenook.db") as db:
        db.execute("DELETE FROM outbox")
        db.execute("UPDATE inbox SET state = 'handled'")
    db.close()
    async with running(stage.home, stage.pg, stage.model, settings) as app:
        await stage.pg.wait_for_message(HEARTH, lambda m: m.reply_to == cut_off.id)
        _, last = await app.ask(DEE, HEARTH, f"{ME} go on")
        mine = [m for m in stage.pg.messages(HEARTH) if m.author_id == EMBER]
        assert [m.reply_to for m in mine] == [cut_off.id, last.reply_to]
        assert by_bot.id not in {m.reply_to for m in mine}
        assert "CANARY-13" not in stage.kept()


async def test_what_a_thread_was_made_of_is_looked_for_above_it(stage: Stage) -> None:
    """P13, openclaw#27187: the questions that threads were opened for, deleted or edited while the
    bot was down; in the thread nothing of what does not stand there is known any more."""
    settings = {"channels": {"default": {"enabled": True, "threads": "auto"}}}

    async def opened(text: str) -> tuple[Message, Channel]:
        stage.model.script(Answer.of("Here I am."))
        asked = await stage.pg.say(BO, HEARTH, f"{ME} {text}")
        thread = await stage.pg.until(lambda: stage.pg.world.channels.get(asked.id))
        await stage.pg.wait_for_message(thread, lambda m: m.author_id == EMBER)
        return asked, thread

    async with running(stage.home, stage.pg, stage.model, settings) as app:
        gone, of_gone = await opened("CANARY-13")
        await app.ask(BO, of_gone, "CANARY stays out of this")
        edited, of_edited = await opened("CANARY-14")
    await stage.pg.delete(BO, gone)
    await stage.pg.edit(BO, edited, f"{ME} rather this")
    async with running(stage.home, stage.pg, stage.model, settings) as app:
        await app.ask(BO, of_gone, "and more")
        prompt = stage.model.requests[-1].prompt
        assert "CANARY-13" not in prompt
        assert "CANARY stays out of this" in prompt
        await app.ask(BO, of_edited, "and more")
        assert "rather this" in stage.model.requests[-1].prompt
        assert "CANARY-14" not in stage.model.requests[-1].prompt
        assert "CANARY-1" not in stage.kept()


async def test_what_the_model_guessed_from_it_goes_with_a_message(stage: Stage) -> None:
    """P13 (c): no later memory has it, whether the message was deleted while its turn ran or when
    it was answered; what its person confirmed stays."""

    def noting(text: str) -> Answer:
        return Answer.call(ToolCall(name="remember", arguments={"text": text}))

    async with running(stage.home, stage.pg, stage.model) as app:
        stage.model.script(noting("Her birthday is CANARY-ONE."), Hang())
        first = await stage.pg.say(ADA, DIRECT[ADA], "guess")
        await stage.model.wait_for_requests(2)
        await stage.pg.delete(ADA, first)
        await app.ask(ADA, DIRECT[ADA], "and now?")
        stage.model.script(noting("She likes CANARY-TWO."), Answer.of("Noted."))
        second, _ = await app.ask(ADA, DIRECT[ADA], "guess again")
        stage.model.script(noting("She has a kettle."), Answer.of("Noted."))
        third, _ = await app.ask(ADA, DIRECT[ADA], "guess once more")
        listed = (await app.slash(ADA, DIRECT[ADA], "memory list")).text
        assert "CANARY-ONE" not in listed
        (note,) = re.findall(r"`(m-\w+)` She has a kettle", listed)
        await app.slash(ADA, DIRECT[ADA], "memory confirm", note=note)
        for message in (second, third):
            await stage.pg.delete(ADA, message)
        await app.ask(ADA, DIRECT[ADA], "what do you know of me?")
        listed = (await app.slash(ADA, DIRECT[ADA], "memory list")).text
        assert "She has a kettle" in listed
        assert "CANARY" not in listed
        assert "CANARY" not in stage.model.requests[-1].prompt
