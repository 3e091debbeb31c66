"""A home is brought forward with a way back, or left alone with a plain word."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.home.lock import home_lock
from bot.home.upgrade import look, main
from config.homedir import ensure_home
from sessions.store.migrations import MIGRATIONS, SCHEMA, migrate, schema_of
from sessions.store.vault import VAULT_MIGRATIONS

OLD = 13


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of an older release, with a message in it."""
    made = tmp_path / "home"
    ensure_home(made)
    with closing(sqlite3.connect(made / "inglenook.db", isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        migrate(db, now="then", migrations=MIGRATIONS[:OLD])
        db.execute("INSERT INTO cursors VALUES ('discord:5', 7, 0)")
    with closing(sqlite3.connect(made / "keys.db", isolation_level=None)) as db:
        migrate(db, now="then", migrations=VAULT_MIGRATIONS)
    return made


def schema(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT last FROM cursors").fetchone() == (7,)
        return schema_of(db)


def contents(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_a_check_tries_it_and_changes_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue "Keep running": `upgrade --check`; no file of the home is another afterwards."""
    before = contents(home)
    assert main(home, check=True) == 0
    assert contents(home) == before
    told = capsys.readouterr().out
    assert f"schema {OLD}, this release has {SCHEMA}; tried on a copy" in told
    assert "Nothing was changed" in told


def test_an_upgrade_keeps_a_copy_first(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Issue "Keep running": migrations forward with automatic backup before."""
    assert main(home, check=False) == 0
    assert schema(home / "inglenook.db") == SCHEMA
    copy = home / "backups" / f"inglenook-schema-{OLD}.db"
    assert schema(copy) == OLD
    assert (copy.stat().st_mode & 0o777, copy.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert f"backups/{copy.name}" in capsys.readouterr().out
    assert main(home, check=True) == 0
    assert "Nothing has to be done" in capsys.readouterr().out


def test_a_newer_home_is_refused_with_a_plain_line(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue "Keep running": refusal of a newer database; what it holds stays as it is."""
    with closing(sqlite3.connect(home / "inglenook.db", isolation_level=None)) as db:
        db.execute("INSERT INTO migrations VALUES (?, 'later', 'then')", (SCHEMA + 1,))
    before = contents(home)
    assert main(home, check=True) == main(home, check=False) == 1
    assert contents(home) == before
    assert "was written by a newer release" in capsys.readouterr().err


def test_nothing_is_done_under_a_running_bot(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with home_lock(home):
        assert main(home, check=False) == 1
    assert schema(home / "inglenook.db") == OLD
    assert "already runs" in capsys.readouterr().err


def test_what_cannot_be_brought_forward_is_found_on_the_copy(home: Path) -> None:
    """A table that is in the way fails the trial, not the start."""
    with closing(sqlite3.connect(home / "inglenook.db", isolation_level=None)) as db:
        db.execute("CREATE TABLE outbox_files (n)")
    (standing, keys) = look(home)
    assert "brought forward (SQLITE_ERROR)" in standing.fault
    assert not keys.fault
    assert not list(home.glob(".upgrade-*"))


def test_a_home_without_a_database_is_nothing_to_upgrade(tmp_path: Path) -> None:
    assert main(tmp_path, check=True) == 0


def test_settings_that_this_release_does_not_know_are_told(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "org.toml").write_text("[talk]\nmax_partz = 3\n")
    main(home, check=True)
    assert "max_partz" in capsys.readouterr().out
