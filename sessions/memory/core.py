"""What all of memory works with: its stores, the index, and the questions that every part asks.

``MemoryCore`` decides nothing about a request; ``writer``, ``reader`` and ``service``
do, over the same collaborators.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import structlog

from compiler.audience import Audience, Binding, audience_of, readable_bindings
from compiler.records import RecordStatus, TrustClass
from compiler.request import ImpName, MessageId, RunScope, TurnId, UserId
from compiler.terms import fold
from sessions.clock import Clock
from sessions.limits import MemorySettings
from sessions.memory.consents import ConsentBook
from sessions.memory.forgetting import Forgetter
from sessions.memory.index import BindingNotes, Loaded, MemoryIndex
from sessions.memory.notes import Note, NoteRow, binding_fields, date_of, is_over, to_ms
from sessions.memory.results import Gone, NoteState, NoteView, NotFound, RefusalCode, Refused
from sessions.memory.rules import MemoryContext
from sessions.memory.semantic import MeaningIndex
from sessions.store.consent import ConsentLevel, Purpose
from sessions.store.memory import MemoryStore, Reach
from sessions.store.vault import Vault

_log = structlog.get_logger(__name__)
_MINUTE_NS: Final = 60_000_000_000
_PEOPLE: Final = 1_024
"""People whose recent changes are counted at once."""
_TURNS: Final = 1_024
"""Turns whose notes nobody has been shown yet."""
SharedContext = Callable[[RunScope], bool]
"""Whether the owner's policy lets private notes be used in a place, if their person agrees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryParts:
    """The collaborators of memory."""

    vault: Vault
    store: MemoryStore
    consents: ConsentBook
    clock: Clock
    settings: Callable[[], MemorySettings]
    shared_context: SharedContext
    meaning: MeaningIndex


