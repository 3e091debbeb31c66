"""Set a variable in the text of a ``.env`` file, and leave all else as it stands. Pure."""

from __future__ import annotations

import io
import re
from typing import Final

from dotenv.parser import parse_stream

from config.layers import parse_dotenv

_BARE: Final = re.compile(r"[A-Za-z0-9._+/=:@-]+")


def set_variable(text: str, name: str, value: str) -> str:
    """Give the text with a variable set; it stands there once, where it stood or was told of.

    Raises:
        ValueError: the value cannot be written on one line.
    """
    if not value.isprintable():
        raise ValueError(name)
    line = f"{name}={_quoted(value)}\n"
    lines: list[str] = []
    written = False
    for binding in parse_stream(io.StringIO(text)):
        original = binding.original.string
        if binding.key == name:
            lead = original[: len(original) - len(original.lstrip())]
            lines.append(lead if written else lead + line)
            written = True
        else:
            lines.append(original)
    changed = "".join(lines)
    if not written:
        changed = _where_told(changed, name, line)
    if parse_dotenv(changed)[0].get(name) != value:
        raise ValueError(name)
    return changed


def _where_told(text: str, name: str, line: str) -> str:
    told = re.compile(rf"^#[ \t]*{re.escape(name)}=[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
    if told.search(text):
        return told.sub(lambda _: line, text, count=1)
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}{line}"


def _quoted(value: str) -> str:
    if _BARE.fullmatch(value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
