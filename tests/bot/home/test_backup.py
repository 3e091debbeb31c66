"""Copies of a home: whole, checked, and without what is secret."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from bot.home import backup as backup_module
from bot.home.backup import (
    MANIFEST,
    BackupError,
    BackupErrorCode,
    backup,
    main_backup,
    main_restore,
    restore,
)
from config.homedir import ensure_home
from sessions.store.migrations import migrate

LINE = '{"seq":1}\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    ensure_home(made)
    for name in ("inglenook.db", "keys.db"):
        db = sqlite3.connect(made / name, isolation_level=None)
        migrate(db, now="now")
        db.execute("INSERT INTO cursors VALUES ('discord:5', 7, 0)")
        db.close()
    (made / ".env").write_text("DISCORD_TOKEN=CANARY")
    run = made / "runs" / "2026-11-29-23-16-35-abcd"
    run.mkdir(parents=True)
    (run / "context.jsonl").write_text(LINE + '{"seq":2,"to')
    return made


def test_a_copy_comes_back_as_it_was(home: Path, tmp_path: Path) -> None:
    """Issue "Life": backup and restore; the rows, the settings, each trace to its last line."""
    copy, again = tmp_path / "copy.tar.gz", tmp_path / "again"
    backup(home, copy)
    restore(copy, again)
    db = sqlite3.connect(again / "inglenook.db")
    assert db.execute("SELECT last FROM cursors").fetchone() == (7,)
    db.close()
    assert (again / "org.toml").read_bytes() == (home / "org.toml").read_bytes()
    assert next(again.glob("runs/*/context.jsonl")).read_text() == LINE
    assert copy.stat().st_mode & 0o777 == 0o600
    assert again.stat().st_mode & 0o777 == 0o700


def test_a_running_writer_does_not_stand_in_the_way(home: Path, tmp_path: Path) -> None:
    """Issue "Life": a consistent copy while running: nothing of an open transaction is in it."""
    writer = sqlite3.connect(home / "inglenook.db", isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO cursors VALUES ('discord:6', 8, 0)")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO cursors VALUES ('discord:7', 9, 0)")
    backup(home, tmp_path / "copy.tar.gz")
    writer.execute("ROLLBACK")
    writer.close()
    restore(tmp_path / "copy.tar.gz", tmp_path / "again")
    db = sqlite3.connect(tmp_path / "again" / "inglenook.db")
    assert db.execute("SELECT count(*) FROM cursors").fetchone() == (2,)
    db.close()


def test_what_is_pruned_meanwhile_is_pruned_in_the_copy(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 8 "Retention", issue 7 "Storage": a copy of a running bot's home verifies. What went
    after its database was copied is left out of it, and its rows say so; what is doomed and still
    there is copied as it is."""
    file, folder = home / "inglenook.db", home / "runs" / "2026-11-29-23-16-35-abcd"
    stays = home / "runs" / "2026-11-29-23-16-35-efgh"
    stays.mkdir()
    (stays / "context.jsonl").write_text(LINE)
    (folder / "workspace").mkdir()
    with closing(sqlite3.connect(file)) as db, db:
        db.executemany(
            "INSERT INTO runs (run_id, surface, imp, is_dm, started_at, turns, trace_events)"
            " VALUES (?, 'discord-session', 'ember', 0, 'then', 1, 1)",
            [(folder.name,), (stays.name,)],
        )

    def prune(*given: Any) -> None:  # noqa: ANN401 - as they come
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("UPDATE runs SET pruned_chain = 'whole'")
        shutil.rmtree(folder, ignore_errors=True)
        add(*given)

    add = backup_module._add
    monkeypatch.setattr(backup_module, "_add", prune)
    backup(home, tmp_path / "copy.tar.gz")
    restore(tmp_path / "copy.tar.gz", tmp_path / "again")
    with closing(sqlite3.connect(tmp_path / "again" / "inglenook.db")) as db:
        rows = dict(db.execute("SELECT run_id, pruned_at IS NOT NULL FROM runs"))
    assert rows == {folder.name: 1, stays.name: 0}
    assert [each.name for each in (tmp_path / "again" / "runs").iterdir()] == [stays.name]


def test_a_folder_that_goes_while_it_is_walked_is_left_out(home: Path) -> None:
    """Issue 7 "Storage": a copy while the bot runs; its sessions begin and end meanwhile."""
    for name in ("a", "b"):
        (home / "runs" / name / "session").mkdir(parents=True)
        (home / "runs" / name / "system.md").write_text("You are Ember.")
        (home / "runs" / name / "context.jsonl").write_text(LINE)
    found = []
    for path in backup_module._files(home / "runs"):
        found.append(path)
        shutil.rmtree(home / "runs" / "a" / "session", ignore_errors=True)
        shutil.rmtree(home / "runs" / "b", ignore_errors=True)
    names = [path.relative_to(home / "runs").as_posix() for path in found]
    assert names[-2:] == ["a/context.jsonl", "a/system.md"], (
        "a trace comes before what is beside it"
    )
    assert list(backup_module._files(home / "nowhere")) == []


