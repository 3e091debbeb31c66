"""Search terms: index artefacts made from a text, never put in its place.

Composed and decomposed spellings give the same terms, case is folded for every script, and
scripts that write without spaces are indexed by characters and pairs of them.

Spec: TR "Content identity" (search normalization is separate from the payload).
"""

from __future__ import annotations

import re
import unicodedata

# A word is a run of letters, digits and the marks that belong to them; Python's \w knows no
# combining marks, so the blocks that spell with them are named.
_WORD = re.compile(
    r"[^\W_\u0300-\u036f][\w\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f"
    r"\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u0eb1-\u0ece\u0f00-\u0fff"
    r"\u1000-\u109f\u1780-\u17ff]*"
)
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
_DOT_ABOVE = "\u0307"  # what case folding leaves of a Turkish capital dotted I
MAX_TERM_CHARS = 40  # longer runs are no words; their beginning finds them as well


def fold(text: str) -> str:
    """Normalize a text for comparison: compatibility form, case folded."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", folded.replace(_DOT_ABOVE, ""))


def terms_of(text: str, *, limit_chars: int) -> tuple[str, ...]:
    """Give the terms of the first ``limit_chars`` characters, in order, repeats included."""
    found: list[str] = []
    for match in _WORD.finditer(fold(text[:limit_chars])):
        word = match.group()
        if word.isascii():
            found.append(word[:MAX_TERM_CHARS])
        else:
            _add_scripts(word, found)
    return tuple(found)


def _add_scripts(word: str, found: list[str]) -> None:
    position = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > position:
            found.append(word[position : run.start()][:MAX_TERM_CHARS])
        found.extend(run.group())
        found.extend(word[i : i + 2] for i in range(run.start(), run.end() - 1))
        position = run.end()
    if position < len(word):
        found.append(word[position:][:MAX_TERM_CHARS])
