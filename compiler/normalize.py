"""Every change that the compiler ever makes to text, each with its rule.

``normalize_source``: files of the owner, before they enter the system prompt.
``guard_system_text`` and ``MARK``: the spellings that could pass for structure.
``one_line``: names and titles that people choose.
``normalize_item`` and ``sanitize_premise``: DG 6, for house rules.

Messages, tasks, notes and other content are not changed at all; they travel JSON-escaped and
parse back to what was written (``compiler.render``).

The tables below are spelled out instead of asking ``unicodedata``, whose answers grow with
each Python version: the same text must give the same bytes under all of them (CC "Determinism").
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

MARK = re.compile(
    r"\[(?=\\*INGLENOOK)"
    r"|<(?=\\*[|｜][^\s|｜<>]{1,64}[|｜]>)"
    r"|<(?=\\*/?(?:s|bos|eos|start_of_turn|end_of_turn)>)"
    r"|<(?=\\*<\\*/?SYS>>)"
    r"|\[(?=\\*/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS)\])",
    re.IGNORECASE,
)
"""First character of a text that could pass for structure: our own block labels, and the control
tokens with which chat templates mark roles (a local model server reads them also inside text).
The match may already hold backslashes, so that escaping is undone by taking one away."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME_GAPS = re.compile("[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
"""Line ends, controls and blanks of any width: one space in a name."""
INVISIBLE: Final = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
"""Characters without a shape (joiners, direction marks, fillers, tags), for a class of ``re``."""
_NAME_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
"""They are nothing in a name."""

_ARTICLE = re.compile(r"(?:a|an|the)\b")
_DONT = re.compile(r"\bdont\b")


def normalize_source(text: str) -> str:
    """Give a text source as it enters the prompt: CRLF as LF, all other content kept.

    A lone surrogate, which no UTF-8 file can hold and no UTF-8 prompt can carry, becomes U+FFFD,
    one for one, so that positions and sizes stay.

    Spec: CC "Determinism".
    """
    text = text.replace("\r\n", "\n")
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def guard_system_text(text: str) -> tuple[str, int]:
    """Put a backslash behind the first character of each ``MARK``; give text and count.

    System blocks are plain markdown, and a purpose may come from a channel's trusted people. With
    the backslash our labels occur in a system prompt only where the compiler wrote one. It is
    chosen over refusing, since a text that merely speaks of a label is no reason to fall silent.

    Spec: CC "Prompt representation".
    """
    return MARK.subn(lambda match: match.group() + "\\", text)


def one_line(text: str, limit_chars: int = 120) -> str:
    """Give a chosen name in one visible line of at most ``limit_chars``; empty if none is left.

    Line ends, controls and wide blanks become one space; characters without a shape go; a lone
    surrogate becomes U+FFFD; what is over the limit is cut with an ellipsis. The id beside the
    name, never the name, tells two people apart.
    """
    if not (text.isascii() and text.isprintable()):
        text = _SURROGATE.sub("\ufffd", _NAME_INVISIBLE.sub("", text))
    text = _NAME_GAPS.sub(" ", text).strip(" ")
    return text if len(text) <= limit_chars else text[: limit_chars - 1].rstrip(" ") + "…"


def normalize_item(item: str) -> str:
    """Give the key under which a policy item is stored; empty where nothing is left.

    NFKC, plain lower case (D7), blanks collapsed, exactly one leading article off (D8) that ends
    at a word boundary (D9), apostrophes made plain and ``dont`` spelled out (D10).

    Spec: DG 6.
    """
    text = _collapse(_nfkc(item).lower())
    article = _ARTICLE.match(text)
    text = text[article.end() :].strip() if article else text
    text = _plain_apostrophes(text)
    return _DONT.sub("don't", text) if "dont" in text else text


def sanitize_premise(value: str) -> str:
    """Give the premise as it is stored: NFKC, apostrophes made plain, blanks collapsed.

    Spec: DG 6.
    """
    return _collapse(_plain_apostrophes(_nfkc(value)))


def _nfkc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _plain_apostrophes(text: str) -> str:
    return text.replace("\u2019", "'").replace("`", "'")


def _collapse(text: str) -> str:
    return " ".join(text.split())
