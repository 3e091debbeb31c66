"""The pure parts, measured without any I/O: compiling, tokens, house rules, recall."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bot.bench.figures import Figure, figure, milliseconds
from compiler.budget import ContextBudgets
from compiler.compile import (
    UNKNOWN_MODEL,
    CompiledContext,
    CompiledSystem,
    Model,
    compile_start,
    compile_turn,
)
from compiler.directives.engine import Engine
from compiler.recall import Candidate, Query, RecallIndex, select
from compiler.request import (
    ChannelId,
    ContextPhase,
    ContextRequest,
    EngineIdentity,
    GuildId,
    HistoryMessage,
    ImpName,
    MemoryNote,
    MemorySelection,
    MessageId,
    MessageInput,
    Place,
    Role,
    RunId,
    RunScope,
    RunSurface,
    SourceSnapshot,
    TextSource,
    UserId,
)
from compiler.tokens import (
    ModelIdentity,
    StableTokens,
    TokenBudgets,
    Tokenizer,
    TokenizerIdentity,
    Tokens,
    TokenScene,
)
from sessions.tokens.tiktoken import TiktokenTokenizer

COMPILE_TARGET_MS = 3.0
WHOLE_TARGET_MS = 8.0
REST_TARGET = 1.0
"""Tokenizing what is new should be the larger part."""
GROWTH_TARGET = 1.2
"""Late turns against the first ones, in the thread's own time: more than noise."""
LATE_TURN = 500
COMPARED_SHARE = 5
"""The first and the last fifth of the turns are compared."""
VOCABULARY = "o200k_base"
STEP_TARGET_US = 50.0
RECALL_TARGET_MS = 5.0
CANDIDATES = 1_000
OFFERED = 32
ELIGIBLE = 2_000
_DAY_MS = 86_400_000
_NOW_MS = 1_764_460_800_000
_RARE_SHARE = 0.7  # natural text: a few common words, many rare ones
_WORDS = ("hearth", "tea", "ship", "Friday", "docker", "apple", "bread", "window", "sail", "lamp")


def all_pure(*, rounds: int, late_turn: int = LATE_TURN) -> list[Figure]:
    """Measure every pure part; ``late_turn`` is how many turns its session has at least."""
    chance = random.Random(20_261_129)  # noqa: S311  (reproducible, not secret)
    return [
        compiling(chance, rounds),
        *whole_turns(chance, max(rounds, late_turn)),
        *directives(rounds),
        recall(chance, rounds),
    ]


def _timed(work: Callable[[], object], rounds: int) -> list[int]:
    times = []
    for _ in range(rounds):
        began_ns = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - began_ns)
    return times


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """A warm session and a turn that fills its 48,000 characters."""

    request: ContextRequest
    turn: SourceSnapshot
    budgets: ContextBudgets
    system: CompiledSystem

    def compile(self, model: Model = UNKNOWN_MODEL) -> CompiledContext:
        """Compile the turn."""
        return compile_turn(self.request, self.turn, self.budgets, self.system, model)

    def saying(self, text: str) -> _Scene:
        """Give the same session's turn of another message."""
        if self.request.message is None:
            raise ValueError("a turn needs a message")
        return replace(
            self,
            request=replace(self.request, message=replace(self.request.message, text=text)),
        )


def _scene(chance: random.Random) -> _Scene:
    budgets = ContextBudgets(memory_max_chars=30_000, history_max_chars=6_000)
    engine = EngineIdentity(engine="pi", engine_version="1.6.0", model="bench/m", preamble="v1")
    snapshot = SourceSnapshot(
        engine=engine,
        identity=TextSource(source="imps/ember/identity.md", text=some_text(chance, 4_000)),
        purpose=TextSource(source="channels/1/purpose.md", text=some_text(chance, 3_000)),
    )
    message = MessageInput(
        provider="discord",
        author_label="Ada",
        role=Role.OWNER,
        text=some_text(chance, 4_000),
        message_id=MessageId("discord:9"),
        author_id=UserId("discord:5"),
    )
    return _Scene(
        request=_request(ContextPhase.TURN, message),
        turn=_turn_snapshot(chance, engine),
        budgets=budgets,
        system=compile_start(_request(ContextPhase.START, None), snapshot, budgets).system,
    )


