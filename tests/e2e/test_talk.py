"""Conversations as people have them: stop, edit, delete, too many words, and other bots."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from bot.playground.entities import Channel, Message
from bot.playground.ids import ADA, BO, CY, DEE, EMBER, HEARTH, WORKSHOP
from bot.playground.scripted_model import Answer, Hang, ScriptedModel
from bot.playground.server import Playground
from compiler.request import MessageId
from support.app_world import AppWorld, running

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ME = f"<@{EMBER}>"


async def answer_to(app: AppWorld, asked: Message) -> Message:
    return await app.pg.wait_for_message(
        asked.channel_id, lambda message: message.reply_to == asked.id, after=asked
    )


def mine(app: AppWorld, channel: Channel | int) -> list[Message]:
    return [message for message in app.pg.messages(channel) if message.author_id == EMBER]


async def test_the_word_stop_cuts_off_ones_own_turn_at_once(app: AppWorld) -> None:
    """Issue "The turn": stop alone, addressed; waiting ones are dropped, and that is said."""
    app.model.script(Hang())
    hung = await app.pg.say(BO, HEARTH, f"{ME} think")
    await app.model.wait_for_requests(1)
    waiting = await app.pg.say(BO, HEARTH, f"{ME} and this")
    others = await app.pg.say(CY, HEARTH, f"{ME} and mine?")
    stop = await app.pg.say(BO, HEARTH, f"{ME} Stop!")
    told = await answer_to(app, stop)
    assert told.content == (
        "Stopped. I dropped 1 message that was waiting. 1 message is waiting still."
    )
    assert "stopped" in (await answer_to(app, hung)).content
    assert "stopped" in (await answer_to(app, waiting)).content
    assert "and mine?" in (await answer_to(app, others)).content
    assert not any("Stop!" in prompt.split('"text"')[-1] for prompt in app.prompts)
    assert app.pg.typing_in(HEARTH) == ()


async def test_nobody_stops_what_another_asked_for_but_an_owner(app: AppWorld) -> None:
    """Issue "The turn": for the asker and owners; /stop does the same as the word."""
    app.model.script(Hang())
    hung = await app.pg.say(BO, HEARTH, f"{ME} think")
    await app.model.wait_for_requests(1)
    refused = await app.slash(CY, HEARTH, "stop")
    assert refused.ephemeral
    assert "Nothing of yours" in refused.text
    assert mine(app, HEARTH) == []
    done = await app.slash(ADA, HEARTH, "stop")
    assert done.text == "Stopped."
    assert "stopped" in (await answer_to(app, hung)).content
    _, answer = await app.ask(BO, HEARTH, f"{ME} again")
    assert "again" in answer.content


async def test_stop_keeps_what_waits_where_the_owner_wants_it(app: AppWorld) -> None:
    """The fault log's queued steers: they are run as policy says, and the person is told."""
    pg, model = app.pg, app.model
    with app.owner_sets('[talk]\non_stop = "keep"'):
        model.script(Hang())
        await pg.say(BO, HEARTH, f"{ME} think")
        await model.wait_for_requests(1)
        waiting = await pg.say(BO, HEARTH, f"{ME} and this")
        stop = await pg.say(BO, HEARTH, f"{ME} stop")
        assert (await answer_to(app, stop)).content == "Stopped. 1 message is waiting still."
        assert "and this" in (await answer_to(app, waiting)).content


async def test_a_further_message_may_cut_off_the_first(app: AppWorld) -> None:
    """Issue "The turn": busy = "interrupt" ends one's own running turn for the next."""
    pg, model = app.pg, app.model
    with app.owner_sets('[talk]\nbusy = "interrupt"'):
        model.script(Hang())
        first = await pg.say(BO, HEARTH, f"{ME} wrong")
        await model.wait_for_requests(1)
        second = await pg.say(BO, HEARTH, f"{ME} right")
        assert "stopped" in (await answer_to(app, first)).content
        assert "right" in (await answer_to(app, second)).content