@pytest.mark.parametrize("keys", [False, True])
def test_secrets_stay_and_keys_go_only_when_asked(home: Path, tmp_path: Path, keys: bool) -> None:  # noqa: FBT001
    """The token is never in a copy; the keys of notes are left out by default."""
    manifest = backup(home, tmp_path / "copy.tar.gz", keys=keys)
    with tarfile.open(tmp_path / "copy.tar.gz") as tar:
        names = tar.getnames()
    assert ".env" not in names
    assert ("keys.db" in names) is keys
    assert manifest["keys"] is keys


def test_a_home_with_something_in_it_is_not_touched(home: Path, tmp_path: Path) -> None:
    """A restore never overwrites."""
    backup(home, tmp_path / "copy.tar.gz")
    with pytest.raises(BackupError) as caught:
        restore(tmp_path / "copy.tar.gz", home)
    assert caught.value.code == BackupErrorCode.HOME_NOT_EMPTY
    with pytest.raises(BackupError) as caught:
        backup(home, tmp_path / "copy.tar.gz")
    assert caught.value.code == BackupErrorCode.TARGET_EXISTS


def _rewritten(copy: Path, name: str, data: bytes) -> None:
    """Change one file of a copy, or add it."""
    with tarfile.open(copy) as tar:
        files = {}
        for entry in tar:
            opened = tar.extractfile(entry)
            assert opened is not None
            files[entry.name] = opened.read()
    files[name] = data
    with tarfile.open(copy, mode="w:gz") as tar:
        for each, content in files.items():
            entry = tarfile.TarInfo(each)
            entry.size = len(content)
            tar.addfile(entry, BytesIO(content))


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("org.toml", b"changed", BackupErrorCode.UNSOUND),
        ("../outside", b"x", BackupErrorCode.UNSOUND),
        ("inglenook.db", b"no database", BackupErrorCode.UNSOUND),
        (MANIFEST, b"{}", BackupErrorCode.UNREADABLE),
        (
            MANIFEST,
            json.dumps({"format": "inglenook-backup-1", "schema": 999, "files": {}}).encode(),
            BackupErrorCode.TOO_NEW,
        ),
    ],
)
def test_an_unsound_copy_leaves_nothing_behind(
    home: Path, tmp_path: Path, name: str, data: bytes, code: BackupErrorCode
) -> None:
    """Issue "Life": restore checks; what fails makes no home and no file outside of it."""
    copy, again = tmp_path / "copy.tar.gz", tmp_path / "new" / "again"
    backup(home, copy)
    _rewritten(copy, name, data)
    with pytest.raises(BackupError) as caught:
        restore(copy, again)
    assert caught.value.code == code
    assert list((tmp_path / "new").iterdir()) == []
    assert not (tmp_path / "outside").exists()


def test_the_shell_says_what_happened(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One plain line, and the exit code."""
    copy = str(tmp_path / "copy.tar.gz")
    assert main_backup(home, copy, keys=False) == 0
    assert "keys.db and .env are not in it" in capsys.readouterr().out
    assert main_restore(copy, tmp_path / "again") == 0
    assert main_restore(str(tmp_path / "no.tar.gz"), tmp_path / "other") == 1
    assert "cannot be read" in capsys.readouterr().err
    assert main_backup(tmp_path / "nowhere", str(tmp_path / "c2"), keys=False) == 1


def test_a_full_disk_is_told_and_nothing_is_left(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 8 "Bad input": the owner reads why, and finds no half of a copy."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bot.home.backup._add", full)
    assert main_backup(home, str(tmp_path / "copies.tar.gz"), keys=False) == 1
    assert capsys.readouterr().err == (
        "It did not work, and nothing is left of it: no space left on device.\n"
    )
    assert not list(tmp_path.glob("copies*"))


def test_no_room_for_the_database_s_copy_is_told_as_that(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 8 "Bad input": SQLite says in its own way that the disk of temporary files is full."""

    def full(_: Path, copy: Path) -> None:
        with closing(sqlite3.connect(copy)) as db:
            db.execute("PRAGMA max_page_count = 1")
            db.execute("CREATE TABLE rows (n INTEGER)")

    monkeypatch.setattr(backup_module, "_copy_database", full)
    assert main_backup(home, str(tmp_path / "copies.tar.gz"), keys=False) == 1
    assert "left of it: no space left on device." in capsys.readouterr().err
    assert not list(tmp_path.glob("copies*"))
