"""``/usage`` and ``/whoami`` on the running bot: oneself to everybody, all of it to the owner."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from bot.playground.ids import ADA, BO, CY, DEE, DIRECT, EMBER, HEARTH
from bot.playground.model_wire import ToolCall
from bot.playground.people.invoking import InteractionResult
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from support.app_world import ANSWER_SECONDS, AppWorld, running

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
LIMIT = 900_000
SETTINGS = {
    "limits": {"user_tokens": LIMIT, "channel_tokens": 10 * LIMIT},
    "allow": {"users": [str(BO)]},
    "channels": {"default": {"enabled": False}, str(HEARTH): {"enabled": True}},
}


async def seen(app: AppWorld, user: int, command: str, wanted: str) -> InteractionResult:
    """Ask until the last call is in the sums: it is counted a moment after its answer came."""
    async with asyncio.timeout(ANSWER_SECONDS):
        while wanted not in (result := await app.slash(user, HEARTH, command)).text:
            pass
    assert result.ephemeral
    assert result.deferred
    return result


def tokens(text: str) -> int:
    found = re.search(r"^Today: ([\d,]+) tokens", text, re.MULTILINE)
    assert found, text
    return int(found[1].replace(",", ""))


async def test_everybody_reads_of_himself_and_the_owner_of_all(tmp_path: Path) -> None:
    """Issue: limits left and what is remembered, without other people's figures (P03)."""
    lines = capture_logs(processors=[merge_contextvars])
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, SETTINGS) as app,
    ):
        with lines as logs:
            await app.ask(BO, HEARTH, f"{ME} one")
            await app.ask(CY, HEARTH, f"{ME} two")
            noting = ToolCall(name="remember", arguments={"text": "Cy likes rain"})
            model.script(Answer.call(noting), Answer.of("I made a note."))
            last, _ = await app.ask(CY, HEARTH, f"{ME} three, with rather more words")
            await app.ask(BO, HEARTH, f"{ME} four")  # by now all is said of the turn before
        bo = await seen(app, BO, "usage", "2 calls")
        cy = await seen(app, CY, "usage", "3 calls")
        whole = await seen(app, ADA, "usage", "#hearth")
        who = await app.slash(BO, HEARTH, "whoami")
        stranger = await app.slash(DEE, DIRECT[DEE], "whoami")

    mine, his = tokens(bo.text), tokens(cy.text)
    assert 0 < mine < his
    assert f"Left today: {LIMIT - mine:,} of {LIMIT:,} tokens" in bo.text
    for told in (bo, who):
        assert f"{his:,}" not in told.text
        assert f"{mine + his:,}" not in told.text
        assert all(str(other) not in told.text for other in (ADA, CY, DEE))
    assert "Everybody" not in bo.text + cy.text + who.text + stranger.text

    assert f"{mine + his:,}" in whole.text
    [picture] = whole.messages[-1].attachments
    assert picture.data.startswith(b"\x89PNG")
    assert f"{mine + his:,} tokens" in (picture.description or "")
    assert all(message.attachments == [] for told in (bo, cy, who) for message in told.messages)
    assert "Today: nothing" in whole.text, "the owner said nothing himself"
    assert "one of those whom my owner named" in who.text
    assert "I answer you here, as Ember" in who.text
    assert "Turns of yours in the records: 2" in who.text
    assert "Notes about you: none" in who.text
    assert who.ephemeral
    assert "I do not answer you here" in stranger.text
    assert "records: 0" in stranger.text
    assert stranger.ephemeral

    of_turns = [line for line in logs if line["event"].startswith(("turn.", "tool.", "session."))]
    assert {"turn.ended", "turn.delivered", "tool.answered"} <= {line["event"] for line in of_turns}
    run_ids = {path.name for path in (tmp_path / "home" / "runs").iterdir()}
    assert {line.get("run_id") for line in of_turns} <= run_ids, "every line names its run"
    tools = {line["turn_id"] for line in of_turns if line["event"].startswith("tool.")}
    assert tools == {f"discord:message:{last.id}"}, "and the turn that it is of"
