"""What Discord, or something in between, says otherwise than its documentation does.

The library raises over it, and what it raises looks like something else: a message nobody wrote, an
answer that was not posted, a click that failed, a connection that is over.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import discord
import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from bot import app as bot_app
from bot.playground.applications.stages import Interaction
from bot.playground.entities import Message
from bot.playground.faults import SEND
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, HEARTH, HELPERS, PIER, WORKSHOP
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from bot.playground.world.payloads import message_event
from support.app_world import AppWorld, running
from support.session_world import eventually

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
Json: TypeAlias = dict[str, Any]
ME = f"<@{EMBER}>"
ONE = SEND + "/{message_id}"
TYPING = "/channels/{channel_id}/typing"
CALLBACK = "/interactions/{interaction_id}/{token}/callback"
FOLLOW_UP = "/webhooks/{application_id}/{token}"
PAGE = "<html>It works!</html>"
POLL: Json = {"question": {"text": "?"}, "answers": [], "expiry": None, "layout_type": 9}
"""Of a form that the library gives the whole message up for."""
AUTHOR: Json = {"id": str(BO), "username": "bo", "global_name": "Bo"}
NULLS = (
    "mentions mention_roles attachments embeds components reactions sticker_items poll thread "
    "interaction interaction_metadata message_reference application role_subscription_data "
    "purchase_notification member"
)
ODD_MESSAGES: tuple[Json, ...] = (
    *({name: None} for name in NULLS.split() if name != "mentions"),
    {"author": AUTHOR},
    {"author": {**AUTHOR, "username": None, "global_name": None}},
    {"edited_timestamp": "soon"},
    {"application_id": "none"},
    {"member": {"joined_at": "yesterday"}},
    {"poll": POLL, "components": [{"id": 1}], "mention_roles": None, "embeds": None},
    {"mentions": [None, {"id": str(EMBER), "username": "ember"}]},
)


@pytest_asyncio.fixture(loop_scope="module")
async def pg() -> AsyncIterator[Playground]:
    async with Playground() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as made:
        yield made


async def answer_to(pg: Playground, asked: Message) -> Message:
    return await pg.wait_for_message(
        asked.channel_id, lambda message: message.reply_to == asked.id, after=asked
    )


def names(logs: list[Any]) -> set[str]:
    return {each["event"] for each in logs}


async def test_nothing_in_place_of_a_list_costs_no_question(app: AppWorld) -> None:
    """P12's kind: what is null, missing or of another form beside the words; each is answered."""
    for fields in ODD_MESSAGES:
        asked = await app.pg.say(BO, HEARTH, f"{ME} hello", extra=fields)
        assert "hello" in (await answer_to(app.pg, asked)).content, fields


async def test_a_role_counts_whatever_else_of_its_member_is_missing(
    pg: Playground, model: ScriptedModel, tmp_path: Path
) -> None:
    """P03's kind, the other way: the library takes a member without ``flags`` for a mere user."""
    settings = {"allow": {"roles": [str(HELPERS)]}, "channels": {"default": {"enabled": False}}}
    async with running(tmp_path / "home", pg, model, settings):
        pg.faults.swallow("MESSAGE_CREATE")
        asked = await pg.say(CY, HEARTH, f"{ME} hi")
        told = message_event(pg.world, asked)
        del told["member"]["flags"]
        pg.inject("MESSAGE_CREATE", told)
        assert "hi" in (await answer_to(pg, asked)).content


ODD_INTERACTIONS: tuple[Callable[[Json], Json], ...] = (
    lambda it: it | {"member": None, "user": it["member"]["user"]},
    lambda it: it | {"member": {"user": AUTHOR | {"id": str(ADA)}, "permissions": None}},
    lambda it: it | {"entitlements": None, "authorizing_integration_owners": None},
    lambda it: it | {"entitlements": [{"id": "1"}], "authorizing_integration_owners": {"x": "y"}},
    lambda it: it | {"channel": None, "app_permissions": None, "attachment_size_limit": None},
    lambda it: it | {"message": None, "locale": None, "context": 99},
    lambda it: it | {"data": it["data"] | {"resolved": None, "target_id": None}},
)


