"""Which answers each kind of interaction takes, and when a person has an answer."""

from __future__ import annotations

from bot.playground.applications.stages import ALLOWED, SETTLED, AnswerKind, InteractionKind, Stage


def test_every_kind_has_its_answers() -> None:
    """Choices only for autocomplete; updates only where there is a message to update."""
    assert set(ALLOWED) == set(InteractionKind)
    assert ALLOWED[InteractionKind.AUTOCOMPLETE] == {AnswerKind.CHOICES}
    for kind in (InteractionKind.COMMAND, InteractionKind.COMPONENT):
        assert AnswerKind.MODAL in ALLOWED[kind]
    assert AnswerKind.MODAL not in ALLOWED[InteractionKind.MODAL_SUBMIT]
    assert AnswerKind.UPDATE not in ALLOWED[InteractionKind.COMMAND]


def test_waiting_thinking_and_updating_are_not_settled() -> None:
    """All other stages are."""
    assert set(Stage) - SETTLED == {Stage.WAITING, Stage.THINKING, Stage.UPDATING}
