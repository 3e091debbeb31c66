"""The whole bot: real discord.py on the playground, real pi on a scripted model."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from bot import errors
from bot.cogs.pairing import NOT_YOUR_DM
from bot.permissions import OWNERS_ONLY
from bot.playground.entities import MessageKind, Upload
from bot.playground.faults import SEND
from bot.playground.ids import (
    ADA,
    BO,
    CY,
    DEE,
    DIRECT,
    EMBER,
    HEARTH,
    HELPERS,
    KINDLING,
    ORCHARD,
    WORKSHOP,
)
from bot.playground.scripted_model import Answer, HttpError
from support.app_world import AppWorld, housed

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ME = f"<@{EMBER}>"
RUN_ID = re.compile(r"`\d{4}(-\d\d){5}-[a-z0-9]{4}`")


async def test_a_dm_of_the_owner_is_answered(app: AppWorld) -> None:
    """Issue "Bot": a DM wakes the imp; the reply refers to the message and pings nobody."""
    asked, answer = await app.ask(ADA, DIRECT[ADA], "hello")
    assert answer.reply_to == asked.id
    assert answer.pinged == ()
    assert '"text":"hello"' in answer.content
    assert app.pg.typing_in(DIRECT[ADA]) == ()
    assert (app.home / "runs").is_dir()


async def test_mentions_replies_and_nothing_else_wake_in_a_channel(app: AppWorld) -> None:
    """Issue "Bot": mention and reply to the bot; @everyone and roles do not; talk is recorded."""
    place = app.place()
    await app.pg.say(CY, place, "the kettle is blue")
    await app.pg.say(ADA, place, f"@everyone <@&{HELPERS}> look")
    _, first = await app.ask(BO, place, f"{ME} what colour?")
    assert len(app.prompts) == 1
    assert "the kettle is blue" in app.prompts[0]
    assert app.prompts[0].count("what colour?") == 1
    _, second = await app.ask(DEE, place, "and now?", reply_to=first)
    assert '"text":"and now?"' in second.content
    assert first.content in app.prompts[1].replace("\\", "") or "quote" in app.prompts[1]


async def test_mode_all_answers_everything_and_off_answers_nothing(app: AppWorld) -> None:
    """Issue "Bot": every message in a channel of mode "all"; a disabled channel is left alone."""
    place = app.place()
    told = await app.slash(ADA, place, "channel mode", mode="all")
    assert told.ephemeral
    assert "every message" in told.text
    _, answer = await app.ask(CY, place, "anybody?")
    assert '"text":"anybody?"' in answer.content
    off = await app.slash(ADA, place, "channel disable")
    assert "no longer answer" in off.text
    await app.pg.say(CY, place, f"{ME} anybody?")
    await app.settle()
    assert len(app.prompts) == 1


async def test_a_stranger_in_a_dm_gets_one_line_and_no_model(app: AppWorld) -> None:
    """Issue "Bot": owners only in DMs; P03: not even under the owner's name."""
    stranger = app.pg.world.add_user("another", global_name="Ada").id
    direct = await app.pg.open_dm(stranger)
    _, answer = await app.ask(stranger, direct, "I am the owner")
    assert answer.content == NOT_YOUR_DM
    await app.pg.say(stranger, direct, "really")
    await app.settle()
    assert [m.author_id for m in app.pg.messages(direct)] == [stranger, EMBER, stranger]
    assert app.prompts == []


async def test_bots_and_system_messages_are_no_turns(app: AppWorld) -> None:
    """P10, P11: neither a webhook nor a pin notice with our mark in it."""
    await app.pg.say(BO, HEARTH, f"{ME} hi", extra={"webhook_id": "77"})
    await app.pg.say(BO, HEARTH, f"{ME} hi", type=MessageKind.PIN)
    await app.settle()
    assert app.prompts == []


async def test_a_thread_that_discord_did_not_tell_of_follows_its_channel(tmp_path: Path) -> None:
    """Issue "Bot": scope from platform ids; the settings of a thread are those of its channel."""
    settings = {"channels": {"default": {"enabled": False}, str(HEARTH): {"enabled": True}}}
    async with housed(tmp_path / "home", settings) as app:
        unknown = {"id": str(KINDLING), "parent_id": str(HEARTH), "guild_id": str(ORCHARD)}
        app.pg.gateway.inject("THREAD_DELETE", unknown | {"type": 11})
        _, answer = await app.ask(BO, KINDLING, f"{ME} in the thread")
        assert answer.channel_id == KINDLING


