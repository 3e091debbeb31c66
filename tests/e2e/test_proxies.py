"""People who speak through a proxy, such as PluralKit: answered once, as nobody unless certain."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from bot import proxies
from bot.playground.entities import Message
from bot.playground.ids import BO, CY, EMBER, HEARTH
from bot.playground.scripted_model import Hang, ScriptedModel
from bot.playground.server import Playground
from support.app_world import ANSWER_SECONDS, AppWorld, running

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
KIT = "466378653216014359"


async def again(app: AppWorld, text: str, *, application: str = KIT) -> Message:
    """Say something as a proxy's webhook does."""
    author = {"id": "77", "username": "Robin", "discriminator": "0000", "avatar": None, "bot": True}
    hook = {"webhook_id": "77", "application_id": application, "author": author}
    return await app.pg.say(BO, HEARTH, text, extra=hook)


def state_of(home: Path, message: Message) -> str:
    with sqlite3.connect(home / "inglenook.db") as db:
        row = db.execute(
            "SELECT state FROM inbox WHERE message_id = ?", (f"discord:{message.id}",)
        ).fetchone()
    return str(row[0]) if row else ""


async def test_a_proxied_message_is_answered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Inbound": handled once, and a person's own only with a certain person behind it."""
    for name in ("REMEMBERED_SECONDS", "WAIT_SECONDS"):  # pi has to start in between
        monkeypatch.setattr(proxies, name, ANSWER_SECONDS)
    home = tmp_path / "home"
    settings = {"allow": {"proxies": [KIT]}}
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(home, pg, model, settings) as app,
    ):
        # As it goes: said, said again, deleted. The original's turn goes with it.
        model.script(Hang())
        original = await pg.say(BO, HEARTH, f"R: {ME} CANARY-A")
        await model.wait_for_requests(1)
        copy = await again(app, f"{ME} CANARY-A")
        await pg.delete(BO, original)
        answer = await pg.wait_for_message(HEARTH, lambda m: m.reply_to == copy.id, after=copy)
        assert "CANARY-A" in answer.content
        assert f'"author_id":"discord:{BO}"' in app.prompts[-1], "certain: Bo"
        assert '"author":"Robin"' in app.prompts[-1]
        # The bot never saw an original: nobody's words, from what the channel may know.
        copy = await again(app, f"{ME} CANARY-B")
        await pg.wait_for_message(HEARTH, lambda m: m.reply_to == copy.id, after=copy)
        said = app.prompts[-1].rpartition('"block":"message"')[2]
        assert '"author":"Robin"' in said
        assert "author_id" not in said
        # The original stays, so it is the one that is answered.
        monkeypatch.setattr(proxies, "WAIT_SECONDS", 0.2)
        _, answer = await app.ask(CY, HEARTH, f"{ME} CANARY-C")
        copy = await again(app, f"{ME} CANARY-C")
        async with asyncio.timeout(120):
            while state_of(home, copy) != "done":  # noqa: ASYNC110 - its end has no event
                await asyncio.sleep(0.02)
        await again(app, f"{ME} CANARY-D", application="5")
        _, fence = await app.ask(CY, HEARTH, f"{ME} fence")
        mine = [m.id for m in pg.messages(HEARTH) if m.author_id == EMBER]
        assert mine[2:] == [answer.id, fence.id], "neither the copy, nor another's webhook"
