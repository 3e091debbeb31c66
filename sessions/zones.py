"""Time zones by their names."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

_UTC_NAME: Final = "UTC"


def zone_of(name: str) -> tzinfo:
    """Give a time zone by its name.

    Raises:
        ValueError: there is none of that name (``ZoneInfoNotFoundError`` is a ``KeyError``).
    """
    if name == _UTC_NAME:  # a small system may have no table of zones
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise ValueError("no such time zone") from error
