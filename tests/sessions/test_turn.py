"""One turn as a machine: scripts of events in, commands and exactly one outcome out."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from compiler.request import RunId, TurnId
from sessions.inbound import OutcomeKind, Usage
from sessions.pi.errors import PiExited, PiRefused, ProtocolError
from sessions.pi.protocol import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AnswerDelta,
    AssistantEnd,
    AssistantMessage,
    CallUsage,
    ContentPart,
    Cost,
    MessageUpdate,
    OtherEvent,
    PiEvent,
    RetryEnd,
    RetryStart,
    UnknownEvent,
)
from sessions.turn import (
    Command,
    HaltReason,
    IllegalMove,
    Phase,
    TurnMachine,
    Will,
    needs_fresh_session,
)

START = AgentStart(type="agent_start")
END = AgentEnd(type="agent_end")
SETTLED = AgentSettled(type="agent_settled")
ABORTED = AgentSettled(type="agent_settled", aborted=True)
RETRY = RetryStart(type="auto_retry_start", attempt=1, max_attempts=2, delay_ms=1)
RETRIED = RetryEnd(type="auto_retry_end", success=True)
OTHER = OtherEvent(type="turn_start")
NEW = UnknownEvent(type="dance")


def machine() -> TurnMachine:
    return TurnMachine(RunId("run"), TurnId("turn"))


def delta(text: str, kind: str = "text_delta") -> MessageUpdate:
    return MessageUpdate(
        type="message_update", assistant_message_event=AnswerDelta(type=kind, delta=text)
    )


def said(text: str = "", stop: str = "stop", error: str = "", **usage: int) -> AssistantEnd:
    return AssistantEnd(
        type="message_end",
        message=AssistantMessage(
            role="assistant",
            content=(
                ContentPart(type="thinking", text="hidden"),
                ContentPart(type="text", text=text),
            ),
            stop_reason=stop,
            error_message=error,
            usage=CallUsage(**usage, cost=Cost(total=0.25)),
        ),
    )


def play(*events: PiEvent) -> TurnMachine:
    turn = machine()
    for event in events:
        turn.handle(event)
    return turn


def test_an_answer_is_the_reply() -> None:
    turn = play(START, OTHER, delta("Hel"), delta("lo"), said("Hello"), END, SETTLED)
    assert turn.phase is Phase.ENDED
    outcome = turn.outcome
    assert outcome is not None
    assert (outcome.kind, outcome.text, outcome.error_code) == (OutcomeKind.REPLIED, "Hello", "")
    assert (outcome.run_id, outcome.turn_id) == ("run", "turn")
    assert not outcome.cut_short


def test_the_first_visible_text_is_noted_once() -> None:
    """Blanks and thinking are nothing to see yet."""
    turn = play(START)
    assert turn.handle(delta("thinking", "thinking_delta")) == ()
    assert turn.handle(delta(" \n")) == ()
    assert turn.handle(delta("H")) == (Command.NOTE_FIRST_TEXT,)
    assert turn.handle(delta("i")) == ()


def test_a_retry_replaces_what_the_failed_attempt_streamed() -> None:
    turn = play(
        START,
        delta("Half an ans"),
        said("Half an ans", stop="error", error="terminated"),
        END,
        RETRY,
        START,
        delta("Whole"),
        said("Whole"),
        RETRIED,
        END,
        SETTLED,
    )
    assert turn.outcome is not None
    assert turn.outcome.kind is OutcomeKind.REPLIED
    assert turn.outcome.text == "Whole"


def test_usage_is_summed_over_all_model_calls() -> None:
    turn = play(
        START,
        said(stop="error", error="500", input=5),
        END,
        RETRY,
        START,
        said("a", stop="toolUse", input=10, output=2, cache_read=3, cache_write=4),
        said("b", input=20, output=1, cache_read=30),
        END,
        SETTLED,
    )
    assert turn.outcome is not None
    assert turn.outcome.text == "b"
    assert turn.outcome.usage == Usage(
        input_tokens=35,
        output_tokens=3,
        cache_read_tokens=33,
        cache_write_tokens=4,
        cost_usd=0.75,
        model_calls=3,
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ('401: {"message":"Incorrect API key provided: sk-SECRET"}', "provider_auth"),
        ("429: slow down", "provider_rate_limit"),
        ("400: the request exceeds the available context size", "provider_context_overflow"),
        ("500: oh", "provider_unavailable"),
        ("something else with /home/ada/key", "provider_error"),
    ],
)
def test_a_failure_has_a_code_and_never_the_providers_words(error: str, code: str) -> None:
    """svkozak/pi-acp#98, openclaw#51323: a notice instead of silence, and a safe one."""
    outcome = play(START, said(stop="error", error=error), END, SETTLED).outcome
    assert outcome is not None
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, code)
    assert outcome.text == ""
    assert outcome.safe_message
    assert "SECRET" not in outcome.safe_message
    assert "/home" not in outcome.safe_message
    assert needs_fresh_session(outcome) is (code == "provider_context_overflow")


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "\u2800\u3164", "\ufeff\u2060\u00ad"])
def test_nothing_to_see_is_silence(text: str) -> None:
    """P08: empty, blanks, zero-width characters, thinking only."""
    outcome = play(START, said(text), END, SETTLED).outcome
    assert outcome is not None
    assert (outcome.kind, outcome.text) == (OutcomeKind.SILENT, "")


