"""Bytes of an attached file as text, or the finding that they are none; pure.

What says its encoding is believed: a byte order mark, then UTF-8 that is valid throughout. For
the rest charset-normalizer judges, and Windows-1252, which holds Latin-1, wins wherever it fits
as well. A NUL or another control character outside of a marked encoding means that it is no text,
whatever its name says (P17).
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from charset_normalizer import from_bytes

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as the mark of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WESTERN: Final = "cp1252"
_CANDIDATES: Final = [
    _WESTERN,
    "latin_1",
    "cp1250",
    "cp1251",
    "koi8_r",
    "shift_jis",
    "euc_jp",
    "gb18030",
    "big5",
]
_NO_TEXT: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Control characters that no text holds; escape is left, as terminals' output has it."""
JUDGED_BYTES: Final = 100_000
"""So much of a file is looked at to find its encoding."""
SHORT_BYTES: Final = 16
"""In so few nobody can tell one code page from another."""
_NAMES: Final = re.compile(
    r"\.(txt|text|md|markdown|rst|log|csv|tsv|json|jsonl|ya?ml|toml|ini|cfg|conf|xml|html?|css|js"
    r"|mjs|ts|tsx|jsx|py|rb|rs|go|java|kt|c|h|cc|cpp|hpp|cs|php|sh|bash|zsh|ps1|bat|sql|lua|pl|r"
    r"|swift|scala|tex|srt|vtt|diff|patch|env|properties|gradle|dockerfile|makefile)$",
    re.IGNORECASE,
)
_TYPES: Final = re.compile(
    r"text/|application/(json|xml|x-yaml|yaml|toml|javascript|x-sh|sql)\b", re.IGNORECASE
)


def may_be_text(name: str, content_type: str | None) -> bool:
    """Tell whether a file is worth fetching as text; its bytes decide in the end."""
    return _NAMES.search(name) is not None or _TYPES.match(content_type or "") is not None


def decode(data: bytes) -> str | None:
    """Read a file's text; None if it is none, or empty."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strict(data, encoding)
    if (text := _strict(data, "utf-8")) is not None:
        return text
    if b"\x00" in data:
        return None
    best = from_bytes(data[:JUDGED_BYTES], cp_isolation=_CANDIDATES).best()
    if best is None or len(data) < SHORT_BYTES or _WESTERN in best.could_be_from_charset:
        return _strict(data, _WESTERN)
    return _strict(data, best.encoding)


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if not text.strip() or _NO_TEXT.search(text) else text
