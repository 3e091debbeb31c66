"""An answer while it is written is what the answer would be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compiler.request import RunId, TurnId
from sessions.draft import Draft
from sessions.pi.protocol import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AnswerDelta,
    AssistantEnd,
    AssistantMessage,
    ContentPart,
    MessageUpdate,
    PiEvent,
)
from sessions.turn import TurnMachine

SETTLED = AgentSettled(type="agent_settled")


def delta(text: str, kind: str = "text_delta") -> MessageUpdate:
    return MessageUpdate(
        type="message_update", assistant_message_event=AnswerDelta(type=kind, delta=text)
    )


def said(text: str, stop: str = "stop") -> AssistantEnd:
    parts = (ContentPart(type="text", text=text),)
    return AssistantEnd(
        type="message_end",
        message=AssistantMessage(role="assistant", content=parts, stop_reason=stop),
    )


def message(text: str, stop: str) -> tuple[PiEvent, ...]:
    """One message of the model's, in two pieces."""
    return (delta(text[:1]), delta("hm", "thinking_delta"), delta(text[1:]), said(text, stop))


def test_it_grows_and_tells_of_each_step() -> None:
    steps: list[str] = []
    draft = Draft(lambda: steps.append(draft.text))
    for event in (AgentStart(type="agent_start"), *message("Hi.", "stop")):
        draft.note(event)
    assert steps == ["H", "Hi.", "Hi."]


def test_what_failed_or_was_no_answer_is_replaced() -> None:
    """A retry's text takes the place of the failed attempt's; a tool's round is no answer."""
    draft = Draft(lambda: None)
    for event in (*message("Half", "error"), delta("W")):
        draft.note(event)
    assert draft.text == "W"
    for event in (said("Wait.", "toolUse"), delta("D")):
        draft.note(event)
    assert draft.text == "D"


@given(
    texts=st.lists(
        st.tuples(st.text("ab", min_size=1), st.sampled_from(["stop", "toolUse", "error"])),
        max_size=4,
    ),
    last=st.text("ab", min_size=1),
)
def test_at_the_end_it_is_the_outcomes_text(texts: list[tuple[str, str]], last: str) -> None:
    """Whatever came before the last answer, retries, tools and further inputs: one and the same."""
    draft = Draft(lambda: None)
    turn = TurnMachine(RunId("run"), TurnId("turn"))
    turn.handle(AgentStart(type="agent_start"))
    turn.steer()
    for event in (*(e for text in texts for e in message(*text)), *message(last, "stop")):
        turn.handle(event)
        draft.note(event)
    turn.handle(AgentEnd(type="agent_end"))
    turn.handle(SETTLED)
    assert turn.outcome is not None
    assert turn.outcome.text == draft.text
