"""What people read of runs: at most 60 columns, no content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from bot.runs.book import OpenRun, open_book
from bot.runs.inspect_text import run_text
from sessions.inbound import Usage
from sessions.review.views import (
    BlockView,
    BoundaryView,
    BudgetView,
    CompilationView,
    OmissionView,
    RuleView,
    RunView,
    TimesView,
    TokensView,
    TurnView,
)
from sessions.traces.events import TraceMark
from sessions.traces.proof import VerifyReport
from support.recorded_runs import RUN, USAGE, Said, narrow, record_run

FOUR = (
    Said(text="one", number=1),
    Said(text="far too long", number=2, fails=True),
    Said(text="three", number=3),
    Said(text="four", number=4),
)


async def _open(home: Path, *, turns: tuple[Said, ...] | None = None) -> OpenRun:
    if turns is None:
        await record_run(home)
    else:
        await record_run(home, turns)
    async with open_book(home) as book:
        return await book.open(RUN)


def _made_block(kind: str, chars: int, cache_class: str = "volatile") -> BlockView:
    return BlockView(
        kind=kind,
        authority="advisory",
        cache_class=cache_class,
        source=f"source:{kind}",
        chars=chars,
        sha256=kind[0].encode().hex() * 32,
    )


def _made_compilation(blocks: tuple[BlockView, ...]) -> CompilationView:
    lost = OmissionView(block="history", item_id="discord:8000", reason="budget", chars=500)
    cut = replace(lost, item_id="discord:8009", reason="shortened", chars=4000)
    return CompilationView(
        at="2026-11-29T23:16:36.123Z",
        blocks=blocks,
        omissions=(lost, lost, cut) if blocks[0].kind == "history" else (),
        budget=BudgetView(limit_chars=48_000, used_chars=10_089, remaining_chars=37_911),
        system_prompt_sha256="ab" * 32,
        input_prompt_sha256="cd" * 32,
        compile_us=800,
        waited_us=1200,
        failure=None,
        tokens=TokensView(
            limit_tokens=191_936,
            used_tokens=6_623,
            held_tokens=4_674,
            counting="exact" if blocks[0].kind == "history" else "estimate",
            counted_by="tiktoken:o200k_base",
        ),
    )


def _made_run() -> RunView:
    """A run made by hand, so that no change of the compiler's texts touches these words."""
    identity = _made_block("identity", 820, "imp-stable")
    policy = _made_block("runtime-policy", 2090, "imp-stable")
    history, message = _made_block("history", 5606), _made_block("message", 212)
    turn = TurnView(
        number=1,
        turn_id="discord:message:9001",
        user_id="discord:1001",
        compilation=_made_compilation((history, message)),
        outcome="replied",
        error_code="",
        reply_sha256="ef" * 32,
        usage=USAGE,
        times=TimesView(
            wait_us=1200, compile_us=800, trace_us=600, first_text_us=300_000, total_us=1_500_000
        ),
    )
    late = replace(turn, number=2, outcome="cut-off", error_code="turn_timeout", times=None)
    return RunView(
        run_id=RUN,
        imp="ember",
        surface="discord-session",
        place="group",
        channel_id="discord:1234567890123456789",
        is_dm=False,
        started_at="2026-11-29T23:16:35.123Z",
        ended_at="2026-11-29T23:21:35.000Z",
        end_reason="idle",
        start=_made_compilation((identity, policy)),
        route_key="inglenook-pc-" + "0123456789" * 4,
        boundaries=(
            BoundaryView(
                cache_class="imp-stable",
                after_block="runtime-policy",
                prefix_chars=2912,
                prefix_sha256="12" * 32,
            ),
        ),
        turns=(turn, replace(late, usage=Usage())),
        resumed_at=("2026-11-29T23:18:00.000Z",),
        gaps=("context.torn-1",),
    )


def test_an_estimate_of_tokens_says_so() -> None:
    """Issue "Tokens": each count says how good it is, in the words for people too."""
    turn = _made_run().turns[0]
    tokens = turn.compilation.tokens
    assert tokens is not None
    guessed = replace(tokens, counting="estimate", counted_by="estimate")
    turn = replace(turn, compilation=replace(turn.compilation, tokens=guessed))
    report = VerifyReport(run_id=RUN, events=1, compilations=1, head=None, problems=())
    told = run_text(replace(_made_run(), turns=(turn,)), report)
    assert "6,623 of 191,936 tokens, estimated" in told


