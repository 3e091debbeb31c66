"""What slash commands write for a channel."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.channels import MAX_FILE_BYTES, read_channel, read_layer, render_channel, write_channel
from config.check import check_channel
from config.layers import parse_org
from config.problems import ConfigError
from config.settings import ChannelMode, ChannelOverlay
from support.channel_overlays import channel_overlays


def test_a_written_file_is_read_back_and_private(tmp_path: Path) -> None:
    write_channel(tmp_path, "discord:5", enabled=True, mode="all")
    path = tmp_path / "channels/5/channel.toml"
    assert tomllib.loads(path.read_text()) == {"enabled": True, "mode": "all"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert read_channel(tmp_path, "5") == (
        ChannelOverlay(enabled=True, mode=ChannelMode.ALL),
        (),
    )


def test_unnamed_keys_stay(tmp_path: Path) -> None:
    write_channel(tmp_path, "5", enabled=True, imp="coal")
    after = write_channel(tmp_path, "5", enabled=False)
    assert after == ChannelOverlay(enabled=False, imp="coal")


@pytest.mark.parametrize("channel", ["../../x", "", "default", "5/../6", "bo"])
def test_only_an_id_names_a_folder(tmp_path: Path, channel: str) -> None:
    with pytest.raises(ValueError, match="Discord id"):
        write_channel(tmp_path, channel, enabled=True)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_value_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mode"):
        write_channel(tmp_path, "5", mode="loud")
    with pytest.raises(ValueError, match="imp"):
        write_channel(tmp_path, "5", imp="../x")
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "channels/5/channel.toml"
    path.parent.mkdir(parents=True)
    path.write_text("enabled = perhaps\n")
    with pytest.raises(ConfigError):
        write_channel(tmp_path, "5", enabled=True)
    assert path.read_text() == "enabled = perhaps\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"#" * (MAX_FILE_BYTES + 1), "is larger than 256 KiB"),
    ],
)
def test_what_is_no_settings_file_is_one_problem(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "x.toml").write_bytes(data)
    layer = read_layer(tmp_path, "x.toml")
    assert layer is not None
    assert [problem.message for problem in layer.problems] == [message]


def test_an_unreadable_file_is_one_problem_and_a_missing_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.toml").mkdir()
    layer = read_layer(tmp_path, "x.toml")
    assert layer is not None
    assert layer.problems[0].message.startswith("cannot be read")
    assert read_layer(tmp_path, "y.toml") is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(channel_overlays(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,31}", fullmatch=True)))
def test_every_overlay_survives_its_file(overlay: ChannelOverlay) -> None:
    assert check_channel(parse_org(render_channel(overlay))) == (overlay, ())


def test_a_change_keeps_what_it_does_not_name(tmp_path: Path) -> None:
    """Whatever an owner wrote into the file by hand stays in force."""
    path = tmp_path / "channels/5/channel.toml"
    path.parent.mkdir(parents=True)
    path.write_text("shared_context = true\ntrusted = true\n")
    written = write_channel(tmp_path, "5", enabled=True)
    assert written == ChannelOverlay(enabled=True, trusted=True, shared_context=True)
    assert read_channel(tmp_path, "5") == (written, ())
