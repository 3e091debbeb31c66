"""A summary on the running bot: real discord.py, real pi, a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from bot import cli
from bot.playground.ids import ADA, BO, EMBER, HEARTH
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from compiler.summaries import SUMMARY_REQUEST
from sessions.clock import SystemClock
from support.app_world import running
from support.session_world import eventually

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
GIST = "Bo asked what keeps over the winter; the pears are still open."
IDLE_SECONDS = 600.0
SETTINGS = {
    "sessions": {"summaries": True, "idle_seconds": IDLE_SECONDS},
    "allow": {"users": [str(BO)]},
}


class Idleness:
    """The waits of sessions in which nothing is said."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._waits: list[asyncio.Timeout] = []
        self._clock = SystemClock.timeout
        patch.setattr(SystemClock, "timeout", self._timeout)

    def _timeout(self, seconds: float) -> asyncio.Timeout:
        made = self._clock(SystemClock(), seconds)
        if IDLE_SECONDS - 60 < seconds <= IDLE_SECONDS:
            self._waits.append(made)
        return made

    async def passes(self, until: Callable[[], bool]) -> None:
        """Let the time of whoever waits be up, until something comes of it."""

        def passed() -> bool:
            for wait in self._waits:
                with suppress(RuntimeError):  # it has ended before
                    wait.reschedule(asyncio.get_running_loop().time())
            return until()

        await eventually(passed)


async def test_an_idle_session_is_summed_up_and_the_next_begins_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Summaries": derived, in place of raw history, seen and forgotten as any record."""
    home, idleness = tmp_path / "home", Idleness(monkeypatch)
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(home, pg, model, SETTINGS) as app,
    ):
        model.script(Answer.of("Apples, I think. " * 20), Answer.of("Rye bread, too. " * 20))
        for text in ("What keeps over the winter?", "And what else?"):
            await app.ask(BO, HEARTH, f"{ME} {text}")
        await app.noted()
        model.script(Answer.of(GIST))
        await idleness.passes(lambda: len(model.requests) == 3)
        assert SUMMARY_REQUEST[:60] in model.requests[2].last_user_text
        await app.slash(ADA, HEARTH, "sessions reset")  # waits for its end
        model.script(Answer.of("Pears do not."))
        await app.ask(BO, HEARTH, f"{ME} And the pears?")
        lines = [json.loads(line) for line in app.prompts[-1].splitlines()]
        given = {each["block"]: each for each in lines}
        (item,) = given["memory"]["items"]
        assert item["status"] == "summary"
        assert item["text"].endswith(GIST)
        assert "history" not in given
        shown = await app.slash(BO, HEARTH, "memory list")
        files = [file.data.decode() for message in shown.messages for file in message.attachments]
        assert GIST in "\n".join([shown.text, *files])
        posted = [each.content for each in pg.messages(HEARTH)]
        assert not any(GIST in each for each in posted)
        for check in ("verify", "replay"):
            for run in sorted((home / "runs").iterdir()):
                arguments = ["runs", check, run.name, "--home", str(home)]
                assert await asyncio.to_thread(cli.main, arguments) == 0
        found = await app.slash(ADA, HEARTH, "runs show", run="latest")
        assert "exactly as compiled" in found.text
