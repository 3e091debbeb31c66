"""RFC 8785 bytes of values without fractions, by the standard library alone.

For text, whole numbers, booleans and null the rules of RFC 8785 (keys sorted, no blanks, only
what JSON demands is escaped) are those of Python's own encoder, which is written in C: a plan of
a thousand records takes half a millisecond. ``compiler.canonical_json`` serves everything else;
a test holds the two against each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

PlainValue = str | int | bool | None | Sequence["PlainValue"] | Mapping[str, "PlainValue"]
"""Keys are ASCII, so that their order by code point is the order by UTF-16 that RFC 8785 asks."""

_ENCODE = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
).encode


def plain_bytes(value: PlainValue) -> bytes:
    """Serialize a value by RFC 8785; texts hold no lone surrogates (see ``writable``)."""
    return _ENCODE(value).encode("utf-8")


def writable(text: str) -> str:
    r"""Make a label encodable: half of a surrogate pair becomes its escape, ``\udce9``."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
