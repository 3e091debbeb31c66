"""Ranking by meaning: what it adds, what it never keeps, and what holds when it fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from compiler.meaning import inner_product, nearness_bp, quantize
from sessions.limits import MemorySettings
from sessions.memory import semantic
from sessions.memory.semantic import EmbedderMissing, LocalEmbedder, MeaningIndex
from support.memory_world import BO, CY, by_hand, dm, group, kept, memory_in

PATIENCE = 30.0
LOCAL = MemorySettings(semantic="local", semantic_seconds=PATIENCE)
PLACES = {"boat": 0, "ship": 0, "Schiff": 0, "bread": 1, "loaf": 1}
"""Words of one meaning share a direction."""
DIRECTIONS = ((0.9037, 0.3015, 0.3041), (-0.4271, 0.6511, 0.6274), (-0.0087, -0.6967, 0.7173))
"""Crooked, so that no file holds the bytes of one by chance."""


@dataclass(slots=True)
class FakeEmbedder:
    """Knows a few words' meanings, and notes what it was shown."""

    name: str = "fake-1"
    shown: list[str] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    go_on: threading.Event = field(default_factory=threading.Event)
    fails: bool = False

    def __post_init__(self) -> None:
        self.go_on.set()

    def query(self, text: str) -> bytes:
        return self._vector(text)

    def passage(self, text: str) -> bytes:
        assert self.go_on.wait(PATIENCE)
        self.shown.append(text)
        return self._vector(text)

    def products(self, query: bytes, passages: Sequence[bytes]) -> list[int]:
        return [inner_product(query, each) for each in passages]

    def _vector(self, text: str) -> bytes:
        if self.fails:
            raise OSError("no such model")
        self.threads.add(threading.current_thread().name)
        return quantize(
            DIRECTIONS[next((PLACES[word] for word in text.split() if word in PLACES), 2)]
        )


@pytest.fixture
def model() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def meaning(model: FakeEmbedder) -> Iterator[MeaningIndex]:
    index = MeaningIndex(lambda: model)
    yield index
    model.go_on.set()
    index.close()


async def until(index: MeaningIndex, number: int) -> None:
    """Wait until so many vectors are there."""
    async with asyncio.timeout(PATIENCE):
        while len(index) != number:  # noqa: ASYNC110  (a thread fills it, not this loop)
            await asyncio.sleep(0.005)


def _on_disk(home: Path, vector: bytes) -> bool:
    return any(vector in file.read_bytes() for file in home.rglob("*.db*"))


async def test_another_word_for_it_is_found(tmp_path: Path, meaning: MeaningIndex) -> None:
    """Issue "Selection": the semantic part. No word is shared, in another language neither."""
    few = MemorySettings(semantic="local", semantic_seconds=PATIENCE, selected_notes=1)
    async with memory_in(tmp_path, settings=few, meaning=meaning) as memory:
        ctx = by_hand(dm())
        for text in ("the ship leaves at noon", "fresh bread on Friday", "a plain other thing"):
            kept(await memory.service.remember(ctx, text, explicit=True))
            memory.later(days=1)
        assert await memory.chosen(dm(), "Schiff") == ["the ship leaves at noon"]
        assert await memory.chosen(dm(), "loaf") == ["fresh bread on Friday"]
        selection = await memory.selection(dm(), "Schiff")
        assert selection.index_id == "inglenook.relevance.v1+fake-1"


async def test_off_asks_no_model(tmp_path: Path, meaning: MeaningIndex) -> None:
    """``semantic = "off"`` is the default: no model is loaded and no vector made."""
    async with memory_in(tmp_path, meaning=meaning) as memory:
        kept(await memory.service.remember(by_hand(dm()), "the ship leaves", explicit=True))
        selection = await memory.selection(dm(), "Schiff")
        assert selection.index_id == "inglenook.relevance.v1"
    assert (meaning.name, len(meaning)) == ("", 0)


async def test_only_what_the_turn_may_know_is_shown_to_the_model(
    tmp_path: Path, model: FakeEmbedder, meaning: MeaningIndex
) -> None:
    """TR: hard eligibility first; the other's private note is not even compared."""
    async with memory_in(tmp_path, settings=LOCAL, meaning=meaning) as memory:
        kept(await memory.service.remember(by_hand(dm(CY)), "Cy sails a boat", explicit=True))
        kept(await memory.service.remember(by_hand(dm(BO)), "Bo bakes bread", explicit=True))
        kept(
            await memory.service.remember(
                by_hand(group(BO)), "the boat is here", explicit=True, about_channel=True
            )
        )
        await memory.selection(group(BO), "ship")
        assert model.shown == ["the boat is here"]
        await memory.selection(dm(BO), "ship")
        assert model.shown == ["the boat is here", "Bo bakes bread"]


