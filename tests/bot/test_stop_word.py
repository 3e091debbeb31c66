"""The word "stop" alone, and what is said to it."""

from __future__ import annotations

import pytest

from bot.stop_word import is_stop, told_of
from sessions.view import Interruption


@pytest.mark.parametrize(
    "text",
    [
        *("stop", "Stop!", " STOP. ", "<@5> stop", "<@!5>, stop!!", "/stop", "stop\nstop"),
        *(
            "**stop**",
            "__Stop__",
            "st\u200bop",
            "\u202estop\u202c",
            "stop \U0001f6d1",
            "Stop, stop!",
        ),
    ],
)
def test_stop_alone_stops(text: str) -> None:
    """Beside at most our own mark, signs, and what nobody sees (hermes-agent#49192)."""
    assert is_stop(text, me=5)


@pytest.mark.parametrize(
    "text",
    ["", "stop it", "don't stop", "nonstop", "<@6> stop", "st op", "stop?", "stop 2", "stopstop"],
)
def test_a_sentence_with_the_word_is_a_message(text: str) -> None:
    """Nothing is stopped by talking of it."""
    assert not is_stop(text, me=5)


@pytest.mark.parametrize(
    ("done", "told"),
    [
        (Interruption(), "Nothing of yours is running here."),
        (Interruption(kept=1), "Nothing of yours is running here. 1 message is waiting."),
        (Interruption(stopped=True), "Stopped."),
        (
            Interruption(stopped=True, dropped=2, kept=3),
            "Stopped. I dropped 2 messages that were waiting. 3 messages are waiting still.",
        ),
        (Interruption(dropped=1), "I dropped 1 message that was waiting."),
    ],
)
def test_what_was_done_and_left_is_told(done: Interruption, told: str) -> None:
    """Issue "The turn": dropped or kept, and the user is told which."""
    assert told_of(done) == told
