"""Forgetting, from the request to the proof.

A *family* is forgotten: a note with all its versions and what was derived of it. The order is that
of ``sessions.store.erasure``; what cannot be done at once stays pending and is taken up when its
hindrance is gone: a run that was answering when it ends, everything else at the next start.

What was sent to the model stays in the owner's exact traces until their retention ends; the proof
says so.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import structlog

from compiler.hashing import sha256_fields
from compiler.records import RecordStatus
from compiler.request import RunId
from compiler.terms import fold
from sessions.clock import Clock, timestamp
from sessions.errors import StoreUnavailable
from sessions.memory.index import MemoryIndex
from sessions.memory.notes import Note, NoteRow, binding_fields, from_ms, to_ms
from sessions.memory.results import CleanupCode, CleanupProof, CleanupStatus, commitment
from sessions.memory.rules import CopyTest
from sessions.memory.runs import RunCleaner
from sessions.store.burials import Burial, Pending
from sessions.store.database import Database
from sessions.store.erasure import ErasureStore
from sessions.store.key_fault import KeysUnavailable
from sessions.store.memory import MemoryStore
from sessions.store.note_rows import StoredNote
from sessions.store.runs import RunStore
from sessions.store.vault import Erasure, Gone, Vault

_log = structlog.get_logger(__name__)
_SWEEP: Final = 100
"""Expired notes that one start destroys at most."""
_GRACE_MS: Final = 30 * 86_400_000
"""An expired note is destroyed a month later: by then no wrong clock is still unnoticed."""
_RECEIPT_BYTES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who wants what forgotten, why, and in which message he said so."""

    by_id: str
    reason: str
    message_ids: tuple[str, ...] = ()
    turn_ids: tuple[str, ...] = ()


