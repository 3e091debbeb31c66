r"""The line on which each key of a TOML text stands.

``tomllib`` gives values without places, so this reads the same text once more for places only.
It relies on the text having been accepted by ``tomllib``: it knows just enough of the grammar to
step over values (strings of all four kinds, arrays, inline tables, comments).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Where a statement stands in a text, in characters; of a table's header all are its start."""

    start: int
    value: int
    """Where its value begins."""
    end: int
    """Where its value ends."""


_SKIP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY_PART = re.compile(r"""[ \t]*(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)[ \t]*""")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL
)
_PLAIN = re.compile(r"""[^\[\]{}"'#\n,]+""")


def find_lines(text: str) -> Mapping[Path, int]:
    """Map the path of each table and key to its line, counted from 1.

    Keys inside inline tables and arrays are not listed; they share the line of the key that
    holds them, see ``line_of``. Elements of an array of tables are called ``[0]``, ``[1]``.
    """
    lines: dict[Path, int] = {}
    line, counted = 1, 0
    for path, offset in _statements(text):
        line, counted = line + text.count("\n", counted, offset), offset
        for length in range(1, len(path) + 1):  # [a.b] is also the first word on "a"
            lines.setdefault(path[:length], line)
    return lines


def find_spans(text: str) -> Mapping[Path, Span]:
    """Map the path of each header and key to its place; what is said twice, to the first."""
    spans: dict[Path, Span] = {}
    for path, span in _placed_statements(text):
        spans.setdefault(path, span)
    return spans


def line_of(lines: Mapping[Path, int], path: Path) -> int | None:
    """The line of the nearest listed ancestor of ``path``, itself included."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _statements(text: str) -> Iterator[tuple[Path, int]]:
    for path, span in _placed_statements(text):
        yield path, span.start


def _placed_statements(text: str) -> Iterator[tuple[Path, Span]]:
    table: Path = ()
    elements: dict[Path, int] = {}
    at = _skip(text, 0)
    while at < len(text):
        start = at
        if text[at] == "[":
            is_element = text.startswith("[[", at)
            named, at = _key(text, at + (2 if is_element else 1))
            if is_element:
                elements[named] = elements.get(named, -1) + 1
            table = _placed(named, elements)
            yield table, Span(start, start, start)
            at = text.index("]", at)
            at += 2 if text.startswith("]]", at) else 1
        else:
            key, at = _key(text, at)
            value = at + 1  # past the "="
            at = _value_end(text, value)
            kept = text[value:at]
            begin = value + len(kept) - len(kept.lstrip(" \t"))
            yield (*table, *key), Span(start, begin, value + len(kept.rstrip()))
        at = _skip(text, at)


def _placed(named: Path, elements: Mapping[Path, int]) -> Path:
    """Name the last element of each array of tables on the way."""
    path: list[str] = []
    for length, part in enumerate(named, start=1):
        path.append(part)
        if named[:length] in elements:
            path.append(element(elements[named[:length]]))
    return tuple(path)


def element(number: int) -> str:
    """Name an element of an array."""
    return f"[{number}]"


def _skip(text: str, at: int) -> int:
    match = _SKIP.match(text, at)
    return match.end() if match else at


def _key(text: str, at: int) -> tuple[Path, int]:
    parts: list[str] = []
    while match := _KEY_PART.match(text, at):
        parts.append(_unquote(match.group().strip(" \t")))
        at = match.end()
        if not text.startswith(".", at):
            break
        at += 1
    return tuple(parts), at


def _unquote(part: str) -> str:
    return str(tomllib.loads(f"key = {part}")["key"]) if part[0] in "\"'" else part


def _value_end(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        if match := _STRING.match(text, at):
            at = match.end()
        elif text[at] in "[{":
            depth, at = depth + 1, at + 1
        elif text[at] in "]}":
            depth, at = depth - 1, at + 1
        elif text[at] == "#":
            if depth == 0:
                return at
            at = _skip(text, at)
        elif text[at] == "\n" and depth == 0:
            return at
        else:
            match = _PLAIN.match(text, at)
            at = match.end() if match else at + 1
    return at
