"""What people and owners see while the database is held by another process (P24)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bot import interactions
from bot.playground.ids import ADA, BO, EMBER, HEARTH
from support.app_world import AppWorld
from support.database_lock import held
from support.playground_bot import PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ME = f"<@{EMBER}>"


@pytest.fixture(scope="module")
def house_settings() -> Mapping[str, Any]:
    """A bot that waits for its database until the test lets it go."""
    return {"sessions": {"store_seconds": PATIENCE_SECONDS}}


async def test_what_is_there_is_shown_while_a_message_waits_for_the_lock(
    app: AppWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P24: commands that only read wait behind no write; what waits is answered once, later."""
    monkeypatch.setattr(interactions, "CLAIM_SECONDS", 0.05)  # what the note of each may cost
    await app.ask(ADA, HEARTH, f"{ME} remember the kettle")
    await app.commands.wait()
    with held(app.home):
        asked = await app.pg.say(BO, HEARTH, f"{ME} and now?")
        for command, options, shown in (
            ("runs list", {}, "TURNS ENDED"),
            ("runs show", {"run": "latest"}, "Imp     ember"),
            ("usage", {}, "What you used"),
            ("memory list", {}, "I remember"),
            ("sessions list", {}, str(HEARTH)),
            ("state show", {}, "house rules"),
            ("channel show", {}, "enabled"),
            ("task list", {}, "task"),
            ("gates list", {}, "Nothing waits"),
        ):
            told = await app.slash(ADA, HEARTH, command, **options)
            assert shown in told.text, command
        assert len(app.prompts) == 1, "what is not written down reaches no model"
    await app.pg.wait_for_message(HEARTH, lambda m: m.reply_to == asked.id, after=asked)
    await app.settle(BO, HEARTH)
    assert [m.reply_to for m in app.pg.messages(HEARTH)].count(asked.id) == 1
