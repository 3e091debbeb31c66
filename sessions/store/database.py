"""One owner of a database: one connection writes, and beside it ``readers`` look things up.

A unit of work is a plain function over ``sqlite3.Connection``. It runs as a whole, inside one
transaction, on a connection's own thread. So a transaction can await nothing, two of them never
mix, a cancelled caller leaves none half open, and each costs one change of threads.

Which of the two a store asks for goes by what it does, not by whose it is: what reads in order to
change is one ``write``, so nothing comes between; all else is a ``read``, also in a turn, for it
sees what was committed before it began.

``synchronous=NORMAL``: a killed process loses nothing and the file cannot break; only a power cut
may take back the last transactions. The exact account that must survive a power cut is the trace,
which is synced on its own; these tables index it, and one fsync less stands in a turn's way.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from sessions.clock import Clock, timestamp
from sessions.errors import StoreDamaged, StoreMissing, StoreTooNew, StoreUnavailable
from sessions.store.connection import Connection
from sessions.store.copies import keep_copy
from sessions.store.migrations import MIGRATIONS, Migration, migrate, schema_of
from sessions.store.readers import Readers, open_readers

T = TypeVar("T")
PRIVATE_FILE = 0o600
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
OPENING_SECONDS = 300.0
"""Bound of opening with its check, which reads the whole file; a gigabyte takes a few seconds, and
its copy before an upgrade as long again."""


class _Job(Generic[T]):
    """One transaction on its way to the thread; once given up, it changes nothing there.

    It is looked at again after the wait for the lock, which may end just when the caller's ends.
    """

    def __init__(self, work: Callable[[sqlite3.Connection], T], *, begin: str) -> None:
        self._work = work
        self._begin = begin
        self.given_up = False

    def __call__(self, db: sqlite3.Connection) -> T:
        self._check()
        db.execute(self._begin)
        try:
            self._check()
            result = self._work(db)
            self._check()
            db.execute("COMMIT")
        except BaseException as error:
            # A cursor that is open still keeps SQLite from ending what was broken off.
            traceback.clear_frames(error.__traceback__)
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return result

    def _check(self) -> None:
        if self.given_up:
            raise sqlite3.OperationalError("given up")


class Database:
    """The open database. Made by ``open_database``; the stores of this package sit on it."""

    def __init__(
        self, writer: Connection, readers: Readers, *, name: str, patience_seconds: float
    ) -> None:
        self._writer = writer
        self._readers = readers
        self._name = name
        self._patience_seconds = patience_seconds
        self.closed = False

    async def integrity(self) -> str:
        """Check the structure of the whole file: ``ok``, or the first fault found."""

        def check(db: sqlite3.Connection) -> str:
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            return str(verdict)

        return await self.read(check)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a writing transaction, and return once it is committed.

        Raises:
            StoreUnavailable: locked for longer than the set patience, full disk, or closed. Work
                that had not begun by then never happens.
        """
        return await self._run(self._writer, _Job(work, begin="BEGIN IMMEDIATE"))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` on one consistent state of the database, beside whatever is written.

        Raises:
            StoreUnavailable: as ``write``; a lock for writing does not hold it up.
        """
        return await self._run(self._readers, _Job(work, begin="BEGIN DEFERRED"))

    async def clear_log(self) -> bool:
        """Write everything into the file itself and empty the log beside it.

        What a finished transaction deleted is then in neither of the two.

        Returns:
            Whether the log is empty; a reader in another process can stand in the way.

        Raises:
            StoreUnavailable: as ``write``.
        """

        def empty(db: sqlite3.Connection) -> bool:
            (busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy

        return await self._within_patience(self._writer, empty)

    async def _run(self, by: Connection | Readers, job: _Job[T]) -> T:
        try:
            return await self._within_patience(by, job)
        finally:
            job.given_up = True

    async def _within_patience(
        self, by: Connection | Readers, work: Callable[[sqlite3.Connection], T]
    ) -> T:
        if self.closed:
            raise StoreUnavailable("closed")
        try:
            async with asyncio.timeout(self._patience_seconds):
                return await by.call(work)
        except TimeoutError as error:
            raise StoreUnavailable("timeout") from error
        except sqlite3.Error as error:
            raise _translated(error, name=self._name) from error


@asynccontextmanager
async def open_database(
    path: Path,
    *,
    clock: Clock,
    patience_seconds: float,
    read_only: bool = False,
    migrations: Sequence[Migration] = MIGRATIONS,
    durable: bool = False,
    copied: bool = True,
    is_first: bool = True,
) -> AsyncIterator[Database]:
    """Open a database of a home, checked and brought to this release's schema.

    ``read_only`` is for the shell beside a running bot: nothing is made or changed.
    ``patience_seconds`` bounds the wait for another process's lock and for each transaction.
    ``migrations`` is the schema, that of ``inglenook.db`` if none is named. ``durable`` syncs each
    transaction, for a file in which even a power cut must take nothing back. ``copied`` keeps a
    copy of the file (``sessions.store.copies``) before an older schema is brought forward.
    ``is_first`` tells that an empty file may be one that a first start was about to fill; where
    there were runs it is what a full disk or a broken copy left.

    Raises:
        StoreMissing: read-only, and no file or an older schema is there.
        StoreDamaged: the file fails its check, or is empty and cannot be new.
        StoreTooNew: a newer release wrote it.
        StoreUnavailable: it cannot be opened at all, is locked, or could not be copied.
    """
    if not is_first and await asyncio.to_thread(_is_empty, path):
        raise StoreDamaged("empty", name=path.name)
    if not read_only:
        await asyncio.to_thread(_make_private, path)
    elif not await asyncio.to_thread(path.is_file):
        raise StoreMissing("no file", name=path.name)
    check = _Check(
        path=path,
        clock=clock,
        migrations=tuple(migrations),
        read_only=read_only,
        durable=durable,
        copied=copied,
    )
    async with AsyncExitStack() as stack:
        writer = Connection(path, patience_seconds=patience_seconds, read_only=read_only)
        try:
            async with asyncio.timeout(OPENING_SECONDS):
                await stack.enter_async_context(writer)
                await writer.call(check)
                readers = Readers(writer)
                if not read_only:
                    opening = open_readers(path, patience_seconds=patience_seconds)
                    readers = await stack.enter_async_context(opening)
        except (sqlite3.Error, TimeoutError) as error:
            raise _translated(error, name=path.name) from error
        database = Database(writer, readers, name=path.name, patience_seconds=patience_seconds)
        try:
            yield database
        finally:
            database.closed = True


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


def _make_private(path: Path) -> None:
    """Create the file owner-only, or tighten what is there; SQLite's side files copy its mode."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, PRIVATE_FILE)
    except OSError as error:
        raise StoreUnavailable(f"open: {error.strerror}") from error
    try:
        os.fchmod(descriptor, PRIVATE_FILE)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Check:
    """What happens to a connection before anybody uses it."""

    path: Path
    clock: Clock
    migrations: tuple[Migration, ...]
    read_only: bool
    durable: bool
    copied: bool

    def __call__(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA foreign_keys = ON")
        if not self.read_only:
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise StoreDamaged("quick_check", name=self.path.name)
        found, known = schema_of(db), self.migrations[-1].number
        if found > known:
            raise StoreTooNew(found=found, known=known, name=self.path.name)
        if self.read_only:
            if found < known:
                raise StoreMissing(f"schema {found}", name=self.path.name)
            return
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'FULL' if self.durable else 'NORMAL'}")
        # What somebody deleted is overwritten, not only unlinked.
        db.execute("PRAGMA secure_delete = ON")
        if self.copied and 0 < found < known:
            keep_copy(db, self.path, schema=found)
        migrate(db, now=timestamp(self.clock.utc_now()), migrations=self.migrations)


def _translated(error: sqlite3.Error | TimeoutError, *, name: str) -> StoreUnavailable:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    reason = getattr(error, "sqlite_errorname", "") or type(error).__name__
    return StoreDamaged(reason, name=name) if code in DAMAGED else StoreUnavailable(reason)