async def test_a_command_of_an_odd_form_is_answered(app: AppWorld) -> None:
    """P15's kind: null or missing where a member, a place or a list is usual."""
    async with asyncio.timeout(120):
        await app.commands.wait()
    usual = app.pg.desk.payload
    for odd in ODD_INTERACTIONS:

        def told(it: Interaction, odd: Callable[[Json], Json] = odd) -> Json:
            return odd(usual(it))

        with patch.object(app.pg.desk, "payload", told):
            assert "imp       ember" in (await app.slash(ADA, HEARTH, "imp show")).text


async def test_a_command_is_answered_once_whatever_is_said_to_that(app: AppWorld) -> None:
    """P15: Discord has the answer; what it says of that cannot be read, or never comes."""
    faults = app.pg.faults
    odd_message: Json = {"resource": {"type": 4, "message": {"id": "1"}}}
    spoilt: tuple[Callable[[], None], ...] = (
        lambda: faults.answer(PAGE, route=CALLBACK),
        lambda: faults.answer(None, route=CALLBACK),
        lambda: faults.alter(odd_message, route=CALLBACK),
        lambda: faults.drop(route=CALLBACK, after=True),
        lambda: faults.alter({"poll": POLL, "mentions": None}, route=FOLLOW_UP),
    )
    async with asyncio.timeout(120):
        await app.commands.wait()
    for spoil in spoilt:
        spoil()
        shown = await app.slash(ADA, HEARTH, "imp show")
        assert shown.error is None
        assert ["imp       ember" in each.content for each in shown.messages] == [True]
        assert not app.pg.faults._script


async def test_an_answer_counts_as_posted_however_odd_discord_gives_it_back(app: AppWorld) -> None:
    """P06: each is noted in one attempt."""
    for fields in ({"poll": POLL}, {"mentions": None, "embeds": None}, {"author": AUTHOR}):
        app.pg.faults.alter(fields)
        with capture_logs() as logs:
            asked, _ = await app.ask(BO, HEARTH, f"{ME} hello")
            await eventually(lambda: "turn.delivered" in names(logs))
        assert not {"delivery.waits", "turn.undelivered"} & names(logs), fields
        assert [m.reply_to for m in app.pg.messages(HEARTH)].count(asked.id) == 1


async def test_a_global_limit_that_nobody_waits_out_ends_all_the_same(app: AppWorld) -> None:
    """omniclaw#135's kind: it met the sign that we type, which is given up when the answer is
    there; the library would have kept everything back that came after it, for ever."""
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("The answer.",), before=gate))
    app.pg.faults.rate_limit("POST", TYPING, retry_after=25.0, is_global=True)
    typed = sum(each.route == TYPING for each in app.pg.requests)
    asked = await app.pg.say(BO, HEARTH, f"{ME} hello")
    await app.pg.wait_for_request("POST", TYPING, count=typed + 1)
    gate.set()
    assert (await answer_to(app.pg, asked)).content == "The answer."


