"""Whether a text shows a reader anything; pure (P08)."""

from __future__ import annotations

import regex

_NOTHING_TO_SEE = regex.compile(
    r"[\s\p{Cc}\p{Cf}\p{Cs}\p{Z}\u034f\u115f\u1160\u2800\u3164\uffa0\ufe00-\ufe0f]*"
)
"""Blanks, controls, zero-width characters, lone surrogates; then letters and signs drawn as
nothing: Hangul fillers, the empty Braille cell. An unassigned character is no blank: an older
table does not know the newest emoji."""


def is_visible(text: str) -> bool:
    """Tell whether a reader would see anything of ``text``.

    Discord refuses a content that is blank to it (code 50006), so what is blank is never sent.
    """
    return _NOTHING_TO_SEE.fullmatch(text) is None
