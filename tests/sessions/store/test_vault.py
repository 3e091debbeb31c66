"""The keys of remembered texts: one a record, really gone when destroyed, never silently new."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sessions.errors import StoreUnavailable
from sessions.store.database import Database, open_database
from sessions.store.key_fault import KEYS_FILE, KeyFault, KeysUnavailable
from sessions.store.vault import Erasure, Gone, Sealed, Vault, examine_keys, open_vault
from support.session_world import BOUND_SECONDS, ManualClock

CLOCK = ManualClock()
BOUND = ("ember", "user", "", "", "discord:7")


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[tuple[Database, Vault]]:
    async with (
        open_database(home / "inglenook.db", clock=CLOCK, patience_seconds=BOUND_SECONDS) as main,
        open_vault(home / KEYS_FILE, main, clock=CLOCK, patience_seconds=BOUND_SECONDS) as vault,
    ):
        yield main, vault


def put_sealed(db: sqlite3.Connection) -> None:
    """Let the main database hold one sealed record."""
    names = [row[1] for row in db.execute("PRAGMA table_info(memory_records)")]
    values = {"record_id": "r1", "short_id": "m-1", "sealed": b"x", "nonce": b"n", "expires_ms": 1}
    marks = ", ".join("?" * len(names))
    db.execute(
        f"INSERT INTO memory_records VALUES ({marks})",  # noqa: S608 - marks only
        [values.get(name, 0 if name in {"pinned", "created_ms"} else "") for name in names],
    )


async def read_back(vault: Vault, record_id: str, sealed: Sealed) -> bytes | None:
    return (await vault.open([(record_id, sealed, BOUND)])).get(record_id)


def in_a_file(key: bytes, home: Path) -> bool:
    return any(key in file.read_bytes() for file in home.glob("keys.db*"))


def remove_keys(home: Path) -> None:
    for file in home.glob("keys.db*"):
        file.unlink()


async def test_what_was_sealed_opens_again_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, vault):
        sealed = await vault.seal("r1", b"tea", binding=BOUND)
        assert b"tea" not in sealed.ciphertext
    async with opened(tmp_path) as (_, vault):
        assert await read_back(vault, "r1", sealed) == b"tea"
        assert stat.S_IMODE((tmp_path / KEYS_FILE).stat().st_mode) == 0o600


async def test_each_record_has_a_key_and_a_nonce_of_its_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, vault):
        one, two = await vault.seal("r1", b"tea"), await vault.seal("r2", b"tea")
        assert one.nonce != two.nonce
        assert one.ciphertext != two.ciphertext
        assert await vault.open([("r2", one, ())]) == {}
        with pytest.raises(StoreUnavailable):
            await vault.seal("r1", b"again")


async def test_a_sealed_text_does_not_open_under_another_audience(tmp_path: Path) -> None:
    """TENANT_BINDING_MISMATCH: a row that was moved to another user's binding is unreadable."""
    async with opened(tmp_path) as (_, vault):
        sealed = await vault.seal("r1", b"tea", binding=BOUND)
        moved = (*BOUND[:-1], "discord:8")
        assert await vault.open([("r1", sealed, moved)]) == {}
        broken = Sealed(nonce=sealed.nonce, ciphertext=sealed.ciphertext[:-1] + b"\0")
        assert await vault.open([("r1", broken, BOUND)]) == {}


async def test_a_destroyed_key_is_in_neither_file(tmp_path: Path) -> None:
    """Crypto-shredding: the key's bytes are gone from the database and from its log."""
    async with opened(tmp_path) as (_, vault):
        sealed = await vault.seal("r1", b"tea", binding=BOUND)
        for number in range(50):
            await vault.seal(f"other{number}", b"x")
        key = (
            await vault._open.read(
                lambda db: db.execute("SELECT key FROM keys WHERE record_id = 'r1'").fetchone()
            )
        )[0]
        assert in_a_file(key, tmp_path)
        assert await vault.destroy(Erasure(record_ids=("r1",), message_ids=("discord:5",)))
        assert not in_a_file(key, tmp_path)
        assert await read_back(vault, "r1", sealed) is None
        assert await vault.gone(Gone.RECORD) == {"r1"}
        assert await vault.gone(Gone.MESSAGE) == {"discord:5"}
        assert await vault.destroy(Erasure(record_ids=("r1",)))


