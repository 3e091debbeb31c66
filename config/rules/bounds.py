"""The few sentences of which most rules are made; each gives one finding, or none. Pure.

A value that is no number at all (nan) is within no bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final
from urllib.parse import urlsplit

from config.findings import Finding, Path
from sessions.zones import zone_of

MAX_SECONDS: Final = 7 * 24 * 3600
"""More than a week is a slip of the pen, not a limit."""
MAX_PORT: Final = 65_535


def at_least(path: Path, value: float, least: int) -> Iterator[Finding]:
    """Find a number below the least one that can be meant."""
    if value < least:
        yield Finding(paths=(path,), message=f"must be at least {least}")


def not_negative(path: Path, value: float, *, hint: str = "") -> Iterator[Finding]:
    """Find a number below 0, or one without end."""
    if not 0 <= value < float("inf"):
        yield Finding(paths=(path,), message="must not be negative", hint=hint)


def between(
    path: Path, value: float, least: int, most: float, unit: str = "", *, hint: str = ""
) -> Iterator[Finding]:
    """Find a number outside of both ends, which are in."""
    if not least <= value <= most:
        message = f"must be between {least} and {_amount(most, unit)}"
        yield Finding(paths=(path,), message=message, hint=hint)


def above_nothing(path: Path, value: float, most: float, unit: str = "") -> Iterator[Finding]:
    """Find a number that is not more than 0, or more than the most that can be meant."""
    if not 0 < value <= most:
        message = f"must be more than 0 and at most {_amount(most, unit)}"
        yield Finding(paths=(path,), message=message)


def seconds(path: Path, value: float) -> Iterator[Finding]:
    """Find a wait that ends at once, or as good as never."""
    yield from above_nothing(path, value, MAX_SECONDS, "seconds")


def one_of(path: Path, value: str, choices: Collection[str]) -> Iterator[Finding]:
    """Find a word that is none of those that mean something."""
    if value not in choices:
        named = ", ".join(f'"{choice}"' for choice in choices)
        yield Finding(paths=(path,), message=f"must be one of {named}")


def port(path: Path, value: int) -> Iterator[Finding]:
    """Find a number that is no port."""
    yield from between(path, value, 0, MAX_PORT, hint="0 takes any port that is free.")


def time_zone(path: Path, name: str) -> Iterator[Finding]:
    """Find a name that is no time zone's."""
    try:
        zone_of(name)
    except ValueError:
        yield Finding(
            paths=(path,),
            message="is no time zone that is known here",
            hint='For example "UTC" or "Europe/Paris".',
        )


def address(path: Path, value: str, *, hint: str = "") -> Iterator[Finding]:
    """Find a text that is no address of a server."""
    if not _is_http(value):
        yield Finding(
            paths=(path,),
            message="must be an address that begins with http:// or https://",
            hint=hint,
        )


def _amount(number: float, unit: str) -> str:
    return f"{number:.0f} {unit}".rstrip()


def _is_http(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
