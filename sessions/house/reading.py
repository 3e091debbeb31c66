"""What a text has to say to the directive grammar: nothing, a directive, or a doubt. Pure.

This is the host's part ahead of the core (DG 3): the bot's leading mention and the blanks around
the text come off, nothing else. Only a message's own words are read; what it quotes, forwards or
attaches never comes here. The core gets the exact rest, or the person gets a fixed question:

hidden     A character without a shape stands in what would be a directive, so it does not say
           what it shows. It is neither ignored nor applied.
enclosed   A directive with a quote or a code block behind it: words that do not count stand in
           the place of its operand.

Joiners and variation selectors that belong to a script or an emoji hide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compiler.directives.grammar import parse
from compiler.normalize import INVISIBLE


class Doubt(StrEnum):
    """Why a text is asked back instead of being read."""

    HIDDEN = "hidden_character"
    ENCLOSED = "enclosed_text"


QUESTIONS: Final = {
    Doubt.HIDDEN: (
        "There is a hidden character in this house rule. Please type it anew instead of "
        "pasting it; nothing was changed."
    ),
    Doubt.ENCLOSED: (
        "A house rule stands alone. Please send it without quotes or code blocks; nothing was "
        "changed."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A text that begins as a directive, as the core gets it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubtful:
    """A text that begins as a directive but must be asked back."""

    doubt: Doubt


Reading = Written | Doubtful | None
"""None: the text is no directive."""

_HIDDEN = re.compile(f"[{INVISIBLE}\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u2800\ud800-\udfff]")
"""Also controls, which nothing shows, the blank of Braille, and halves of characters."""
_SHAPED = f"[^\x00-\u058f{INVISIBLE}\u2800\ud800-\udfff]"
"""A visible character of a script that is written with joiners, or of an emoji."""
_BELONGS = re.compile(
    f"(?<={_SHAPED})\ufe0f?[\u200c\u200d](?={_SHAPED})"
    "|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    f"|(?<={_SHAPED})[\ufe0e\ufe0f]"
    "|(?<=[\xa9\xae])[\ufe0e\ufe0f]"
    "|(?<=\U0001f3f4)[\U000e0020-\U000e007e]{1,16}\U000e007f"
)
_ENCLOSED = re.compile(r"```|^ *>(?:>>)? ", re.MULTILINE)
"""A code fence anywhere, and lines that Discord shows as a quote."""


def read(text: str, *, marks: Collection[str] = ()) -> Reading:
    """Read one text; ``marks`` are the raw mentions of the bot, one of which may lead it."""
    own = own_words(text, marks)
    if hides_something(text):
        # Whether the character is dropped by a reader or shown as a gap: both count.
        shown = (own_words(_HIDDEN.sub(gap, text), marks) for gap in ("", " "))
        if any(parse(each) is not None for each in (own, *shown)):
            return Doubtful(doubt=Doubt.HIDDEN)
        return None
    if parse(own) is None:
        return None
    return Doubtful(doubt=Doubt.ENCLOSED) if _ENCLOSED.search(own) else Written(text=own)


def own_words(text: str, marks: Collection[str]) -> str:
    """Take off the blanks around a text and one leading mention of the bot."""
    text = text.strip()
    for mark in marks:
        if text.startswith(mark):
            return text[len(mark) :].strip()
    return text


def hides_something(text: str) -> bool:
    """Tell whether a character without a shape stands where it has no business."""
    if _HIDDEN.search(text) is None:
        return False
    return _HIDDEN.search(_BELONGS.sub("", text)) is not None
