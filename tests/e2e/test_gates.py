"""Gates a person opens: the card, the decision, what is done, and what the conversation hears."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.cli import main
from bot.cogs.channel import HELD, TRUST
from bot.gates import continuations, texts
from bot.permissions import OWNERS_ONLY
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, CY, DEE, DIRECT, EMBER, HEARTH, KINDLING, ORCHARD, WORKSHOP
from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from bot.playground.world.permissions import Permission
from compiler.request import (
    ChannelId,
    GuildId,
    ImpName,
    MessageId,
    Place,
    RunId,
    RunScope,
    TurnId,
    UserId,
)
from sessions import gate_desk
from sessions.clock import SystemClock
from sessions.gate_execution import Action
from sessions.gate_filing import Proposal
from sessions.gates import EffectKind, Gate, GateOrigin, GateState
from support.app_world import ANSWER_SECONDS, AppWorld, running

pytestmark = pytest.mark.slow
SETTINGS = {
    "gates": {"card_in_channel": True},
}


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice soon what came into the store from elsewhere."""
    monkeypatch.setattr(gate_desk, "POLL_SECONDS", 0.1)


class Done:
    """What was carried out, over restarts."""

    def __init__(self) -> None:
        self.payloads: list[str] = []

    async def carry_out(self, gate: Gate) -> str:
        self.payloads.append(gate.payload)
        return "CANARY-RESULT is what it gave."

    def provide(self, app: AppWorld) -> None:
        app.host.gates.provide("deliver_cake", Action(execute=self.carry_out))


async def propose(app: AppWorld, asked: Message, what: str, *, dm: bool = False) -> Gate:
    """File what a turn of this message would propose."""
    scope = RunScope(
        provider="discord",
        place=Place.DM if dm else Place.GROUP,
        channel_id=ChannelId(f"discord:{asked.channel_id}"),
        guild_id=None if dm else GuildId(f"discord:{ORCHARD}"),
        user_id=UserId(f"discord:{asked.author_id}"),
        message_id=MessageId(f"discord:{asked.id}"),
    )
    turn = TurnId(f"discord:message:{asked.id}")
    gate = await app.host.gates.file(
        Proposal(
            origin=GateOrigin.of(ImpName("ember"), scope, run_id=RunId("r"), turn_id=turn),
            tool="deliver_cake",
            arguments={"to": what},
            effect=EffectKind.ONCE,
            intent="deliver a cake",
            rationale=f"It was asked for: {what}",
        )
    )
    assert gate is not None
    return gate


async def card_of(app: AppWorld, channel: int, gate: Gate, words: str = "may I?") -> Message:
    """Wait for the card of a gate that says so."""
    return await app.pg.wait_for_message(
        channel,
        lambda message: gate.gate_id in message.content and words in message.content,
        after=0,
        timeout=ANSWER_SECONDS,
    )


def buttons(message: Message) -> dict[str, str]:
    items = [item for row in message.components for item in row["components"]]
    return {str(item["label"]): str(item["custom_id"]) for item in items}


async def heard(app: AppWorld, asked: Message, after: Message) -> Message:
    """Wait for what the conversation is told, as a reply to the message that asked."""
    return await app.pg.wait_for_message(
        asked.channel_id,
        lambda message: message.reply_to == asked.id,
        after=after,
        timeout=ANSWER_SECONDS,
    )


def prompt_of(app: AppWorld, gate: Gate) -> dict[str, Any]:
    """Give the briefing of the turn that a gate caused; there is exactly one such turn."""
    mark = f'"item":"continuation","gate":"{gate.gate_id}"'
    (text,) = dict.fromkeys(text for text in app.prompts if mark in text)
    briefing, message = (json.loads(line) for line in text.splitlines()[-2:])
    assert briefing["block"] == "briefing"
    assert (message["author"], message["role"]) == ("the host", "system")
    assert briefing["items"][0]["item"] == "continuation"
    found: dict[str, Any] = briefing
    return found


def change(home: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(home / "inglenook.db", timeout=120)) as db, db:
        assert db.execute(statement, values).rowcount == 1


