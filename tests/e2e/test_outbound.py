"""What goes out: long answers, tables and whom they notify."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.delivery import WHOLE_ANSWER
from bot.playground.faults import SEND
from bot.playground.ids import BO, CY, EMBER, HEARTH, HELPERS
from bot.playground.scripted_model import Answer, HttpError, ScriptedModel
from bot.playground.server import Playground
from support.app_world import running

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
TABLE = "Here:\n\n| Tea | Minutes |\n|---|---|\n| green | 2 |\n"
LOUD = f"@everyone @here <@&{HELPERS}> <@{CY}>"


async def test_answers_reach_the_asker_and_notify_nobody_else(tmp_path: Path) -> None:
    """P09 with `ping_asker`; a table and a very long answer are files, byte for byte."""
    settings = {"talk": {"ping_asker": True, "max_parts": 2}}
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, settings) as app,
    ):
        long = f"{LOUD} " + "word " * 1500
        model.script(Answer.of(LOUD), Answer.of(TABLE), Answer.of(long), HttpError(status=400))
        _, echoed = await app.ask(BO, HEARTH, f"{ME} repeat: {LOUD}")
        _, table = await app.ask(BO, HEARTH, f"{ME} which teas?")
        _, story = await app.ask(BO, HEARTH, f"{ME} a story")
        _, failure = await app.ask(BO, HEARTH, f"{ME} and more")
        assert echoed.content == LOUD
        assert table.content == f"Here:\n\n{WHOLE_ANSWER}"
        assert story.content.startswith(LOUD)
        assert story.content.endswith(WHOLE_ANSWER)
        for answer, whole in ((table, TABLE), (story, long)):
            (attached,) = answer.attachments
            assert pg.world.attachments[attached.id].data == whole.encode()
        for answer in (echoed, table, story):
            assert set(answer.pinged) == {BO}
            assert not answer.mention_everyone
        assert failure.pinged == ()
        for request in pg.requests:
            if request.route == SEND and request.method == "POST":
                allowed = request.body["allowed_mentions"]
                assert allowed["parse"] == []
                assert not allowed.get("users")
                assert not allowed.get("roles")
