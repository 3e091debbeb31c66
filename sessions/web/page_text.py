"""Bytes of a page to its text: a program of its own, started for one page.

Pages are strangers' bytes, their parser is native code, and there are pages that take it minutes.
So it runs beside the host, with nothing of the host's in its environment and within limits of its
own: room, processor time, no file to write. It reads a line of JSON and the page from its input,
and writes one line of JSON.

The text is that of the page's main part where it names one, with a line for each block. What is
not shown, and what stands around the text on every page, is left out.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import re
import resource
import sys
from typing import Final

ROOM_BYTES: Final = 768 * 1024**2
_LINE: Final = "\ue000"
_BLANK: Final = "\ue001"
"""Two characters that nobody's alphabet has stand for what must survive the folding of blanks."""
_LEFT_OUT: Final = (
    "script, style, noscript, template, svg, iframe, nav, footer, aside, form, button, [hidden]"
)
_BLOCKS: Final = (
    "p, div, section, article, header, h1, h2, h3, h4, h5, h6, ul, ol, li, dl, dt, dd, tr, table,"
    " blockquote, pre, figure, figcaption, br, hr, details, summary"
)
_MAIN_CHARS: Final = 200
"""A main part with less is a frame around something else."""
_META: Final = re.compile(
    rb"""<meta[^>]{0,200}charset\s*=\s*["']?([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE
)
_META_BYTES: Final = 4096
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def decode(data: bytes, told: str, *, html: bool) -> str:
    """Read bytes as text: by their mark, the server's word, the page's own, or as UTF-8."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    found = _META.search(data[:_META_BYTES]) if html else None
    for name in (told, found[1].decode("ascii") if found else "", "utf-8"):
        with contextlib.suppress(LookupError, UnicodeDecodeError):
            if name and codecs.lookup(name)._is_text_encoding:  # noqa: SLF001  (codecs of no text say so nowhere else)
                return data.decode(name, "strict" if name == "utf-8" else "replace")
    return data.decode("cp1252", "replace")


def text_of(html: str) -> tuple[str, str]:
    """Give title and text of a page."""
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415  (only here, within limits)

    tree = LexborHTMLParser(html.replace(_LINE, " ").replace(_BLANK, " "))
    title = tree.css_first("title")
    told = "" if title is None else _folded(title.text())
    for node in tree.css(_LEFT_OUT):
        node.decompose()
    for node in tree.css("pre"):
        kept = node.text().replace("\n", _LINE).replace(" ", _BLANK)
        node.replace_with(f"{_LINE}{kept}{_LINE}")
    for node in tree.css(_BLOCKS):
        node.insert_before(_LINE)
        node.insert_after(_LINE)
    for node in tree.css("td, th"):
        node.insert_after(" ")
    for selector in ("main", "[role=main]", "article"):
        parts = [_folded(node.text()) for node in tree.css(selector)]
        if len(parts) == 1 and len(parts[0]) >= _MAIN_CHARS:
            return told, parts[0]
    return told, _folded(tree.body.text()) if tree.body else ""


def _folded(text: str) -> str:
    lines = re.sub(r"\s+", " ", text).split(_LINE)
    return "\n".join(
        line.replace(_BLANK, " ").rstrip() for line in (each.strip(" ") for each in lines) if line
    )


def _limit(cpu_seconds: int) -> None:
    for kind, limit in (
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_AS, ROOM_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # not every system knows each of them
            resource.setrlimit(kind, (limit, limit))


def main() -> int:
    """Read one page from standard input, write its text to standard output."""
    asked = json.loads(sys.stdin.buffer.readline())
    _limit(asked["cpu_seconds"])
    data = sys.stdin.buffer.read()
    text = decode(data, asked["charset"], html=asked["html"])
    title = ""
    if asked["html"]:
        title, text = text_of(text)
    text = _CONTROL.sub("", text.replace("\r\n", "\n")).strip()
    kept = asked["max_chars"]
    sys.stdout.write(
        json.dumps(
            {
                "title": _CONTROL.sub("", title)[: asked["title_chars"]],
                "text": text[:kept],
                "cut": len(text) > kept,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
