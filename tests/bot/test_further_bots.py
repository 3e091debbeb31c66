"""A bot with a token of its own, in a process with others."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from bot.app import Wiring
from bot.doctor.bots import check_bots
from bot.doctor.results import Verdict
from bot.further_bots import Surroundings, begin, run_bot
from bot.playground.ids import ADA, DIRECT
from bot.playground.pointing import pointed_at
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from config.bots import find_bots
from config.homedir import ensure_home
from config.load import LiveConfig
from sessions.day_sums import DaySums
from support.app_world import ANSWER_SECONDS, READY_SECONDS
from support.pi_world import INSTALL


def org(pg: Playground, model: ScriptedModel) -> str:
    return f"""\
[discord]
api = "{pg.api_base}"
owners = ["{ADA}"]
[discord.bots.scribe]
token_env = "SCRIBE_TOKEN"
imp = "scribe"
[discord.bots.wrong]
token_env = "WRONG_TOKEN"
imp = "ember"
[engine]
provider = "test"
model = "scripted"
url = "{model.url}"
context_window = 1000000
[inspector]
enabled = false
[box]
mode = "off"
"""


async def test_it_answers_as_its_imp_and_one_that_cannot_run_leaves_it_alone(
    tmp_path: Path,
) -> None:
    """Issue "Set up": a token each; its own database and runs, the home's settings and imps."""
    ensure_home(tmp_path)
    (tmp_path / "imps" / "scribe").mkdir()
    (tmp_path / "imps" / "scribe" / "identity.md").write_text("You are the scribe.")
    said: list[str] = []
    async with Playground() as pg, ScriptedModel() as model:
        (tmp_path / "org.toml").write_text(org(pg, model))
        tokens = {"SCRIBE_TOKEN": pg.token, "WRONG_TOKEN": "CANARY"}
        live = LiveConfig(tmp_path, environ=tokens)
        (scribe, wrong), problems = find_bots(live.current, live.variables)
        assert problems == ()
        checks = await check_bots(live.current, live.variables)
        assert {check.name: check.verdict for check in checks} == {
            "Discord token (scribe)": Verdict.OK,
            "Message content (scribe)": Verdict.OK,
            "Discord token (wrong)": Verdict.FAIL,
        }
        around = Surroundings(
            live=live,
            install=INSTALL,
            stop=asyncio.Event(),
            overrides={},
            say=said.append,
            tell=said.append,
            sums=DaySums(),
        )
        wiring = Wiring(set_up_logging=False, sums=around.sums)
        days = {datetime.now(UTC).date()}
        with pointed_at(pg):
            async with asyncio.TaskGroup() as group:
                (failing,) = begin((wrong,), around, group)
                assert await failing == 1
                running = group.create_task(run_bot(scribe, around, wiring=wiring))
                async with asyncio.timeout(READY_SECONDS):
                    await wiring.ready.wait()
                asked = await pg.say(ADA, DIRECT[ADA], "hello")
                await pg.wait_for_message(
                    DIRECT[ADA],
                    lambda message: message.reply_to == asked.id,
                    timeout=ANSWER_SECONDS,
                )
                around.stop.set()
            assert running.result() == 0
        days.add(datetime.now(UTC).date())  # the first may have ended meanwhile
        spent = [around.sums.of(day.isoformat(), ("total", "")).tokens for day in days]
        assert sum(spent) > 0
        assert "You are the scribe." in model.requests[0].system_text
    assert len(said) == 1
    assert said[0].startswith("[wrong] Discord does not accept the token.")
    assert "CANARY" not in said[0]
    assert list((tmp_path / "bots" / "scribe" / "runs").iterdir())
    assert not list((tmp_path / "runs").iterdir())
    assert not (tmp_path / "inglenook.db").exists()