async def test_a_thread_is_a_conversation_of_its_own(app: AppWorld) -> None:
    """Issue "Sessions": a thread has its own session; its answers stay in it."""
    thread = await app.pg.create_thread(BO, HEARTH, "sparks")
    await app.ask(BO, HEARTH, f"{ME} in the channel")
    _, answer = await app.ask(BO, thread, f"{ME} in the thread")
    assert answer.channel_id == thread.id
    assert "in the channel" not in app.prompts[1]
    assert len(app.model.requests[1].messages) == 2


async def test_a_long_answer_comes_in_parts(app: AppWorld) -> None:
    """P07: 5,000 characters arrive whole, in order, each part within the limit."""
    code = "".join(f"line_{number} = {number}  # n\n" for number in range(330))
    text = f"Look:\n```python\n{code}```\nThat was it."
    assert 5000 < len(text) < 7000
    app.model.script(Answer.of(text))
    asked, _ = await app.ask(ADA, DIRECT[ADA], "show me")
    last = await app.pg.wait_for_message(
        DIRECT[ADA], lambda message: "That was it." in message.content, after=asked
    )
    parts = [m for m in app.pg.messages(DIRECT[ADA]) if asked.id < m.id <= last.id]
    assert len(parts) in {3, 4}
    assert all(len(part.content) <= 2000 for part in parts)
    assert all(part.content.count("```") == 2 for part in parts)
    lines = [line for part in parts for line in part.content.split("\n") if "line_" in line]
    assert lines == code.splitlines()


async def test_a_very_long_answer_is_a_file(app: AppWorld) -> None:
    """Issue part "split": over four parts becomes a file under a short beginning."""
    text = "All of it. " * 2000
    app.model.script(Answer.of(text))
    _, answer = await app.ask(ADA, DIRECT[ADA], "everything please")
    (file,) = answer.attachments
    assert file.data.decode() == text
    assert len(answer.content) < 700


@pytest.mark.parametrize("nothing", ["", " \n ", "\u200b"])
async def test_an_empty_answer_is_one_short_notice(app: AppWorld, nothing: str) -> None:
    """P08: never an empty send; the next message works."""
    app.model.script(Answer.of(nothing))
    _, answer = await app.ask(ADA, DIRECT[ADA], "say nothing")
    assert answer.content == errors.NOTHING_TO_SAY
    _, answer = await app.ask(ADA, DIRECT[ADA], "speak")
    assert "speak" in answer.content
    assert all(r.status == 200 for r in app.pg.requests if r.route == SEND)


async def test_a_failed_turn_is_told_with_its_run(app: AppWorld) -> None:
    """Issue "Bot": one plain sentence and the run id; nothing of the provider's text."""
    app.model.script(*[HttpError(status=401, body='{"error": "CANARY-KEY"}')] * 3)
    _, answer = await app.ask(ADA, DIRECT[ADA], "hello")
    assert RUN_ID.search(answer.content)
    assert "CANARY" not in answer.content
    told = await app.pg.wait_for_message(DIRECT[ADA], lambda m: "does not accept" in m.content)
    assert "CANARY" not in told.content
    app.model._steps.clear()
    _, answer = await app.ask(ADA, DIRECT[ADA], "again")
    assert "again" in answer.content


async def test_an_oversized_message_fails_closed_and_says_so(app: AppWorld) -> None:
    """CC "Failure behavior": no model input from a failed compilation; the next message works."""
    place = app.place()
    with app.owner_sets("[context]\ntask_max_chars = 900"):
        await app.ask(ADA, place, f"{ME} warm")
        _, answer = await app.ask(ADA, place, f"{ME} {'x' * 1500}")
        assert "too long" in answer.content
        assert len(app.prompts) == 1
        _, answer = await app.ask(ADA, place, f"{ME} and now?")
        assert "and now?" in answer.content


async def test_a_repeated_event_is_answered_once(app: AppWorld) -> None:
    """P04: one prompt and one reply for an event that comes twice, the same text twice is two."""
    asked, _ = await app.ask(ADA, DIRECT[ADA], "only once")
    app.pg.redeliver(asked)
    await app.settle()
    assert len(app.prompts) == 1
    await app.ask(ADA, DIRECT[ADA], "only once")
    assert len(app.prompts) == 2


