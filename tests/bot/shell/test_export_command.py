"""What a home keeps of one person, and not a word of anybody else."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.cli import main
from bot.shell.export_command import export_person
from compiler.request import RunId
from sessions.memory.rules import MemoryContext
from sessions.store.migrations import MIGRATIONS
from support.compiler_factories import dm_scope, group_scope
from support.memory_world import ADA, BO, CY, EMBER, dm, dm_of, group, kept, memory_in
from support.recorded_runs import CANARY, RUN, Said, record_run

LATER = RunId("2026-11-30-08-00-00-efgh")
FILL = {
    "usage_days": {"kind": "user", "holder": "{user}", "day": "2026-11-29"},
    "memory_consents": {"user_id": "{user}", "purpose": "MARK-{user}"},
    "house_rule_events": {"user_id": "{user}", "told": "MARK-{user}"},
    "gates": {"gate_id": "g{user}", "requester": "{user}", "payload": "MARK-{user}"},
    "tasks": {"task_id": "t{user}", "user_id": "{user}", "text": "MARK-{user}"},
    "inbox": {"message_id": "m{user}", "user_id": "{user}", "state": "MARK-{user}"},
    "pairings": {"user_id": "{user}", "state": "MARK-{user}"},
}
"""A row of each person in each table that says whose its rows are."""


def fill(home: Path, *people: str) -> None:
    with closing(sqlite3.connect(home / "inglenook.db", isolation_level=None)) as db:
        for table, given in FILL.items():
            columns = db.execute(f"PRAGMA table_info({table})").fetchall()
            for user in people:
                row = {name: value.format(user=user) for name, value in given.items()}
                for _, name, _, needed, default, _ in columns:
                    if needed and default is None and name not in row:
                        row[name] = "0"
                names = ", ".join(row)
                marks = ", ".join("?" * len(row))
                db.execute(
                    f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608
                    list(row.values()),
                )


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """Bo and Cy talked, were noted, filed and asked; Bo's turns have traces."""
    async with memory_in(tmp_path) as memory:
        for person, name in ((BO, "Bo"), (CY, "Cy")):
            ctx = MemoryContext(imp=EMBER, scope=dm(person), by_model=False, speaker=name)
            kept(await memory.service.remember(ctx, f"MARK-{person} likes tea", explicit=True))
            await memory.say(group(person), int(person[-1]) + 50, f"MARK-{person}", label=name)
    await record_run(tmp_path, (Said(text="in private", number=1),), scope=dm_scope())
    with closing(sqlite3.connect(tmp_path / "inglenook.db", isolation_level=None)) as db:
        db.execute("UPDATE turns SET user_id = ?", (BO,))
    fill(tmp_path, BO, CY)
    return tmp_path


def exported(home: Path, user: str, *, code: int = 0) -> tuple[str, dict[str, Any]]:
    path = home / f"export-{user}.json"
    assert main(["export", "--user", user, str(path), "--home", str(home)]) == code
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    return text, json.loads(text)


def test_everything_of_one_person_and_nothing_of_others(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Issue "Keep running": `export` of one person's data."""
    text, document = exported(home, "8")
    empty = [name for name, part in document.items() if part == []]
    assert empty == ["answers_in_direct_messages"]
    assert f"MARK-{CY}" not in text
    others = (CY, dm_of(CY), f"m{CY}", f"t{CY}", f"g{CY}", ADA)
    assert not [each for each in others if f'"{each}"' in text]
    assert text.count(f"MARK-{BO}") == 2 + len(FILL) - 1
    (given,) = document["given_to_the_model"]
    assert f"{CANARY} in private" in given["text"]
    assert "1 notes, 1 messages, 1 turns, 1 tasks" in capfd.readouterr().out
    assert main(["export", "--user", "8", str(home / "export-8.json"), "--home", str(home)]) == 1


def test_what_cannot_be_read_is_said(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Keys that are another database's, a trace that is damaged: told, and the rest is there."""
    (home / "keys.db").write_bytes(b"no database" * 100)
    (home / "runs" / RUN / "context.jsonl").write_bytes(b"{}\n")
    _, document = exported(home, "8", code=1)
    assert document["not_readable"] == {"notes": 1, "traces": 1}
    assert document["messages"]
    assert "Not readable" in capfd.readouterr().err


async def test_traces_of_channels_are_named_and_not_opened(home: Path) -> None:
    """They hold what others said."""
    await record_run(home, run_id=LATER, scope=group_scope())
    with closing(sqlite3.connect(home / "inglenook.db", isolation_level=None)) as db:
        db.execute("UPDATE turns SET user_id = ?", (BO,))
    document = await export_person(home, BO)
    assert document["elsewhere"]["runs"] == [LATER]
    assert {each["run_id"] for each in document["given_to_the_model"]} == {RUN}


async def test_one_of_whom_nothing_was_noted_gets_the_rest(tmp_path: Path) -> None:
    """The usual home: keys stand, no note does. Exporting reads, so it pairs nothing anew."""
    async with memory_in(tmp_path) as memory:
        await memory.say(group(BO), 1, "MARK", label="Bo")
    with closing(sqlite3.connect(tmp_path / "inglenook.db", isolation_level=None)) as db:
        db.execute("DELETE FROM memory_meta")
    document = await export_person(tmp_path, BO)
    assert document["notes"] == []
    assert len(document["messages"]) == 1


def test_every_table_with_people_in_it_was_thought_of() -> None:
    """A new table that names people must be exported, or be left out for a reason."""
    with closing(sqlite3.connect(":memory:")) as db:
        for step in MIGRATIONS:
            step.apply(db)
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        named = {
            table
            for table in tables
            for column in db.execute(f"PRAGMA table_info({table})")
            if column[1] in {"user_id", "author_id", "requester", "holder", "subject_id"}
        }
    assert named == {*FILL, "history", "turns", "memory_records"}


def test_a_full_disk_is_told_and_no_half_is_left(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 8 "Bad input": half of what is kept of somebody would look like all of it."""
    target = tmp_path / "person.json"

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bot.shell.export_command.os.fdopen", full)
    assert main(["export", "--home", str(home), "--user", "5", str(target)]) == 1
    assert "nothing is left of it: no space left on device." in capsys.readouterr().err
    assert not target.exists()
