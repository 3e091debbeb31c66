"""Numbers, times and texts as people read them; pure.

``visible`` is for whatever others wrote: characters that cannot be seen, or that turn the rest of
a line around, are shown by their numbers.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from markupsafe import Markup, escape

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_JOINER: Final = "\u200d"
_ODD = re.compile(r"[^\x20-\x7e]")
_SHORT: Final = 8
_THOUSAND: Final = 1000
_MINUTE_US: Final = 60_000_000
_SHA256_DIGITS: Final = 64


def number(value: int) -> str:
    """``1234567`` as ``1,234,567``."""
    return f"{value:,}"


def money(usd: float) -> str:
    """US dollars, with as many digits as small sums need."""
    if not usd:
        return "$0"
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.6f}".rstrip("0")


def share(part: float | None) -> str:
    """A share as percent; a dash where there is none."""
    return "–" if part is None else f"{100 * part:.1f}%".replace(".0%", "%")


def duration(micros: int) -> str:
    """Microseconds in the unit that people read."""
    if micros < _THOUSAND:
        return f"{micros} µs"
    if micros < _THOUSAND**2:
        return f"{micros / _THOUSAND:.1f} ms"
    if micros < _MINUTE_US:
        return f"{micros / _THOUSAND**2:.1f} s"
    return f"{micros / _MINUTE_US:.1f} min"


def moment(timestamp: str | None) -> str:
    """``2026-11-29T23:16:35.123Z`` as ``2026-11-29 23:16:35``; all times are UTC."""
    return timestamp[:19].replace("T", " ") if timestamp else "–"


def clock(timestamp: str) -> str:
    """Only the time of day."""
    return timestamp[11:19]


def short(value: str | None) -> str:
    """Shorten a hash; leave what is none as it is."""
    if not value:
        return "–"
    return value[:_SHORT] if len(value) == _SHA256_DIGITS else value


def bare(discord_id: str | None) -> str:
    """An id without our prefix."""
    return (discord_id or "–").removeprefix("discord:")


def plural(count: int, one: str, many: str = "") -> str:
    """``1 turn``, ``2 turns``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def plain(text: str) -> str:
    """Show what cannot be seen where no markup may stand, as in a list to choose from."""
    return "".join(
        f"[U+{ord(each):04X}]" if _is_hidden(text, place) else each
        for place, each in enumerate(text)
    )


def visible(text: str, *, lines: bool = False) -> Markup:
    """Escape a text, and show what cannot be seen; ``lines`` leaves line ends and tabs alone."""
    parts: list[Markup] = []
    at = 0
    for found in _ODD.finditer(text):
        character = found.group()
        if (lines and character in "\n\t") or not _is_hidden(text, found.start()):
            continue
        parts.append(escape(text[at : found.start()]))
        parts.append(Markup('<span class="odd">U+{:04X}</span>').format(ord(character)))
        at = found.end()
    parts.append(escape(text[at:]))
    return Markup("").join(parts)


def _is_hidden(text: str, at: int) -> bool:
    character = text[at]
    if unicodedata.category(character) not in _HIDDEN:
        return False
    # Between pictures a joiner makes one picture of two, and hides nothing.
    joins = character == _JOINER and at > 0 and unicodedata.category(text[at - 1]) in {"So", "Mn"}
    return not joins