async def test_forgetting_takes_the_vector(tmp_path: Path, meaning: MeaningIndex) -> None:
    """A vector tells what was written: it goes with its note, and none is on disk."""
    async with memory_in(tmp_path, settings=LOCAL, meaning=meaning) as memory:
        ctx = by_hand(dm())
        note = kept(await memory.service.remember(ctx, "the ship leaves", explicit=True)).note
        assert await memory.chosen(dm(), "boat") == ["the ship leaves"]
        assert len(meaning) == 1
        await memory.service.forget(ctx, note.short_id)
        assert len(meaning) == 0
        assert await memory.chosen(dm(), "boat") == []
        assert not _on_disk(tmp_path, quantize(DIRECTIONS[0]))


async def test_a_vector_that_is_being_made_is_not_kept_after_forgetting(
    model: FakeEmbedder, meaning: MeaningIndex
) -> None:
    """Forgotten in the middle of it: what the thread brings is thrown away."""
    model.go_on.clear()
    assert await meaning.scores("boat", {"a": "a ship", "b": "a loaf"}, seconds=0.01) is None
    meaning.drop(["a"])
    model.go_on.set()
    await until(meaning, 1)
    assert await meaning.scores("loaf", {"b": "a loaf"}, seconds=PATIENCE) == {"b": 10_000}


async def test_a_slow_model_holds_up_no_turn_and_is_ready_later(
    model: FakeEmbedder, meaning: MeaningIndex
) -> None:
    """All of a turn's notes are compared or none, and the work goes on for the next turn."""
    notes = {f"n{number}": "a ship" for number in range(20)}
    model.go_on.clear()
    assert await meaning.scores("boat", notes, seconds=0.01) is None
    model.go_on.set()
    await until(meaning, 20)
    assert await meaning.scores("boat", notes, seconds=PATIENCE) == dict.fromkeys(notes, 10_000)
    assert len(model.shown) == 20
    assert all(name.startswith("meaning") for name in model.threads)


async def test_a_missing_model_leaves_words_to_rank(tmp_path: Path) -> None:
    """The package is not there: one clear line in the log, and selection as without it."""

    def missing() -> FakeEmbedder:
        raise EmbedderMissing("ModuleNotFoundError")

    index = MeaningIndex(missing)
    async with memory_in(tmp_path, settings=LOCAL, meaning=index) as memory:
        kept(await memory.service.remember(by_hand(dm()), "the ship leaves", explicit=True))
        for _ in range(2):
            assert await memory.chosen(dm(), "ship") == ["the ship leaves"]
        found = await memory.selection(dm(), "ship")
        assert (found.index_id, found.stale_index) == ("inglenook.relevance.v1", True)
    index.close()


async def test_a_model_that_breaks_leaves_words_to_rank(
    model: FakeEmbedder, meaning: MeaningIndex
) -> None:
    """Foreign code may fail at any text; no turn fails with it."""
    assert await meaning.scores("boat", {"a": "a ship"}, seconds=PATIENCE) == {"a": 10_000}
    model.fails = True
    assert await meaning.scores("boat", {"a": "a ship"}, seconds=PATIENCE) is None


async def test_vectors_are_bounded(model: FakeEmbedder) -> None:
    """The longest unused go first."""
    index = MeaningIndex(lambda: model, max_vectors=2)
    for name in ("a", "b", "c"):
        await index.scores("boat", {name: "a ship"}, seconds=PATIENCE)
    assert len(index) == 2
    index.close()


async def test_nothing_is_asked_of_a_closed_index(meaning: MeaningIndex) -> None:
    """While the host closes."""
    meaning.close()
    assert await meaning.scores("boat", {"a": "a ship"}, seconds=PATIENCE) is None


def test_an_absent_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not an ImportError from within a turn."""
    monkeypatch.setattr(semantic, "PACKAGE", "no_such_package_here")
    with pytest.raises(EmbedderMissing):
        LocalEmbedder()
    assert not semantic.is_installed()


@pytest.mark.slow
def test_the_real_model_knows_meaning_across_languages() -> None:
    """A Russian question finds the English note; NUL and surrogates do no harm."""
    if not semantic.is_installed():
        pytest.skip("the local model is not installed: python3 -m bot setup --semantic")
    model = LocalEmbedder()
    notes = ["Ada's birthday is on 3 March", "the wifi password is in the drawer", "\0\ud800"]
    passages = [model.passage(text) for text in notes]
    for question in ("When is Ada's birthday?", "Когда у Ады день рождения?"):
        query = model.query(question)
        products = model.products(query, passages)
        assert products == [inner_product(query, each) for each in passages]
        near = [nearness_bp(each) for each in products]
        assert near[0] == max(near) > 4_000 > near[1]
