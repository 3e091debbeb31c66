"""An answer of any length as parts that Discord takes whole; pure.

Discord allows 2000 characters: its server counts code points, its clients UTF-16 units. A text has
never fewer units than code points, so the units decide.

Each part is a slice of the answer, so the bodies joined are the answer, character for character.
Around a body stands only what keeps code and quotes whole (``bot.markup``): where a cut falls
inside a code block, the part closes it and the next part opens it again with its language; where
it falls inside a quote, the next part goes on quoting.

A cut is looked for at the end of a paragraph, then between two items of a list, at the end of a
line, a sentence, a word, and last between any two graphemes; the first kind that fills the part
well enough wins. Mentions, emoji, timestamps and links stay in one piece unless one alone is
longer than a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import regex

from bot.markup import Rule, choose_rule, closes, closing_reserve, open_after

LIMIT_UNITS = 2000
"""Discord's longest message content."""
BEGINNING_UNITS = 600
"""What the channel sees of an answer that is attached as a file."""
_WELL_FILLED = (0.5, 0.4, 0.5, 0.4, 0.25)
"""How full a part must be, for a cut at a paragraph, between two items of a list, or at a line,
sentence or word to be taken."""

_PARAGRAPH = regex.compile(r"\n[ \t]*\n+")
_ITEM = regex.compile(r"\n(?=[ \t]*(?:> )?[ \t]*(?:[-*+\u2022]|\d{1,9}[.)])[ \t])")
_LINE = regex.compile(r"\n")
_SENTENCE = regex.compile(r"[.!?…。！？]+[\"'”’»)\]]*\s")
_WORD = regex.compile(r"\s+")
_GRAPHEME = regex.compile(r"\X")
_WHOLE = regex.compile(
    r"<(?:@[!&]?|\#)\d{1,20}>|<a?:\w{1,64}:\d{1,20}>|<t:-?\d{1,16}(?::\w)?>"
    r"|</[^:>\n]{1,100}:\d{1,20}>|https?://[^\s<>]{1,500}|`{3,20}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One message. Only ``body`` is of the answer; the others keep code and quotes whole."""

    opening: str = ""
    body: str
    closing: str = ""

    @property
    def text(self) -> str:
        """What is sent."""
        return f"{self.opening}{self.body}{self.closing}"


def count_units(text: str) -> int:
    """Count the UTF-16 units of a text."""
    return len(text) + sum(character > "\uffff" for character in text)


def split(text: str, limit_units: int = LIMIT_UNITS) -> tuple[Part, ...]:
    """Cut an answer into parts of at most ``limit_units`` UTF-16 units, in order.

    A part may be blank (a long row of line ends); whoever sends leaves it out. ``limit_units`` is
    at least 200, so that the fence lines leave room for text.
    """
    return tuple(cut(text, limit_units))


def cut(text: str, limit_units: int = LIMIT_UNITS) -> Iterator[Part]:
    """Cut as ``split`` does, part by part: whoever needs the first ones pays for no more."""
    start, opening, rule = 0, "", choose_rule(text)
    while start < len(text):
        end = _choose_end(text, start, limit_units, opening, rule)
        body = text[start:end]
        left = open_after(opening + body, rule)
        yield Part(opening=opening, body=body, closing=left.closing_after(body))
        start, opening = end, left.opening


def beginning(text: str, limit_units: int = BEGINNING_UNITS) -> str:
    """Give a short beginning of a long answer, code block closed."""
    return next(cut(text, limit_units)).text


def _choose_end(text: str, start: int, limit_units: int, opening: str, rule: Rule) -> int:
    budget = limit_units - count_units(opening)
    rest = text[start : start + budget + 1]
    if start + len(rest) == len(text) and count_units(rest) <= budget:
        closing = open_after(opening + rest, rule).closing_after(rest)
        if count_units(rest + closing) <= budget:
            return len(text)
    reserve = closing_reserve(rest, open_after(opening, rule).fence)
    window = _longest_that_fits(rest, budget - reserve)
    cut = _best_cut(text[start : start + window + _LOOKAHEAD], window)
    return start + _mind_fences(rest, cut, opening, rule)


_LOOKAHEAD = 600
"""What is looked at behind a window, so that a mark or grapheme across its end is seen whole."""


def _longest_that_fits(text: str, budget: int) -> int:
    """Give the greatest length of a beginning within the budget."""
    end = min(len(text), budget)
    while (over := count_units(text[:end]) - budget) > 0:
        end -= (over + 1) // 2
    return max(end, 1)


def _best_cut(text: str, window: int) -> int:
    """Choose where to cut ``text``, at most at ``window``."""
    graphemes = {found.end() for found in _GRAPHEME.finditer(text)}
    inside = [(found.start(), found.end()) for found in _WHOLE.finditer(text)]

    def allowed(ends: Iterable[int]) -> Iterator[int]:
        return (
            end
            for end in ends
            if 0 < end <= window
            and end in graphemes
            and not any(first < end < last for first, last in inside)
        )

    patterns = (_PARAGRAPH, _ITEM, _LINE, _SENTENCE, _WORD)
    for pattern, filled in zip(patterns, _WELL_FILLED, strict=True):
        best = max(allowed(found.end() for found in pattern.finditer(text)), default=0)
        if best >= window * filled:
            return best
    anywhere = max(allowed(graphemes), default=0)
    # A row of marks on one letter may be longer than a part; then only code points are left.
    return anywhere or max((end for end in graphemes if end <= window), default=window)


def _mind_fences(rest: str, cut: int, opening: str, rule: Rule) -> int:
    """Move a cut off the lines that open and close a code block.

    A block is not opened as the last thing of a part, nor closed as the first thing of the next.
    """
    before = rest[:cut]
    line_start = before.rfind("\n", 0, len(before) - 1) + 1
    opened = open_after(opening + before, rule).fence
    if opened and line_start > 0:
        earlier = open_after(opening + before[:line_start], rule).fence
        if earlier is None:
            return line_start
    if opened and before.endswith("\n"):
        line_end = rest.find("\n", cut)
        line = rest[cut : line_end if line_end >= 0 else len(rest)]
        if len(line) <= len(opened.closing_after("\n")) and closes(line, opened):
            return cut + len(line)
    return cut