async def test_a_missing_key_store_is_never_replaced_silently(tmp_path: Path) -> None:
    """Old records beside a new key store would look forgotten and be lost."""
    async with opened(tmp_path) as (main, vault):
        await vault.seal("r1", b"tea")
        await main.write(put_sealed)
    remove_keys(tmp_path)
    async with opened(tmp_path) as (_, vault):
        assert vault.fault is KeyFault.MISSING
        with pytest.raises(KeysUnavailable, match="missing"):
            await vault.seal("r2", b"tea")
    assert not (tmp_path / KEYS_FILE).exists()


async def test_an_empty_file_is_no_key_store(tmp_path: Path) -> None:
    async with opened(tmp_path) as (main, _):
        await main.write(put_sealed)
    (tmp_path / KEYS_FILE).write_bytes(b"")
    async with opened(tmp_path) as (_, vault):
        assert vault.fault is KeyFault.MISSING


async def test_another_home_s_key_store_is_told(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with opened(other):
        pass
    async with opened(tmp_path) as (main, _):
        await main.write(put_sealed)
    (other / KEYS_FILE).replace(tmp_path / KEYS_FILE)
    async with opened(tmp_path) as (_, vault):
        assert vault.fault is KeyFault.FOREIGN
        with pytest.raises(KeysUnavailable):
            await vault.destroy(Erasure(record_ids=("r1",)))


async def test_a_damaged_key_store_stays_as_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as (main, _):
        await main.write(put_sealed)
    (tmp_path / KEYS_FILE).write_bytes(b"not a database at all " * 400)
    before = (tmp_path / KEYS_FILE).read_bytes()
    async with opened(tmp_path) as (_, vault):
        assert vault.fault is KeyFault.DAMAGED
        with pytest.raises(KeysUnavailable) as caught:
            await vault.open([])
        assert "tea" not in caught.value.safe_message
    assert (tmp_path / KEYS_FILE).read_bytes() == before


async def test_with_nothing_sealed_a_new_key_store_may_begin(tmp_path: Path) -> None:
    """Nothing is lost, so the bot simply goes on."""
    async with opened(tmp_path):
        pass
    (tmp_path / KEYS_FILE).unlink()
    async with opened(tmp_path) as (main, vault):
        assert vault.fault is None
        await vault.seal("r1", b"tea")
        await main.write(put_sealed)
    async with opened(tmp_path) as (_, vault):
        assert vault.fault is None


async def test_fingerprints_are_keyed_and_local_to_an_audience(tmp_path: Path) -> None:
    """Nobody can test a guess against the file without its secret."""
    async with opened(tmp_path) as (_, vault):
        one = vault.fingerprint("tea", BOUND)
        assert one == vault.fingerprint("tea", BOUND)
        assert one != vault.fingerprint("tea", ("ember", "imp"))
        await vault.destroy(Erasure(record_ids=("r1",), fingerprints=(one,)))
        assert await vault.forgotten_texts() == {one}
        await vault.told_again(one)
        assert await vault.forgotten_texts() == set()
    second = tmp_path / "second"
    second.mkdir()
    async with opened(second) as (_, vault):
        assert vault.fingerprint("tea", BOUND) != one


async def test_a_key_of_a_record_that_never_came_is_taken_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, vault):
        await vault.seal("r1", b"tea")
        await vault.discard("r1")
        assert await vault.holds(["r1", "r2"]) == set()
        await vault.seal("r1", b"tea")
        assert await vault.holds(["r1", "r2"]) == {"r1"}


async def test_looking_at_the_keys_finds_each_fault_and_changes_nothing(tmp_path: Path) -> None:
    async def fault(main: Database) -> str:
        found = await examine_keys(
            tmp_path / KEYS_FILE, main, clock=CLOCK, patience_seconds=BOUND_SECONDS
        )
        return found.fault.value if found else ""

    other = tmp_path / "other"
    other.mkdir()
    async with opened(other):
        pass
    async with opened(tmp_path) as (main, _):
        assert await fault(main) == ""
        await main.write(put_sealed)
        assert await fault(main) == ""
    async with open_database(
        tmp_path / "inglenook.db", clock=CLOCK, patience_seconds=BOUND_SECONDS
    ) as main:
        (tmp_path / KEYS_FILE).rename(tmp_path / "own")
        assert await fault(main) == "missing"
        assert not (tmp_path / KEYS_FILE).exists()
        (other / KEYS_FILE).rename(tmp_path / KEYS_FILE)
        assert await fault(main) == "foreign"
        (tmp_path / KEYS_FILE).write_bytes(b"no database" * 500)
        assert await fault(main) == "damaged"
