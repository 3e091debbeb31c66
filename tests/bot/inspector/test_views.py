"""What the page draws of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.inspector import views
from compiler.blocks import BlockAuthority, CacheClass, OmissionReason
from sessions.inbound import Usage
from sessions.review.views import (
    BlockView,
    BoundaryView,
    CompilationView,
    OmissionView,
    RunView,
    TimesView,
    TurnView,
)
from sessions.review.wire_calls import CallView

COMPILED = CompilationView(
    at="2026-11-29T23:16:36.000Z",
    blocks=(),
    omissions=(),
    budget=None,
    system_prompt_sha256="a" * 64,
    input_prompt_sha256="b" * 64,
    compile_us=800,
    waited_us=1_200,
    failure=None,
)
TURN = TurnView(
    number=1,
    turn_id="discord:message:1",
    user_id="discord:7",
    compilation=COMPILED,
    outcome="replied",
    error_code="",
    reply_sha256=None,
    usage=Usage(),
    times=TimesView(
        wait_us=1_000,
        compile_us=2_000,
        trace_us=3_000,
        first_text_us=106_000,
        total_us=206_000,
        deliver_us=50_000,
    ),
)
NO_TIMES = TimesView(wait_us=0, compile_us=0, trace_us=0, first_text_us=0, total_us=0)
RUN = RunView(
    run_id="2026-11-29-23-16-35-abcd",
    imp="ember",
    surface="discord-session",
    place="dm",
    channel_id=None,
    is_dm=True,
    started_at="",
    ended_at=None,
    end_reason=None,
    start=None,
    route_key=None,
    boundaries=(),
    turns=(TURN,),
    resumed_at=(),
    gaps=(),
)


def block(kind: str, chars: int, *, cache_class: str = "volatile") -> BlockView:
    return BlockView(
        kind=kind,
        authority="content",
        cache_class=cache_class,
        source="test",
        chars=chars,
        sha256="c" * 64,
    )


def steps(turn: TurnView) -> dict[str, int]:
    return {kind: micros for kind, _, micros in views.steps_of(turn)}


def test_a_turn_s_time_is_divided_into_its_steps() -> None:
    """Issue: waiting, compile, trace, first token, model, delivery, as stacked bars."""
    assert steps(TURN) == {
        "wait": 1_000,
        "compile": 2_000,
        "trace": 3_000,
        "first": 100_000,
        "model": 100_000,
        "deliver": 50_000,
    }
    (line,) = views.timeline([TURN])
    assert line.total_us == 256_000
    assert [part.kind for part in line.bar] == list(views.STEPS)


def test_a_turn_without_a_word_was_the_model_s() -> None:
    assert TURN.times is not None
    silent = replace(TURN, times=replace(TURN.times, first_text_us=0, deliver_us=0))
    assert steps(silent)["first"] == 0
    assert steps(silent)["model"] == 200_000


def test_a_turn_that_runs_has_what_its_trace_says() -> None:
    running = replace(TURN, times=None, outcome=None)
    assert steps(running) == {
        "wait": 1_200, "compile": 800, "trace": 0, "first": 0, "model": 0, "deliver": 0
    }  # fmt: skip
    assert views.outcome_of(running) == "running"
    assert views.timeline([]) == ()


@pytest.mark.parametrize("row", [None, NO_TIMES])
def test_the_first_word_of_a_turn_that_runs_is_told(row: TimesView | None) -> None:
    """Issue "Live": the moment of the first word, while the answer is still being written.

    The row of a turn that runs is there, and knows no times yet.
    """
    running = replace(TURN, times=row, outcome=None)
    first = 102_000
    (silent,) = views.timeline([running])
    assert silent.first_text_us is None
    (speaking, ended) = views.timeline([running, TURN], lambda _: first)
    assert (speaking.first_text_us, ended.first_text_us) == (first, None)
    told = {part.kind: part.value for part in speaking.bar}
    assert told == {"wait": 1_200, "compile": 800, "first": 100_000}
    assert views.first_word(replace(running, turn_id=None), lambda _: first) is None


@settings(max_examples=30)
@given(
    wait=st.integers(0, 10**7),
    compile_us=st.integers(0, 10**5),
    trace=st.integers(0, 10**5),
    first=st.integers(0, 10**8),
    total=st.integers(0, 10**8),
)
def test_no_step_is_less_than_nothing(
    wait: int, compile_us: int, trace: int, first: int, total: int
) -> None:
    """Clocks of two threads may disagree by a little."""
    times = TimesView(
        wait_us=wait, compile_us=compile_us, trace_us=trace, first_text_us=first, total_us=total
    )
    assert all(micros >= 0 for micros in steps(replace(TURN, times=times)).values())


def test_turns_share_the_scale_of_the_longest() -> None:
    assert TURN.times is not None
    short = replace(TURN, times=TimesView(
        wait_us=0, compile_us=0, trace_us=0, first_text_us=0, total_us=128_000
    ))  # fmt: skip
    _, line = views.timeline([TURN, short])
    (part,) = line.bar
    assert part.percent == pytest.approx(50)


def test_the_blocks_of_a_turn_are_those_of_its_start_and_its_own() -> None:
    start = replace(COMPILED, blocks=(block("identity", 300, cache_class="imp-stable"),))
    own = replace(COMPILED, blocks=(block("message", 100),))
    run = replace(RUN, start=start)
    blocks = views.blocks_of(run, own)
    assert [each.kind for each in blocks] == ["identity", "message"]
    assert views.blocks_of(run, start) == start.blocks
    boundary = BoundaryView(
        cache_class="imp-stable", after_block="identity", prefix_chars=300, prefix_sha256="d" * 64
    )
    drawn = views.draw_blocks(blocks, (boundary,), None)
    assert (drawn.chars, [line.share for line in drawn.lines]) == (400, [0.75, 0.25])
    assert [part.percent for part in drawn.by_authority] == [75, 25]
    assert [(mark.value, mark.at_percent) for mark in drawn.boundaries] == [(300, 75)]
    assert [part.kind for part in drawn.by_class] == ["imp-stable", "volatile"]
    assert all(line.tokens is None for line in drawn.lines)


def test_what_was_left_out_is_told_by_block_and_reason() -> None:
    items = [OmissionView(block="memory", item_id=f"n{n}", reason="budget", chars=10) for n in "12"]
    other = OmissionView(block="history", item_id="h", reason="a_new_rule", chars=5)
    memory, history = views.omissions_of(None, replace(COMPILED, omissions=(*items, other)))
    assert (memory.count, memory.chars, memory.ids) == (2, 20, ("n1", "n2"))
    assert memory.why == "no room left, in characters"
    assert history.why == "a new rule"


def test_everything_has_a_word() -> None:
    """A new authority, class or reason without a word fails here."""
    assert set(views.AUTHORITIES) == {each.value for each in BlockAuthority}
    assert set(views.CLASSES) == {each.value for each in CacheClass}
    assert set(views.REASONS) == {each.value for each in OmissionReason}


def test_a_call_s_prompt_is_drawn_by_what_came_from_the_cache() -> None:
    call = CallView(
        number=1,
        at="2026-11-29T23:16:36.000Z",
        turn_id="discord:message:1",
        api="openai-completions",
        model="scripted",
        body_sha256="e" * 64,
        body_bytes=4457,
        extends_former=None,
        blocks=(),
        tools=0,
        tools_sha256=None,
        problems=(),
        end="complete",
        refusal="",
        status=200,
        input_tokens=1000,
        cached_tokens=800,
        output_tokens=20,
        is_estimate=False,
        first_byte_us=1,
        total_us=2,
    )
    line, bare = views.draw_calls((call, replace(call, input_tokens=None)), (), None, {})
    assert [(part.kind, part.percent) for part in line.bar] == [("cached", 80), ("fresh", 20)]
    assert line.expected_tokens is None
    assert (bare.bar, bare.marks) == ((), ())


@settings(max_examples=30)
@given(text=st.text(max_size=50), at=st.integers(0, 50), around=st.integers(0, 10))
def test_an_excerpt_is_a_piece_of_its_text(text: str, at: int, around: int) -> None:
    at = min(at, len(text))
    part = views.excerpt(text, at, around)
    piece = part.before + part.marked + part.after
    assert text[part.cut_before :].startswith(piece)
    assert part.cut_before + len(piece) + part.cut_after == len(text)
    assert part.marked == text[at : at + 1]