class Forgetter:
    """Carries out forgettings; one at a time."""

    def __init__(
        self,
        *,
        home: Path,
        database: Database,
        vault: Vault,
        store: MemoryStore,
        index: MemoryIndex,
        clock: Clock,
    ) -> None:
        self._vault = vault
        self._store = store
        self._database = database
        self._erasure = ErasureStore(database)
        self.runs = RunCleaner(
            home=home, runs=RunStore(database), erasure=self._erasure, clock=clock
        )
        self._index = index
        self._clock = clock
        self.writing = asyncio.Lock()
        """Held while notes are changed; not while sessions end, which may have to ask for it."""
        self._waiting: dict[str, Pending] = {}
        """Receipts that wait for a run to end."""
        self._late_turns: dict[str, Pending] = {}
        """Receipts whose turns may still post an answer."""
        self.gone: set[str] = set()
        """Ids of all that was forgotten; nothing of them may be selected, whatever offers it."""
        self.gone_short_ids: set[str] = set()
        """What was forgotten in this host's time, as prompts name it."""
        self.texts: dict[bytes, int] = {}
        """Keyed hashes of forgotten texts, and the revision at which each was forgotten."""
        self.revision = 0
        """Grows with every forgetting of this host."""
        self._returned = False
        """Whether a copy of the main database was brought back, from before a forgetting."""

    # At the start of the host.

    async def start(self) -> None:
        """Finish what was pending, and undo the return of what was forgotten.

        Raises:
            StoreUnavailable: the records cannot be read.
        """
        self.gone = set(await self._erasure.tombstoned())
        if self._vault.fault is None:
            self.texts = dict.fromkeys(await self._vault.forgotten_texts(), 0)
            await self._undo_return()
        await self._sweep()
        for pending in await self._erasure.pending():
            await self._carry_out(pending)

    async def _undo_return(self) -> None:
        """Hold the register against the main database: a copy of it may have been brought back."""
        gone = await self._vault.gone(Gone.RECORD)
        records, messages, runs = await self._erasure.returned(
            record_ids=gone,
            message_ids=await self._vault.gone(Gone.MESSAGE),
            run_ids=await self._vault.gone(Gone.RUN),
            turn_ids=await self._vault.gone(Gone.TURN),
        )
        self._returned |= bool(records or messages or runs)
        kept_keys = await self._vault.holds(sorted(self.gone | gone))
        self.gone |= gone
        if messages:
            await self._erasure.empty_messages(messages)
        if kept_keys:
            await self._vault.destroy(Erasure(record_ids=tuple(sorted(kept_keys))))
        for run_id in runs:
            await self.runs.close(RunId(run_id))
        if records:
            _log.warning("memory.returned_forgotten_again", records=len(records))
            rows = await self._erasure.family(records)
            await self._bury(rows, (), Request(by_id="", reason="returned"))

    async def _sweep(self) -> None:
        before = to_ms(self._clock.utc_now()) - _GRACE_MS
        ids = await self._erasure.expired_before(before, _SWEEP)
        if ids:
            rows = await self._erasure.family(ids)
            # A newer version of an expired note is not past its time.
            over = [row for row in rows if row.status is not RecordStatus.ACTIVE]
            notes = await self._readable(over)
            await self._bury(over, notes, Request(by_id="", reason="expiry"))

    # Requests.

    async def forget(self, record_ids: Sequence[str], request: Request) -> CleanupProof | None:
        """Forget records with their families; None if all of it was forgotten before.

        Raises:
            StoreUnavailable: nothing was forgotten.
        """
        async with self.writing:
            rows = await self._erasure.family(record_ids)
            if all(row.status is RecordStatus.TOMBSTONED for row in rows):
                return None
            pending = await self._bury(rows, await self._readable(rows), request)
        return await self._carry_out(pending)

    async def _readable(self, rows: Iterable[NoteRow]) -> tuple[Note, ...]:
        """Open what can be opened, to find its copies; a locked key store leaves ids to go by."""
        wanted = [row for row in rows if row.status is not RecordStatus.TOMBSTONED]
        stored: list[StoredNote] = []
        for row in wanted:
            found = await self._store.get(row.record_id)
            if found is not None:
                stored.append(found)
        try:
            return (await self._store.open(stored)).notes
        except KeysUnavailable:
            return ()

    async def _bury(
        self, rows: Sequence[NoteRow], notes: Sequence[Note], request: Request
    ) -> Pending:
        living = [row for row in rows if row.status is not RecordStatus.TOMBSTONED]
        burial = self._burial(living, notes, request)
        # From here no selection offers them, not even one that is being made.
        fresh = {row.record_id for row in living} - self.gone
        self.gone |= fresh
        self._index.drop(living)
        try:
            pending = await self._erasure.bury(
                burial, holds_text=CopyTest(tuple(note.text for note in notes))
            )
        except BaseException:
            # Not forgotten, so it stays known; what was dropped is read again.
            self.gone -= fresh
            for row in living:
                self._index.forget_binding(row.binding)
            raise
        self.revision += 1
        self.gone_short_ids |= {row.short_id for row in living}
        summaries = set(pending.burial.record_ids) - set(burial.record_ids)
        if summaries:
            self.gone |= summaries
            self._index.clear()
        self.texts.update((bytes.fromhex(each), self.revision) for each in burial.fingerprints)
        return pending

    def _burial(self, living: Sequence[NoteRow], notes: Sequence[Note], request: Request) -> Burial:
        receipt_id = secrets.token_hex(_RECEIPT_BYTES)
        ids = tuple(sorted(row.record_id for row in living))
        messages = {row.message_id for row in living} | set(request.message_ids)
        turns = {row.turn_id for row in living} | set(request.turn_ids)
        prints = [
            self._vault.fingerprint(fold(note.text), binding_fields(note.row.binding)).hex()
            for note in notes
            if self._vault.fault is None
        ]
        return Burial(
            receipt_id=receipt_id,
            request_hash=sha256_fields("inglenook-forget-v1", (receipt_id, request.by_id, *ids)),
            record_ids=ids,
            by_id=request.by_id,
            reason=request.reason,
            at_ms=to_ms(self._clock.utc_now()),
            message_ids=tuple(sorted(messages - {""})),
            turn_ids=tuple(sorted(turns - {""})),
            fingerprints=tuple(sorted(prints)),
        )

    # The steps after the burial.

    async def _carry_out(self, pending: Pending, *, ends_sessions: bool = True) -> CleanupProof:
        errors: list[CleanupCode] = []
        if not pending.keys_destroyed:
            code = await self._destroy_keys(pending)
            if code is None:
                pending = replace(pending, keys_destroyed=True)
            else:
                errors.append(code)
        ended = 0
        try:
            if not await self._database.clear_log() and not errors:
                errors.append(CleanupCode.LOG_BUSY)
            ended = await self.runs.end_sessions(pending) if ends_sessions else 0
            waiting, remain = await self.runs.clean(pending)
            pending = replace(pending, waiting_runs=waiting)
            if waiting:
                errors.append(CleanupCode.SESSION_RUNNING)
            if remain:
                errors.append(CleanupCode.FILES_REMAIN)
        except StoreUnavailable:
            errors.append(CleanupCode.STORE_UNAVAILABLE)
        proof = self._proof(pending, errors, ended)
        try:
            await self._erasure.settle(pending, document=proof.document(), finished=not errors)
        except StoreUnavailable as error:
            _log.error("memory.receipt_unwritten", **error.facts)
        self._remember_rest(pending, finished=not errors)
        _log.info(
            "memory.forgotten",
            receipt_id=proof.receipt_id,
            records=len(proof.record_hashes),
            history_copies=proof.history_copies,
            sessions_ended=ended,
            errors=[code.value for code in errors],
        )
        return proof

    def _remember_rest(self, pending: Pending, *, finished: bool) -> None:
        receipt_id = pending.burial.receipt_id
        if finished:
            self._waiting.pop(receipt_id, None)
        else:
            self._waiting[receipt_id] = pending
        if pending.burial.turn_ids:
            self._late_turns[receipt_id] = pending

    async def _destroy_keys(self, pending: Pending) -> CleanupCode | None:
        burial = pending.burial
        erasure = Erasure(
            record_ids=burial.record_ids,
            message_ids=pending.message_ids,
            run_ids=pending.run_ids,
            turn_ids=burial.turn_ids,
            fingerprints=tuple(bytes.fromhex(each) for each in burial.fingerprints),
        )
        try:
            emptied = await self._vault.destroy(erasure)
        except KeysUnavailable:
            return CleanupCode.KEYS_UNAVAILABLE
        except StoreUnavailable:
            return CleanupCode.STORE_UNAVAILABLE
        return None if emptied else CleanupCode.LOG_BUSY

    # What came later.

    async def run_ended(self, run_id: RunId) -> None:
        """Take up what waited for a run to end."""
        for pending in [each for each in self._waiting.values() if run_id in each.waiting_runs]:
            # The session that tells this is just ending and cannot be asked to end.
            await self._carry_out(pending, ends_sessions=False)

    async def before_history(self) -> None:
        """Purge answers that were posted after their turn's note was forgotten.

        Called before a conversation's history is read for a fresh session. In a database that was
        brought back an answer may still be under way that another host had noted already.
        """
        if self._returned and self._vault.fault is None:
            async with self.writing:
                await self._undo_return()
        for receipt_id, pending in list(self._late_turns.items()):
            changed = await self._erasure.late_answers(pending)
            new = set(changed.message_ids) - set(pending.message_ids)
            if new and self._vault.fault is None:
                await self._vault.destroy(Erasure(record_ids=(), message_ids=tuple(sorted(new))))
            if receipt_id in self._late_turns:
                self._late_turns[receipt_id] = changed
        while len(self._late_turns) > _SWEEP:
            self._late_turns.pop(next(iter(self._late_turns)))

    def _proof(self, pending: Pending, errors: Sequence[CleanupCode], ended: int) -> CleanupProof:
        burial = pending.burial
        salt = secrets.token_hex(16)
        return CleanupProof(
            receipt_id=burial.receipt_id,
            at=timestamp(from_ms(burial.at_ms)),
            status=CleanupStatus.PARTIAL if errors else CleanupStatus.COMPLETED,
            request_hash=burial.request_hash,
            salt=salt,
            record_hashes=tuple(sorted(commitment(salt, each) for each in burial.record_ids)),
            stores=(
                ("memory", len(burial.record_ids)),
                ("history", len(pending.message_ids)),
                ("keys", len(burial.record_ids) if pending.keys_destroyed else 0),
                ("index_revision", self._index.revision),
            ),
            caches=tuple(sorted(commitment(salt, each) for each in pending.channel_ids)),
            history_copies=len(pending.message_ids),
            sessions_ended=ended,
            errors=tuple(sorted(set(errors))),
        )
