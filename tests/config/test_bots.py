"""Bots with a token of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.bots import find_bots, make_place
from config.homedir import ensure_home, is_private
from config.load import LiveConfig

ORG = """\
[discord.bots.scribe]
token_env = "SCRIBE_TOKEN"
imp = "scribe"
[discord.bots.host]
token_env = "HOST_TOKEN"
imp = "host"
"""
TOKENS = {"DISCORD_TOKEN": "CANARY-a", "SCRIBE_TOKEN": "CANARY-b", "HOST_TOKEN": "CANARY-c"}


def home_of(tmp_path: Path) -> Path:
    ensure_home(tmp_path)
    (tmp_path / "org.toml").write_text(ORG)
    return tmp_path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ()),
        ({"SCRIBE_TOKEN": ""}, ("bots.scribe.token_env names SCRIBE_TOKEN, which is empty",)),
        (
            {"SCRIBE_TOKEN": "CANARY-a"},
            ("scribe.token_env holds the token of the bot of D",),
        ),
        (
            {"HOST_TOKEN": " CANARY-b "},
            ("[discord.bots.scribe]: both would answer the same message. Make a second app",),
        ),
    ],
)
def test_two_imps_with_one_token_are_refused(
    tmp_path: Path, changes: dict[str, str], said: tuple[str, ...]
) -> None:
    """Issue "Set up": refused where they would answer the same message; no token is shown."""
    live = LiveConfig(home_of(tmp_path), environ={**TOKENS, **changes})
    bots, problems = find_bots(live.current, live.variables)
    assert len(problems) == len(said)
    for problem, words in zip(problems, said, strict=True):
        assert words in str(problem)
        assert "CANARY" not in str(problem)
    assert len(bots) == 2 - len(said)
    assert "CANARY" not in repr(bots)


def test_a_token_in_the_place_of_its_name_is_not_repeated(tmp_path: Path) -> None:
    text = '[discord.bots.scribe]\ntoken_env = "CANARY.x-y"\nimp = "scribe"\n'
    (home_of(tmp_path) / "org.toml").write_text(text)
    live = LiveConfig(tmp_path, environ={})
    _, (problem,) = find_bots(live.current, live.variables)
    assert "must be the name of a variable" in str(problem)
    assert "CANARY" not in str(problem)


def test_a_bot_shares_the_settings_and_keeps_its_own_channels(tmp_path: Path) -> None:
    """One org.toml for all; what a slash command sets with one bot holds for that bot."""
    live = LiveConfig(home_of(tmp_path), environ=TOKENS)
    bot = find_bots(live.current, live.variables)[0][0]
    place = make_place(tmp_path, bot)
    assert place == tmp_path / "bots" / "scribe"
    assert make_place(tmp_path, bot) == place
    assert is_private(place)
    assert is_private(place / "runs")
    own = LiveConfig(place, environ=TOKENS, overrides=bot.overrides(live.current), shared=tmp_path)
    assert own.current.discord.imp == "scribe"
    assert own.current.inspector.port == 0  # the port that is set is the first bot's
    assert own.current.discord.token.get_secret_value() == "CANARY-b"
    own.write_channel("1", enabled=True)
    assert own.channel("1").enabled
    live.reload()
    assert not live.channel("1").enabled
    (tmp_path / "org.toml").write_text(f"{ORG}[talk]\nmax_parts = 2\n")
    assert own.reload_if_changed() is not None
    assert own.current.talk.max_parts == 2
    assert own.channel("1").enabled


@pytest.mark.parametrize(
    ("more", "served"),
    [
        ("", (False, 9464)),
        ("[metrics]\nenabled = true\n", (True, 9470)),
    ],
)
def test_figures_of_a_further_bot_have_a_port_of_their_own(
    tmp_path: Path, more: str, served: tuple[bool, int]
) -> None:
    """Only where figures are served at all, and never at the first bot's port."""
    text = ORG.replace('imp = "scribe"\n', 'imp = "scribe"\nmetrics_port = 9470\n')
    (home_of(tmp_path) / "org.toml").write_text(text + more)
    live = LiveConfig(tmp_path, environ=TOKENS)
    scribe, host = find_bots(live.current, live.variables)[0]
    seen = []
    for bot in (scribe, host):
        overrides = bot.overrides(live.current)
        own = LiveConfig(
            make_place(tmp_path, bot), environ=TOKENS, overrides=overrides, shared=tmp_path
        )
        seen.append((own.current.metrics.enabled, own.current.metrics.port))
    assert seen[0] == served
    assert not seen[1][0]
