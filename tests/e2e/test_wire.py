"""The wire on the running bot: limits in the channel, the owner's report, the owner's alarm."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.permissions import OWNERS_ONLY
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH, WORKSHOP
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from config.load import ensure_home
from sessions.engine import SESSION_DIR
from sessions.traces.events import decode_event
from support.app_world import ZONE, running

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
RUN = re.compile(r"\b\d{4}(?:-\d\d){5}-\w{4}\b")


def identity_of(home: Path) -> Path:
    return home / "imps" / "ember" / "identity.md"


async def test_a_limit_is_told_in_one_line_and_binds_its_channel_alone(tmp_path: Path) -> None:
    """Issue "Limits before the call": refused before it leaves, saying when it opens again."""
    settings = {"limits": {"channel_tokens": 50}}
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, settings) as app,
    ):
        await app.ask(BO, HEARTH, f"{ME} one")
        _, refused = await app.ask(BO, HEARTH, f"{ME} two")
        _, other = await app.ask(BO, WORKSHOP, f"{ME} three")
        assert len(model.requests) == 2
    assert refused.content.startswith("This channel has used up its share of my model for today.")
    assert f"I can answer again at 00:00 ({ZONE}), in " in refused.content
    assert "\n" not in refused.content
    assert "three" in other.content
    async with (  # a restart forgets nothing
        Playground(port=0) as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, settings) as app,
    ):
        _, refused = await app.ask(BO, HEARTH, f"{ME} four")
        assert refused.content.startswith("This channel has used up")
        assert model.requests == []


async def test_the_owner_reads_the_cache_and_every_call(tmp_path: Path) -> None:
    """``/cache`` after an identity edit; ``/runs show`` says what left and that it was whole."""
    home = tmp_path / "home"
    ensure_home(home)
    async with Playground() as pg, ScriptedModel() as model, running(home, pg, model) as app:
        for text in ("one", "two", "three"):
            await app.ask(ADA, DIRECT[ADA], text)
        identity = identity_of(home)
        identity.write_text(identity.read_text() + "\nYou love rain.\n")
        await app.slash(ADA, DIRECT[ADA], "sessions reset")
        await app.ask(ADA, DIRECT[ADA], "four")
        report = await app.slash(ADA, HEARTH, "cache")
        assert report.ephemeral
        assert report.deferred
        assert "identity edit" in report.text
        assert "block identity, from byte" in report.text
        assert "EXPECTED" in report.text
        one = await app.slash(ADA, HEARTH, "cache", run="latest")
        assert len(RUN.findall(one.text)) < len(RUN.findall(report.text))
        shown = await app.slash(ADA, HEARTH, "runs show", run="latest")
        assert "1 call, exactly as compiled" in shown.text
        assert "holds all" in shown.text
        unknown = await app.slash(ADA, HEARTH, "cache", run="zzzz")
        assert "no such run" in unknown.text
        foreign = await app.slash(BO, HEARTH, "cache")
        assert foreign.text == OWNERS_ONLY


async def test_the_owner_is_told_of_a_mismatch_once_a_run(tmp_path: Path) -> None:
    """The alarm: a direct message that names run and kind, and nothing of the conversation."""
    home = tmp_path / "home"
    async with Playground() as pg, ScriptedModel() as model:
        async with running(home, pg, model) as app:
            await app.ask(BO, HEARTH, f"{ME} one")
        (run,) = (home / "runs").iterdir()
        alter_session(run)
        async with running(home, pg, model) as app:
            _, answer = await app.ask(BO, HEARTH, f"{ME} two")
            alarm = await pg.wait_for_message(DIRECT[ADA], lambda each: run.name in each.content)
            await app.ask(BO, HEARTH, f"{ME} three")
            told = [each for each in pg.messages(DIRECT[ADA]) if run.name in each.content]
            shown = await app.slash(ADA, HEARTH, "runs show", run="latest")
    assert "two" in answer.content
    assert "input-foreign" in alarm.content
    assert "111" not in alarm.content
    assert len(told) == 1
    assert "NOT AS COMPILED" in shown.text
    lines = (run / "context.jsonl").read_bytes().splitlines()
    assert [decode_event(line).event for line in lines].count("wire") == 3


def alter_session(run: Path) -> None:
    """Put another word into what pi keeps of the conversation, while nothing runs."""
    (file,) = (run / SESSION_DIR).glob("*.jsonl")
    text = file.read_text()
    assert "> one" in text
    file.write_text(text.replace("> one", "> 111"))
