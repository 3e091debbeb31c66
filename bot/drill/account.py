"""What became of each message of a drill; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bot.leftovers import INTERRUPTED

MARK = "drill-"


@dataclass(slots=True, kw_only=True)
class Account:
    """The count. Marks are those of the messages; ``answers`` are by mark, in order."""

    kills: int = 0
    sent: list[str] = field(default_factory=list)
    answers: dict[str, list[str]] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    """How often the model was asked with a message; more than once only after an interruption."""
    untraced: list[str] = field(default_factory=list)
    """Messages that reached the model with no line in a trace."""
    left_over: int = 0
    """Processes of the killed bots that outlived the last one, tools and engines alike."""

    def open(self) -> list[str]:
        """List the messages without an answer."""
        return [mark for mark in self.sent if mark not in self.answers]

    def doubled(self) -> list[str]:
        """List the messages with more than one answer."""
        return [mark for mark, found in self.answers.items() if len(found) > 1]

    def interrupted(self) -> list[str]:
        """List the messages that were told to be interrupted."""
        return [
            mark
            for mark, found in self.answers.items()
            if any(text.startswith(INTERRUPTED) for text in found)
        ]

    def other(self) -> list[str]:
        """List the messages with another word than an answer or an interruption."""
        return [
            mark
            for mark, found in self.answers.items()
            if not any(text.startswith((INTERRUPTED, "done ")) for text in found)
        ]

    @property
    def holds(self) -> bool:
        """Whether nothing was lost, doubled or untraced, and nothing of the dead lives on."""
        return not (self.open() or self.doubled() or self.untraced or self.left_over)

    def figures(self) -> Mapping[str, int]:
        """Give the figures by name."""
        return {
            "kills": self.kills,
            "messages": len(self.sent),
            "answered": len(self.answers) - len(self.interrupted()) - len(self.other()),
            "interrupted": len(self.interrupted()),
            "told otherwise": len(self.other()),
            "lost": len(self.open()),
            "doubled": len(self.doubled()),
            "untraced": len(self.untraced),
            "left over": self.left_over,
        }


def mark_in(text: str) -> str:
    """Find the last mark in a text; empty if there is none."""
    at = text.rfind(MARK)
    return text[at : at + len(MARK) + 6] if at >= 0 else ""


def is_traced(lines: Iterable[str], mark: str) -> bool:
    """Tell whether a compiled input with a mark is among the lines of a trace."""
    return any(mark in line and '"event":"compiled"' in line.replace(" ", "") for line in lines)