async def test_one_person_cannot_fill_a_conversation(app: AppWorld) -> None:
    """Issue "Inbound": five of one person wait; the sixth is told, another person is served."""
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("first",), before=gate))
    await app.pg.say(BO, HEARTH, f"{ME} first")
    await app.model.wait_for_requests(1)
    waiting = [await app.pg.say(BO, HEARTH, f"{ME} {number}") for number in range(5)]
    too_much = await app.pg.say(BO, HEARTH, f"{ME} one more")
    await app.pg.until(lambda: app.pg.typing_in(HEARTH) or None)
    told = await answer_to(app, too_much)
    assert "your messages are waiting" in told.content
    other = await app.pg.say(CY, HEARTH, f"{ME} mine")
    await app.settle()
    gate.set()
    await answer_to(app, waiting[-1])
    assert "mine" in (await answer_to(app, other)).content
    assert len(app.prompts) == 7


async def stands(app: AppWorld, message: Message, text: str | None) -> None:
    """Wait until a message is known by these words, or by none: what waits has heard of it then."""
    history = app.host.parts.history
    async with asyncio.timeout(120):
        while True:
            known = await history.get(MessageId(f"discord:{message.id}"))
            if known is not None and (None if known.deleted else known.entry.text) == text:
                return


async def test_an_edit_while_queued_counts_and_both_texts_are_hashed(app: AppWorld) -> None:
    """P13 (a): only the new text reaches the model; the trace holds both hashes."""
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("first",), before=gate))
    await app.pg.say(BO, HEARTH, f"{ME} first")
    await app.model.wait_for_requests(1)
    queued = await app.pg.say(BO, HEARTH, f"{ME} OLD words")
    await stands(app, queued, queued.content)
    await app.pg.edit(BO, queued, f"{ME} NEW words")
    await stands(app, queued, f"{ME} NEW words")
    gate.set()
    assert "NEW words" in (await answer_to(app, queued)).content
    assert "OLD words" not in app.prompts[-1]
    lines = "".join(path.read_text() for path in app.home.glob("runs/*/context.jsonl"))
    revised = [found for line in lines.splitlines() if (found := _revisions(line))]
    texts = (f"{ME} OLD words", f"{ME} NEW words")
    assert revised == [[hashlib.sha256(text.encode()).hexdigest() for text in texts]]


def _revisions(line: str) -> list[str]:
    found: list[str] = json.loads(line).get("revisions_sha256", [])
    return found


async def test_a_deleted_message_that_waits_never_runs(app: AppWorld) -> None:
    """P13 (b), (e): deleted one by one or in bulk while queued: no turn, no answer."""
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("first",), before=gate))
    await app.pg.say(BO, HEARTH, f"{ME} first")
    await app.model.wait_for_requests(1)
    gone = [await app.pg.say(BO, HEARTH, f"{ME} CANARY-{number}") for number in range(3)]
    await app.pg.delete(BO, gone[0])
    await app.pg.bulk_delete(ADA, HEARTH, gone[1:])
    for each in gone:
        await stands(app, each, None)
    gate.set()
    _, answer = await app.ask(BO, HEARTH, f"{ME} and now?")
    assert "CANARY" not in "".join(app.prompts) + answer.content
    assert [m.reply_to for m in mine(app, HEARTH) if m.reply_to in {g.id for g in gone}] == []


async def test_a_message_deleted_while_it_runs_is_not_answered_nor_known(app: AppWorld) -> None:
    """P13 (c): the turn is cut off, and no later input quotes it."""
    app.model.script(Hang())
    gone = await app.pg.say(BO, HEARTH, f"{ME} CANARY-13c")
    await app.model.wait_for_requests(1)
    await app.pg.delete(BO, gone)
    await app.ask(BO, HEARTH, f"{ME} and now?")
    assert len(mine(app, HEARTH)) == 1
    later = app.model.requests[-1]
    assert "CANARY-13c" not in repr(later.messages)
    await app.ask(CY, HEARTH, f"{ME} what was said?")
    assert "CANARY-13c" not in repr(app.model.requests[-1].messages)


