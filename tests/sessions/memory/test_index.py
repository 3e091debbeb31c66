"""The indexes of the bindings in use: loaded once, changed by writes, bounded, never stale."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from compiler.audience import Binding, Exclusion, MemoryScope
from compiler.recall import Query, select
from compiler.records import CreatorClass, RecordKind, RecordStatus, TrustClass
from compiler.request import ImpName, UserId
from sessions.errors import StoreUnavailable
from sessions.memory.index import BindingNotes, Loaded, MemoryIndex, account_of
from sessions.memory.notes import Claim, Note, NoteRow, with_identity


def binding(user: int = 8) -> Binding:
    return Binding(imp=ImpName("ember"), scope=MemoryScope.USER, user_id=UserId(f"discord:{user}"))


def note(
    text: str,
    *,
    user: int = 8,
    explicit: bool = False,
    at: int = 1_000,
    claim: Claim | None = None,
    author: int = 8,
) -> Note:
    row = NoteRow(
        record_id="",
        short_id=f"m-{text[:8]}",
        kind=RecordKind.LONG_TERM_MEMORY_RECORD,
        binding=binding(user),
        subject_id=UserId(f"discord:{user}"),
        author_id=UserId(f"discord:{author}"),
        creator=CreatorClass.PERSON if explicit else CreatorClass.MODEL,
        trust=TrustClass.EXPLICIT if explicit else TrustClass.INFERRED,
        status=RecordStatus.ACTIVE,
        pinned=False,
        created_ms=at,
        expires_ms=None,
    )
    return with_identity(Note(row=row, text=text, claim=claim))


def loaded(*notes: Note, refusing: str = "", until_ms: int | None = None) -> Loaded:
    return Loaded(
        notes=notes,
        ended=(),
        refusing=frozenset({refusing} if refusing else ()),
        until_ms=until_ms,
    )


class Shelf:
    """Loads what a test has put there, and counts."""

    def __init__(self) -> None:
        self.content: dict[Binding, Loaded] = {}
        self.loads: list[Binding] = []
        self.asked = asyncio.Event()
        self.gate: asyncio.Event | None = None

    async def __call__(self, wanted: Binding) -> Loaded:
        self.loads.append(wanted)
        self.asked.set()
        found = self.content.get(wanted, loaded())
        if self.gate is not None:
            await self.gate.wait()
        return found


def texts_of(found: BindingNotes) -> list[str]:
    chosen = select([found.index], Query(text="tea", now_ms=5_000)).chosen
    return sorted(candidate.text for candidate in chosen)


def claim(value: str) -> Claim:
    return Claim(subject="round", predicate="day", value=value)


async def test_a_binding_is_loaded_once_and_changed_by_writes() -> None:
    shelf = Shelf()
    index = MemoryIndex(shelf)
    one, two = note("tea one"), note("tea two")
    shelf.content[binding()] = loaded(one)
    assert texts_of(await index.get(binding(), 0)) == ["tea one"]
    index.put(two)
    assert texts_of(await index.get(binding(), 0)) == ["tea one", "tea two"]
    index.end(one.row, RecordStatus.SUPERSEDED)
    found = await index.get(binding(), 0)
    assert texts_of(found) == ["tea two"]
    assert [each.reason for each in found.ended_notes()] == ["superseded"]
    index.drop([two.row, one.row])
    found = await index.get(binding(), 0)
    assert (texts_of(found), found.ended_notes(), len(found)) == ([], [], 0)
    assert shelf.loads == [binding()]


async def test_writes_to_what_is_not_loaded_load_nothing() -> None:
    shelf = Shelf()
    index = MemoryIndex(shelf)
    index.put(note("tea"))
    index.drop([note("tea").row])
    assert (shelf.loads, len(index)) == ([], 0)
    assert index.revision == 2


async def test_memory_stays_bounded() -> None:
    """The binding longest unused goes first; the one in use stays, however large."""
    shelf = Shelf()
    for user in range(4):
        shelf.content[binding(user)] = loaded(*(note(f"tea {n}", user=user) for n in range(3)))
    index = MemoryIndex(shelf, max_notes=7)
    for user in (0, 1, 0, 2):
        await index.get(binding(user), 0)
    assert len(index) == 6
    await index.get(binding(0), 0)
    assert shelf.loads.count(binding(0)) == 1
    await index.get(binding(1), 0)
    assert shelf.loads.count(binding(1)) == 2
    small = MemoryIndex(shelf, max_notes=1)
    assert len(await small.get(binding(3), 0)) == 3


async def test_a_cleared_index_holds_nothing_and_reads_anew() -> None:
    """Forgetting: what went with a note is kept open nowhere, not by a load on its way either."""
    shelf = Shelf()
    for user in range(2):
        shelf.content[binding(user)] = loaded(note("tea", user=user))
    index = MemoryIndex(shelf)
    await index.get(binding(0), 0)
    shelf.gate = asyncio.Event()
    shelf.asked.clear()
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(index.get(binding(1), 0))
        await shelf.asked.wait()
        index.clear()
        assert len(index) == 0
        shelf.content[binding(1)] = loaded()
        shelf.gate.set()
    assert texts_of(reading.result()) == []
    assert texts_of(await index.get(binding(0), 0)) == ["tea"]
    assert shelf.loads == [binding(0), binding(1), binding(1), binding(0)]


async def test_a_write_during_the_loading_is_not_lost() -> None:
    """What was read before the write is thrown away and read again."""
    shelf = Shelf()
    shelf.gate = asyncio.Event()
    index = MemoryIndex(shelf)
    old, new = note("tea old"), note("tea new")
    shelf.content[binding()] = loaded(old)
    async with asyncio.TaskGroup() as tasks:
        getting = tasks.create_task(index.get(binding(), 0))
        await shelf.asked.wait()
        shelf.content[binding()] = loaded(new)
        index.drop([old.row])
        shelf.gate.set()
    assert texts_of(getting.result()) == ["tea new"]
    assert len(shelf.loads) == 2


async def test_two_turns_at_once_load_a_binding_once() -> None:
    shelf = Shelf()
    index = MemoryIndex(shelf)
    one, two = await asyncio.gather(index.get(binding(), 0), index.get(binding(), 0))
    assert one is two
    assert len(shelf.loads) == 1


async def test_a_binding_that_never_rests_fails_closed() -> None:
    index: MemoryIndex

    async def load(wanted: Binding) -> Loaded:
        index.forget_binding(wanted)
        return loaded()

    index = MemoryIndex(load)
    with pytest.raises(StoreUnavailable):
        await index.get(binding(), 0)


async def test_an_index_is_read_again_when_a_consent_in_it_ends() -> None:
    shelf = Shelf()
    index = MemoryIndex(shelf)
    shelf.content[binding()] = loaded(note("tea"), refusing="discord:8", until_ms=1_000)
    assert texts_of(await index.get(binding(), 999)) == []
    shelf.content[binding()] = loaded(note("tea"))
    assert texts_of(await index.get(binding(), 1_000)) == ["tea"]


def test_what_a_rule_beats_is_out_and_returns_with_its_rival_s_end() -> None:
    """Contradictions are settled among what is active; a forgotten winner frees the other."""
    said = note("tea on monday", explicit=True, claim=claim("Monday"))
    guess = note("tea on friday", at=2_000, claim=claim("friday"))
    found = BindingNotes(loaded(said, guess))
    assert texts_of(found) == ["tea on monday"]
    assert found.beaten() == {Exclusion.SUPERSEDED: [guess.row.record_id]}
    (dispute,) = found.disputes
    assert (dispute.code, dispute.kept) == ("PREFERENCE_STALE_PROFILE", said.row.short_id)
    found.drop(said.row.record_id)
    assert texts_of(found) == ["tea on friday"]
    assert found.beaten() == {}


def test_what_may_be_given_is_what_could_be_chosen() -> None:
    """A summary stands on its notes only while each of them could be given (TR)."""
    said = note("tea on monday", explicit=True, claim=claim("Monday"))
    guess = note("tea on friday", at=2_000, claim=claim("friday"))
    other = note("cake", explicit=True)
    ending = replace(other, row=replace(other.row, expires_ms=5_000))
    found = BindingNotes(loaded(said, guess, ending))
    assert found.may_be_given(said.row.record_id, 1_000)
    assert not found.may_be_given(guess.row.record_id, 1_000), "another word outdoes it"
    assert found.may_be_given(ending.row.record_id, 4_999)
    assert not found.may_be_given(ending.row.record_id, 5_000)
    assert not found.may_be_given("unknown", 1_000)
    assert not BindingNotes(loaded(said, refusing="discord:8")).may_be_given(said.row.record_id, 0)


def test_pins_and_people_s_own_words_weigh() -> None:
    """TR's weights: source quality, status and pin, as the row has them."""

    def first(*notes: Note) -> str:
        index = BindingNotes(loaded(*notes)).index
        return select([index], Query(text="hello", now_ms=5_000)).chosen[0].text

    plain, other = note("tea at four"), note("cake at six")
    for best in (plain, other):
        rest = other if best is plain else plain
        pinned = replace(best, row=replace(best.row, pinned=True))
        assert first(pinned, rest) == best.text
        assert first(note(best.text, explicit=True), rest) == best.text
    made = BindingNotes(loaded(plain, note("said", explicit=True))).index.entries()
    weighed = {(each.candidate.confirmed, each.candidate.quality_bp) for each in made}
    assert weighed == {(False, 5_000), (True, 10_000)}


