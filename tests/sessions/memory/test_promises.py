"""What holds of memory whatever happens: a random life of notes, with restarts and old backups.

The model of the test is simple: each note has a word of its own, and a word is forgotten from the
moment at which its forgetting was answered. From then on the word is in no selection, no search, no
list, no history and no file, whatever else is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from compiler.records import RecordStatus
from compiler.request import MessageId, RunScope
from sessions.limits import MemorySettings
from sessions.memory.notes import Claim
from sessions.memory.results import Forgotten, Gone, Kept, NotFound, Refused
from sessions.store.consent import ConsentLevel
from sessions.store.memory import Reach
from support.memory_world import BO, CY, Memory, by_hand, by_model, dm, group, memory_in
from support.session_world import ManualClock

PLACES: tuple[RunScope, ...] = (dm(), group(), dm(CY), group(CY))
SETTINGS = MemorySettings(changes_per_minute=10_000)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "tell", "tell", "infer", "infer", "claim", "correct", "confirm", "keep", "pin",
                "forget", "forget", "forget_all", "twice", "restart", "backup", "restore", "later",
                "earlier", "off", "on", "stale", "write_back",
            ]
        ),
        st.integers(0, 200),
    ),
    min_size=12,
    max_size=30,
)  # fmt: skip


@dataclass
class Life:
    """One run of a script."""

    home: Path
    clock: ManualClock
    stack: AsyncExitStack
    memory: Memory
    copy: Path | None = None
    words: dict[str, str] = field(default_factory=dict)
    """Short id to the word of the note."""
    families: list[set[str]] = field(default_factory=list)
    """Short ids that are versions of one note."""
    forgotten: set[str] = field(default_factory=set)
    """Words that must not be seen again."""
    copied_ids: set[str] = field(default_factory=set)
    """Notes that are in the backup; others are lost by restoring it, and that is no fault."""
    places: dict[str, RunScope] = field(default_factory=dict)
    number: int = 0

    def word(self) -> str:
        self.number += 1
        return f"kanari{self.number}x"

    def pick(self, number: int) -> str:
        ids = sorted(self.words) or ["m-aaaaaaaa"]
        return ids[number % len(ids)]

    def learn(self, result: object, text_word: str, place: RunScope, of: str | None = None) -> None:
        if isinstance(result, Kept) and not result.known:
            self.places[result.note.short_id] = place
            self.words[result.note.short_id] = text_word
            linked = {result.note.short_id, *result.replaced, *([of] if of else [])}
            joined = [each for each in self.families if each & linked]
            self.families = [each for each in self.families if not each & linked]
            self.families.append(linked.union(*joined))

    def lose(self, short_ids: tuple[str, ...]) -> None:
        for each in short_ids:
            family = next((f for f in self.families if each in f), {each})
            self.forgotten |= {self.words[one] for one in family if one in self.words}

    async def reopen(self) -> None:
        await self.stack.aclose()
        self.stack = AsyncExitStack()
        opened = memory_in(self.home, clock=self.clock, settings=SETTINGS)
        self.memory = await self.stack.enter_async_context(opened)

    async def step(self, name: str, number: int) -> None:  # noqa: C901, PLR0912, PLR0915 - a script
        service, place = self.memory.service, PLACES[number % len(PLACES)]
        short_id, word = self.pick(number), self.word()
        if name in {"forget", "twice", "correct", "confirm", "keep"} and number % 5:
            place = self.places.get(short_id, place)  # mostly its own person, who may
        match name:
            case "tell":
                await self.memory.say(place, self.number, f"my {word}")
                source = by_hand(replace(place, message_id=MessageId(f"discord:{self.number}")))
                self.learn(
                    await service.remember(source, f"tea {word}", explicit=True), word, place
                )
            case "infer":
                ctx = by_model(place, turn=self.number, revision=service.revision)
                self.learn(await service.remember(ctx, f"tea {word}", explicit=False), word, place)
            case "claim":
                claim = Claim(subject="tea", predicate="day", value=word)
                ctx = by_hand(place)
                result = await service.remember(ctx, f"tea {word}", explicit=True, claim=claim)
                self.learn(result, word, place)
            case "correct":
                ctx = by_hand(place) if number % 2 else by_model(place, revision=service.revision)
                self.learn(
                    await service.correct(ctx, short_id, f"tea {word}"), word, place, of=short_id
                )
            case "confirm" | "keep":
                act = service.confirm if name == "confirm" else service.keep
                old = self.words.get(short_id, word)
                self.learn(await act(by_hand(place), short_id), old, place, of=short_id)
            case "pin":
                await service.pin(by_hand(place), short_id)
            case "forget":
                ctx = by_hand(place) if number % 3 else by_model(place)
                self.note_erased(await service.forget(ctx, short_id))
            case "forget_all":
                self.note_erased(await service.forget_all(by_hand(place)))
            case "twice":
                results = await asyncio.gather(
                    service.forget(by_hand(place), short_id),
                    service.correct(by_hand(place), short_id, f"tea {word}"),
                    service.forget(by_hand(place), short_id),
                )
                self.learn(results[1], word, place, of=short_id)
                self.note_erased(results[0])
                self.note_erased(results[2])
                if isinstance(results[1], Kept):
                    row = await self.memory.service._core.store.find(
                        results[1].note.short_id, Reach(user_id=None)
                    )
                    if row is not None and row.row.status is RecordStatus.TOMBSTONED:
                        self.lose((results[1].note.short_id,))
            case "restart":
                await self.reopen()
            case "backup":
                await self.stack.aclose()
                self.copy = self.home / "copy.bak"
                shutil.copy2(self.home / "inglenook.db", self.copy)
                self.copied_ids = set(self.words)
                await self.reopen()
            case "restore" if self.copy is not None:
                await self.stack.aclose()
                for file in self.home.glob("inglenook.db*"):
                    file.unlink()
                shutil.copy2(self.copy, self.home / "inglenook.db")
                await self.reopen()
            case "later" | "earlier":
                self.memory.later(days=number if name == "later" else -number)
            case "off" | "on":
                level = ConsentLevel.OFF if name == "off" else ConsentLevel.ON
                await service.set_consent(by_hand(place), level)
            case "stale":
                core = service._core
                stored = await core.store.find(short_id, Reach(user_id=None))
                if stored is not None:
                    core.index.forget_binding(stored.row.binding)
            case "write_back" if self.forgotten:
                lost = sorted(self.forgotten)[number % len(self.forgotten)]
                ctx = by_model(place, revision=-1)
                result = await service.remember(ctx, f"tea {lost}", explicit=False)
                if isinstance(result, Kept):
                    # Another place never knew it, so there it is a new note of a new person.
                    self.words[result.note.short_id] = lost
                    erased = await service.forget_all(by_hand(place))
                    self.note_erased(erased)

    def note_erased(self, result: object) -> None:
        if isinstance(result, Forgotten):
            self.lose(result.short_ids)
        else:
            assert isinstance(result, Gone | NotFound | Refused)

    async def check(self) -> None:
        seen: list[str] = []
        for place in PLACES:
            selection = await self.memory.selection(place, "tea kanari")
            seen += [note.text for note in selection.notes]
            found = await self.memory.service.recall(by_model(place), "tea kanari")
            seen += [note.text for note in found.notes]
        for user in (BO, CY):
            listed = await self.memory.service.list_own(by_hand(dm(user)))
            seen += [note.text for note in listed.notes]
            for channel in (dm(user).channel_id, group(user).channel_id):
                assert channel is not None
                seen += await self.memory.heard(channel)
        told = " ".join(seen)
        assert not [word for word in self.forgotten if f"{word} " in f"{told} "]


def words_in_files(home: Path, words: set[str]) -> list[str]:
    content = b"".join(file.read_bytes() for file in home.glob("*.db*"))
    return [word for word in words if word.encode() in content]


async def live(home: Path, steps: list[tuple[str, int]]) -> None:
    clock = ManualClock()
    stack = AsyncExitStack()
    memory = await stack.enter_async_context(memory_in(home, clock=clock, settings=SETTINGS))
    life = Life(home=home, clock=clock, stack=stack, memory=memory)
    try:
        for name, number in steps:
            await life.step(name, number)
            await life.check()
        event(f"forgotten {min(len(life.forgotten), 3)}")
    finally:
        with contextlib.suppress(Exception):
            await life.stack.aclose()
    assert words_in_files(home, life.forgotten) == []


@pytest.mark.slow
@settings(max_examples=40, derandomize=True)
@given(STEPS)
def test_what_was_forgotten_never_comes_back_by_any_path(steps: list[tuple[str, int]]) -> None:
    """TR's stop rule: "a tombstoned record reappears through retrieval, summary, cache, or
    reconnect" must never be; P26 with restarts, clock jumps, two at once and old backups.
    """
    with TemporaryDirectory() as folder:
        asyncio.run(live(Path(folder), steps))
