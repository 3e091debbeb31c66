"""Strangers in direct messages, and how an owner lets them in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.cogs.pairing import LET_IN
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, DEE, DIRECT, EMBER, HEARTH
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from support.app_world import AppWorld, running

pytestmark = pytest.mark.slow
SETTINGS = {"talk": {"pairing": True}, "channels": {"default": {"enabled": False}}}
CODE = re.compile(r"`([a-z2-7]{6})`")


async def knock(app: AppWorld) -> Message:
    """Dee writes; give what the owner is asked."""
    knocked = await app.pg.say(DEE, DIRECT[DEE], "CANARY-KNOCK let me in")
    told = await app.pg.wait_for_message(DIRECT[DEE], after=knocked)
    asked = await app.pg.wait_for_message(
        DIRECT[ADA], lambda message: f"<@{DEE}>" in message.content
    )
    codes = [CODE.search(message.content) for message in (told, asked)]
    assert all(codes)
    assert len({found.group(1) for found in codes if found}) == 1
    assert "CANARY" not in asked.content
    return asked


def button(message: Message, label: str) -> str:
    buttons = [item for row in message.components for item in row["components"]]
    return next(str(item["custom_id"]) for item in buttons if item["label"] == label)


async def test_an_owner_lets_a_stranger_in_with_a_click(tmp_path: Path) -> None:
    """Issue "Inbound": a code, a button that works after a restart too, and nothing before it."""
    home = tmp_path / "home"
    async with Playground() as pg, ScriptedModel() as model:
        async with running(home, pg, model, SETTINGS) as app:
            asked = await knock(app)
            await pg.say(DEE, DIRECT[DEE], "and again")
            await app.settle()
            assert len([m for m in pg.messages(DIRECT[DEE]) if m.author_id == EMBER]) == 1
            assert app.prompts == []
        async with running(home, pg, model, SETTINGS) as app:
            await pg.click(ADA, asked, button(asked, "Let in"))
            await pg.wait_for_message(DIRECT[DEE], lambda m: m.content == LET_IN)
            _, answer = await app.ask(DEE, DIRECT[DEE], "thank you")
            assert "thank you" in answer.content
            assert "CANARY" not in "".join(app.prompts)
            await pg.say(DEE, HEARTH, f"<@{EMBER}> here too?")
            await app.settle()
            assert len(app.prompts) == 1
        async with running(home, pg, model, SETTINGS) as app:
            _, answer = await app.ask(DEE, DIRECT[DEE], "still?")
            assert "still?" in answer.content


async def test_a_click_decides_once_and_for_owners_alone(tmp_path: Path) -> None:
    """The fault log's old cards: one outcome for each click; nobody else's counts."""
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, SETTINGS) as app,
    ):
        asked = await knock(app)
        yes = button(asked, "Let in")
        done = await pg.click(ADA, asked, button(asked, "Refuse"))
        assert done.updated
        app.pg.inject(
            "INTERACTION_CREATE",
            {
                **_click(app, asked, BO, yes),
                "id": "900000000000000001",
            },
        )
        app.pg.inject(
            "INTERACTION_CREATE",
            {
                **_click(app, asked, ADA, yes),
                "id": "900000000000000002",
            },
        )
        await pg.say(DEE, DIRECT[DEE], "please")
        await app.settle()
        assert app.prompts == []


def _click(app: AppWorld, source: Message, user: int, custom_id: str) -> dict[str, object]:
    who = app.pg.world.user(user)
    return {
        "application_id": str(EMBER),
        "type": 3,
        "token": "forged",
        "version": 1,
        "channel_id": str(source.channel_id),
        "channel": {"id": str(source.channel_id), "type": 1},
        "user": {
            "id": str(who.id),
            "username": who.username,
            "discriminator": "0",
            "avatar": None,
        },
        "message": {
            "id": str(source.id),
            "channel_id": str(source.channel_id),
            "author": {
                "id": str(EMBER),
                "username": "ember",
                "discriminator": "0",
                "avatar": None,
            },
            "content": "",
            "timestamp": "2026-11-29T10:00:00+00:00",
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "type": 0,
        },
        "data": {"custom_id": custom_id, "component_type": 2},
        "entitlements": [],
        "attachment_size_limit": 1000,
        "authorizing_integration_owners": {},
    }


async def test_a_click_counts_though_its_card_cannot_be_changed(tmp_path: Path) -> None:
    """P15, the fault log's click that is not counted: too late for the card, and decided."""
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, SETTINGS) as app,
    ):
        asked = await knock(app)
        late = "/interactions/{interaction_id}/{token}/callback"
        pg.faults.fail("POST", late, status=404, code=10062)
        pg.invoking.answer_seconds = 0.0
        await pg.click(ADA, asked, button(asked, "Let in"))
        await pg.wait_for_message(DIRECT[DEE], lambda m: m.content == LET_IN)
        _, answer = await app.ask(DEE, DIRECT[DEE], "thank you")
        assert "thank you" in answer.content