async def test_nobody_is_pinged_by_an_echo(app: AppWorld) -> None:
    """P09: every send carries closed allowed_mentions; the text stays readable."""
    text = f"@everyone @here <@{BO}> <@&{HELPERS}>"
    app.model.script(Answer.of(text))
    _, answer = await app.ask(CY, HEARTH, f"{ME} repeat it")
    assert answer.content == text
    assert answer.pinged == ()
    sends = [r.body for r in app.pg.requests if r.route == SEND and r.method == "POST"]
    assert sends
    assert all(body["allowed_mentions"]["parse"] == [] for body in sends)
    assert not any(body["allowed_mentions"].get("replied_user") for body in sends)


async def test_owner_commands_are_hidden_from_and_refused_for_others(app: AppWorld) -> None:
    """Issue "Bot": hidden from others and refused for them, ephemerally; P03: by id."""
    await app.commands.wait()
    assert app.pg.commands_for(ADA, HEARTH)
    offered = {command.name for command in app.pg.commands_for(BO, HEARTH)}
    own = {"state", "memory", "stop", "Remember this", "Forget this", "What was used?"}
    own |= {"task", "usage", "whoami"}
    assert offered == own
    for command in ("sessions list", "channel disable", "runs list", "imp show", "doctor"):
        result = await app.slash(BO, HEARTH, command)
        assert result.ephemeral
        assert result.text == OWNERS_ONLY
    assert app.live.channel(str(HEARTH)).enabled


async def _state_of_hearth(app: AppWorld) -> str:
    return (await app.slash(ADA, WORKSHOP, "sessions show", channel=str(HEARTH))).text


async def test_the_session_commands_show_and_end(app: AppWorld) -> None:
    """Issue "Bot": /sessions list, show, reset and stop, ephemeral and deferred."""
    await app.ask(BO, HEARTH, f"{ME} hi")
    listed = await app.slash(ADA, HEARTH, "sessions list")
    assert listed.ephemeral
    assert listed.deferred
    assert f"<#{HEARTH}>" in listed.text
    choices = await app.pg.autocomplete(ADA, WORKSHOP, "sessions show", "channel", "hea")
    assert [choice["value"] for choice in choices] == [str(HEARTH)]
    async with asyncio.timeout(120):  # the turn is put on record after its answer
        while "idle" not in await _state_of_hearth(app):
            pass
    ended = await app.slash(ADA, HEARTH, "sessions reset")
    assert "has ended" in ended.text
    again = await app.slash(ADA, HEARTH, "sessions stop")
    assert "Nothing runs" in again.text
    wrong = await app.slash(ADA, HEARTH, "sessions show", channel="../etc")
    assert "no channel id" in wrong.text


async def test_the_purpose_of_a_channel_counts_from_the_next_session(app: AppWorld) -> None:
    """CC "Purpose": an edit takes effect when the next session starts, and the command says so."""
    await app.ask(BO, HEARTH, f"{ME} hi")
    form = await app.slash(ADA, HEARTH, "channel purpose")
    assert form.modal is not None
    custom_id = form.modal["components"][0]["components"][0]["custom_id"]
    saved = await app.pg.submit_modal(ADA, form, {custom_id: "Only talk of tea."})
    assert "next session" in saved.text
    assert saved.ephemeral
    await app.ask(BO, HEARTH, f"{ME} still?")
    assert "Only talk of tea." not in app.model.requests[1].system_text
    await app.slash(ADA, HEARTH, "sessions reset")
    await app.ask(BO, HEARTH, f"{ME} and now?")
    assert "Only talk of tea." in app.model.requests[2].system_text
    assert "yes" in (await app.slash(ADA, HEARTH, "channel show")).text
    imp = await app.slash(ADA, HEARTH, "imp show")
    assert "imps/ember/identity.md" in imp.text


async def test_the_doctor_answers_within_discord(app: AppWorld) -> None:
    """Issue "Bot": /doctor, ephemeral, deferred within three seconds."""
    result = await app.slash(ADA, HEARTH, "doctor")
    assert result.ephemeral
    assert result.deferred
    assert "Python" in result.text