async def test_a_gate_from_the_request_to_the_word_on_its_end(  # noqa: PLR0915  (one story)
    tmp_path: Path,
) -> None:
    """Issue "Done when": filed, asked in Ada's DM, opened by a button, done once, continued.

    P03: an impostor decides nothing, an administrator only where the owner lets him. P06, P15: one
    card, and its button works, after a restart. The fault log's old cards: one outcome for each
    click. CC "Briefing": continuation first, then open gates of this scope; a DM's gate is never
    visible in a group.
    """
    home, done = tmp_path / "home", Done()
    async with Playground() as pg, ScriptedModel() as model:
        async with running(home, pg, model, SETTINGS) as app:
            done.provide(app)
            asked, answered = await app.ask(BO, HEARTH, f"<@{EMBER}> a cake for Cy, please")
            secret, told = await app.ask(ADA, DIRECT[ADA], "one for me")
            gate = await propose(app, asked, "Cy CANARY-PAYLOAD")
            private = await propose(app, secret, "CANARY-DM", dm=True)
            waits = await propose(app, asked, "Dee")
            waiting = await card_of(app, DIRECT[ADA], waits)
            card = await card_of(app, DIRECT[ADA], gate)
            await card_of(app, DIRECT[ADA], private)
            public = await card_of(app, HEARTH, gate)
            assert "CANARY-PAYLOAD" in card.content
            assert "CANARY" not in public.content
            assert private.gate_id not in str([m.content for m in pg.messages(HEARTH)])

            refused = await pg.click(BO, public, buttons(public)["Approve"])
            await pg.wait_for_messages(refused, 1, timeout=ANSWER_SECONDS)
            assert (refused.text, refused.messages[0].ephemeral) == (texts.NOT_YOURS, True)
            app.pg.world.user(DEE).global_name = "Ada"
            for name in ("approve", "deny", "show"):
                impostor = await app.slash(DEE, HEARTH, f"gates {name}", gate=gate.gate_id)
                assert (impostor.text, impostor.ephemeral) == (OWNERS_ONLY, True)
            assert (await app.host.gates.get(gate.gate_id)).open

            details = await pg.click(ADA, public, buttons(public)["Details"])
            (shown,) = await pg.wait_for_messages(details, 1, timeout=ANSWER_SECONDS)
            assert shown.ephemeral
            assert gate.payload_sha256 in shown.content
            assert shown.attachments[0].filename == f"{gate.gate_id}.txt"

            _, answered = await app.ask(BO, HEARTH, f"<@{EMBER}> well?")
            assert gate.gate_id in app.prompts[-1]
            assert private.gate_id not in app.prompts[-1]
            _, told = await app.ask(ADA, DIRECT[ADA], "and mine?")
            assert private.gate_id in app.prompts[-1]
            assert gate.gate_id not in app.prompts[-1]
        assert done.payloads == []
        # P06: as if the host had been killed when Discord had a card and it had not noted that.
        change(home, "UPDATE gates SET shown = NULL WHERE gate_id = ?", waits.gate_id)
        change(
            home,
            "UPDATE outbox SET state = 'pending', content = ?, message_id = NULL"
            " WHERE parcel LIKE ?",
            waiting.content,
            f"gate-card:{waits.gate_id}:{ADA}:%",
        )
        chief = pg.world.add_role(ORCHARD, "chiefs", permissions=Permission.ADMINISTRATOR)
        pg.world.update_member(ORCHARD, CY, roles=(chief.id,))

        admins = {"gates": {"card_in_channel": True, "admins_decide": True}}
        async with running(home, pg, model, admins) as app:  # P15: cards of an earlier host
            done.provide(app)
            yes = buttons(card)["Approve"]
            clicks = [await pg.click(ADA, card, yes), await pg.click(ADA, public, yes)]
            reply = await heard(app, asked, answered)
            for place in (DIRECT[ADA], HEARTH):
                ended = await card_of(app, place, gate, "and done")
                assert ended.components == []
                assert ("CANARY-PAYLOAD" in ended.content) is (place != HEARTH)
            second = await pg.until(
                lambda: next((c for c in clicks if c.messages), None), timeout=ANSWER_SECONDS
            )
            assert "decided already" in second.text
            assert second.messages[0].ephemeral
            assert sum(bool(click.messages) for click in clicks) == 1
            assert done.payloads == [gate.payload]
            briefing = prompt_of(app, gate)
            assert [item["gate"] for item in briefing["items"]] == [gate.gate_id, waits.gate_id]
            assert "CANARY-DM" not in json.dumps(briefing)
            assert "CANARY-RESULT" in briefing["items"][0]["detail"]

            listed = await pg.slash(ADA, HEARTH, "gates list", options={"all": True})
            assert listed.ephemeral
            assert {gate.gate_id, private.gate_id} <= set(listed.text.replace("`", " ").split())
            denied = await app.slash(ADA, HEARTH, "gates deny", gate=private.gate_id)
            assert denied.text == f"Denied: `{private.gate_id}`."
            await heard(app, secret, told)
            assert prompt_of(app, private)["items"][0]["outcome"] == "denied"
            # An administrator: what was asked in his server and by somebody else, nothing more.
            for hidden in ("g-none", private.gate_id):
                unknown = await app.slash(CY, HEARTH, "gates show", gate=hidden)
                assert unknown.text == texts.GONE
            seen = await app.slash(CY, HEARTH, "gates list")
            assert waits.gate_id in seen.text
            assert private.gate_id not in seen.text
            elsewhere = await app.slash(CY, DIRECT[CY], "gates list")
            assert (elsewhere.text, elsewhere.ephemeral) == (OWNERS_ONLY, True)

            change(home, "UPDATE gates SET expires_ms = 1 WHERE gate_id = ?", waits.gate_id)
            late = await heard(app, asked, reply)
            assert late.author_id == EMBER
            await card_of(app, DIRECT[ADA], waits, "Nobody decided in time")
            cards = [m for m in pg.messages(DIRECT[ADA]) if waits.gate_id in m.content]
            assert [each.id for each in cards] == [waiting.id]
            assert prompt_of(app, waits)["items"][0]["outcome"] == "expired"