class MemoryCore:
    """The collaborators, and what follows from them alone."""

    def __init__(
        self, parts: MemoryParts, *, forgetter: Callable[[MemoryIndex], Forgetter]
    ) -> None:
        """Take the parts, and what makes the forgetter over the index."""
        self.vault = parts.vault
        self.store = parts.store
        self.consents = parts.consents
        self.clock = parts.clock
        self.settings = parts.settings
        self._shared_context = parts.shared_context
        self.meaning = parts.meaning
        self.index = MemoryIndex(self._load, on_drop=lambda each: self.meaning.drop((each,)))
        self.forgetter = forgetter(self.index)
        self.writing = self.forgetter.writing
        """Held by whoever changes notes, so that each change sees the one before."""
        self._changes: OrderedDict[str, deque[int]] = OrderedDict()
        self._written: OrderedDict[TurnId, list[str]] = OrderedDict()
        self.taken_back: OrderedDict[str, None] = OrderedDict()
        """Messages that were deleted lately: their turns may still have a call on its way."""

    @property
    def enabled(self) -> bool:
        """Whether the owner has memory switched on and its keys are there."""
        return self.settings().enabled and self.vault.fault is None

    async def _load(self, binding: Binding) -> Loaded:
        """Read what the index of a binding is made of."""
        stored = await self.store.of_binding(binding)
        opened = await self.store.open(stored)
        if opened.unreadable:
            _log.error("memory.unreadable", notes=len(opened.unreadable))
        now_ms = self.now_ms()
        refusing: set[str] = set()
        ends: list[int] = []
        for person in sorted({each.row.subject_id for each in opened.notes if each.row.subject_id}):
            word = await self.consents.word(
                binding.imp, person, binding.channel_id, Purpose.REMEMBER, now_ms
            )
            if word is not None and word.level is ConsentLevel.OFF:
                refusing.add(person)
            if word is not None and word.until_ms is not None:
                ends.append(word.until_ms)
        return Loaded(
            notes=opened.notes,
            ended=tuple(each.row for each in stored if each.sealed is None),
            refusing=frozenset(refusing),
            until_ms=min(ends, default=None),
        )

    async def audience(self, imp: ImpName, scope: RunScope, now_ms: int) -> Audience:
        """Say who can read a turn's reply, with the owner's policy and the person's consent."""
        consented = False
        shared = not scope.is_dm and self._shared_context(scope)
        if shared and scope.user_id is not None:
            level = await self.consents.level(
                imp, scope.user_id, scope.circle_channel_id, Purpose.SHARE, now_ms
            )
            consented = level is ConsentLevel.ON
        return audience_of(imp, scope, shared_context=shared, consented=consented)

    async def indexes(self, audience: Audience, now_ms: int) -> list[BindingNotes]:
        """Give the indexes of all that an audience may know."""
        return [await self.index.get(binding, now_ms) for binding in readable_bindings(audience)]

    async def nearness(
        self, imp: ImpName, scope: RunScope, text: str, now_ms: int
    ) -> Mapping[str, int] | None:
        """Say how near in meaning to a text each note is that a turn may know; for "local" only.

        None if it cannot be said now, so that words alone have to do.

        What it read may have changed when it returns, so nothing but its answer is to be used.
        """
        settings = self.settings()
        if settings.semantic != "local":
            return {}
        audience = await self.audience(imp, scope, now_ms)
        notes = {
            entry.record_id: entry.candidate.text
            for each in await self.indexes(audience, now_ms)
            for entry in each.index.entries()
            if entry.reason is None
        }
        return await self.meaning.scores(text, notes, seconds=settings.semantic_seconds)

    def is_forgotten(self, note: Note) -> bool:
        """The standing canary: neither a forgotten record nor its very words pass."""
        return note.row.record_id in self.forgetter.gone or (
            bool(self.forgetter.texts) and self.fingerprint(note) in self.forgetter.texts
        )

    async def reach(self, ctx: MemoryContext) -> Reach:
        """Say which ids an asker can name."""
        if ctx.is_owner:
            return Reach(user_id=None)
        person = ctx.scope.user_id or UserId("-")
        if not ctx.by_model:
            return Reach(user_id=person)
        audience = await self.audience(ctx.imp, ctx.scope, self.now_ms())
        return Reach(user_id=person, bindings=readable_bindings(audience))

    async def own(self, ctx: MemoryContext, short_id: str) -> Note | NotFound | Gone | Refused:
        """Find and open a note of the acting person's own, to change it.

        An owner too: what is kept about somebody else is not his to confirm or to reword.
        """
        reach = await self.reach(ctx)
        if ctx.is_owner:
            reach = Reach(user_id=ctx.scope.user_id or UserId("-"))
        stored = await self.store.find(short_id, reach)
        if stored is None:
            return NotFound()
        if stored.row.status is RecordStatus.TOMBSTONED:
            return await self.gone(stored.row)
        opened = await self.store.open([stored])
        if not opened.notes:
            return Refused(code=RefusalCode.KEYS_UNAVAILABLE)
        return opened.notes[0]

    def refusal(self) -> Refused | None:
        """Refuse whatever it is while memory is off or locked."""
        if not self.settings().enabled:
            return Refused(code=RefusalCode.SWITCHED_OFF)
        if self.vault.fault is not None:
            return Refused(code=RefusalCode.KEYS_UNAVAILABLE)
        return None

    def may_change(self, ctx: MemoryContext) -> bool:
        """Count a change of a person's against his rate."""
        person = ctx.scope.user_id or ""
        times = self._changes.setdefault(person, deque())
        self._changes.move_to_end(person)
        while len(self._changes) > _PEOPLE:
            self._changes.popitem(last=False)
        now_ns = self.clock.monotonic_ns()
        while times and now_ns - times[0] >= _MINUTE_NS:
            times.popleft()
        if len(times) >= self.settings().changes_per_minute:
            return False
        times.append(now_ns)
        return True

    def note_taken_back(self, message_id: MessageId) -> None:
        """Keep in mind for a while that a message was deleted."""
        self.taken_back[message_id] = None
        while len(self.taken_back) > _TURNS:
            self.taken_back.popitem(last=False)

    def note_written(self, row: NoteRow) -> None:
        """Keep in mind which notes the model wrote in a turn, until they are asked for."""
        turn_id = TurnId(row.turn_id)
        if turn_id:
            self._written.setdefault(turn_id, []).append(row.record_id)
            while len(self._written) > _TURNS:
                self._written.popitem(last=False)

    def take_written(self, turn_id: TurnId) -> tuple[str, ...]:
        """Give the records that the model wrote in a turn, once."""
        return tuple(self._written.pop(turn_id, ()))

    async def gone(self, row: NoteRow) -> Gone:
        """Say when a record was forgotten."""
        at_ms = await self.store.forgotten_at(row.record_id)
        return Gone(
            short_id=row.short_id,
            forgotten_on=date_of(self.now_ms() if at_ms is None else at_ms),
        )

    def view(self, note: Note) -> NoteView:
        """Show a note."""
        row = note.row
        return replace(
            bare_view(row),
            text=note.text,
            state=state_of(row, self.now_ms()),
            claim=note.claim,
            message_id=row.message_id,
            expires_on="" if row.expires_ms is None else date_of(row.expires_ms),
        )

    def fingerprint(self, note: Note) -> bytes:
        """Give the keyed hash of a note's words within its audience."""
        return self.vault.fingerprint(fold(note.text), binding_fields(note.row.binding))

    def now_ms(self) -> int:
        """Give the wall clock in Unix milliseconds."""
        return to_ms(self.clock.utc_now())


def bare_view(row: NoteRow) -> NoteView:
    """Show what of a note lies open; ``text`` and what is sealed with it stay empty."""
    return NoteView(
        short_id=row.short_id,
        state=_STATES.get(row.status, NoteState.INFERRED),
        scope=row.binding.scope,
        imp=row.binding.imp,
        text="",
        recorded_on=date_of(row.created_ms),
        pinned=row.pinned,
        channel_id=row.binding.channel_id,
        about=row.subject_id,
    )


def state_of(row: NoteRow, now_ms: int) -> NoteState:
    """Say how a note stands now."""
    if row.status is RecordStatus.ACTIVE:
        if is_over(row, now_ms):
            return NoteState.EXPIRED
        explicit = row.trust is TrustClass.EXPLICIT
        return NoteState.CONFIRMED if explicit else NoteState.INFERRED
    return _STATES[row.status]


_STATES: Final = {
    RecordStatus.PENDING: NoteState.WAITING,
    RecordStatus.RETRACTED: NoteState.WITHDRAWN,
    RecordStatus.SUPERSEDED: NoteState.REPLACED,
    RecordStatus.EXPIRED: NoteState.EXPIRED,
    RecordStatus.TOMBSTONED: NoteState.FORGOTTEN,
}
