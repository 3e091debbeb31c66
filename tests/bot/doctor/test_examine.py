"""All checks together."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.doctor import Verdict, examine
from bot.playground.ids import ADA
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from config.homedir import ensure_home
from config.load import LiveConfig


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    ensure_home(path)
    return path


async def test_a_bot_on_discord_with_a_model(home: Path) -> None:
    async with Playground() as pg, ScriptedModel() as model:
        environ = {
            "DISCORD_TOKEN": pg.token,
            "INGLENOOK_DISCORD__API": pg.api_base,
            "INGLENOOK_DISCORD__OWNERS": str(ADA),
            "INGLENOOK_ENGINE__PROVIDER": "test",
            "INGLENOOK_ENGINE__URL": model.url,
        }
        report = await examine(home, environ)
        live = LiveConfig(home, environ=environ)
        again = await examine(home, environ, live=live)
    assert report.healthy, report
    assert [check.name for check in report.checks] == [
        "Python",
        "Node",
        "pi",
        "Box",
        "Disk",
        "Home",
        "Settings",
        "Database",
        "Tools",
        "Rules over tools",
        "Tasks",
        "Imp ember",
        "Discord token",
        "Message content",
        "Owners",
        "Model",
    ]
    assert {check.name: check.verdict for check in again.checks} == {
        check.name: check.verdict for check in report.checks
    }


async def test_broken_settings_end_the_round_with_all_their_problems(home: Path) -> None:
    (home / "org.toml").write_text("[chanels]\n[sessions]\nmax_warm = -1\n")
    report = await examine(home, {})
    checks = {check.name: check for check in report.checks}
    assert checks["Settings"].verdict is Verdict.FAIL
    assert "line 1" in checks["Settings"].summary
    assert "line 3" in checks["Settings"].summary
    assert checks["The rest"].verdict is Verdict.WARN
    assert report.exit_code == 1


async def test_a_bad_edit_of_a_running_bot_is_told(home: Path) -> None:
    """Issue: the last good settings stay in force, and it says so."""
    async with ScriptedModel() as model:
        environ = {"INGLENOOK_ENGINE__PROVIDER": "test", "INGLENOOK_ENGINE__URL": model.url}
        live = LiveConfig(home, environ=environ)
        (home / "org.toml").write_text("oops\n")
        live.reload_if_changed()
        report = await examine(home, environ, live=live)
    checks = {check.name: check.verdict for check in report.checks}
    assert checks["Settings"] is Verdict.FAIL
    assert checks["Model"] is Verdict.OK
