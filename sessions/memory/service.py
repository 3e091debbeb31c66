"""Memory as the rest of the house uses it: choose notes for a turn, write them, forget them.

Who acts and where is a ``MemoryContext``, made by the host; no argument of a tool or text can widen
it. What is refused, unknown or gone is a value (``results``); only a store that cannot be
reached raises. Unknown ids and other people's give the same answer by the same path.

Spec: CC "Memory"; TR "Memory-write policy", "Retrieval eligibility and scoring"; the table "Writing
memory".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Self

import structlog

from compiler.audience import audience_of, readable_bindings
from compiler.records import RecordStatus, TrustClass
from compiler.request import ChannelId, ImpName, MessageId, RunId, RunScope, UserId
from sessions.clock import Clock, timestamp
from sessions.limits import MemorySettings
from sessions.memory.consents import ConsentBook
from sessions.memory.core import MemoryCore, MemoryParts, SharedContext
from sessions.memory.forgetting import Forgetter, Request
from sessions.memory.notes import ShortIds, from_ms, new_short_id, owner_of, to_ms
from sessions.memory.reader import NoteReader
from sessions.memory.results import ConsentState, Erased, Forgotten, NotFound, RefusalCode, Refused
from sessions.memory.rules import MemoryContext
from sessions.memory.runs import SessionEnder
from sessions.memory.selection import NoteSelector
from sessions.memory.semantic import MeaningIndex
from sessions.memory.writer import NoteWriter
from sessions.store.consent import Consent, ConsentLevel, ConsentStore, Purpose
from sessions.store.database import Database
from sessions.store.key_fault import KeyFault, KeysUnavailable
from sessions.store.memory import MemoryStore
from sessions.store.note_rows import StoredNote
from sessions.store.vault import Vault

_log = structlog.get_logger(__name__)
_COUNTING: Final = frozenset({RecordStatus.ACTIVE, RecordStatus.PENDING})
"""A version that was replaced goes with the one that took its place."""
MEMORY_OFF: Final = "memory:off"
"""The code of a home that remembers nothing, whatever people allow."""


class MemoryService:
    """The one door to memory. Every method may raise ``StoreUnavailable``."""

    def __init__(
        self,
        *,
        home: Path,
        database: Database,
        vault: Vault,
        clock: Clock,
        settings: Callable[[], MemorySettings] = MemorySettings,
        shared_context: SharedContext = lambda _: False,
        ids: ShortIds = new_short_id,
        meaning: MeaningIndex | None = None,
    ) -> None:
        """Take the stores.

        Args:
            home: where runs are, whose engine files are deleted with a note.
            database: ``inglenook.db``.
            vault: the key store beside it; with a fault, memory is locked and says so.
            clock: for times of notes and for rates.
            settings: asked again each time, so the owner's edits count at once.
            shared_context: the owner's policy for a place.
            ids: maker of short ids.
            meaning: ranks notes by meaning where the settings ask for it; its maker closes it.
        """
        store = MemoryStore(database, vault, ids=ids)
        parts = MemoryParts(
            vault=vault,
            store=store,
            consents=ConsentBook(ConsentStore(database)),
            clock=clock,
            settings=settings,
            shared_context=shared_context,
            meaning=MeaningIndex() if meaning is None else meaning,
        )
        self._core = MemoryCore(
            parts,
            forgetter=lambda index: Forgetter(
                home=home, database=database, vault=vault, store=store, index=index, clock=clock
            ),
        )
        writer, reader = NoteWriter(self._core), NoteReader(self._core)
        self.select = NoteSelector(self._core).select
        self.remember = writer.remember
        self.correct = writer.correct
        self.confirm = writer.confirm
        self.keep = writer.keep
        self.pin = writer.pin
        self.recall = reader.recall
        self.may_be_given = reader.may_be_given
        self.list_own = reader.list_own
        self.list_here = reader.list_here
        self.of_message = reader.of_message
        self.written_in = reader.written_in
        self.search_own = reader.search_own
        self.show = reader.show
        self.chain = reader.chain
        self.inspect = reader.inspect
        self.export_own = reader.export_own

    # The life of the service.

    async def start(self, sessions: SessionEnder | None = None) -> Self:
        """Finish what a killed host left of forgettings; then all methods may be used.

        Raises:
            StoreUnavailable: the records cannot be read.
        """
        if sessions is not None:
            self._core.forgetter.runs.attach(sessions)
        await self._core.forgetter.start()
        return self

    @property
    def enabled(self) -> bool:
        """Whether the owner has memory switched on and its keys are there."""
        return self._core.enabled

    @property
    def settings(self) -> MemorySettings:
        """The owner's settings of this moment."""
        return self._core.settings()

    @property
    def fault(self) -> KeyFault | None:
        """Why memory is locked; for the owner."""
        return self._core.vault.fault

    @property
    def revision(self) -> int:
        """Grows with each forgetting; a turn that began before one may not write it back."""
        return self._core.forgetter.revision

    async def run_ended(self, run_id: RunId) -> None:
        """Told by the sessions: what waited for this run to end is finished now."""
        await self._core.forgetter.run_ended(run_id)

    async def before_history(self) -> None:
        """Told by the sessions: a conversation's history is about to be read."""
        await self._core.forgetter.before_history()

    # What a turn was given.

    async def keep_use(self, run_id: RunId, short_ids: Iterable[str]) -> None:
        """Write down which notes a run is about to be given, so forgetting finds it."""
        wanted = set(short_ids)
        if wanted:
            await self._core.store.keep_use(run_id, sorted(wanted))

    def forgotten_since(self, revision: int, short_ids: Iterable[str]) -> bool:
        """Whether any of these notes was forgotten after a revision; asked before delivery."""
        if revision == self.revision:
            return False
        return not self._core.forgetter.gone_short_ids.isdisjoint(short_ids)

    # Forgetting.

    async def forget(self, ctx: MemoryContext, short_id: str) -> Erased:
        """Forget a note with all its versions, and prove it.

        By a tool, only the acting person's own notes that this conversation may know.
        """
        if ctx.by_model and not self._core.may_change(ctx):
            return Refused(code=RefusalCode.TOO_FAST)
        stored = await self._core.store.find(short_id, await self._core.reach(ctx))
        if stored is None:
            return NotFound()
        return await self._erase(ctx, [stored])

    async def forget_all(self, ctx: MemoryContext, user_id: UserId | None = None) -> Erased:
        """Forget all notes of a person: the acting one, or the one whom an owner names."""
        person = user_id or ctx.scope.user_id
        if ctx.by_model or person is None or (person != ctx.scope.user_id and not ctx.is_owner):
            return Refused(code=RefusalCode.NOT_ALLOWED)
        async with self._core.writing:  # what is being written is there by then
            stored = await self._core.store.of_person(person)
        return await self._erase(ctx, stored) if stored else NotFound()

    async def take_back(self, message_id: MessageId) -> int:
        """Forget what the model guessed from a message that is gone; say how much it was.

        What its person said he wants kept stays, until he says otherwise.
        """
        self._core.note_taken_back(message_id)
        async with self._core.writing:  # as above
            stored = await self._core.store.of_message(message_id)
        found = [
            each.row.record_id
            for each in stored
            if each.row.trust is not TrustClass.EXPLICIT and each.row.status in _COUNTING
        ]
        if found:
            await self._core.forgetter.forget(found, Request(by_id="", reason="message"))
        return len(found)

    async def forget_unreadable(self, ctx: MemoryContext) -> Erased:
        """Give up notes that cannot be opened: the owner's way out when keys are lost for good.

        Repeat it while it finds any. At the next start after that a new key store begins. Keys that
        are there, but of another database or release, are not lost.
        """
        if not ctx.is_owner:
            return Refused(code=RefusalCode.NOT_ALLOWED)
        if self.fault not in {None, KeyFault.MISSING, KeyFault.DAMAGED}:
            return Refused(code=RefusalCode.KEYS_UNAVAILABLE)
        last = ""
        while found := await self._core.store.sealed_after(last):
            try:
                opened = (await self._core.store.open(found)).notes
            except KeysUnavailable:
                opened = ()
            readable = {note.row.record_id for note in opened}
            lost = [each for each in found if each.row.record_id not in readable]
            if lost:
                return await self._erase(ctx, lost)
            last = found[-1].row.record_id
        return NotFound()

    async def _erase(self, ctx: MemoryContext, stored: Sequence[StoredNote]) -> Erased:
        by_owner = ctx.is_owner and any(owner_of(each.row) != ctx.scope.user_id for each in stored)
        said_here = ctx.by_model and ctx.turn_id is not None
        request = Request(
            by_id=ctx.scope.user_id or "",
            reason="owner" if by_owner else "person",
            message_ids=(ctx.scope.message_id,) if said_here and ctx.scope.message_id else (),
            turn_ids=(ctx.turn_id,) if said_here and ctx.turn_id else (),
        )
        proof = await self._core.forgetter.forget([each.row.record_id for each in stored], request)
        if proof is None:
            return await self._core.gone(stored[0].row)
        return Forgotten(short_ids=tuple(sorted(each.row.short_id for each in stored)), proof=proof)

    # Consent, and what the owner's doctor asks.

    async def consent(
        self, ctx: MemoryContext, purpose: Purpose = Purpose.REMEMBER
    ) -> ConsentState:
        """Say what holds for the acting person in this place."""
        channel_id = _consent_place(ctx.scope)
        person = ctx.scope.user_id or UserId("")
        now_ms = self._core.now_ms()
        word = await self._core.consents.word(ctx.imp, person, channel_id, purpose, now_ms)
        level = await self._core.consents.level(ctx.imp, person, channel_id, purpose, now_ms)
        ends = word is not None and word.until_ms is not None
        return ConsentState(
            level=level,
            purpose=purpose,
            channel_id=channel_id,
            until=timestamp(from_ms(word.until_ms)) if ends and word and word.until_ms else "",
            is_default=word is None,
        )

    async def consent_codes(self, imp: ImpName, scope: RunScope) -> tuple[str, ...]:
        """Name what holds for the speaker of a turn, as codes; nobody's word, no codes."""
        if scope.user_id is None:
            return ()
        if not self._core.enabled:
            return (MEMORY_OFF,)
        place, now_ms = _consent_place(scope), self._core.now_ms()
        levels = [
            (purpose, await self._core.consents.level(imp, scope.user_id, place, purpose, now_ms))
            for purpose in Purpose
        ]
        return tuple(f"{purpose}:{level}" for purpose, level in levels)

    async def set_consent(
        self,
        ctx: MemoryContext,
        level: ConsentLevel,
        *,
        purpose: Purpose = Purpose.REMEMBER,
        until: datetime | None = None,
    ) -> ConsentState | Refused:
        """Take the acting person's word for this place, with an end if he names one.

        Notes that were kept stay, and while it is off none about him is used here; forgetting them
        is a request of its own.
        """
        person = ctx.scope.user_id
        if ctx.by_model or person is None:
            return Refused(code=RefusalCode.NOT_ALLOWED)
        now_ms = self._core.now_ms()
        if until is not None and to_ms(until) <= now_ms:
            return Refused(code=RefusalCode.EXPIRED)
        consent = Consent(
            imp=ctx.imp,
            user_id=person,
            channel_id=_consent_place(ctx.scope),
            purpose=purpose,
            level=level,
            at_ms=now_ms,
            until_ms=None if until is None else to_ms(until),
        )
        await self._core.consents.put(consent)
        for binding in readable_bindings(audience_of(ctx.imp, ctx.scope)):
            self._core.index.forget_binding(binding)
        _log.info("memory.consent", level=level.value, purpose=purpose.value)
        return await self.consent(ctx, purpose)

    async def statuses(self) -> Mapping[str, int]:
        """Count all records by status, for the owner's doctor."""
        return await self._core.store.statuses()


def _consent_place(scope: RunScope) -> ChannelId | None:
    """Name the place that a person's word is for; None for direct messages."""
    return None if scope.is_dm else scope.circle_channel_id