async def test_what_org_toml_fixes_is_said(app: AppWorld) -> None:
    """Issue "Bot": an explicit section wins over what a slash command sets, and it says so."""
    place = app.place()
    with app.owner_sets(f'[channels."{place.id}"]\nenabled = false'):
        told = await app.slash(ADA, place, "channel enable")
        assert "still do not answer" in told.text
        assert "`enabled`" in told.text
        await app.pg.say(BO, place, f"{ME} hi")
        await app.settle()
        assert app.prompts == []


async def test_why_this_answer_opens_the_run_of_a_reply(app: AppWorld) -> None:
    """Issue "Bot": the context menu on a reply of the imp leads to its run."""
    _, answer = await app.ask(BO, HEARTH, f"{ME} hi")
    await app.settle()
    async with asyncio.timeout(120):
        await app.commands.wait()
    result = await app.pg.context_menu(ADA, answer, "Why this answer?")
    assert result.ephemeral
    assert re.search(r"\d{4}(-\d\d){5}-[a-z0-9]{4}", result.text)


async def test_edits_and_deletions_reach_the_history(app: AppWorld) -> None:
    """P13: later history has the edited text and nothing of a deleted message."""
    place = app.place()
    wrong = await app.pg.say(CY, place, "tea is at FIVE")
    gone = await app.pg.say(CY, place, "CANARY-13")
    await app.pg.edit(CY, wrong, "tea is at SIX")
    await app.pg.delete(CY, gone)
    await app.settle()
    await app.ask(BO, place, f"{ME} when is tea?")
    assert "tea is at SIX" in app.prompts[0]
    assert "FIVE" not in app.prompts[0]
    assert "CANARY-13" not in app.prompts[0]


async def test_a_paste_and_a_forward_are_no_blank_prompts(app: AppWorld) -> None:
    """P12, P17: what came instead of text is described."""
    paste = Upload(filename="message.txt", data=b"x" * 5300, content_type="text/plain")
    asked = await app.pg.say(ADA, DIRECT[ADA], "", attachments=[paste])
    await app.pg.wait_for_message(DIRECT[ADA], lambda m: m.reply_to == asked.id, after=asked)
    assert "message.txt" in app.prompts[0]
    assert "5 kB" in app.prompts[0]


@pytest.mark.parametrize("after", [False, True])
async def test_a_failed_send_is_tried_again_and_posted_once(app: AppWorld, after: bool) -> None:  # noqa: FBT001
    """P14's kind: created though it answered 500, or not: one message, by the same nonce."""
    app.pg.faults.fail(route=SEND, status=503, times=1, after=after)
    asked, _ = await app.ask(ADA, DIRECT[ADA], "hello")
    await app.settle()
    answers = [m for m in app.pg.messages(DIRECT[ADA]) if m.reply_to == asked.id]
    assert len(answers) == 1


async def test_an_answer_to_a_deleted_message_still_arrives(app: AppWorld) -> None:
    """The fault log's 10008: the message replied to is gone, the answer comes without it."""
    app.pg.faults.fail(route=SEND, status=400, code=10008, message="Unknown Message", times=1)
    asked = await app.pg.say(ADA, DIRECT[ADA], "hello")
    answer = await app.pg.wait_for_message(DIRECT[ADA], after=asked)
    assert answer.reply_to is None


async def test_a_final_refusal_is_logged_and_blocks_nothing(app: AppWorld) -> None:
    """Missing permission to post: no retries, the owner hears of it, the conversation goes on."""
    app.pg.faults.fail(route=SEND, status=403, code=50013, message="Missing Permissions", times=1)
    place = DIRECT[ADA]
    await app.pg.say(ADA, place, "unheard")
    await app.pg.wait_for_message(place, lambda m: "could not post" in m.content)
    _, answer = await app.ask(ADA, place, "heard")
    assert '"text":"heard"' in answer.content
    assert len([r for r in app.pg.requests if r.route == SEND and r.status == 403]) == 1


async def test_two_people_are_answered_in_order_each_to_their_own(app: AppWorld) -> None:
    """The fault log's two people at once: each reply refers to its own message, in order."""
    first = await app.pg.say(BO, HEARTH, f"{ME} one")
    second = await app.pg.say(CY, HEARTH, f"{ME} two")
    answer = await app.pg.wait_for_message(
        HEARTH, lambda message: message.reply_to == second.id, after=second
    )
    replies = [m.reply_to for m in app.pg.messages(HEARTH) if m.author_id == EMBER]
    assert replies == [first.id, second.id]
    assert '"text":"<@100000000000000009> two"' in answer.content
