"""``doctor`` in the shell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from bot.cli import main
from config.homedir import ensure_home


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """The command quiets the log of its process, which is ours here."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose settings are broken, so that nothing outside is asked."""
    monkeypatch.delenv("DISCORD_TOKEN", raising=False)
    ensure_home(tmp_path)
    (tmp_path / "org.toml").write_text("[chanels]\n")
    return tmp_path


def test_json_for_programs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--home", str(home), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["healthy"] is False
    assert {"name", "verdict", "summary", "advice"} == set(document["checks"][0])


def test_a_table_for_people(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--home", str(home)]) == 1
    out = capsys.readouterr().out
    assert "✗  Settings" in out
    assert "Did you mean channels?" in " ".join(out.split())
    assert out.rstrip().endswith("One thing needs mending.")