def test_an_answer_at_the_output_limit_is_marked() -> None:
    outcome = play(START, said("Once upon", stop="length"), END, SETTLED).outcome
    assert outcome is not None
    assert (outcome.kind, outcome.text) == (OutcomeKind.REPLIED, "Once upon")
    assert outcome.cut_short


def test_a_limit_reached_before_any_text_is_a_failure() -> None:
    """A model that spends all its room on thinking has not chosen to be silent."""
    outcome = play(START, said(" ", stop="length"), END, SETTLED).outcome
    assert outcome is not None
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, "output_limit")


@pytest.mark.parametrize("events", [[], [START], [START, END]])
def test_settled_without_any_message_is_a_failure(events: list[PiEvent]) -> None:
    outcome = play(*events, SETTLED).outcome
    assert outcome is not None
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, "no_answer")


def test_a_deadline_aborts_then_kills() -> None:
    turn = play(START)
    assert turn.halt(HaltReason.DEADLINE) == (Command.ABORT,)
    assert turn.halt(HaltReason.SHUTDOWN) == ()
    assert turn.overdue() == (Command.KILL,)
    assert turn.halt(HaltReason.SHUTDOWN) == ()
    turn.gone(PiExited(-9))
    assert turn.outcome is not None
    assert turn.outcome.kind is OutcomeKind.CUT_OFF
    assert turn.outcome.error_code == "turn_timeout"


@pytest.mark.parametrize("reason", list(HaltReason))
def test_an_abort_that_takes_effect_cuts_the_turn_off(reason: HaltReason) -> None:
    turn = play(START, delta("Half"))
    turn.halt(reason)
    for event in (said("Half", stop="aborted"), END, ABORTED):
        turn.handle(event)
    assert turn.outcome is not None
    assert (turn.outcome.kind, turn.outcome.error_code) == (OutcomeKind.CUT_OFF, reason)
    assert turn.outcome.text == ""
    assert turn.outcome.safe_message


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (HaltReason.DEADLINE, OutcomeKind.REPLIED),
        (HaltReason.STOPPED, OutcomeKind.CUT_OFF),
        (HaltReason.SHUTDOWN, OutcomeKind.CUT_OFF),
    ],
)
def test_a_whole_answer_just_before_the_abort(reason: HaltReason, kind: OutcomeKind) -> None:
    """After a deadline it is still an answer; after a stop nobody waits for it."""
    turn = play(START, said("Hello"))
    turn.halt(reason)
    for event in (END, SETTLED):
        turn.handle(event)
    assert turn.outcome is not None
    assert turn.outcome.kind is kind


def test_a_halt_before_any_message_is_named() -> None:
    turn = play(START)
    turn.halt(HaltReason.DEADLINE)
    turn.handle(SETTLED)
    assert turn.outcome is not None
    assert turn.outcome.error_code == "turn_timeout"


def test_an_abort_that_nobody_asked_for() -> None:
    outcome = play(START, said(stop="aborted"), END, ABORTED).outcome
    assert outcome is not None
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.CUT_OFF, "turn_aborted")


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (PiExited(1), OutcomeKind.CUT_OFF, "pi_exited"),
        (ProtocolError("x"), OutcomeKind.FAILED, "pi_protocol"),
        (PiRefused("prompt", "x"), OutcomeKind.FAILED, "pi_refused"),
    ],
)
def test_a_process_that_goes_ends_the_turn(
    error: PiExited | ProtocolError | PiRefused, kind: OutcomeKind, code: str
) -> None:
    turn = play(START, said("Half", stop="toolUse", input=3))
    turn.gone(error)
    assert turn.outcome is not None
    assert (turn.outcome.kind, turn.outcome.error_code) == (kind, code)
    assert turn.outcome.safe_message == error.safe_message
    assert turn.outcome.text == ""
    assert turn.outcome.usage.input_tokens == 3


