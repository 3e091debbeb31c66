"""``backup`` and ``restore``: a consistent copy of a home, taken while the bot runs.

The database is copied by SQLite's own means, as it stood at one moment; the traces after it, each
up to its last whole line, so every trace is at least as long as the database knows. What is pruned
meanwhile is noted as pruned in the copy, too. Not copied:
``.env``, the engine's files, which the next start makes anew, and, unless asked for, ``keys.db``.
The notes that people had me remember are sealed with its keys; without them a copy cannot bring
back what was forgotten since, and cannot show what was not.

``restore`` makes a new home of a copy and touches none that is there. Each file is checked by size
and hash before, and the database by its own check.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sqlite3
import sys
import tarfile
import tempfile
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from enum import StrEnum
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, Final

from compiler.errors import SafeError
from config.homedir import DATABASE_FILE, DIR_MODE
from config.layers import ORG_FILE
from sessions.clock import timestamp
from sessions.store.key_fault import KEYS_FILE
from sessions.store.migrations import SCHEMA, schema_of
from sessions.trace import TRACE_FILE

FORMAT: Final = "inglenook-backup-1"
MANIFEST: Final = "manifest.json"
PRIVATE: Final = 0o600
_FOLDERS: Final = ("imps", "channels", "runs")
_TRACE: Final = ".jsonl"
_KNOWS_PRUNING: Final = "SELECT 1 FROM pragma_table_info('runs') WHERE name = 'pruned_chain'"
_MAX_MANIFEST_BYTES: Final = 256 * 1024 * 1024
Tell = Callable[[str], None]


class BackupErrorCode(StrEnum):
    """Stable names of what can go wrong."""

    NO_HOME = "no_home"
    TARGET_EXISTS = "target_exists"
    UNREADABLE = "backup_unreadable"
    UNSOUND = "backup_unsound"
    TOO_NEW = "backup_too_new"
    HOME_NOT_EMPTY = "home_not_empty"


_SENTENCES: Final[Mapping[BackupErrorCode, str]] = {
    BackupErrorCode.NO_HOME: "There is no home with a database there; start the bot once.",
    BackupErrorCode.TARGET_EXISTS: "There is a file of that name already; choose another.",
    BackupErrorCode.UNREADABLE: "That is no backup, or it cannot be read.",
    BackupErrorCode.UNSOUND: "The backup is damaged: {detail}. Nothing was restored.",
    BackupErrorCode.TOO_NEW: "The backup was made by a newer release. Update, then restore.",
    BackupErrorCode.HOME_NOT_EMPTY: (
        "That home has something in it already. Name an empty or a new folder with --home."
    ),
}


class BackupError(SafeError):
    """A copy could not be made or used; the sentence says why."""

    def __init__(self, code: BackupErrorCode, detail: str = "") -> None:
        super().__init__(code, _SENTENCES[code].format(detail=detail))


def backup(home: Path, target: Path, *, keys: bool = False) -> Mapping[str, Any]:
    """Write a copy of a home into one file and give its manifest.

    Raises:
        BackupError: there is no home, or the target exists.
        OSError: it cannot be written.
        sqlite3.Error: the database cannot be read.
    """
    if not (home / DATABASE_FILE).is_file():
        raise BackupError(BackupErrorCode.NO_HOME)
    if target.exists():
        raise BackupError(BackupErrorCode.TARGET_EXISTS)
    files: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="inglenook-backup-") as folder:
        unfinished = target.with_name(target.name + ".part")
        descriptor = os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, PRIVATE)
        try:
            with os.fdopen(descriptor, "wb") as out, tarfile.open(fileobj=out, mode="w:gz") as tar:
                for name, data in _contents(home, Path(folder), keys=keys):
                    files[name] = {"bytes": len(data), "sha256": _sha256(data)}
                    _add(tar, name, data)
                manifest = {
                    "format": FORMAT,
                    "schema": SCHEMA,
                    "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
                    "keys": KEYS_FILE in files,
                    "files": files,
                }
                _add(tar, MANIFEST, json.dumps(manifest, indent=1).encode())
            unfinished.replace(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    return manifest


def restore(source: Path, home: Path) -> Mapping[str, Any]:
    """Make a new home of a copy, after checking all of it, and give its manifest.

    Raises:
        BackupError: the copy is unsound or too new, or the home is not empty.
        OSError: the home cannot be written.
    """
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise BackupError(BackupErrorCode.HOME_NOT_EMPTY)
    home.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
    try:
        manifest = _unpack(source, unfinished)
        _check_database(unfinished / DATABASE_FILE)
        unfinished.chmod(DIR_MODE)
        if home.exists():
            home.rmdir()
        unfinished.rename(home)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return manifest


def main_backup(home: Path, target: str, *, keys: bool) -> int:
    """Run ``backup`` in the shell."""
    name = target or f"inglenook-{datetime.now(UTC):%Y-%m-%d-%H%M%S}.tar.gz"

    def work() -> str:
        manifest = backup(home, Path(name), keys=keys)
        kept = "" if manifest["keys"] else f" {KEYS_FILE} and .env are not in it: keep them apart."
        return f"{len(manifest['files'])} files are in {name}.{kept}"

    return _told(work)


def main_restore(source: str, home: Path) -> int:
    """Run ``restore`` in the shell."""

    def work() -> str:
        manifest = restore(Path(source), home)
        missing = ".env" if manifest["keys"] else f".env and {KEYS_FILE}"
        return f"The home {home} is as it was at {manifest['made_at']}. Put {missing} back into it."

    return _told(work)


def _told(work: Callable[[], str]) -> int:
    try:
        print(work())  # noqa: T201  (the command's output)
    except BackupError as error:
        print(error.safe_message, file=sys.stderr)  # noqa: T201
        return 1
    except (OSError, sqlite3.Error) as error:
        print(_reason(error), file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _reason(error: OSError | sqlite3.Error) -> str:
    """Say why; the copy of a database needs room where temporary files are."""
    reason = ""
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
    elif getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
        reason = os.strerror(errno.ENOSPC)
    if not reason:
        return "The database cannot be read; doctor says more."
    return f"It did not work, and nothing is left of it: {reason.lower()}."


def _contents(home: Path, folder: Path, *, keys: bool) -> Iterator[tuple[str, bytes]]:
    """Give what belongs into a copy; the databases are as they were before the rest was read."""
    names = (DATABASE_FILE, KEYS_FILE) if keys else (DATABASE_FILE,)
    databases = [name for name in names if (home / name).is_file()]
    for name in databases:
        _copy_database(home / name, folder / name)
    if (home / ORG_FILE).is_file():
        yield ORG_FILE, (home / ORG_FILE).read_bytes()
    traced: set[str] = set()
    for path in (each for part in _FOLDERS for each in _files(home / part)):
        data = _whole(path)
        if data is None:
            continue
        if path.name == TRACE_FILE:
            traced.add(path.parent.name)
        yield path.relative_to(home).as_posix(), data
    _note_pruned(home / DATABASE_FILE, folder / DATABASE_FILE, traced)
    for name in databases:
        yield name, (folder / name).read_bytes()


def _copy_database(path: Path, copy: Path) -> None:
    with closing(_reading(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _note_pruned(path: Path, copy: Path, traced: Container[str]) -> None:
    """Note in the copy what was pruned while its traces were read: it would seem to be lost."""
    with closing(_reading(path)) as source, closing(sqlite3.connect(copy)) as target, target:
        if target.execute(_KNOWS_PRUNING).fetchone() is None:
            return  # an earlier release pruned nothing
        now = timestamp(datetime.now(UTC))
        pruned = source.execute(
            "SELECT pruned_chain, trace_events, trace_head_sha256, coalesce(pruned_at, ?), run_id"
            " FROM runs WHERE pruned_chain IS NOT NULL",
            (now,),
        )
        target.executemany(
            "UPDATE runs SET pruned_chain = ?, trace_events = ?, trace_head_sha256 = ?,"
            " pruned_at = ? WHERE run_id = ? AND pruned_at IS NULL",
            [row for row in pruned if row[-1] not in traced],
        )


def _files(folder: Path) -> Iterator[Path]:
    """Walk what is below a folder, of a run its trace first; what goes meanwhile is left out.

    Raises:
        OSError: something is there and cannot be looked at.
    """
    for root, folders, names in os.walk(folder, onerror=_unless_gone):
        folders.sort()
        for name in sorted(names, key=lambda name: (name != TRACE_FILE, name)):
            path = Path(root, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _whole(path: Path) -> bytes | None:
    """Read a file; of one that lines are added to, no half line. None: it has gone."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return data[: data.rfind(b"\n") + 1] if path.suffix == _TRACE else data


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), PRIVATE
    tar.addfile(entry, BytesIO(data))


