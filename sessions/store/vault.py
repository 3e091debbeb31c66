"""The keys of remembered texts, in a database of their own: ``keys.db``.

A record's text lies in ``inglenook.db``, sealed with AES-256-GCM under a key that belongs to this
record alone; the key lies here. To destroy the key is to destroy the text, in the database, in its
log and in every copy of it. Ordinary backups leave this file out, so one that is brought back
finds no key for what was forgotten since.

The two databases are a pair: each holds the same random id. While anything is sealed, a key store
that is missing, damaged or another's is a *fault*: nothing can be sealed or opened, nothing new is
put in its place, and the owner is told. A fault keeps no message from being answered.

Beside the keys stands the *register* of what must be gone: ids of records, of history messages and
of runs, and keyed hashes of forgotten texts. It outlives a main database that was brought back.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
import sqlite3
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sessions.clock import Clock
from sessions.errors import StoreDamaged, StoreTooNew, StoreUnavailable
from sessions.store.database import Database, open_database
from sessions.store.key_fault import KeyFault, KeysUnavailable
from sessions.store.migrations import Migration
from sessions.store.sql import in_chunks

_NONCE_BYTES: Final = 12  # the form of GCM that every library has
_KEY_BITS: Final = 256
"""Ids in one statement; SQLite's own bound is far higher."""
_PAIRING: Final = "pairing"
_log = structlog.get_logger(__name__)