def test_what_goes_for_good_is_told_to_who_keeps_more_of_it() -> None:
    """Forgetting reaches the vectors of meaning as well, loaded or not; an end alone does not."""
    gone: list[str] = []
    index = MemoryIndex(Shelf(), on_drop=gone.append)
    one, two = note("tea"), note("cake")
    index.put(one)
    index.end(two.row, RecordStatus.SUPERSEDED)
    index.drop([one.row])
    assert gone == [one.row.record_id]


def test_every_note_that_is_left_out_has_one_reason() -> None:
    """Issue "Selection": by rank, by a rule, or because it ended long before."""
    said = note("tea on monday", explicit=True, claim=claim("Monday"))
    guess = note("tea on friday", at=2_000, claim=claim("friday"))
    summary = note("we spoke of tea")
    summary = replace(summary, row=replace(summary.row, kind=RecordKind.SHORT_TERM_SUMMARY))
    old = replace(note("old").row, status=RecordStatus.SUPERSEDED)
    found = BindingNotes(replace(loaded(said, guess, summary), ended=(old,)))
    left = select([found.index], Query(text="tea", now_ms=5_000, limit_notes=0)).left
    told = [(each.note_id, each.reason) for each in account_of(left, [found])]
    assert sorted(told) == sorted(
        [
            (said.row.short_id, "rank"),
            (guess.row.short_id, "superseded"),
            (summary.row.short_id, "summary-not-needed"),
            (old.short_id, "superseded"),
        ]
    )


def test_claims_that_agree_are_one() -> None:
    one = note("the tea round is on friday", explicit=True, claim=claim("Friday"))
    two = note("friday has tea", at=2_000, claim=claim("FRIDAY"))
    found = BindingNotes(loaded(one, two))
    assert found.beaten() == {Exclusion.DUPLICATE: [two.row.record_id]}


def test_where_no_rule_decides_both_are_told_of_the_other() -> None:
    one = note("monday tea", explicit=True, claim=claim("monday"))
    two = note("friday tea", explicit=True, claim=claim("friday"), author=9)
    found = BindingNotes(loaded(one, two))
    assert texts_of(found) == ["friday tea", "monday tea"]
    assert found.conflicts == {
        one.row.record_id: f"AUTHORITATIVE_DATE_DIVERGENCE {two.row.short_id}",
        two.row.record_id: f"AUTHORITATIVE_DATE_DIVERGENCE {one.row.short_id}",
    }
    waiting = replace(two, row=replace(two.row, status=RecordStatus.PENDING))
    found.put(waiting)
    assert found.conflicts == {}
