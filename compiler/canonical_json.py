"""RFC 8785 bytes, used for hashes only; prompts have their own fixed field order.

Spec: TR "Content identity": duplicate keys, non-finite numbers and integers beyond the safe
range are refused, strings are never Unicode-normalized.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

import rfc8785

JsonValue = str | int | float | bool | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]


class CanonicalJsonError(ValueError):
    """The value has no canonical form; the message names the rule, never the value."""


def canonical_bytes(value: JsonValue) -> bytes:
    """Serialize a value by RFC 8785.

    Raises:
        CanonicalJsonError: a number is not finite or not safe, a string has lone surrogates, or
            a key is no text.
    """
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        raise CanonicalJsonError("the value has no canonical JSON form") from None
    except (UnicodeError, RecursionError):
        raise CanonicalJsonError("the value has no canonical JSON form") from None


def parse_strict(text: str) -> JsonValue:
    """Read JSON that was made by someone else and is about to be hashed.

    Raises:
        CanonicalJsonError: the text is no JSON, a key stands twice, a number is not finite.
    """
    try:
        value: JsonValue = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_not_finite, parse_float=_finite
        )
    except CanonicalJsonError:
        raise
    except (ValueError, RecursionError):
        raise CanonicalJsonError("the text is not valid JSON") from None
    return value


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise CanonicalJsonError("a key stands twice")
    return value


def _finite(written: str) -> float:
    value = float(written)  # a number may be written that is larger than any
    return value if math.isfinite(value) else _not_finite(written)


def _not_finite(_name: str) -> NoReturn:
    raise CanonicalJsonError("a number is not finite")
