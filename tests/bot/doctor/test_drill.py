"""``doctor --drill``: faults, played on an owner's own settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.doctor import drill as module
from bot.doctor.drill import SCENARIOS, Broken, Stage, copy_home, drill, overrides
from bot.doctor.results import Report, Verdict, render_json
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from config.homedir import ensure_home
from config.load import LiveConfig
from support.pi_world import INSTALL

ORG = """\
[channels.default]
replies = "gate"
threads = "auto"
[engine]
provider = "openai"
model = "CANARY-model"
key_env = "OPENAI_API_KEY"
retries = 0
[imps.ember.engine]
url = "http://127.0.0.1:9/v1"
"""
PLAYED = ("Answer", "Model refuses", "Channel closed", "Broken settings")


@pytest.fixture
def live(tmp_path: Path) -> LiveConfig:
    home = tmp_path / "home"
    ensure_home(home)
    (home / "org.toml").write_text(ORG)
    (home / ".env").write_text("DISCORD_TOKEN=CANARY-token\nOPENAI_API_KEY=CANARY-key\n")
    hasty = {"INGLENOOK_TALK__STOP_BUTTON_SECONDS": "0.001"}
    return LiveConfig(home, environ={"INGLENOOK_TALK__MAX_PARTS": "2", **hasty})


async def test_faults_are_played_on_the_owners_settings(
    live: LiveConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Set up": fault scenarios on the owner's configuration, against the playground.

    A line that a slow turn is being worked on is no answer.
    """
    seen: list[LiveConfig] = []

    async def unkept(stage: Stage) -> None:
        seen.append(stage.live)
        raise Broken("it fell over")

    scenarios = {name: SCENARIOS[name] for name in PLAYED} | {"Fall": ("it stands", unkept)}
    monkeypatch.setattr(module, "SCENARIOS", scenarios)
    before = sorted(path.name for path in live.home.rglob("*"))
    told: list[str] = []
    checks = await drill(live, INSTALL, kills=0, tell=told.append)
    assert told == [*PLAYED, "Fall"]
    assert {check.name: check.verdict for check in checks} == {
        **dict.fromkeys(PLAYED, Verdict.OK),
        "Fall": Verdict.FAIL,
    }, checks
    assert checks[-1].summary == "it fell over (must be: it stands)"
    assert checks[-1].advice
    document = json.loads(render_json(Report(checks=checks)))
    assert (document["exit_code"], document["healthy"]) == (1, False)
    assert seen[0].current.talk.max_parts == 2
    assert seen[0].current.engine.retries == 0
    assert sorted(path.name for path in live.home.rglob("*")) == before, "the home is untouched"


async def test_nothing_leads_outside_and_no_secret_goes_along(
    live: LiveConfig, tmp_path: Path
) -> None:
    """Spec of the drill: nothing is asked, paid or posted outside; every imp's model is ours."""
    copy_home(live.home, tmp_path / "copy")
    assert "CANARY-" not in (tmp_path / "copy" / ".env").read_text()
    async with Playground() as pg, ScriptedModel() as model:
        led = LiveConfig(tmp_path / "copy", environ={}, overrides=overrides(live, pg, model))
        for imp in ("ember", "any"):
            engine = led.engine(imp)
            assert (engine.url, engine.model, engine.key_env) == (model.url, model.name, "")
        assert led.current.discord.api == pg.api_base
        assert led.current.discord.token.get_secret_value() == pg.token
    assert not led.channel("1").holds_replies