@pytest.mark.parametrize(
    ("before", "event"),
    [
        ([], delta("x")),
        ([], said("x")),
        ([], END),
        ([], RETRY),
        ([], RETRIED),
        ([START], START),
        ([START], RETRY),
        ([START, END], END),
        ([START, END], delta("x")),
        ([START, END], said("x")),
        ([SETTLED], SETTLED),
        ([SETTLED], START),
        ([SETTLED], OTHER),
        ([SETTLED], NEW),
    ],
)
def test_an_illegal_event_raises_and_changes_nothing(before: list[PiEvent], event: PiEvent) -> None:
    turn = play(*before)
    state = (turn.phase, turn.will, turn.outcome)
    with pytest.raises(IllegalMove):
        turn.handle(event)
    assert (turn.phase, turn.will, turn.outcome) == state


def test_an_illegal_signal_raises_and_changes_nothing() -> None:
    turn = play(START)
    wills: list[Will] = []
    with pytest.raises(IllegalMove):
        turn.overdue()
    wills.append(turn.will)
    turn.halt(HaltReason.DEADLINE)
    wills.append(turn.will)
    turn.overdue()
    with pytest.raises(IllegalMove):
        turn.overdue()
    assert [*wills, turn.will] == [Will.WAIT, Will.HALT, Will.KILL]


def test_after_the_end_every_signal_is_illegal() -> None:
    """P22: late words of a dead child go nowhere."""
    turn = play(SETTLED)
    outcome = turn.outcome
    for signal in (
        lambda: turn.halt(HaltReason.STOPPED),
        turn.overdue,
        lambda: turn.gone(PiExited(1)),
    ):
        with pytest.raises(IllegalMove):
            signal()
    assert turn.outcome is outcome


EVENTS = st.sampled_from(
    [START, END, SETTLED, ABORTED, RETRY, RETRIED, OTHER, NEW, delta("x"), said("x"), said()]
)


def test_a_steered_turn_answers_what_came_before_and_after() -> None:
    """A complete answer before the further input is no draft: both are given; a tool's round and a
    turn that nobody steered have one answer as ever."""
    steered = machine()
    steered.handle(START)
    steered.handle(said("Looking.", stop="toolUse"))
    steered.steer()
    for event in (said("One."), said("Two."), END, SETTLED):
        steered.handle(event)
    assert steered.outcome is not None
    assert steered.outcome.text == "One.\n\nTwo."
    silent = machine()
    silent.steer()
    silent.handle(START)
    for event in (said("One."), said(), END, SETTLED):
        silent.handle(event)
    assert silent.outcome is not None
    assert (silent.outcome.kind, silent.outcome.text) == (OutcomeKind.REPLIED, "One.")
    with pytest.raises(IllegalMove):
        silent.steer()


class AnyTurn(RuleBasedStateMachine):
    """Whatever comes in whatever order: one outcome, then nothing more."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = machine()
        self.outcomes = 0
        self.commands: list[Command] = []

    def _watch(self, was_open: bool) -> None:  # noqa: FBT001 - a fact, not a switch
        if was_open and self.turn.outcome is not None:
            self.outcomes += 1

    @rule(event=EVENTS)
    def handle(self, event: PiEvent) -> None:
        was_open = self.turn.outcome is None
        try:
            self.commands += self.turn.handle(event)
        except IllegalMove:
            return
        assert was_open
        self._watch(was_open)

    @rule(reason=st.sampled_from(HaltReason))
    def halt(self, reason: HaltReason) -> None:
        try:
            self.commands += self.turn.halt(reason)
        except IllegalMove:
            assert self.turn.phase is Phase.ENDED

    @rule()
    def overdue(self) -> None:
        try:
            self.commands += self.turn.overdue()
        except IllegalMove:
            assert self.turn.phase is Phase.ENDED or self.turn.will is not Will.HALT

    @rule()
    def gone(self) -> None:
        was_open = self.turn.outcome is None
        try:
            self.turn.gone(PiExited(1))
        except IllegalMove:
            assert not was_open
        self._watch(was_open)

    @invariant()
    def one_outcome_when_ended(self) -> None:
        assert self.outcomes == (1 if self.turn.phase is Phase.ENDED else 0)
        assert (self.turn.outcome is not None) is (self.turn.phase is Phase.ENDED)

    @invariant()
    def each_command_once(self) -> None:
        assert len(self.commands) == len(set(self.commands))

    @invariant()
    def an_outcome_has_text_or_a_sentence(self) -> None:
        outcome = self.turn.outcome
        if outcome is not None and outcome.kind is not OutcomeKind.SILENT:
            assert bool(outcome.text) is (outcome.kind is OutcomeKind.REPLIED)
            assert bool(outcome.safe_message) is (outcome.kind is not OutcomeKind.REPLIED)


TestAnyTurn = AnyTurn.TestCase
