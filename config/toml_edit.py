"""Set keys in a TOML text that a person wrote, and leave all else as it stands. Pure.

A key that is there gets its new value; else the remark that tells its default makes room for it;
else it comes first in its section. What was written is read again: a text whose form this does not
know is refused, never spoiled.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Final

from config.toml_lines import Span, find_spans

Value = str | bool | int | float | tuple[str, ...]
_HEADER: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)


class EditRefused(ValueError):
    """The text has a form that is not understood well enough to change it."""


def set_keys(text: str, section: str, values: Mapping[str, Value]) -> str:
    """Give the text with keys of one section set.

    Raises:
        EditRefused: nothing can be promised of this text.
    """
    try:
        wanted = tomllib.loads(text)
        holder = wanted.setdefault(section, {})
        changed = text
        for key, value in values.items():
            holder[key] = list(value) if isinstance(value, tuple) else value
            changed = _set_key(changed, section, key, _toml(value))
        if tomllib.loads(changed) == wanted:
            return changed
    except (ValueError, AttributeError, TypeError):
        pass
    raise EditRefused(section)


def _set_key(text: str, section: str, key: str, value: str) -> str:
    spans = find_spans(text)
    there = spans.get((section, key))
    if there is not None and there.end > there.value:
        return f"{text[: there.value]}{value}{text[there.end :]}"
    header = spans.get((section,))
    if header is None:
        gap = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{gap}\n[{section}]\n{key} = {value}\n"
    return _into(text, header, f"{key} = {value}", key)


def _into(text: str, header: Span, line: str, key: str) -> str:
    """Put a line into the section that begins at ``header``."""
    begin = text.find("\n", header.start) + 1
    if not begin:
        return f"{text}\n{line}\n"
    following = _HEADER.search(text, begin)
    end = following.start() if following else len(text)
    remark = re.compile(
        rf"^# {re.escape(key)} = \S.*?(?P<more>[ \t]{{2,}}\S[^\r\n]*)?(?P<end>\r?)$", re.MULTILINE
    )
    default = remark.search(text, begin, end)
    if default is None:
        return f"{text[:begin]}{line}\n{text[begin:]}"
    more = f"  # {default['more'].strip()}" if default["more"] else ""
    return f"{text[: default.start()]}{line}{more}{default['end']}{text[default.end() :]}"


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):  # JSON's escapes are TOML's, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
