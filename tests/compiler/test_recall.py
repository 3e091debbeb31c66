"""Selection of memory (TR "Retrieval eligibility", issue's reason codes)."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from compiler.audience import Exclusion
from compiler.recall import POOL, Candidate, Query, RecallIndex, select
from compiler.records import RecordStatus

NOW = 1_764_460_800_000
DAY = 86_400_000


def note(name: str, text: str, **changes: object) -> Candidate:
    plain = Candidate(record_id=name, text=text, created_ms=NOW - DAY)
    return replace(plain, **changes)  # type: ignore[arg-type]  # a table of keywords


def ask(text: str, *notes: Candidate, **changes: object) -> tuple[list[str], dict[str, str]]:
    """Select over one index; give chosen ids and the reason of each id left out."""
    query = replace(Query(text=text, now_ms=NOW), **changes)  # type: ignore[arg-type]  # as above
    recall = select([RecallIndex(notes)], query)
    left = {name: reason.value for reason, names in recall.left.items() for name in names}
    return [candidate.record_id for candidate in recall.chosen], left


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": RecordStatus.TOMBSTONED}, "tombstoned"),
        ({"status": RecordStatus.SUPERSEDED}, "superseded"),
        ({"status": RecordStatus.RETRACTED}, "retracted"),
        ({"status": RecordStatus.EXPIRED}, "expired"),
        ({"status": RecordStatus.PENDING}, "consent"),
        ({"consented": False}, "consent"),
        ({"expires_ms": NOW}, "expired"),
        ({"expires_ms": NOW - 1}, "expired"),
    ],
)
def test_what_is_not_eligible_is_never_ranked(changes: dict[str, object], reason: str) -> None:
    """However well it fits the question, pinned and confirmed."""
    gone = note("gone", "bo likes tea", pinned=True, confirmed=True, **changes)
    chosen, left = ask("what does bo like? tea", gone, note("other", "cy ships on friday"))
    assert chosen == ["other"]
    assert left == {"gone": reason}


@pytest.mark.parametrize(
    ("question", "uncertain"),
    [
        ("When is Ada's birthday?", False),
        ("BIRTHDAY", False),
        ("Good evening, how are you all doing?", True),
        ("Between work and the garden and the long way home I lost count: the birthday?", False),
        ("\N{THUMBS UP SIGN}", False),
        ("", False),
    ],
)
def test_notes_that_answer_to_nothing_that_was_asked_are_uncertain(
    question: str, *, uncertain: bool
) -> None:
    """UNCERTAIN_RETRIEVAL: words that most notes have are no evidence; without words there is no
    question that they could fail to answer.
    """
    notes = [note(f"n{number}", f"the thing {number} is done") for number in range(40)]
    index = RecallIndex([*notes, note("x", "Ada's birthday is the third of May")])
    recall = select([index], Query(text=question, now_ms=NOW, limit_notes=5))
    assert recall.uncertain is uncertain
    assert recall.chosen, "it is told and filters nothing"


def test_nearness_in_meaning_answers_without_a_common_word() -> None:
    index = RecallIndex([note("a", "Bo likes tea")])
    for semantic, uncertain in (
        ({"a": 5_000}, False),
        ({"a": 100}, True),
        ({}, True),
        (None, True),
    ):
        query = Query(text="favourite drink?", now_ms=NOW, semantic=semantic)
        assert select([index], query).uncertain is uncertain


def test_where_there_are_no_notes_nothing_is_uncertain() -> None:
    assert not select([], Query(text="tea?", now_ms=NOW)).uncertain


def test_expiry_is_the_first_moment_at_which_it_is_gone() -> None:
    """One millisecond earlier it still stands."""
    assert ask("tea", note("a", "tea", expires_ms=NOW + 1))[0] == ["a"]


@given(st.data())
def test_an_index_in_use_selects_as_a_new_one(data: st.DataObject) -> None:
    """What it keeps between questions never shows: notes change, and the clock goes either way."""
    names, words = st.sampled_from("abcdef"), st.sampled_from(["tea", "hot tea", "ships"])
    moments = st.integers(0, 6)
    kept: dict[str, Candidate] = {}
    index = RecallIndex()
    for _ in range(data.draw(st.integers(1, 8))):
        name = data.draw(names)
        index.drop(name)
        kept.pop(name, None)
        if data.draw(st.booleans()):
            expires = data.draw(st.none() | moments)
            kept[name] = note(name, data.draw(words), expires_ms=expires)
            index.put(kept[name])
        query = Query(text=data.draw(words), now_ms=data.draw(moments))
        assert select([index], query) == select([RecallIndex(kept.values())], query)


def test_the_fitting_note_comes_first() -> None:
    """Words of the question decide among notes of equal standing."""
    notes = [note(str(n), f"a remark number {n} about the weather") for n in range(20)]
    chosen, _ = ask("when is the birthday of bo?", *notes, note("z", "bo has birthday in may"))
    assert chosen[0] == "z"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("когда день рождения?", "День рождения в мае"),
        ("生日是哪天", "他的生日是星期五"),
        ("ISTANBUL nerede", "İstanbul toplantısı"),
        ("cafe\u0301", "das CAFÉ am Markt"),
    ],
)
def test_recall_works_in_every_script(question: str, text: str) -> None:
    """Russian, Chinese, Turkish, and accents in either spelling."""
    notes = [note(str(n), f"remark {n} on other things") for n in range(9)]
    assert ask(question, *notes, note("z", text))[0][0] == "z"


def test_standing_breaks_what_words_leave_open() -> None:
    """Pin, confirmation and recency each raise a note above its equals."""
    for better in ({"pinned": True}, {"confirmed": True}, {"created_ms": NOW}):
        plain = note("a", "bo likes tea in the morning", created_ms=NOW - 40 * DAY)
        raised = note(
            "b", "bo likes ships in the evening", **{"created_ms": NOW - 40 * DAY} | better
        )
        assert ask("", plain, raised)[0][0] == "b"


def test_exact_and_near_duplicates_collapse() -> None:
    """One stays: the confirmed one, whatever the order; the other has its reason."""
    words = "bo likes strong black tea with honey every single morning"
    chosen, left = ask("tea", note("a", words), note("b", words.upper(), confirmed=True))
    assert chosen == ["b"]
    assert left == {"a": "duplicate"}
    chosen, left = ask("tea", note("a", words + " too"), note("b", words))
    assert sorted(left.values()) == ["duplicate"]
    assert len(chosen) == 1
    older, newer = note("a", words, created_ms=NOW - 90 * DAY), note("b", words)
    for confirmed in (False, True):
        twins = (replace(each, confirmed=confirmed) for each in (older, newer))
        assert ask("hello", *twins) == (["b"], {"a": "duplicate"}), "of two equals, the better one"


def test_notes_without_words_are_not_all_the_same() -> None:
    """Two different emoji are two notes."""
    assert len(ask("x", note("a", "🎉"), note("b", "🔥"))[0]) == 2


def test_the_limit_is_held_and_the_rest_told() -> None:
    """Everything offered is chosen or has exactly one reason."""
    notes = [note(f"{n:03}", f"remark {n} word{n} about{n}") for n in range(200)]
    chosen, left = ask("remark", *notes, limit_notes=5)
    assert len(chosen) == 5
    assert set(chosen) | set(left) == {n.record_id for n in notes}
    assert not set(chosen) & set(left)
    assert set(left.values()) == {"rank"}


def test_semantic_scores_are_clamped_and_count() -> None:
    """A Protocol's quantized scores move the order, not eligibility or authority."""
    notes = [note("a", "one thing"), note("b", "other thing"), note("c", "gone", consented=False)]
    chosen, left = ask("q", *notes, semantic={"b": 99_999, "a": -5, "c": 10_000, "unknown": 1})
    assert chosen == ["b", "a"]
    assert left == {"c": "consent"}


