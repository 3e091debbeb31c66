"""What a reader sees of a text; pure (P08)."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import regex

from compiler.normalize import INVISIBLE

_NOTHING_TO_SEE: Final = regex.compile(rf"[\s\p{{Cc}}\p{{Cf}}\p{{Cs}}\p{{Z}}\u2800{INVISIBLE}]*")
"""Blanks, controls, zero-width characters, lone surrogates, the empty Braille cell, and signs drawn
as nothing. An unassigned character is no blank: an older table does not know the newest emoji."""
_SHAPELESS: Final = re.compile(f"[{INVISIBLE}]")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def is_visible(text: str) -> bool:
    """Tell whether a reader would see anything of ``text``.

    Discord refuses a content that is blank to it (code 50006), so what is blank is never sent.
    """
    return _NOTHING_TO_SEE.fullmatch(text) is None


def is_seen(sign: str) -> bool:
    """Tell whether a reader sees one sign of a text, if only as a gap.

    Whoever approves a text approves what he reads; the model reads fillers, variation selectors and
    tags as well, and words can be written in them.
    """
    if sign in ("\n", "\t"):
        return True
    return unicodedata.category(sign) not in _UNSEEN and _SHAPELESS.fullmatch(sign) is None