async def test_a_frame_that_cannot_be_read_costs_its_connection_alone(
    app: AppWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P05: what was said meanwhile is answered over the next connection."""

    async def at_once(*_: object, **__: object) -> None:
        """Wait no five seconds before a shard says again who it is."""

    monkeypatch.setattr(discord.Client, "before_identify_hook", at_once)
    for frame in ("{half", "[1]", json.dumps({"op": 0, "t": "RESUMED", "s": None, "d": None})):
        with capture_logs() as logs:
            app.pg.gateway.babble(frame)
            asked = await app.pg.say(BO, HEARTH, f"{ME} {frame[0]}")
            await answer_to(app.pg, asked)
        assert "discord.frame_unreadable" in names(logs)
        assert [m.reply_to for m in app.pg.messages(HEARTH)].count(asked.id) == 1


async def test_the_alarms_go_on_after_an_odd_answer(app: AppWorld) -> None:
    """Issue "Outbound", a note to the owner: one that could not be sent does not end all others."""
    app.pg.faults.answer(PAGE, "GET", "/users/{user_id}")
    with capture_logs() as logs:
        app.pg.faults.fail(status=403, code=50013)
        await app.pg.say(BO, HEARTH, f"{ME} one")
        await eventually(lambda: "alarm.unsent" in names(logs))
    app.pg.faults.fail(status=403, code=50001)
    await app.pg.say(BO, PIER, f"{ME} two")
    told = await app.pg.wait_for_message(DIRECT[ADA])
    assert f"<#{PIER}>" in told.content


@pytest.mark.parametrize("said", [PAGE, None, {"id": "1"}])
async def test_an_edit_whose_answer_cannot_be_read_costs_no_answer(
    pg: Playground, model: ScriptedModel, tmp_path: Path, said: Json | str | None
) -> None:
    """Issue "The turn", ``stream``: the final text is always complete."""
    begins, goes_on = asyncio.Event(), asyncio.Event()
    model.script(Answer(chunks=("One ", "two."), before=begins, between=goes_on))
    settings = {"talk": {"stream": True, "stop_button_seconds": 0.05}}
    async with running(tmp_path / "home", pg, model, settings):
        asked = await pg.say(BO, HEARTH, f"{ME} hello")
        shown = await answer_to(pg, asked)
        pg.faults.answer(said, "PATCH", ONE)
        begins.set()
        await pg.wait_for_request("PATCH", ONE)
        goes_on.set()
        await pg.until(lambda: True if shown.content == "One two." else None, timeout=120)


async def test_an_edit_that_is_refused_for_good_costs_no_answer(
    pg: Playground, model: ScriptedModel, tmp_path: Path
) -> None:
    """Issue "Outbound", issue "The turn": whatever its code; the words come in a new message, and
    what only stood for them goes."""
    gate = asyncio.Event()
    model.script(Answer(chunks=("The answer.",), before=gate))
    settings = {"talk": {"stop_button_seconds": 0.05}}
    async with running(tmp_path / "home", pg, model, settings):
        asked = await pg.say(BO, HEARTH, f"{ME} hello")
        shown = await answer_to(pg, asked)
        pg.faults.fail("PATCH", ONE, status=400, code=30046)
        gate.set()
        await pg.wait_for_message(HEARTH, lambda m: m.content == "The answer.", after=shown)
        await pg.until(lambda: True if shown not in pg.messages(HEARTH) else None, timeout=120)


@pytest.mark.parametrize("said", [PAGE, None, {"id": "1", "owner_id": None}])
async def test_a_thread_whose_making_is_told_oddly_has_the_answer(
    pg: Playground, model: ScriptedModel, tmp_path: Path, said: Json | str | None
) -> None:
    """P14: it was made; one turn, one answer, in it."""
    settings = {"channels": {"default": {"enabled": True, "threads": "auto"}}}
    async with running(tmp_path / "home", pg, model, settings):
        pg.faults.answer(said, "POST", ONE + "/threads")
        pg.faults.swallow("THREAD_CREATE")
        asked = await pg.say(BO, HEARTH, f"{ME} hello")
        await pg.until(lambda: asked.id in pg.world.channels or None, timeout=120)
        answer = await pg.wait_for_message(asked.id, lambda m: m.author_id == EMBER)
        assert "hello" in answer.content


async def test_an_odd_message_in_a_channel_holds_up_no_answer_that_is_owed(
    pg: Playground, model: ScriptedModel, tmp_path: Path
) -> None:
    """P06: the next start looks into the channel before it posts, and reads what it can there."""
    pg.faults.fail(status=503, times=10_000)
    with patch.object(bot_app, "POST_SECONDS", 0.2):
        async with running(tmp_path / "home", pg, model) as app:
            model.script(Answer.of("The answer."))
            with capture_logs() as logs:
                asked = await pg.say(BO, HEARTH, f"{ME} hello")
                await pg.wait_for_request("POST", SEND)
            assert "turn.ended" in names(logs)
            assert app.said == []
    pg.faults.clear()
    await pg.say(CY, HEARTH, "look", extra={"poll": POLL, "mentions": None})
    async with running(tmp_path / "home", pg, model):
        assert (await answer_to(pg, asked)).content == "The answer."
        assert [m.reply_to for m in pg.messages(HEARTH)].count(asked.id) == 1


async def test_what_was_missed_is_asked_for_again_when_a_page_cannot_be_read(
    pg: Playground, model: ScriptedModel, tmp_path: Path
) -> None:
    """P05: something in between answered for Discord; the next sweep reads it."""
    async with running(tmp_path / "home", pg, model) as app:
        await app.ask(BO, WORKSHOP, f"{ME} zero")
    missed = await pg.say(BO, WORKSHOP, f"{ME} missed")
    pg.faults.answer(PAGE, "GET", f"/channels/{WORKSHOP}/messages")
    async with running(tmp_path / "home", pg, model):
        await answer_to(pg, missed)