def _unpack(source: Path, folder: Path) -> Mapping[str, Any]:
    """Write the files of a copy below a folder and check them against the manifest."""
    found: dict[str, tuple[int, str]] = {}
    manifest: Mapping[str, Any] = {}
    try:
        with tarfile.open(source, mode="r:gz") as tar:
            for entry in tar:
                opened = tar.extractfile(entry) if entry.isreg() else None
                if opened is None or not _is_tame(entry.name):
                    raise BackupError(BackupErrorCode.UNSOUND, "it holds what no backup holds")
                data = opened.read()
                if entry.name == MANIFEST:
                    manifest = json.loads(data[:_MAX_MANIFEST_BYTES])
                    continue
                found[entry.name] = (len(data), _sha256(data))
                _write(folder / entry.name, data)
    except (tarfile.TarError, EOFError, ValueError, OSError) as error:
        raise BackupError(BackupErrorCode.UNREADABLE) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise BackupError(BackupErrorCode.UNREADABLE)
    if int(manifest.get("schema", 0)) > SCHEMA:
        raise BackupError(BackupErrorCode.TOO_NEW)
    wanted = {name: (each["bytes"], each["sha256"]) for name, each in manifest["files"].items()}
    if found != wanted:
        raise BackupError(BackupErrorCode.UNSOUND, "a file is missing or was changed")
    return manifest


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=DIR_MODE, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE)
    with os.fdopen(descriptor, "wb") as out:
        out.write(data)


def _is_tame(name: str) -> bool:
    """Tell whether a name stays below the home."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _check_database(path: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
            found = schema_of(db)
    except sqlite3.Error as error:
        raise BackupError(BackupErrorCode.UNSOUND, "its database cannot be read") from error
    if verdict != "ok":
        raise BackupError(BackupErrorCode.UNSOUND, "its database fails the check")
    if found > SCHEMA:
        raise BackupError(BackupErrorCode.TOO_NEW)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
