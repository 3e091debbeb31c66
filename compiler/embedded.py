"""Content that reads like a word to the model: noticed by a short list of marks, never understood.

What is found is told with the code UNTRUSTED_EMBEDDED_INSTRUCTION in plan, receipt and trace. It
is informative and never a filter: the content stays what it was, data without authority, whether
the list knows its trick or not. So the list may be short, and a quoted article about such tricks
may set it off.

Spec: TR "Contradiction policy"; the table "Conflicts".
"""

from __future__ import annotations

import re
from typing import Final

from compiler.normalize import INVISIBLE, MARK
from compiler.terms import fold

EMBEDDED_POLICY: Final = "inglenook.embedded.v1"
"""The version of the list below."""

_INVISIBLE: Final = re.compile(f"[{INVISIBLE}]+")
_ENVELOPE: Final = re.compile(r'\{\s{0,8}"block"\s{0,8}:')
_ROLES: Final = ("system", "developer", "assistant")
_ROLE: Final = re.compile(
    rf"^[ \t>#*\[(]{{0,12}}(?:{'|'.join(_ROLES)})(?: prompt| message)?[\])* ]{{0,4}}:",
    re.MULTILINE,
)
_RULES: Final = ("instruction", "guideline", "system prompt", "rules", "policies")
_DROPPED: Final = ("ignore", "disregard", "forget", "override", "bypass")
_WHICH: Final = ("previous", "prior", "above", "earlier", "all ", "any ", "your ", "these ", "the ")
_PHRASES: Final = ("execute immediately", "new instructions:", "developer mode enabled")
_REACH_CHARS: Final = 80
"""How far before the rules the word stands that drops them."""
_PLACES: Final = 64
"""How many places that name rules are looked at, for each word; an honest text has fewer."""


def reads_like_instructions(text: str) -> bool:
    """Tell whether a text holds something of the list, however it is spelled in Unicode.

    The list: block labels and control tokens (``normalize.MARK``), look-alikes of our envelopes,
    role marks at the begin of a line, some phrases, and the order to drop the rules given before.
    """
    folded = text.lower() if text.isascii() else _INVISIBLE.sub("", fold(text))
    return (
        (("[" in folded or "<" in folded) and MARK.search(folded) is not None)
        or ('"block"' in folded and _ENVELOPE.search(folded) is not None)
        or (any(role in folded for role in _ROLES) and _ROLE.search(folded) is not None)
        or any(phrase in folded for phrase in _PHRASES)
        or any(_drops(folded, rules) for rules in _RULES)
    )


def _drops(folded: str, rules: str) -> bool:
    """Tell whether some place that names rules says shortly before that they do not count."""
    place = folded.find(rules)
    for _ in range(_PLACES):
        if place < 0:
            break
        before = folded[max(0, place - _REACH_CHARS) : place]
        if any(word in before for word in _DROPPED) and any(word in before for word in _WHICH):
            return True
        place = folded.find(rules, place + 1)
    return False
