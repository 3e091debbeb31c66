"""Reading notes: a turn's search, and what people may see of what is kept about them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Final

from compiler.audience import MemoryScope, audience_of, may_know, readable_bindings
from compiler.errors import SafeError
from compiler.recall import Candidate, Query, RecallIndex
from compiler.recall import select as select_notes
from compiler.records import RecordStatus
from compiler.request import ImpName, MessageId, RunScope, TurnId, UserId
from compiler.terms import terms_of
from sessions.clock import timestamp
from sessions.memory.core import MemoryCore, bare_view
from sessions.memory.notes import NoteRow
from sessions.memory.results import (
    Exported,
    Listed,
    NoteState,
    NoteView,
    NotFound,
    RefusalCode,
    Refused,
    Shown,
)
from sessions.memory.rules import MemoryContext
from sessions.store.note_rows import StoredNote

_RECALLED: Final = 8
_SEARCHED: Final = 20
_LIVING: Final = (RecordStatus.ACTIVE, RecordStatus.PENDING)


class NoteReader:
    """Reads notes; every method may raise ``StoreUnavailable``."""

    def __init__(self, core: MemoryCore) -> None:
        self._core = core

    async def recall(self, ctx: MemoryContext, query: str) -> Listed:
        """Search the notes that this turn may know; for the model's tool."""
        if not self._core.enabled:
            return Listed(notes=())
        now_ms = self._core.now_ms()
        audience = await self._core.audience(ctx.imp, ctx.scope, now_ms)
        indexes = await self._core.indexes(audience, now_ms)
        found = select_notes(
            [each.index for each in indexes],
            Query(text=query, now_ms=now_ms, limit_notes=_RECALLED),
        )
        notes = [
            replace(self._core.view(note), conflict=each.doubt_of(note, ctx.scope.user_id, now_ms))
            for candidate in found.chosen
            for each in indexes
            if (note := each.notes.get(candidate.record_id)) is not None
            and not self._core.is_forgotten(note)
            and may_know(note.row.binding, audience) is None
        ]
        return Listed(notes=tuple(notes), uncertain=found.uncertain and bool(notes))

    async def may_be_given(
        self, imp: ImpName, scope: RunScope, record_ids: Collection[str]
    ) -> bool:
        """Whether a turn may know each of these records, for what was derived of all of them."""
        if not record_ids:
            return True
        now_ms = self._core.now_ms()
        audience = await self._core.audience(imp, scope, now_ms)
        indexes = await self._core.indexes(audience, now_ms)
        return all(
            any(each.may_be_given(record_id, now_ms) for each in indexes)
            for record_id in record_ids
        )

    async def list_own(self, ctx: MemoryContext) -> Listed:
        """List all notes of the acting person, ended and forgotten ones too, the newest first."""
        if ctx.scope.user_id is None:
            return Listed(notes=())
        return await self._listed(
            await self._core.store.of_person(ctx.scope.user_id, tombstones=True)
        )

    async def list_here(self, ctx: MemoryContext) -> Listed:
        """List what is kept about the channel itself, where the acting person stands in one."""
        if not self._core.enabled or ctx.scope.is_dm:
            return Listed(notes=())
        now_ms = self._core.now_ms()
        notes = [
            note
            for binding in readable_bindings(audience_of(ctx.imp, ctx.scope))
            if binding.scope is MemoryScope.CHANNEL
            for note in (await self._core.index.get(binding, now_ms)).notes.values()
            if note.row.subject_id is None and not self._core.is_forgotten(note)
        ]
        notes.sort(key=lambda note: (-note.row.created_ms, note.row.record_id))
        return Listed(notes=tuple(map(self._core.view, notes)))

    async def of_message(
        self,
        ctx: MemoryContext,
        *,
        message_id: MessageId | None = None,
        turn_id: TurnId | None = None,
    ) -> Listed:
        """Find the acting person's living notes that were made of a message, or in a turn."""
        if ctx.scope.user_id is None:
            return Listed(notes=())
        found = [
            each
            for each in await self._core.store.of_person(ctx.scope.user_id)
            if each.row.status in _LIVING
            and (
                (message_id is not None and each.row.message_id == message_id)
                or (turn_id is not None and each.row.turn_id == turn_id)
            )
        ]
        return await self._listed(found)

    async def written_in(self, turn_id: TurnId) -> Listed:
        """Give the living notes that the model wrote in a turn, once; for the host to show."""
        found = [
            stored
            for record_id in self._core.take_written(turn_id)
            if (stored := await self._core.store.get(record_id)) is not None
            and stored.row.status in _LIVING
        ]
        return await self._listed(found)

    async def search_own(self, ctx: MemoryContext, query: str) -> Listed:
        """Find living notes of the acting person that hold what was typed, the best first.

        A word of it is enough, or all of it as a part of a text.
        """
        if ctx.scope.user_id is None or not self._core.enabled:
            return Listed(notes=())
        stored = await self._core.store.of_person(ctx.scope.user_id)
        living = [each for each in stored if each.row.status in _LIVING]
        notes = {each.row.record_id: each for each in (await self._core.store.open(living)).notes}
        index = RecallIndex(
            Candidate(record_id=record_id, text=note.text, created_ms=note.row.created_ms)
            for record_id, note in notes.items()
            if _holds(note.text, query)
        )
        wanted = Query(text=query, now_ms=self._core.now_ms(), limit_notes=_SEARCHED)
        chosen = select_notes([index], wanted).chosen
        return Listed(notes=tuple(self._core.view(notes[each.record_id]) for each in chosen))

    async def show(self, ctx: MemoryContext, short_id: str) -> Shown:
        """Show one note of the acting person's (the owner: anybody's)."""
        stored = await self._core.store.find(short_id, await self._core.reach(ctx))
        if stored is None:
            return NotFound()
        (view,) = (await self._listed([stored])).notes
        return view

    async def chain(self, ctx: MemoryContext, short_id: str) -> Listed | NotFound:
        """Show all versions of a note, the oldest first."""
        stored = await self._core.store.find(short_id, await self._core.reach(ctx))
        if stored is None:
            return NotFound()
        rows = await self._core.store.chain(stored.row.record_id)
        versions = [await self._core.store.get(row.record_id) for row in rows]
        return await self._listed([each for each in versions if each is not None])

    async def inspect(
        self, ctx: MemoryContext, *, user_id: UserId | None = None
    ) -> Listed | Refused:
        """List anybody's notes, for the owner alone; shown to nobody else."""
        if not ctx.is_owner:
            return Refused(code=RefusalCode.NOT_ALLOWED)
        return await self._listed(await self._core.store.of_person(user_id, tombstones=True))

    async def export_own(self, ctx: MemoryContext) -> Exported:
        """Write all that is kept about the acting person as one JSON document."""
        listed = await self.list_own(ctx)
        document = {
            "format": "inglenook.memory-export.v1",
            "exported_at": timestamp(self._core.clock.utc_now()),
            "user": ctx.scope.user_id,
            "notes": [asdict(each) for each in listed.notes],
        }
        text = json.dumps(document, ensure_ascii=False, indent=2)
        return Exported(document=text, notes=len(listed.notes))

    async def _listed(self, stored: Sequence[StoredNote]) -> Listed:
        try:
            opened = {
                note.row.record_id: note for note in (await self._core.store.open(stored)).notes
            }
        except SafeError:
            opened = {}
        views: list[NoteView] = []
        unreadable = 0
        for each in stored:
            note = opened.get(each.row.record_id)
            if note is not None:
                views.append(await self._linked(self._core.view(note), each.row))
            elif each.row.status is RecordStatus.TOMBSTONED:
                gone = await self._core.gone(each.row)
                views.append(replace(bare_view(each.row), forgotten_on=gone.forgotten_on))
            else:
                unreadable += 1
                views.append(replace(bare_view(each.row), state=NoteState.UNREADABLE))
        return Listed(notes=tuple(views), unreadable=unreadable)

    async def _linked(self, view: NoteView, row: NoteRow) -> NoteView:
        """Name the versions beside a note by their short ids."""
        if not row.supersedes and not row.superseded_by:
            return view
        before = await self._core.store.get(row.supersedes) if row.supersedes else None
        after = await self._core.store.get(row.superseded_by) if row.superseded_by else None
        return replace(
            view,
            replaces=before.row.short_id if before else "",
            replaced_by=after.row.short_id if after else "",
        )


def _holds(text: str, query: str) -> bool:
    if query.strip().casefold() in text.casefold():
        return True
    wanted = terms_of(query, limit_chars=len(query))
    return not set(wanted).isdisjoint(terms_of(text, limit_chars=len(text)))