def test_a_run_in_words() -> None:
    report = VerifyReport(
        run_id=RUN,
        events=6,
        compilations=3,
        head=TraceMark(seq=5, sha256="34" * 32),
        problems=(),
    )
    assert narrow(run_text(_made_run(), report)) == snapshot("""\
Run     2026-11-29-23-16-35-abcd
Imp     ember, discord-session
Where   group 1234567890123456789
Began   2026-11-29 23:16:35 UTC
Ended   2026-11-29 23:21:35 UTC, idle
Turns   2
Trace   verified, 6 lines, head 34343434
Resumed 2026-11-29 23:18:00 UTC
Gap     torn bytes are in context.torn-1

SYSTEM PROMPT 10,089 characters  abababab
  block              chars  sha256    kept as
  identity             820  69696969  imp-stable
    source:identity
  runtime-policy     2,090  72727272  imp-stable
    source:runtime-policy
  stable prefixes, for the provider's cache:
    imp-stable        2,912  12121212  to runtime-policy
  route key, for the provider's routing:
    inglenook-pc-0123456789012345678901234567890123456789

TURN 1  2026-11-29 23:16:36 UTC  replied
  discord:message:9001
  from discord:1001
  10,089 of 48,000 characters used, 37,911 left
  6,623 of 191,936 tokens, counted exactly
    by tiktoken:o200k_base, 4,674 held by the session
  block              chars  sha256    kept as
  history            5,606  68686868  volatile
    source:history
  message              212  6d6d6d6d  volatile
    source:message
  input cdcdcdcd
  history: 2 left out (budget), 1,000 chars
  history: 1 shortened, 4,000 chars
  tokens: 1,203 in, 34 out, 1 call
  cache: 980 read, 12 written
  cost: $0.001230
  waited 1.2 ms, compiled in 0.8 ms, traced in 0.6 ms, first
  text after 300.0 ms, all after 1.5 s

TURN 2  2026-11-29 23:16:36 UTC  cut-off (turn_timeout)
  discord:message:9001
  from discord:1001
  10,089 of 48,000 characters used, 37,911 left
  6,623 of 191,936 tokens, counted exactly
    by tiktoken:o200k_base, 4,674 held by the session
  block              chars  sha256    kept as
  history            5,606  68686868  volatile
    source:history
  message              212  6d6d6d6d  volatile
    source:message
  input cdcdcdcd
  history: 2 left out (budget), 1,000 chars
  history: 1 shortened, 4,000 chars
  the model was not called

ALL TURNS
  tokens: 1,203 in, 34 out, 1 call
  cache: 980 read, 12 written
  cost: $0.001230\
""")


async def test_a_recorded_run_keeps_the_width(tmp_path: Path) -> None:
    run = await _open(tmp_path)
    narrow(run_text(run.view, run.report))


async def test_a_long_run_tells_the_latest_turn_in_full(tmp_path: Path) -> None:
    run = await _open(tmp_path, turns=FOUR)
    text = narrow(run_text(run.view, run.report))
    assert "TURN 4 " in text
    assert "TURN 3 " not in text
    short = text[text.index("\nTURNS\n") : text.index("\nTURN 4")].splitlines()
    assert [line.split()[0] for line in short[2:] if line] == ["1", "2", "3"]
    assert "2  23:16:37  not compiled   too long" in short[3]


async def test_a_named_turn_is_told_in_full(tmp_path: Path) -> None:
    run = await _open(tmp_path, turns=FOUR)
    text = narrow(run_text(run.view, run.report, turn=2))
    assert text[text.index("\nTURN 2") : text.index("\nALL TURNS")] == snapshot("""\

TURN 2  2026-11-29 23:16:37 UTC  too long
  discord:message:9002
  from discord:1001
  That message is too long to read at once: 24 characters,
  and the limit is 10. I have not answered it, and I will
  not pretend to have read it all. [CURRENT_TURN_OVERFLOW]
  source message:discord:9002
  message               24
""")


async def test_what_befell_the_house_rules(tmp_path: Path) -> None:
    """Issue "House rules": a run event records a clarify; ids and codes, no text."""
    run = await _open(tmp_path)
    rules = tuple(
        RuleView(
            at=f"2026-11-29T23:16:4{place}.000Z",
            kind=kind,
            code=code,
            user_id="discord:1234567890123456789",
            message_id=None,
        )
        for place, (kind, code) in enumerate((("updated", ""), ("clarified", "hidden_character")))
    )
    text = narrow(run_text(replace(run.view, house_rules=rules), run.report))
    assert text[text.index("HOUSE RULES") :] == snapshot("""\
HOUSE RULES
  23:16:40 1234567890123456789 updated
  23:16:41 1234567890123456789 clarified (hidden_character)\
""")


async def test_a_start_that_failed(tmp_path: Path) -> None:
    run = await _open(tmp_path, turns=(FOUR[1],))
    failure = run.view.turns[0].compilation
    view = replace(run.view, start=failure, turns=(), boundaries=(), route_key=None)
    text = narrow(run_text(view, run.report))
    assert text[text.index("SYSTEM") :] == snapshot("""\
SYSTEM PROMPT was not compiled
  That message is too long to read at once: 24 characters,
  and the limit is 10. I have not answered it, and I will
  not pretend to have read it all. [CURRENT_TURN_OVERFLOW]
  source message:discord:9002
  message               24\
""")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "Where   group 1234567890123456789"),
        ("#hearth", "Where   group 1234567890123456789, #hearth"),
        ("#" + "x" * 90, "Where   group 1234567890123456789, #xxxxxxxxxxxxxxxxxxxxxxx…"),
        ("#a\n\u202eb", "Where   group 1234567890123456789, #a b"),
    ],
)
def test_a_place_has_its_name_where_one_is_known(name: str, told: str) -> None:
    """Issue 8 "See": people know channels by names; none of them breaks the lines or hides."""
    report = VerifyReport(run_id=RUN, events=0, compilations=0, head=None, problems=())
    text = narrow(run_text(_made_run(), report, name_of=lambda _: name))
    assert told in text.splitlines()
