"""An input that fits in characters is made to fit in tokens, or it is refused (TR)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.blocks import BlockKind, OmissionReason
from compiler.budget import ContextBudgets
from compiler.compile import CompiledContext, Model, compile_start, compile_task, compile_turn
from compiler.errors import CompileErrorCode, CurrentTurnOverflow, TokensTooLarge, WindowFull
from compiler.request import (
    Briefing,
    ExcludedNote,
    HistoryMessage,
    MessageId,
    ResolvedGate,
    SourceSnapshot,
    TaskInput,
)
from compiler.tokens import Counting, TokenScene
from support.compiler_factories import (
    message,
    notes,
    snapshot,
    start_request,
    turn_request,
)
from support.word_tokens import WordTokenizer, word_scene

BUDGETS = ContextBudgets()
SYSTEM = compile_start(start_request(), snapshot(), BUDGETS).system
SYSTEM_TOKENS = WordTokenizer().tokenize(SYSTEM.prompt).count
HISTORY = tuple(
    HistoryMessage(message_id=MessageId(f"discord:{n}"), author_label="Bo", text=f"line {n} " * 9)
    for n in range(9)
)
TASK = TaskInput(origin="schedule", text="Sweep the hearth.")
RICH = snapshot(memory=notes(30, text="a note of some length"), history=HISTORY)


def turn(
    scene: TokenScene | None, sources: SourceSnapshot = RICH, text: str = "Good evening."
) -> CompiledContext:
    return compile_turn(turn_request(message(text)), sources, BUDGETS, SYSTEM, Model(scene=scene))


def input_tokens(compiled: CompiledContext) -> int:
    return WordTokenizer().tokenize(compiled.input_prompt or "").count


def kinds(compiled: CompiledContext) -> list[BlockKind]:
    return [block.kind for block in compiled.blocks]


def test_a_window_with_room_changes_nothing() -> None:
    """Without need the bytes are those of a compilation that counts no tokens."""
    assert turn(word_scene()).input_prompt == turn(None).input_prompt


def test_the_account_adds_up_to_the_exact_count() -> None:
    compiled = turn(word_scene(wrapper=17, output=5, margin=3))
    tokens = compiled.tokens
    assert tokens is not None
    assert tokens.used_tokens == SYSTEM_TOKENS + 17 + input_tokens(compiled)
    assert tokens.input_limit == 100_000 - 8
    assert tokens.system_tokens == SYSTEM_TOKENS


def test_the_tighter_of_both_budgets_wins() -> None:
    """Tokens cut what characters would admit; the trace can show both."""
    whole, bare = turn(word_scene()), turn(word_scene(), snapshot())
    window = SYSTEM_TOKENS + (input_tokens(whole) + input_tokens(bare)) // 2
    tight = turn(word_scene(window))
    assert tight.tokens is not None
    assert 0 <= tight.tokens.remaining_tokens < 150
    assert tight.budget.limit_chars == BUDGETS.max_injected_chars
    reasons = {each.reason for each in tight.omissions}
    assert reasons == {OmissionReason.TOKEN_BUDGET}


def test_nothing_leaves_that_has_room_to_the_token() -> None:
    """TR tables 9, at each boundary: at the limit all stays; one under, the least worthy leaves."""
    whole = turn(word_scene())
    exact = SYSTEM_TOKENS + input_tokens(whole)
    at = turn(word_scene(exact))
    assert at.tokens is not None
    assert (at.input_prompt, at.tokens.remaining_tokens) == (whole.input_prompt, 0)
    under = turn(word_scene(exact - 1))
    left = {(each.block, each.reason) for each in under.omissions}
    assert left == {(BlockKind.MEMORY, OmissionReason.TOKEN_BUDGET)}


def test_what_left_for_another_reason_keeps_it() -> None:
    """Issue "Selection": one reason code each, the one that decided."""
    budgets = replace(BUDGETS, history_max_chars=600)
    private = ExcludedNote(note_id="n-private", reason="audience")
    sources = replace(RICH, memory=replace(RICH.memory, excluded=(private,)))

    def compiled(window: int) -> CompiledContext:
        model = Model(scene=word_scene(window))
        return compile_turn(turn_request(message("Hello.")), sources, budgets, SYSTEM, model)

    whole = compiled(100_000)
    for_chars = {(each.item_id, each.reason) for each in whole.omissions}
    assert {reason for _, reason in for_chars} == {"audience", OmissionReason.BUDGET}
    tight = compiled(SYSTEM_TOKENS + input_tokens(whole) - 20)
    left = {(each.item_id, each.reason) for each in tight.omissions}
    assert for_chars < left
    assert {reason for _, reason in left - for_chars} == {OmissionReason.TOKEN_BUDGET}


def test_what_is_kept_as_its_beginning_for_tokens_is_in() -> None:
    """Tables 4: the newest message never vanishes whole, and no plan says that it did."""
    newest = replace(HISTORY[0], text="word " * 900)
    sources = snapshot(history=(newest,))
    bare = input_tokens(turn(word_scene(), snapshot()))
    tight = turn(word_scene(SYSTEM_TOKENS + bare + 400), sources)
    assert [each.reason for each in tight.omissions] == [OmissionReason.SHORTENED]
    assert [row.kept for row in tight.plan.selected if row.record_id == "discord:0"] == [
        "beginning"
    ]
    assert tight.plan.excluded == ()


def test_a_task_counts_its_system_prompt_once() -> None:
    """CC "One-shot runs": system prompt and input under one total, in tokens as well."""
    model = Model(scene=word_scene())
    compiled = compile_task(turn_request(TASK), RICH, BUDGETS, model)
    assert compiled.tokens is not None
    of_system = WordTokenizer().tokenize(compiled.system_prompt).count
    assert compiled.tokens.system_tokens == of_system
    assert compiled.tokens.used_tokens == of_system + input_tokens(compiled)
    tight = Model(scene=word_scene(of_system + input_tokens(compiled)))
    assert (
        compile_task(turn_request(TASK), RICH, BUDGETS, tight).input_prompt == compiled.input_prompt
    )


def test_a_long_message_is_not_to_blame_where_the_rest_has_no_room() -> None:
    """No part of it could be read either: parts have the same system prompt above them."""
    for window in (SYSTEM_TOKENS, SYSTEM_TOKENS - 1):
        with pytest.raises(TokensTooLarge):
            turn(word_scene(window), snapshot(), "word " * 4000)
    with pytest.raises(CurrentTurnOverflow):
        turn(word_scene(SYSTEM_TOKENS + 1), snapshot(), "word " * 4000)


def test_memory_leaves_before_history() -> None:
    """The one order of retention holds for tokens, too."""
    bare = input_tokens(turn(word_scene(), snapshot()))
    of_history = input_tokens(turn(word_scene(), snapshot(history=HISTORY)))
    tight = turn(word_scene(SYSTEM_TOKENS + of_history + 2))
    assert kinds(tight) == [BlockKind.HISTORY, BlockKind.MESSAGE]
    tighter = turn(word_scene(SYSTEM_TOKENS + bare))
    assert kinds(tighter) == [BlockKind.MESSAGE]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2500))
def test_any_window_ends_in_a_fit_or_a_refusal(room: int) -> None:
    """Never over the limit, and never without what must be in."""
    bare = input_tokens(turn(word_scene(), snapshot()))
    scene = word_scene(SYSTEM_TOKENS + bare + room)
    compiled = turn(scene)
    assert compiled.tokens is not None
    assert compiled.tokens.remaining_tokens >= 0
    assert BlockKind.MESSAGE in kinds(compiled)
    assert turn(scene).plan == compiled.plan


@pytest.mark.parametrize(("spare", "fits"), [(1, True), (0, True), (-1, False)])
def test_the_message_overflows_at_exactly_one_token_over(spare: int, fits: bool) -> None:  # noqa: FBT001
    """TR tables 9: one under, at, over the limit: fits, fits, CURRENT_TURN_OVERFLOW."""
    long = "word " * 4000
    exact = input_tokens(turn(word_scene(), snapshot(), long))
    scene = word_scene(SYSTEM_TOKENS + exact + spare)
    if fits:
        compiled = turn(scene, RICH, long)
        assert kinds(compiled) == [BlockKind.MESSAGE]
        return
    with pytest.raises(CurrentTurnOverflow) as caught:
        turn(scene, RICH, long)
    assert caught.value.code is CompileErrorCode.CURRENT_TURN_OVERFLOW
    assert caught.value.facts["unit"] == "tokens"
    assert (caught.value.size, caught.value.limit) == (exact, exact - 1)


def test_a_short_message_is_not_to_blame_for_a_small_window() -> None:
    with pytest.raises(TokensTooLarge) as caught:
        turn(word_scene(SYSTEM_TOKENS + 3))
    assert caught.value.facts["limit_tokens"] == SYSTEM_TOKENS + 3


def test_the_answers_room_is_never_given_away() -> None:
    """TR: O is reserved before optional context; a start that leaves none fails."""
    with pytest.raises(TokensTooLarge):
        compile_start(
            start_request(),
            snapshot(),
            BUDGETS,
            Model(scene=word_scene(SYSTEM_TOKENS + 100, output=101)),
        )


def test_what_the_engine_holds_counts_and_asks_for_a_fresh_session() -> None:
    """Held tokens are all of the session, system prompt and wrapper included."""
    bare = input_tokens(turn(word_scene(), snapshot()))
    window = SYSTEM_TOKENS + 10 + 500 + bare
    held = SYSTEM_TOKENS + 10 + 500
    fits = turn(word_scene(window, wrapper=10, held=held), snapshot())
    assert fits.tokens is not None
    assert (fits.tokens.held_tokens, fits.tokens.remaining_tokens) == (500, 0)
    with pytest.raises(WindowFull) as caught:
        turn(word_scene(window, wrapper=10, held=held + 1), snapshot())
    assert caught.value.facts["held_tokens"] == 501


def test_a_continuation_stays_when_everything_else_has_left() -> None:
    gate = ResolvedGate(gate_id="g1", intent="Post the menu", outcome="done", detail="word " * 300)
    sources = replace(RICH, briefing=Briefing(continuation=gate))
    least = turn(None, sources)
    assert BlockKind.BRIEFING in kinds(least)
    bare = input_tokens(turn(word_scene(), snapshot()))
    compiled = turn(word_scene(SYSTEM_TOKENS + bare + 120), sources)
    assert kinds(compiled) == [BlockKind.BRIEFING, BlockKind.MESSAGE]
    assert '"outcome":"done"' in (compiled.input_prompt or "")


def test_an_estimate_has_no_token_identity() -> None:
    exact, guess = turn(word_scene()), turn(word_scene(counting=Counting.ESTIMATE))
    assert exact.tokens is not None
    assert guess.tokens is not None
    assert len(exact.tokens.prompt_sha256 or "") == 64
    assert guess.tokens.prompt_sha256 is None
    assert guess.plan.counting == "estimate"


def test_a_warm_turn_tokenizes_the_system_prompt_no_more() -> None:
    tokenizer = WordTokenizer()
    scene = word_scene(tokenizer=tokenizer)
    turn(scene)
    tokenizer.seen.clear()
    turn(scene)
    assert SYSTEM.prompt not in tokenizer.seen


def test_text_is_tokenized_as_it_is_delivered() -> None:
    """The whole input, in one piece: counts of parts would not add up in every vocabulary."""
    tokenizer = WordTokenizer()
    compiled = turn(word_scene(tokenizer=tokenizer))
    assert compiled.input_prompt in tokenizer.seen
