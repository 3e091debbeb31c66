"""SHA-256, in the two ways in which the project uses it.

``sha256_text`` covers exact UTF-8 bytes and nothing else, so that anybody can check it with any
tool. ``sha256_fields`` is for identities made of several values: each has its length in front,
and the domain keeps hashes of different meaning apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def sha256_text(text: str) -> str:
    """Hash the UTF-8 bytes of a text; a lone surrogate is hashed as its three bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_fields(domain: str, fields: Iterable[str | bytes]) -> str:
    """Hash a list of values so that no two different lists give the same bytes.

    Form: domain, a NUL, then for each field its length in bytes as eight octets, big end first,
    and its bytes (UTF-8 of a text).
    """
    digest = hashlib.sha256(domain.encode("ascii") + b"\x00")
    for field in fields:
        octets = field if isinstance(field, bytes) else field.encode("utf-8", "surrogatepass")
        digest.update(len(octets).to_bytes(8, "big"))
        digest.update(octets)
    return digest.hexdigest()


def prefix_hashes(text: str, ends: Iterable[int]) -> tuple[str, ...]:
    """Hash the prefixes of a text that end at the given ascending character positions.

    The text is read once, however many prefixes there are.
    """
    digest = hashlib.sha256()
    hashes: list[str] = []
    start = 0
    for end in ends:
        digest.update(text[start:end].encode("utf-8"))
        hashes.append(digest.copy().hexdigest())
        start = end
    return tuple(hashes)