async def test_a_gate_keeps_to_its_time_while_the_clock_jumps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P25: two hours ahead an open gate is open still, and its conversation warm; past its time it
    is over, and no clock that goes back makes it alive again, for a press or for the next look."""
    done = Done()
    now = SystemClock.utc_now

    def set_clock(hours: float) -> None:
        monkeypatch.setattr(SystemClock, "utc_now", lambda self: now(self) + timedelta(hours=hours))

    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, SETTINGS) as app,
    ):
        done.provide(app)
        asked, _ = await app.ask(BO, HEARTH, f"<@{EMBER}> a cake, please")
        gate = await propose(app, asked, "Bo")
        await card_of(app, DIRECT[ADA], gate)
        set_clock(2)
        _, answer = await app.ask(BO, HEARTH, f"<@{EMBER}> still there?")
        assert model.requests[-1].prompt.startswith(model.requests[0].prompt), "warm"
        assert gate.gate_id in (await app.slash(ADA, HEARTH, "gates list")).text
        set_clock(25)
        await heard(app, asked, answer)
        assert prompt_of(app, gate)["items"][0]["outcome"] == "expired"
        set_clock(-3)
        tried = await app.slash(ADA, HEARTH, "gates approve", gate=gate.gate_id)
        assert "Nobody decided in time" in tried.text
        assert gate.gate_id not in (await app.slash(ADA, HEARTH, "gates list")).text
        kept = await app.host.gates.store.get(gate.gate_id)
        assert kept is not None
        assert kept.state is GateState.EXPIRED
        assert done.payloads == []


async def test_what_was_decided_without_the_bot_is_done_by_the_next(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """P06: between the decision and its continuation lies a restart; each happens once.

    The shell decides beside a bot and without one. A conversation that is gone: the owner hears.
    A turn that a kill cut off is told of in fixed words; nothing is asked or done again.
    """
    home, done = tmp_path / "home", Done()

    async def shell(*arguments: str, code: int = 0) -> str:
        capsysbinary.readouterr()
        assert await asyncio.to_thread(main, ["gates", *arguments, "--home", str(home)]) == code
        return capsysbinary.readouterr().out.decode()

    async with Playground() as pg, ScriptedModel() as model:
        async with running(home, pg, model) as app:
            done.provide(app)
            asked, answered = await app.ask(CY, HEARTH, f"<@{EMBER}> cakes!")
            there, _ = await app.ask(CY, WORKSHOP, f"<@{EMBER}> here too")
            first, second = [await propose(app, asked, who) for who in ("Bo", "Dee")]
            lost = await propose(app, there, "nobody")
            for gate in (first, second, lost):
                await card_of(app, DIRECT[ADA], gate)
            assert "Approved" in await shell("approve", first.gate_id)
            reply = await heard(app, asked, answered)
            assert done.payloads == [first.payload]
        assert second.gate_id in await shell("list")
        assert "starts" in await shell("approve", second.gate_id)
        assert "approved already" in await shell("deny", second.gate_id, code=1)
        await shell("deny", lost.gate_id)
        pg.world.delete_channel(WORKSHOP)
        async with running(home, pg, model) as app:
            done.provide(app)
            last = await heard(app, asked, reply)
            assert last.author_id == EMBER
            prompt_of(app, second)
            await card_of(app, DIRECT[ADA], second, "and done")
            await card_of(app, DIRECT[ADA], lost, "gone or closed")
            # P13: with a channel goes what was asked for there, and no approval brings it back.
            there, _ = await app.ask(CY, KINDLING, f"<@{EMBER}> one more here")
            gone = await propose(app, there, "no one")
            await card_of(app, DIRECT[ADA], gone)
            pg.world.delete_channel(KINDLING)
            await card_of(app, DIRECT[ADA], gone, "Taken back")
            late = await app.slash(ADA, HEARTH, "gates approve", gate=gone.gate_id)
            assert "decided already" in late.text
        # As a kill between the prompt and the outbox leaves it: the turn had begun.
        change(
            home, "UPDATE inbox SET state = 'waiting' WHERE turn_id = ?", f"gate:{second.gate_id}"
        )
        asked_so_far = len(app.prompts)
        async with running(home, pg, model) as app:
            done.provide(app)
            told = await heard(app, asked, last)
            assert continuations.INTERRUPTED in told.content
            assert "and done" in told.content
            assert await app.host.parts.inbox.owed_for_gates() == ()
        assert len(app.prompts) == asked_so_far
        assert done.payloads == [first.payload, second.payload]
        replies = [m for m in pg.messages(HEARTH) if m.reply_to == asked.id]
        assert replies[1:] == [reply, last, told]  # after the answer, one word for each end


async def test_answers_wait_where_the_owner_does_not_trust(tmp_path: Path) -> None:
    """Issue "Channel trust": the channel reads the size, the owner the words; posted once."""
    settings = {
        "grants": [
            {"tool": "write", "verdict": "gate"},
            {"tool": "read", "verdict": "allow", "trust": "untrusted"},
        ],
    }
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, settings) as app,
    ):
        chosen = await app.slash(ADA, HEARTH, "channel replies", mode="gate")
        assert chosen.text == HELD
        asked, held = await app.ask(BO, HEARTH, f"<@{EMBER}> say CANARY-ANSWER")
        assert "waits for an approval" in held.content
        assert "CANARY" not in held.content
        card = await pg.wait_for_message(
            DIRECT[ADA], lambda m: "post an answer" in m.content, timeout=ANSWER_SECONDS
        )
        (file,) = card.attachments
        assert b"CANARY-ANSWER" in file.data
        await pg.click(ADA, card, buttons(card)["Approve"])
        answer = await heard(app, asked, held)
        assert "CANARY-ANSWER" in answer.content
        second, held = await app.ask(BO, HEARTH, f"<@{EMBER}> and CANARY-OTHER")
        assert "CANARY-OTHER" in app.prompts[-1]
        other = await pg.wait_for_message(
            DIRECT[ADA], lambda m: "post an answer" in m.content, after=card, timeout=ANSWER_SECONDS
        )
        await pg.click(ADA, other, buttons(other)["Deny"])
        assert (await heard(app, second, held)).content == texts.NOT_LET_THROUGH
        said = [m.content for m in pg.messages(HEARTH) if m.author_id == EMBER]
        assert len([text for text in said if "CANARY-ANSWER" in text]) == 1
        assert not [text for text in said if "CANARY-OTHER" in text]
        third, _ = await app.ask(BO, HEARTH, f"<@{EMBER}> CANARY-GONE")
        gone = await pg.wait_for_message(
            DIRECT[ADA], lambda m: "post an answer" in m.content, after=other
        )
        await pg.delete(BO, third)  # P13: with it, what was asked for is taken back
        await pg.until(lambda: True if "Taken back." in gone.content else None)
        assert gone.components == []
        assert (await app.slash(ADA, HEARTH, "channel trust", mode="on")).text == TRUST[True]
        _, at_once = await app.ask(BO, HEARTH, f"<@{EMBER}> and now?")
        assert "and now?" in at_once.content
        assert len(app.prompts) == 4  # what is let out asks no model again
        if app.host.box.report.works:
            await a_file_is_written(app)


async def a_file_is_written(app: AppWorld) -> None:
    """Issue "Done when": ask for a file, approve from the DM, see the continuation.

    The real way of a call: the engine's own tool, the grants, the gate, the box, the briefing. Ada
    is told in her own direct message, where nothing is kept back.
    """
    text = "CANARY-FILE, byte for byte"
    wish = ToolCall(name="write", arguments={"path": "cake.txt", "content": text})
    app.model.script(Answer.call(wish), Answer.of("It waits for you."))
    asked, answered = await app.ask(ADA, DIRECT[ADA], "write me a file")
    assert answered.content == "It waits for you."
    waits = app.model.requests[-1].messages[-1]
    (gate,) = await app.host.gates.store.all_in(GateState.PENDING)
    assert gate.gate_id in str(waits)
    card = await card_of(app, DIRECT[ADA], gate)
    assert text in card.content
    look = ToolCall(name="read", arguments={"path": "cake.txt"})
    app.model.script(Answer.call(look), Answer.of("It is there."))
    await app.pg.click(ADA, card, buttons(card)["Approve"])
    told = await heard(app, asked, answered)
    assert told.content == "It is there."
    assert text in str(app.model.requests[-1].messages[-1])
    assert prompt_of(app, gate)["items"][0]["outcome"] == "executed"
    (file,) = (app.home / "runs").glob("*/workspace/cake.txt")
    assert file.read_text() == text
