"""Which of Discord's blocks a text leaves open, and how they are closed and opened again; pure.

A message is read by itself: what a later part of an answer is to show as code or as a quote must
say so anew. Three things run over a cut::

    ```lang      a code block, to the next row of backticks; in a quote each of its lines has "> "
    > words      a quoted line, to the line's end
    >>> words    a quote of all that follows

Tables are found here too, because Discord shows none: they are only rows of bars there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final

import regex

_INFO_CHARS: Final = 30
"""Longest language that is repeated; a model may write a whole sentence behind a fence."""
_QUOTE: Final = "> "
_REST: Final = ">>> "
_OPENS: Final = regex.compile(r"( *> )? {0,3}(`{3,20})([^`\n]*)$")
_CLOSES: Final = regex.compile(r"(?: *> )? {0,3}(`{3,20})[ \t\r]*$")
_QUOTED: Final = regex.compile(r" *> ")
_ALL_QUOTED: Final = regex.compile(r" *>>> ")
_PLACED: Final = regex.compile(r"(?m)^( *> )? {0,3}`{3,20}[^`\n]*$")
_RUN: Final = regex.compile(r"`{3,20}")
_FENCE: Final = "```"
_NAMED: Final = regex.compile(r"([^\s`]*)\n")
_LINES_ALL_QUOTED: Final = regex.compile(r"(?m)^ *>>> ")
_DASHES: Final = regex.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
"""The row under a table's head."""
_ROW_CHARS: Final = 1_000
"""A longer row is none that anybody drew; a model may write a very long line of bars."""


class Rule(Enum):
    """How rows of backticks pair up."""

    NESTED = "nested"
    """CommonMark: only a bare row at least as long as the opening one closes a block."""
    TOGGLE = "toggle"
    """Discord: each row opens or closes, whatever its length."""
    ANYWHERE = "anywhere"
    """Discord as well: so does a row in the middle of a line, or far from its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """An open code block: its row of backticks, its language, and whether it is in a quote."""

    marker: str
    info: str
    rule: Rule
    quoted: bool = False

    @property
    def opening(self) -> str:
        """The line that opens it again."""
        marker = self.marker if self.rule is Rule.NESTED else "```"
        return f"{_QUOTE if self.quoted else ''}{marker}{self.info}\n"

    def closing_after(self, text: str) -> str:
        """What closes it behind a text."""
        row = f"{_QUOTE if self.quoted else ''}{self.marker}"
        return row if text.endswith("\n") or not text else f"\n{row}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What a message leaves open at its end."""

    fence: Fence | None = None
    in_quoted_line: bool = False
    all_quoted: bool = False

    @property
    def opening(self) -> str:
        """What the next message begins with, so that it goes on in the same way."""
        rest = _REST if self.all_quoted else ""
        fence = self.fence.opening if self.fence else ""
        return f"{rest}{fence}{_QUOTE if self.in_quoted_line else ''}"

    def closing_after(self, text: str) -> str:
        """What this message ends with, so that nothing of it is left open."""
        return self.fence.closing_after(text) if self.fence else ""


def open_after(message: str, rule: Rule) -> Open:
    """Read a message from its beginning; give what is open at its end."""
    if rule is Rule.ANYWHERE:
        return _open_anywhere(message)
    fence: Fence | None = None
    all_quoted = False
    *lines, last = message.split("\n")
    for number, whole in enumerate((*lines, last)):
        line = whole
        if fence is not None and fence.quoted and not _goes_on(line, number == len(lines)):
            fence = None  # the quote is over, and the code in it
        if fence is None and not all_quoted and (begun := _ALL_QUOTED.match(line)):
            all_quoted, line = True, line[begun.end() :]
        if fence is None:
            if opened := _OPENS.match(line.rstrip("\r")):
                fence = Fence(
                    marker=opened.group(2),
                    info=_language(opened.group(3)),
                    rule=rule,
                    quoted=opened.group(1) is not None,
                )
        elif closes(line, fence):
            fence = None
    in_line = bool(last) and _QUOTED.match(last) is not None
    return Open(
        fence=fence,
        in_quoted_line=in_line and (fence is None or fence.quoted) and not all_quoted,
        all_quoted=all_quoted,
    )


def _open_anywhere(message: str) -> Open:
    fence: Fence | None = None
    for found in _RUN.finditer(message):
        if fence is not None:
            fence = None
            continue
        begins = message.rfind("\n", 0, found.start()) + 1
        named = _NAMED.match(message, found.end())
        fence = Fence(
            marker=_FENCE,
            info=_language(named.group(1)) if named else "",
            rule=Rule.ANYWHERE,
            quoted=_QUOTED.match(message, begins) is not None,
        )
    in_line = _QUOTED.match(message, message.rfind("\n") + 1) is not None
    all_quoted = _LINES_ALL_QUOTED.search(message) is not None
    return Open(
        fence=fence,
        in_quoted_line=in_line and (fence is None or fence.quoted) and not all_quoted,
        all_quoted=all_quoted,
    )


def closes(line: str, fence: Fence) -> bool:
    """Tell whether a line ends a code block."""
    if fence.rule is Rule.ANYWHERE:
        return line.strip() == _FENCE
    if fence.rule is Rule.TOGGLE:
        return _OPENS.match(line.rstrip("\r")) is not None
    closed = _CLOSES.match(line)
    return closed is not None and len(closed.group(1)) >= len(fence.marker)


def choose_rule(text: str) -> Rule:
    """Choose by what is there.

    Rows of three alone, in pairs, are read as Discord reads them. Where longer ones stand among
    them CommonMark's pairing counts, unless only Discord's leaves no block open at the end.
    """
    rows = _RUN.findall(text)
    if len(rows) % 2 == 0 and all(row == _FENCE for row in rows):
        placed = [found.group(1) is not None for found in _PLACED.finditer(text)]
        alike = len(placed) == len(rows) and len(set(placed)) <= 1  # all in quotes, or none
        whole = alike and open_after(text, Rule.TOGGLE).fence is None
        return Rule.TOGGLE if whole else Rule.ANYWHERE
    if open_after(text, Rule.NESTED).fence is None:
        return Rule.NESTED
    return Rule.TOGGLE if open_after(text, Rule.TOGGLE).fence is None else Rule.NESTED


def closing_reserve(text: str, fence: Fence | None) -> int:
    """Give the room that closing whatever opens in a text may take, its line end included."""
    longest = max(map(len, _RUN.findall(text)), default=0)
    longest = max(longest, len(fence.marker) if fence else 0)
    return longest + 1 + len(_QUOTE) if longest else 0


def find_table(text: str) -> int | None:
    """Give where the first table begins, None if there is none; tables in code are code."""
    if "|" not in text:
        return None
    begins = 0
    for head, below in pairwise(text.split("\n")):
        if _is_head(head, below) and open_after(text[:begins], choose_rule(text)).fence is None:
            return begins
        begins += len(head) + 1
    return None


def _is_head(head: str, dashes: str) -> bool:
    """Tell whether two lines are a table's head and the dashes under it."""
    if "|" not in head or "|" not in dashes or len(dashes) > _ROW_CHARS:
        return False
    return _DASHES.fullmatch(dashes.rstrip("\r")) is not None


def _goes_on(line: str, is_last: bool) -> bool:  # noqa: FBT001  (private, one caller)
    return _QUOTED.match(f"{line} ") is not None or (is_last and not line)


def _language(info: str) -> str:
    word = (info.split() or [""])[0]
    return word if len(word) <= _INFO_CHARS else ""