class Gone(StrEnum):
    """What the register names."""

    RECORD = "record"
    MESSAGE = "message"
    RUN = "run"
    TURN = "turn"
    """Its answers, whichever messages they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A text that only its record's key opens."""

    nonce: bytes
    ciphertext: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What one forgetting puts into the register.

    ``fingerprints`` are of the texts that were forgotten (``Vault.fingerprint``).
    """

    record_ids: tuple[str, ...]
    message_ids: tuple[str, ...] = ()
    run_ids: tuple[str, ...] = ()
    turn_ids: tuple[str, ...] = ()
    fingerprints: tuple[bytes, ...] = ()


def _keys(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE keys (record_id TEXT PRIMARY KEY, key BLOB NOT NULL) WITHOUT ROWID",
    )
    db.execute("CREATE TABLE pair (id TEXT NOT NULL, secret BLOB NOT NULL)")
    db.execute(
        "CREATE TABLE gone (kind TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (kind, id))"
        " WITHOUT ROWID"
    )
    db.execute("CREATE TABLE forgotten_texts (fingerprint BLOB PRIMARY KEY) WITHOUT ROWID")


VAULT_MIGRATIONS: Final = (Migration(number=1, name="keys and the register", apply=_keys),)


class Vault:
    """The open key store, or the fault that keeps it closed. Made by ``open_vault``."""

    def __init__(
        self, database: Database | None, *, secret: bytes = b"", fault: KeyFault | None = None
    ) -> None:
        self._database = database
        self._secret = secret
        self.fault = fault
        """None while keys can be used."""

    async def seal(self, record_id: str, plain: bytes, *, binding: Sequence[str] = ()) -> Sealed:
        """Seal a new record's content under a fresh key, which is kept when this returns.

        Args:
            record_id: the record; with ``binding`` it is authenticated, so a sealed text that is
                moved to another row or another audience does not open.
            plain: the content.
            binding: the ids under which the record is found.

        Raises:
            KeysUnavailable: the key store has a fault.
            StoreUnavailable: the key could not be kept; also if the record has one already.
        """
        key, nonce = AESGCM.generate_key(_KEY_BITS), secrets.token_bytes(_NONCE_BYTES)

        def keep(db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO keys VALUES (?, ?)", (record_id, key))

        await self._open.write(keep)
        ciphertext = AESGCM(key).encrypt(nonce, plain, _associated(record_id, binding))
        return Sealed(nonce=nonce, ciphertext=ciphertext)

    async def open(self, items: Iterable[tuple[str, Sealed, Sequence[str]]]) -> Mapping[str, bytes]:
        """Open sealed contents; what has no key or does not open is left out.

        Args:
            items: record id, sealed content and binding of each.

        Raises:
            KeysUnavailable: the key store has a fault.
        """
        given = tuple(items)

        def work(db: sqlite3.Connection) -> dict[str, bytes]:
            keys = _fetch(db, [record_id for record_id, _, _ in given])
            opened: dict[str, bytes] = {}
            for record_id, sealed, binding in given:
                plain = _opened(keys.get(record_id), record_id, sealed, binding)
                if plain is not None:
                    opened[record_id] = plain
            return opened

        return await self._open.read(work)

    async def destroy(self, erasure: Erasure) -> bool:
        """Destroy keys and put what must be gone into the register, in one transaction.

        Repeating it changes nothing.

        Returns:
            Whether the deleted bytes have left the log beside the file too; if not, repeat.

        Raises:
            KeysUnavailable: the key store has a fault; the keys are as they were.
        """
        named = [
            *((Gone.RECORD, each) for each in erasure.record_ids),
            *((Gone.MESSAGE, each) for each in erasure.message_ids),
            *((Gone.RUN, each) for each in erasure.run_ids),
            *((Gone.TURN, each) for each in erasure.turn_ids),
        ]

        def work(db: sqlite3.Connection) -> None:
            # Overwritten first: secure_delete zeroes what is freed, and this what is not.
            ids = [(each,) for each in erasure.record_ids]
            db.executemany("UPDATE keys SET key = zeroblob(32) WHERE record_id = ?", ids)
            db.executemany("DELETE FROM keys WHERE record_id = ?", ids)
            db.executemany("INSERT OR IGNORE INTO gone VALUES (?, ?)", named)
            db.executemany(
                "INSERT OR IGNORE INTO forgotten_texts VALUES (?)",
                [(each,) for each in erasure.fingerprints],
            )

        await self._open.write(work)
        return await self._open.clear_log()

    async def discard(self, record_id: str) -> None:
        """Take back the key of a record that was not stored in the end."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM keys WHERE record_id = ?", (record_id,))

        await self._open.write(work)

    async def holds(self, record_ids: Sequence[str]) -> frozenset[str]:
        """Say which of these records have a key."""
        return frozenset(await self._open.read(lambda db: _fetch(db, record_ids)))

    async def gone(self, kind: Gone) -> frozenset[str]:
        """Read the register."""
        rows = await self._open.read(
            lambda db: db.execute("SELECT id FROM gone WHERE kind = ?", (kind.value,)).fetchall()
        )
        return frozenset(str(row[0]) for row in rows)

    async def forgotten_texts(self) -> frozenset[bytes]:
        """Read the keyed hashes of forgotten texts."""
        rows = await self._open.read(
            lambda db: db.execute("SELECT fingerprint FROM forgotten_texts").fetchall()
        )
        return frozenset(bytes(row[0]) for row in rows)

    async def told_again(self, fingerprint: bytes) -> None:
        """Take a text out of the forgotten ones: its person has said it anew."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM forgotten_texts WHERE fingerprint = ?", (fingerprint,))

        await self._open.write(work)

    def fingerprint(self, folded: str, binding: Sequence[str]) -> bytes:
        """Hash a normalized text within its audience, with a secret that never leaves this file."""
        text = b"\x1f".join(part.encode("utf-8", "surrogatepass") for part in (*binding, folded))
        return hmac.new(self._secret, text, hashlib.sha256).digest()

    @property
    def _open(self) -> Database:
        if self._database is None or self.fault is not None:
            raise KeysUnavailable(self.fault or KeyFault.UNREADABLE)
        return self._database


@asynccontextmanager
async def open_vault(
    path: Path, main: Database, *, clock: Clock, patience_seconds: float, pair: bool = True
) -> AsyncIterator[Vault]:
    """Open the key store that belongs to ``main``; make both ends of the pair in a new home.

    A fault is a value here (``Vault.fault``): the bot runs without memory then. Without ``pair``
    nothing is written to ``main``, which may be open for reading only.

    Raises:
        StoreUnavailable: the main database cannot be read.
    """
    pairing = await main.read(_pairing_of)
    async with AsyncExitStack() as stack:
        if pairing is not None and not await asyncio.to_thread(_has_content, path):
            yield _closed(KeyFault.MISSING)
            return
        try:
            database = await stack.enter_async_context(
                open_database(
                    path,
                    clock=clock,
                    patience_seconds=patience_seconds,
                    migrations=VAULT_MIGRATIONS,
                    durable=True,
                    copied=False,
                )
            )
            own, secret = await database.write(_own_pair)
        except StoreUnavailable as error:
            yield _closed(_fault_of(error))
            return
        if pairing is None:
            if pair:
                await main.write(lambda db: _pair(db, own))
        elif pairing != own:
            yield _closed(KeyFault.FOREIGN)
            return
        yield Vault(database, secret=secret)


async def examine_keys(
    path: Path, main: Database, *, clock: Clock, patience_seconds: float
) -> KeysUnavailable | None:
    """Look whether the key store can open what ``main`` holds, and change nothing.

    For the owner's doctor, also beside a running bot.

    Raises:
        StoreUnavailable: the main database cannot be read.
    """
    pairing = await main.read(_pairing_of)
    if pairing is None:
        return None
    if not await asyncio.to_thread(_has_content, path):
        return KeysUnavailable(KeyFault.MISSING)
    try:
        async with open_database(
            path,
            clock=clock,
            patience_seconds=patience_seconds,
            migrations=VAULT_MIGRATIONS,
            read_only=True,
        ) as database:
            row = await database.read(lambda db: db.execute("SELECT id FROM pair").fetchone())
            verdict = await database.integrity()
    except StoreUnavailable as error:
        return KeysUnavailable(_fault_of(error))
    if verdict != "ok":
        return KeysUnavailable(KeyFault.DAMAGED)
    return None if row is not None and row[0] == pairing else KeysUnavailable(KeyFault.FOREIGN)


def _closed(fault: KeyFault) -> Vault:
    _log.error("memory.keys_unavailable", fault=fault.value)
    return Vault(None, fault=fault)


def _fault_of(error: StoreUnavailable) -> KeyFault:
    match error:
        case StoreDamaged():
            return KeyFault.DAMAGED
        case StoreTooNew():
            return KeyFault.TOO_NEW
        case _:
            return KeyFault.UNREADABLE


def _has_content(path: Path) -> bool:
    """Whether there is a file at all; an empty one is what a broken copy leaves."""
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _pairing_of(db: sqlite3.Connection) -> str | None:
    """Give the key store that sealed what is here; None while nothing is sealed."""
    if db.execute("SELECT 1 FROM memory_records WHERE sealed IS NOT NULL").fetchone() is None:
        return None
    row = db.execute("SELECT value FROM memory_meta WHERE name = ?", (_PAIRING,)).fetchone()
    return None if row is None else str(row[0])


def _pair(db: sqlite3.Connection, own: str) -> None:
    db.execute("INSERT OR REPLACE INTO memory_meta VALUES (?, ?)", (_PAIRING, own))


def _own_pair(db: sqlite3.Connection) -> tuple[str, bytes]:
    row = db.execute("SELECT id, secret FROM pair").fetchone()
    if row is None:
        row = (secrets.token_hex(16), os.urandom(32))
        db.execute("INSERT INTO pair VALUES (?, ?)", row)
    return str(row[0]), bytes(row[1])


def _fetch(db: sqlite3.Connection, record_ids: Sequence[str]) -> dict[str, bytes]:
    rows = in_chunks(db, "SELECT record_id, key FROM keys WHERE record_id IN", record_ids)
    return {str(record_id): bytes(key) for record_id, key in rows}


def _opened(
    key: bytes | None, record_id: str, sealed: Sealed, binding: Sequence[str]
) -> bytes | None:
    if key is None:
        return None
    try:
        plain = AESGCM(key).decrypt(
            sealed.nonce, sealed.ciphertext, _associated(record_id, binding)
        )
    except (InvalidTag, ValueError):
        return None
    return plain


def _associated(record_id: str, binding: Sequence[str]) -> bytes:
    """Join what is authenticated beside the text; ids hold no unit separator."""
    return "\x1f".join((record_id, *binding)).encode("utf-8", "surrogatepass")
