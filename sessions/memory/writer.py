"""Writing notes: what is refused, what waits for a click, what replaces what.

A note of the model's is inferred (A6), whatever it says of itself; a person's own command, menu or
button makes it explicit (A4). In a channel a note about a person waits for that person. Nobody
makes anything explicit about somebody else.

Spec: TR "Memory-write policy", "Contradiction policy"; the tables "Writing memory" and "Conflicts".
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import structlog

from compiler.audience import MemoryScope
from compiler.lifecycle import IllegalTransition, LifecycleEvent
from compiler.records import CreatorClass, RecordKind, RecordStatus, TrustClass
from sessions.memory.core import MemoryCore
from sessions.memory.drafts import draft_of, expiring, outdone_by, twin_of
from sessions.memory.notes import Claim, Note, NoteRow, is_over, to_ms, with_identity
from sessions.memory.results import Changed, Gone, Kept, NotFound, RefusalCode, Refused, Remembered
from sessions.memory.rules import MemoryContext, Placed, SourceMessage, check_text, place
from sessions.store.consent import ConsentLevel, Purpose

_log = structlog.get_logger(__name__)
_CLAIM_CHARS = 200


class NoteWriter:
    """Writes notes; every method may raise ``StoreUnavailable``."""

    def __init__(self, core: MemoryCore) -> None:
        self._core = core

    async def remember(
        self,
        ctx: MemoryContext,
        text: str,
        *,
        explicit: bool,
        claim: Claim | None = None,
        pin: bool = False,
        expires: datetime | None = None,
        scope: MemoryScope | None = None,
        about_channel: bool = False,
        source: SourceMessage | None = None,
        kind: RecordKind | None = None,
    ) -> Remembered:
        """Keep a note.

        Args:
            ctx: who acts where.
            text: the note.
            explicit: that a person's own command, menu or button asks for it.
            claim: what it says about what.
            pin: keep it ahead of others; a person's own wish only.
            expires: when it ends by itself.
            scope: ``IMP`` for an owner's note that holds everywhere; else decided by the place.
            about_channel: it is about the channel, not about a person.
            source: the message that a person wants remembered.
            kind: of the record, where it is not a plain note; the host's choice alone.

        Raises:
            ValueError: the model claims that it is explicit.
        """
        if explicit and ctx.by_model:
            raise ValueError("the model cannot declare a note explicit")
        refused = self._core.refusal() or check_text(text, claim, self._core.settings())
        if refused is not None:
            return refused
        placed = place(ctx, text, scope=scope, about_channel=about_channel, source=source)
        if isinstance(placed, Refused):
            return placed
        draft = draft_of(
            ctx,
            text,
            placed,
            explicit=explicit,
            claim=claim,
            now_ms=self._core.now_ms(),
            source=source,
        )
        row = replace(draft.row, pinned=pin and explicit, kind=kind or draft.row.kind)
        draft = replace(draft, row=row)
        return await self._admit(ctx, draft, expires)

    async def _admit(
        self,
        ctx: MemoryContext,
        draft: Note,
        expires: datetime | None,
        *,
        corrects: NoteRow | None = None,
    ) -> Remembered:
        """Hold a draft against time and consent, then write it."""
        now_ms = self._core.now_ms()
        if expires is not None and to_ms(expires) <= now_ms:
            return Refused(code=RefusalCode.EXPIRED)
        draft = expiring(draft, None if expires is None else to_ms(expires))
        allowed = await self._with_consent(ctx, draft, now_ms)
        if isinstance(allowed, Refused):
            return allowed
        if not self._core.may_change(ctx):
            return Refused(code=RefusalCode.TOO_FAST)
        async with self._core.writing:
            try:
                return await self._write(ctx, allowed, corrects=corrects)
            except IllegalTransition:
                # What it was to replace was forgotten or replaced meanwhile.
                return Refused(code=RefusalCode.ENDED)

    async def _with_consent(self, ctx: MemoryContext, draft: Note, now_ms: int) -> Note | Refused:
        """Apply the consent of the person whom a note is about."""
        subject = draft.row.subject_id
        if subject is None:
            return draft
        channel_id = draft.row.binding.channel_id
        word = await self._core.consents.word(
            ctx.imp, subject, channel_id, Purpose.REMEMBER, now_ms
        )
        level = await self._core.consents.level(
            ctx.imp, subject, channel_id, Purpose.REMEMBER, now_ms
        )
        own_word = draft.confirmed and subject == ctx.scope.user_id
        if level is ConsentLevel.OFF:
            return Refused(code=RefusalCode.CONSENT)
        if own_word:
            return draft
        if word is not None and level is ConsentLevel.ON:
            draft = expiring(draft, word.until_ms)  # no longer than what was allowed
        waits = (
            level is ConsentLevel.ASK or draft.confirmed or draft.row.status is RecordStatus.PENDING
        )
        # Somebody else's click makes nothing explicit about this person.
        row = replace(draft.row, status=RecordStatus.PENDING if waits else RecordStatus.ACTIVE)
        if draft.confirmed:
            row = replace(row, trust=TrustClass.INFERRED, creator=CreatorClass.MODEL, pinned=False)
            row = replace(row, kind=RecordKind.LONG_TERM_MEMORY_RECORD)
        return replace(draft, row=row)

    async def _write(
        self, ctx: MemoryContext, draft: Note, *, corrects: NoteRow | None
    ) -> Remembered:
        binding = draft.row.binding
        seen_at = self._core.forgetter.texts.get(self._core.fingerprint(draft))
        if seen_at is not None and not draft.confirmed and seen_at > ctx.revision:
            return Refused(code=RefusalCode.FORGOTTEN)
        if ctx.by_model and draft.row.message_id in self._core.taken_back:
            return Refused(code=RefusalCode.FORGOTTEN)
        now_ms = self._core.now_ms()
        here = await self._core.index.get(binding, now_ms)
        twin = twin_of(
            draft, (each for each in here.notes.values() if not is_over(each.row, now_ms))
        )
        if twin is not None and (twin.confirmed or not draft.confirmed):
            return Kept(note=self._core.view(twin), known=True)
        replaced = outdone_by(draft, here.notes.values())
        if twin is not None:
            replaced[twin.row.record_id] = twin
        stands = draft.row.status is RecordStatus.ACTIVE
        if corrects is not None and (stands or corrects.status is RecordStatus.PENDING):
            old = here.notes.get(corrects.record_id)
            if old is None:
                return Refused(code=RefusalCode.ENDED)
            replaced[old.row.record_id] = old
            before = here.notes.get(corrects.supersedes)
            if stands and before is not None:
                replaced[before.row.record_id] = before
        return await self._put(draft, list(replaced.values()), seen_at, corrects)

    async def _put(
        self,
        note: Note,
        replaced: list[Note],
        seen_at: int | None,
        corrects: NoteRow | None,
    ) -> Remembered:
        """Write a note in the place of others."""
        binding = note.row.binding
        if not await self._has_room(note.row, replaced):
            return Refused(code=RefusalCode.FULL)
        first = replaced[0].row.record_id if replaced else ""
        if corrects is not None:
            first = corrects.record_id
            if corrects.status is note.row.status is RecordStatus.PENDING and corrects.supersedes:
                first = corrects.supersedes  # a better draft is for the note that its draft was for
        note = with_identity(replace(note, row=replace(note.row, supersedes=first)))
        kept = await self._core.store.add(
            note, supersedes=[each.row.record_id for each in replaced]
        )
        if seen_at is not None:
            fingerprint = self._core.fingerprint(kept)
            self._core.forgetter.texts.pop(fingerprint, None)
            await self._core.vault.told_again(fingerprint)
        for old in replaced:
            ended = replace(old.row, superseded_by=kept.row.record_id)
            self._core.index.end(ended, RecordStatus.SUPERSEDED)
        self._core.index.put(kept)
        self._core.note_written(kept.row)
        _log.info(
            "memory.kept",
            note_id=kept.row.short_id,
            scope=binding.scope.value,
            status=kept.row.status.value,
            trust=kept.row.trust.value,
            chars=len(kept.text),
            replaced=len(replaced),
        )
        return Kept(
            note=self._core.view(kept), replaced=tuple(each.row.short_id for each in replaced)
        )

    async def _has_room(self, row: NoteRow, replaced: list[Note]) -> bool:
        """Tell whether one more note fits; of summaries, which nobody writes, the oldest goes.

        They take no room from people's notes: every conversation that ends may leave one.
        """
        store, is_summary = self._core.store, _is_summary(row)
        living = await store.living_in(row.binding, summaries=is_summary)
        if (
            living - sum(_is_summary(each.row) is is_summary for each in replaced)
            < self._core.settings().max_active
        ):
            return True
        here = await self._core.index.get(row.binding, self._core.now_ms())
        kept = [each.row for each in here.notes.values() if _is_summary(each.row)]
        if not is_summary or not kept:
            return False
        oldest = min(kept, key=lambda each: (each.created_ms, each.record_id))
        await store.expire([oldest.record_id])
        self._core.index.end(oldest, RecordStatus.EXPIRED)
        return True

    async def correct(
        self,
        ctx: MemoryContext,
        short_id: str,
        text: str,
        *,
        claim: Claim | None = None,
        expires: datetime | None = None,
    ) -> Changed:
        """Put a better version in the place of a note; the old one stays in its chain.

        From the model, a person's confirmed note is not replaced: the new version waits for his
        click, and so does a better version of it. Until then the note is shown with its doubt
        (``corrections``).
        """
        refused = self._core.refusal() or check_text(text, claim, self._core.settings())
        if refused is not None:
            return refused
        found = await self._core.own(ctx, short_id)
        if not isinstance(found, Note):
            return found
        if not self._stands(found.row):
            return Refused(code=RefusalCode.ENDED)
        if claim is None and found.claim is not None:
            claim = replace(found.claim, value=text[:_CLAIM_CHARS])
        placed = Placed(binding=found.row.binding, subject_id=found.row.subject_id)
        draft = draft_of(
            ctx, text, placed, explicit=not ctx.by_model, claim=claim, now_ms=self._core.now_ms()
        )
        draft = replace(draft, row=replace(draft.row, pinned=found.row.pinned and not ctx.by_model))
        if expires is None:
            draft = expiring(draft, found.row.expires_ms)  # other words keep nothing for longer
        if ctx.by_model and (found.confirmed or found.row.status is RecordStatus.PENDING):
            draft = replace(
                draft, row=replace(draft.row, status=RecordStatus.PENDING, pinned=False)
            )
        return await self._admit(ctx, draft, expires, corrects=found.row)

    async def confirm(self, ctx: MemoryContext, short_id: str) -> Changed:
        """Let the person stand behind a note: a new record, explicit, takes its place."""
        found = await self._clicked(ctx, short_id)
        if not isinstance(found, Note):
            return found
        if not self._stands(found.row):
            return Refused(code=RefusalCode.ENDED)
        if found.confirmed:
            return Kept(note=self._core.view(found), known=True)
        if await self._is_refused(found.row):
            return Refused(code=RefusalCode.CONSENT)
        placed = Placed(binding=found.row.binding, subject_id=found.row.subject_id)
        draft = draft_of(
            ctx, found.text, placed, explicit=True, claim=found.claim, now_ms=self._core.now_ms()
        )
        row = replace(
            draft.row,
            pinned=found.row.pinned,
            expires_ms=found.row.expires_ms,
            message_id=found.row.message_id,
            place_id=found.row.place_id,
        )
        async with self._core.writing:
            here = await self._core.index.get(found.row.binding, self._core.now_ms())
            replaced = [found]
            before = here.notes.get(found.row.supersedes)
            if before is not None:
                replaced.append(before)
            try:
                return await self._put(replace(draft, row=row), replaced, None, found.row)
            except IllegalTransition:
                return Refused(code=RefusalCode.ENDED)

    async def keep(self, ctx: MemoryContext, short_id: str) -> Changed:
        """Let a waiting note stand as the inferred one it is: the person's consent to it alone."""
        found = await self._clicked(ctx, short_id)
        if not isinstance(found, Note):
            return found
        if found.row.status is not RecordStatus.PENDING:
            return Kept(note=self._core.view(found), known=True)
        if found.row.supersedes:
            return await self.confirm(ctx, short_id)
        if not self._stands(found.row):
            return Refused(code=RefusalCode.ENDED)
        if await self._is_refused(found.row):
            return Refused(code=RefusalCode.CONSENT)
        async with self._core.writing:
            try:
                status = await self._core.store.advance(found.row.record_id, LifecycleEvent.CONSENT)
            except IllegalTransition:
                return Refused(code=RefusalCode.ENDED)
            kept = replace(found, row=replace(found.row, status=status))
            self._core.index.put(kept)
        return Kept(note=self._core.view(kept))

    async def pin(self, ctx: MemoryContext, short_id: str, *, pinned: bool = True) -> Changed:
        """Keep a note ahead of others, or no longer; a person's own wish."""
        found = await self._clicked(ctx, short_id)
        if not isinstance(found, Note):
            return found
        if found.row.status is not RecordStatus.ACTIVE or not self._stands(found.row):
            return Refused(code=RefusalCode.ENDED)
        async with self._core.writing:
            await self._core.store.pin(found.row.record_id, pinned=pinned)
            kept = replace(found, row=replace(found.row, pinned=pinned))
            self._core.index.put(kept)
        return Kept(note=self._core.view(kept))

    async def _clicked(self, ctx: MemoryContext, short_id: str) -> Note | NotFound | Gone | Refused:
        """Find the note that a person's own click is about; none is for the model to make."""
        if ctx.by_model:
            return Refused(code=RefusalCode.NOT_ALLOWED)
        refused = self._core.refusal()
        return refused if refused is not None else await self._core.own(ctx, short_id)

    def _stands(self, row: NoteRow) -> bool:
        """Whether a note can still be changed: it lives, and its time is not over."""
        living = row.status in (RecordStatus.ACTIVE, RecordStatus.PENDING)
        return living and not is_over(row, self._core.now_ms())

    async def _is_refused(self, row: NoteRow) -> bool:
        """Whether the person whom a note is about has switched remembering off where it is."""
        if row.subject_id is None:
            return False
        place = row.binding
        level = await self._core.consents.level(
            place.imp, row.subject_id, place.channel_id, Purpose.REMEMBER, self._core.now_ms()
        )
        return level is ConsentLevel.OFF


def _is_summary(row: NoteRow) -> bool:
    return row.kind is RecordKind.SHORT_TERM_SUMMARY
