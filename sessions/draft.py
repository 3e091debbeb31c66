"""An answer while it is being written, for whoever shows it before it is whole.

It is what the outcome's text would be if the model stopped now: a new attempt replaces the one
that failed, a tool's round is no answer, and where the turn was steered the complete answers
before the last stand ahead of it (``sessions.turn``).
"""

from __future__ import annotations

from collections.abc import Callable

from sessions.pi.protocol import AssistantEnd, MessageUpdate, PiEvent
from sessions.pi.session_file import COMPLETE


class Draft:
    """The text so far. ``on_change`` is called at each step and must return at once."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._answers: list[str] = []
        self._pieces: list[str] = []
        self._ended = ""
        """How the message in ``_pieces`` ended; empty while it is being written."""

    @property
    def text(self) -> str:
        """The whole text so far; it may get shorter."""
        return "\n\n".join(text for text in (*self._answers, "".join(self._pieces)) if text)

    def note(self, event: PiEvent) -> None:
        """Take an event of the turn."""
        if isinstance(event, MessageUpdate) and event.text_delta:
            if self._ended:
                self._begin_anew()
            self._pieces.append(event.text_delta)
            self._on_change()
        elif isinstance(event, AssistantEnd):
            if self._ended:
                self._begin_anew()
            self._ended = event.message.stop_reason
            self._pieces = [event.message.text]
            self._on_change()

    def _begin_anew(self) -> None:
        if self._ended in COMPLETE:
            self._answers.append("".join(self._pieces))
        self._pieces, self._ended = [], ""
