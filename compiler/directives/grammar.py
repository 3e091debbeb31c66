"""The explicit grammar of DG 7: exact productions, start detection, compound rejection.

Keywords are matched byte for byte and case-sensitively (D3); nothing is trimmed before
matching (D4); only U+0020 separates a keyword from its operand (D5). Every scan is one pass
over the text, so the cost is linear in its length.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_DELIMITER = " instead of "


class Keyword(StrEnum):
    """The fixed words of the productions."""

    SET_PREMISE = "set premise"
    CHANGE_PREMISE = "change premise to"
    USE = "use"
    PROHIBIT = "prohibit"
    REMOVE_POLICY = "remove policy"
    CLEAR_PREMISE = "clear premise"
    RESET_POLICIES = "reset policies"
    CLEAR_STATE = "clear state"


COMMANDS = frozenset({Keyword.CLEAR_PREMISE, Keyword.RESET_POLICIES, Keyword.CLEAR_STATE})
"""Keywords without an operand."""

_KEYWORDS = tuple((word, word.value) for word in Keyword)
_OPERAND_MARKS = tuple((word.value, word.value + " ") for word in Keyword if word not in COMMANDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """A keyword with its raw payload; commands and bare keywords have an empty one (D6)."""

    keyword: Keyword
    payload: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """``use NEW instead of OLD``, operands as typed."""

    new: str
    old: str


@dataclass(frozen=True, slots=True)
class Compound:
    """More than one directive start in an input that begins with one (DG 8.5)."""


Parsed = Directive | Replacement | Compound | None


def parse(text: str) -> Parsed:
    """Read one input: a directive, a compound, or None for ordinary text.

    Spec: DG 7, 8.5; D19: only an input whose index 0 is a start can be compound, and compound
    wins over every other check.
    """
    first = _start_at_head(text)
    if first is None:
        return None
    if _has_later_start(text, len(first.value)):
        return Compound()
    if first in COMMANDS:
        return Directive(keyword=first) if text == first.value else None
    payload = text[len(first.value) + 1 :]
    if first is Keyword.USE:
        replacement = _replacement(payload)
        if replacement is not None:
            return replacement
    return Directive(keyword=first, payload=payload)


def _start_at_head(text: str) -> Keyword | None:
    for keyword, word in _KEYWORDS:
        if text.startswith(word) and _ends_well(text, len(word), keyword):
            return keyword
    return None


def _ends_well(text: str, end: int, keyword: Keyword) -> bool:
    """D19: an operand keyword needs U+0020 or the end, a command any non-letter or the end."""
    if end == len(text):
        return True
    return not text[end].isalpha() if keyword in COMMANDS else text[end] == " "


def _has_later_start(text: str, position: int) -> bool:
    return any(
        word in text and _has_operand_start(text, position, word, mark)
        for word, mark in _OPERAND_MARKS
    ) or any(_has_command(text, position, command) for command in COMMANDS)


def _has_operand_start(text: str, position: int, word: str, mark: str) -> bool:
    # D19: any character that is no Unicode letter is a boundary, quotes included.
    last = len(text) - len(word)
    if text.endswith(word) and last >= position and not text[last - 1].isalpha():
        return True
    # Splitting is one pass in C; what precedes each mark ends a piece.
    *before, _rest = text[position:].split(mark)
    return not all(piece[-1:].isalpha() for piece in before)


def _has_command(text: str, position: int, command: Keyword) -> bool:
    at = text.find(command, position)
    while at != -1:
        if not text[at - 1].isalpha() and _ends_well(text, at + len(command.value), command):
            return True
        at = text.find(command, at + 1)
    return False


def _replacement(payload: str) -> Replacement | None:
    """Split at the first exact delimiter (D17, D18); None where the payload is one item.

    A payload that begins with ``instead of `` or ends with `` instead of`` is a replacement
    with an empty side (DG 9 case 15).
    """
    new, delimiter, old = payload.partition(_DELIMITER)
    if delimiter:
        return Replacement(new=new, old=old)
    if payload.startswith(_DELIMITER.lstrip()):
        return Replacement(new="", old=payload[len(_DELIMITER) - 1 :])
    if payload.endswith(_DELIMITER.rstrip()):
        return Replacement(new=payload[: 1 - len(_DELIMITER)], old="")
    return None