def recorded(chance: random.Random, run_id: RunId) -> tuple[CompiledContext, CompiledContext]:
    """Compile a start and a full turn of one run, for a trace to be read."""
    scene = _scene(chance)
    request = replace(_request(ContextPhase.START, None), run_id=run_id)
    identity = TextSource(source="imps/ember/identity.md", text=some_text(chance, 4_000))
    start = compile_start(request, replace(scene.turn, identity=identity), scene.budgets)
    turn = replace(scene.request, run_id=run_id)
    # As many notes as selection offers by default.
    memory = replace(scene.turn.memory, notes=scene.turn.memory.notes[:OFFERED])
    given = replace(scene.turn, memory=memory)
    return start, compile_turn(turn, given, scene.budgets, start.system)


def compiling(chance: random.Random, rounds: int) -> Figure:
    """Measure (d): a turn that fills 48,000 characters from 1,000 candidate notes."""
    scene = _scene(chance)
    used = scene.compile().budget.used_chars
    times = _timed(scene.compile, rounds)
    return figure(
        f"d  compile a turn, {used:,} characters, {CANDIDATES:,} notes offered",
        [milliseconds(one) for one in times],
        target=COMPILE_TARGET_MS,
    )


@dataclass(slots=True)
class _TimedTokenizer:
    """Counts as another does, and how long that took since it was last asked."""

    of: Tokenizer
    spent_ns: int = 0

    @property
    def identity(self) -> TokenizerIdentity:
        """Whose counts these are."""
        return self.of.identity

    def tokenize(self, text: str) -> Tokens:
        """Tokenize a text against the clock."""
        began_ns = time.perf_counter_ns()
        tokens = self.of.tokenize(text)
        self.spent_ns += time.perf_counter_ns() - began_ns
        return tokens

    def taken_ns(self) -> int:
        """Give the time so far, and begin anew."""
        spent, self.spent_ns = self.spent_ns, 0
        return spent


def whole_turns(chance: random.Random, turns: int) -> list[Figure]:
    """Measure (h): plan, render, tokenize and hash warm turns, each of another message.

    The last figure compares the thread's own time in late turns with that in the first ones, so
    that a machine with other work to do shows no growth that is not ours.
    """
    scene = _scene(chance)
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as folder:
        tokenizer = _TimedTokenizer(TiktokenTokenizer.load(VOCABULARY, Path(folder)))
    model = Model(
        identity=ModelIdentity(model_id="bench/m"),
        scene=TokenScene(
            stable=StableTokens(tokenizer),
            budgets=TokenBudgets(context_window=200_000, output_reservation=8_000),
        ),
    )
    compiled = scene.compile(model)
    tokenizer.taken_ns()
    walls, own, encoding = [], [], []
    for _ in range(turns):
        turn = scene.saying(some_text(chance, 4_000))
        began_ns, began_own_ns = time.perf_counter_ns(), time.thread_time_ns()
        compiled = turn.compile(model)
        own.append(time.thread_time_ns() - began_own_ns)
        walls.append(time.perf_counter_ns() - began_ns)
        encoding.append(tokenizer.taken_ns())
    compared = turns // COMPARED_SHARE
    early, late = own[:compared], own[-compared:]
    return [
        figure(
            f"h  plan, render, tokenize, hash: {compiled.budget.used_chars:,} characters, "
            f"{CANDIDATES:,} notes, {VOCABULARY}",
            [milliseconds(one) for one in walls],
            target=WHOLE_TARGET_MS,
        ),
        figure("h  of that, new tokens", [milliseconds(one) for one in encoding]),
        figure(
            "h  the rest of it, against the new tokens",
            [(whole - part) / part for whole, part in zip(walls, encoding, strict=True)],
            unit="x",
            target=REST_TARGET,
        ),
        figure(
            f"h  turn {turns} against the first, own time",
            [statistics.median(late) / statistics.median(early)],
            unit="x",
            target=GROWTH_TARGET,
        ),
    ]


