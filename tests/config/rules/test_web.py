"""What ``[web]`` may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.homedir import ensure_home
from config.load import LiveConfig
from config.problems import ConfigError
from config.rules.web import check_web
from sessions.web.settings import WebSettings


def keys(**changes: object) -> list[str]:
    web = WebSettings(**changes)  # type: ignore[arg-type]  # names are checked by the class
    return [finding.paths[0][-1] for finding in check_web(web, tool_seconds=10.0)]  # type: ignore[misc]  # a key here


def test_the_defaults_and_usual_lists_are_fine() -> None:
    assert keys() == []
    assert keys(hosts=("example.org", "*.example.org", "localhost:8080"), seconds=9.5) == []


def test_hosts_can_come_from_a_variable(tmp_path: Path) -> None:
    """As every list of the settings."""
    ensure_home(tmp_path)
    for text in ("a.example, b.example:8080", '["a.example", "b.example:8080"]'):
        live = LiveConfig(tmp_path, environ={"INGLENOOK_WEB__HOSTS": text})
        assert live.current.web.hosts == ("a.example", "b.example:8080")
    with pytest.raises(ConfigError):
        LiveConfig(tmp_path, environ={}, overrides={"web": {"hosts": [7]}})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hosts", ("https://example.org",)),
        ("hosts", ("*",)),
        ("max_bytes", 10),
        ("max_chars", 0),
        ("max_redirects", -1),
        ("seconds", 0.0),
        ("seconds", 10.0),
    ],
)
def test_what_is_out_of_bounds_is_named(key: str, value: object) -> None:
    assert keys(**{key: value}) == [key]
