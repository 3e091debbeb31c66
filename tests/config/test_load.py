"""The last good settings of a running bot."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from config.load import ConfigError, LiveConfig, Reload, ensure_home, load_settings, watch
from config.settings import ChannelMode, ChannelSettings, LogLevel


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ensure_home(tmp_path)
    return tmp_path


def _write(home: Path, text: str, name: str = "org.toml") -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_sources_by_priority(home: Path) -> None:
    """Issue: org.toml, a .env file and the environment; the last overrides any key."""
    _write(home, '[log]\nlevel = "debug"\nformat = "json"\n[discord]\nimp = "coal"\n')
    _write(
        home,
        "INGLENOOK_LOG__LEVEL=error\nDISCORD_TOKEN=below\nINGLENOOK_DISCORD__IMP=ash\n",
        ".env",
    )
    environ = {"INGLENOOK_LOG__LEVEL": "warning", "DISCORD_TOKEN": "above"}
    loaded = load_settings(home, environ, {"discord": {"imp": "top"}})
    assert loaded.settings.log.level is LogLevel.WARNING
    assert loaded.settings.log.format == "json"
    assert loaded.settings.discord.imp == "top"
    assert loaded.settings.discord.token.get_secret_value() == "above"
    assert loaded.variables["DISCORD_TOKEN"] == "above"  # noqa: S105
    assert loaded.variables["INGLENOOK_DISCORD__IMP"] == "ash"


def test_a_home_without_files_has_the_defaults(tmp_path: Path) -> None:
    assert LiveConfig(tmp_path, environ={}).current.discord.imp == "ember"


def test_problems_of_all_files_come_together(home: Path) -> None:
    _write(home, "x = 1\n")
    _write(home, "oops\n", ".env")
    _write(home, "y = 1\n", "channels/5/channel.toml")
    with pytest.raises(ConfigError) as caught:
        LiveConfig(home, environ={"INGLENOOK_LOG__LEVEL": "loud"})
    files = {problem.file for problem in caught.value.problems}
    assert files == {"org.toml", ".env", "environment", "channels/5/channel.toml"}


def test_an_unreadable_dotenv_is_a_problem(home: Path) -> None:
    (home / ".env").write_bytes(b"A=\xff")
    with pytest.raises(ConfigError, match="UTF-8"):
        LiveConfig(home, environ={})


def test_a_good_edit_takes_force(home: Path) -> None:
    live = LiveConfig(home, environ={})
    assert live.reload_if_changed() is None
    _write(home, '[log]\nlevel = "debug"\n')
    assert live.reload_if_changed() == Reload(applied=True)
    assert live.current.log.level is LogLevel.DEBUG
    assert live.reload_if_changed() is None


def test_a_bad_edit_keeps_the_last_good_settings_and_says_so(home: Path) -> None:
    """Issue; fault log openclaw#85695: refused with line and hint, last good one stays."""
    _write(home, '[log]\nlevel = "debug"\n')
    live = LiveConfig(home, environ={})
    _write(home, '[log]\nlevel = "debug"\n[sesions]\n')
    reload = live.reload_if_changed()
    assert reload is not None
    assert not reload.applied
    assert [str(problem) for problem in live.problems] == [
        "org.toml, line 3: sesions is not a setting. Did you mean sessions?"
    ]
    assert live.current.log.level is LogLevel.DEBUG
    _write(home, "")
    assert live.reload_if_changed() == Reload(applied=True)
    assert live.problems == ()


@pytest.mark.parametrize("name", ["org.toml", ".env", "channels/5/channel.toml"])
def test_every_file_is_watched_also_when_it_comes_or_goes(home: Path, name: str) -> None:
    (home / name).unlink(missing_ok=True)
    live = LiveConfig(home, environ={})
    _write(home, "", name)
    assert live.reload_if_changed() == Reload(applied=True)
    (home / name).unlink()
    assert live.reload_if_changed() == Reload(applied=True)


def test_channel_layers(home: Path) -> None:
    """Issue: an explicit section wins over channel.toml, both over the default, key by key."""
    _write(
        home,
        '[channels.default]\nmode = "all"\ntrusted = true\n[channels."5"]\nenabled = false\n',
    )
    _write(home, 'enabled = true\nimp = "coal"\n', "channels/5/channel.toml")
    live = LiveConfig(home, environ={})
    assert live.channel("discord:5") == ChannelSettings(
        enabled=False, mode=ChannelMode.ALL, trusted=True, imp="coal"
    )
    assert live.fixed_keys("5") == ("enabled",)
    assert live.fixed_keys("6") == ()


def test_a_thread_has_its_parent_s_settings_and_may_differ(home: Path) -> None:
    _write(home, '[channels."5"]\nenabled = true\nmode = "all"\n')
    _write(home, 'mode = "mention"\n', "channels/77/channel.toml")
    live = LiveConfig(home, environ={})
    assert live.channel("77", "5") == ChannelSettings(
        enabled=True, mode=ChannelMode.MENTION, trusted=False, imp="ember"
    )
    assert live.channel("78", "5").mode is ChannelMode.ALL


def test_a_direct_message_needs_no_enabling(home: Path) -> None:
    live = LiveConfig(home, environ={})
    assert live.channel("9", is_dm=True).enabled
    assert not live.channel("9").enabled


def test_budgets_of_an_imp(home: Path) -> None:
    _write(home, "[context]\ntask_max_chars = 9\n[imps.coal.context]\nidentity_max_chars = 7\n")
    live = LiveConfig(home, environ={})
    assert live.budgets("ember").identity_max_chars == 12_000
    assert live.budgets("coal").identity_max_chars == 7
    assert live.budgets("coal").task_max_chars == 9


def test_what_a_slash_command_sets_holds_at_once_even_beside_a_broken_file(home: Path) -> None:
    live = LiveConfig(home, environ={})
    _write(home, "broken")
    live.write_channel("discord:5", enabled=True)
    assert live.channel("5").enabled
    reload = live.reload_if_changed()
    assert reload is not None
    assert not reload.applied
    assert live.channel("5").enabled


def test_an_own_write_is_no_change_to_be_reported(home: Path) -> None:
    live = LiveConfig(home, environ={})
    live.write_channel("5", enabled=True)
    assert live.reload_if_changed() is None


async def test_watch_tells_of_each_change(home: Path) -> None:
    live = LiveConfig(home, environ={})
    seen: asyncio.Queue[Reload] = asyncio.Queue()
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        watcher = group.create_task(watch(live, seen.put_nowait, every_seconds=0.005))
        _write(home, "[log]\n")
        assert (await seen.get()).applied
        _write(home, "[logs]\n")  # of another length: both may be written within one tick
        assert not (await seen.get()).applied
        watcher.cancel()