def _turn_snapshot(chance: random.Random, engine: EngineIdentity) -> SourceSnapshot:
    notes = tuple(
        MemoryNote(note_id=f"n{number}", scope="channel", text=some_text(chance, 120))
        for number in range(CANDIDATES)
    )
    history = tuple(
        HistoryMessage(
            message_id=MessageId(f"discord:{number}"),
            author_label="Bo",
            author_id=UserId("discord:6"),
            text=some_text(chance, 200),
        )
        for number in range(1, 26)
    )
    return SourceSnapshot(engine=engine, memory=MemorySelection(notes=notes), history=history)


def _request(phase: ContextPhase, message: MessageInput | None) -> ContextRequest:
    return ContextRequest(
        run_id=RunId("2026-11-29-23-16-35-abcd"),
        phase=phase,
        surface=RunSurface.DISCORD_SESSION,
        imp=ImpName("ember"),
        scope=RunScope(
            provider="discord",
            place=Place.GROUP,
            channel_id=ChannelId("discord:1"),
            guild_id=GuildId("discord:2"),
            user_id=UserId("discord:5"),
            message_id=MessageId("discord:9"),
            role=Role.OWNER,
        ),
        message=message,
    )


def directives(rounds: int) -> list[Figure]:
    """Measure ``step`` on long messages of several kinds, and its growth with length."""
    samples = {
        "plain talk": "hello " + "word " * 399,
        "a rule": "use " + "word " * 399,
        "a premise in three scripts": "set premise " + "Привет é 你好 " * 165,
        "keyword-dense": "use " + "user " * 399,
    }
    figures = []
    for name, text in samples.items():
        engine = Engine()
        times = _timed(lambda engine=engine, text=text: engine.step(text), rounds)  # type: ignore[misc]  # bound now
        figures.append(
            figure(
                f"f  house rules, step on {len(text):,} characters of {name}",
                [one / 1e3 for one in times],
                unit="us",
                target=STEP_TARGET_US,
            )
        )
    growth = _growth()
    figures.append(
        figure(
            "f  house rules, time per character, 200,000 against 2,000", growth, unit="x", target=2
        )
    )
    return figures


def _growth() -> list[float]:
    ratios = []
    for _ in range(5):
        short, long = (
            min(_timed(lambda text=text: Engine().step(text), 20)) / len(text)  # type: ignore[misc]  # bound now
            for text in ("use " + "user " * 400, "use " + "user " * 40_000)
        )
        ratios.append(long / short)
    return ratios


def recall(chance: random.Random, rounds: int) -> Figure:
    """Measure selection among 2,000 eligible notes."""
    index = RecallIndex(
        Candidate(
            record_id=f"{chance.getrandbits(256):064x}",
            text=some_text(chance, 120),
            created_ms=_NOW_MS - chance.randrange(365 * _DAY_MS),
        )
        for _ in range(ELIGIBLE)
    )
    queries = [
        Query(text="what is it about the " + some_text(chance, 80), now_ms=_NOW_MS)
        for _ in range(rounds)
    ]
    each = iter(queries)
    times = _timed(lambda: select([index], next(each)), rounds)
    return figure(
        f"g  recall among {ELIGIBLE:,} eligible notes",
        [milliseconds(one) for one in times],
        target=RECALL_TARGET_MS,
    )


def some_text(chance: random.Random, chars: int) -> str:
    """Make words as natural text has them."""
    words: list[str] = []
    length = 0
    while length < chars:
        rare = chance.random() < _RARE_SHARE
        word = f"w{chance.randrange(3_000)}" if rare else chance.choice(_WORDS)
        words.append(word)
        length += len(word) + 1
    return " ".join(words)[:chars]