async def test_an_edit_after_the_answer_runs_nothing_and_is_remembered(app: AppWorld) -> None:
    """P13 (d): no second turn by default; from the next message on there are the new words alone,
    though the session that was given the old ones was warm. What is newer than its last turn was
    not given to it, and changes nothing."""
    asked, answer = await app.ask(BO, HEARTH, f"{ME} tea at FIVE")
    await app.pg.edit(BO, asked, f"{ME} tea at SIX")
    await app.settle()
    assert mine(app, HEARTH) == [answer]
    assert len(app.prompts) == 1
    await app.ask(CY, HEARTH, f"{ME} when is tea?")
    fresh = app.model.requests[-1]
    assert "tea at SIX" in fresh.last_user_text
    (line,) = [part for part in fresh.last_user_text.splitlines() if "FIVE" in part]
    assert '"is_imp"' in line or "You said" in line  # what the imp said then stays as it was said
    said = await app.pg.say(DEE, HEARTH, "I bring cake")
    await app.pg.edit(DEE, said, "I bring bread")
    await app.ask(CY, HEARTH, f"{ME} good")
    assert app.model.requests[-1].prompt.startswith(fresh.prompt), "its session goes on"


async def test_an_edit_of_a_message_from_before_the_start_counts_too(tmp_path: Path) -> None:
    """P13 (f): nothing of it is in the library's cache: the history has the new words all the same,
    a deleted one is gone from it, and neither runs a turn."""
    home = tmp_path / "home"
    async with Playground() as pg, ScriptedModel() as model:
        async with running(home, pg, model):
            wrong = await pg.say(CY, HEARTH, "tea is at FIVE")
            gone = await pg.say(CY, HEARTH, "CANARY-13")
            heard = await pg.say(BO, WORKSHOP, f"{ME} hello")
            await pg.wait_for_message(WORKSHOP, lambda m: m.reply_to == heard.id, after=heard)
        async with running(home, pg, model) as app:
            await pg.edit(CY, wrong, "tea is at SIX")
            await pg.delete(CY, gone)
            await pg.edit(BO, heard, f"{ME} HELLO AGAIN")
            await app.settle()
            assert len(mine(app, WORKSHOP)) == 1
            await app.ask(BO, HEARTH, f"{ME} when is tea?")
        assert "tea is at SIX" in app.prompts[-1]
        assert "FIVE" not in app.prompts[-1]
        assert "CANARY-13" not in app.prompts[-1]
        assert not any("HELLO AGAIN" in prompt for prompt in app.prompts)


async def test_a_message_deleted_after_its_answer_is_not_known_either(app: AppWorld) -> None:
    """P13: what was withdrawn is in no later input, though its session was warm."""
    asked, _ = await app.ask(BO, HEARTH, f"{ME} CANARY-13g")
    app.model.script(Answer.of("Yes."))
    await app.pg.delete(BO, asked)
    await app.settle()
    await app.ask(BO, HEARTH, f"{ME} and now?")
    prompt = app.model.requests[-1].last_user_text
    assert "and now?" in prompt
    assert len(app.model.requests[-1].messages) == 2


async def test_bots_do_not_talk_for_ever(app: AppWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """P10: an allowed bot gets its few turns; stop acts at once; no notice addresses a bot."""
    pg, model, place = app.pg, app.model, app.place()
    monkeypatch.setattr(pg.world.user(CY), "bot", True)
    with app.owner_sets(f'[allow]\nbots = ["{CY}"]\n[talk]\nbot_turns = 2'):
        hook = {"webhook_id": str(CY)}
        for number in range(5):
            await pg.say(CY, place, f"{ME} thanks {number}", extra=hook)
        await pg.say(BO, place, f"{ME} hi", extra={"webhook_id": "77"})
        _, answer = await app.ask(ADA, place, f"{ME} still there?")
        assert "still there?" in answer.content
        assert len(app.prompts) == 3
        model.script(Answer.of(""))
        await app.settle()
        assert len(mine(app, place)) == 3