@given(st.integers(0, 2**32), st.integers(1, 3))
@settings(max_examples=60)
def test_order_and_placement_never_matter(seed: int, parts: int) -> None:
    """Metamorphic: permuted records, and records spread over several indexes."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    words = ["tea", "bo", "cy", "friday", "ship", "docker"]
    notes = [
        note(f"{n:02}", " ".join(chance.choices(words, k=4)), pinned=chance.random() < 0.2)
        for n in range(POOL + 12)
    ]
    query = Query(text="does bo ship docker on friday", now_ms=NOW)
    expected = select([RecallIndex(notes)], query)
    chance.shuffle(notes)
    spread = [RecallIndex(notes[n::parts]) for n in range(parts)]
    assert select(spread, query) == expected


@given(st.integers(1, 30))
def test_other_indexes_never_move_a_rank(others: int) -> None:
    """Statistics are local to what the turn may know: an index not given has no effect."""
    mine = RecallIndex([note("a", "bo likes tea"), note("b", "tea for cy and bo")])
    query = Query(text="tea for bo", now_ms=NOW)
    before = select([mine], query)
    RecallIndex([note(f"x{n}", "tea tea tea bo") for n in range(others)])
    assert select([mine], query) == before


class IndexMachine(RuleBasedStateMachine):
    """An index that changed many times equals one made from what it now holds."""

    def __init__(self) -> None:
        super().__init__()
        self.index = RecallIndex()
        self.held: dict[str, Candidate] = {}

    @rule(name=st.sampled_from("abcde"), text=st.sampled_from(["tea bo", "cy friday", "", "tea"]))
    def put(self, name: str, text: str) -> None:
        """Add or replace."""
        self.held[name] = note(name, text)
        self.index.put(self.held[name])

    @rule(name=st.sampled_from("abcde"))
    def drop(self, name: str) -> None:
        """Forget; an unknown id changes nothing."""
        self.held.pop(name, None)
        self.index.drop(name)

    @invariant()
    def equals_a_fresh_one(self) -> None:
        """A tombstoned record never resurfaces through a stale posting."""
        query = Query(text="tea for bo on friday", now_ms=NOW)
        assert select([self.index], query) == select([RecallIndex(self.held.values())], query)
        assert len(self.index) == len(self.held)
        for name in "abcde":
            assert (name in self.index) == (name in self.held)
        if not self.held:
            assert not self.index._postings


TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def test_reasons_are_the_agreed_codes() -> None:
    """The codes stand in traces for years."""
    assert {reason.value for reason in Exclusion} >= {
        "scope", "audience", "consent", "tombstoned", "superseded", "expired", "duplicate",
        "rank", "budget",
    }  # fmt: skip
