"""Which bytes are text, and which (P17)."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.text_files import decode, may_be_text

GREETING = "Grüße aus dem Garten, schöne Äpfel für Bo und Cy."
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (GREETING.encode(), GREETING),
        (codecs.BOM_UTF8 + GREETING.encode(), GREETING),
        (GREETING.encode("utf-16"), GREETING),
        (codecs.BOM_UTF16_BE + GREETING.encode("utf-16-be"), GREETING),
        (GREETING.encode("utf-32"), GREETING),
        (GREETING.encode("latin-1"), GREETING),
        ("Ünï".encode("latin-1"), "Ünï"),
        ("Привет, как дела? Это тест.".encode("cp1251"), "Привет, как дела? Это тест."),
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
    ],
)
def test_text_is_read_in_its_encoding(data: bytes, text: str) -> None:
    """UTF-8, UTF-16 and UTF-32 by their marks, Latin-1 and others by detection."""
    assert decode(data) == text


@pytest.mark.parametrize("data", [b"", b" \r\n", b"a\x00b", PNG, bytes(range(128, 256))])
def test_what_is_no_text_is_not_read(data: bytes) -> None:
    """Empty files, NULs, a picture whose name ends in .txt."""
    assert decode(data) is None


@given(st.text().filter(lambda text: text.strip() != ""))
def test_unicode_is_read_exactly_or_not_at_all(text: str) -> None:
    """Nothing is changed on the way; control characters are no text."""
    assert decode(text.encode("utf-8")) in (text.removeprefix("\ufeff"), None)


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reading(data: bytes) -> None:
    """Whatever is attached: a text or none."""
    found = decode(data)
    assert found is None or "\x00" not in found


def test_a_file_is_worth_a_look_by_its_name_or_type() -> None:
    """A paste is message.txt; a voice file is not looked at."""
    assert may_be_text("message.txt", None)
    assert may_be_text("MAIN.PY", "application/octet-stream")
    assert may_be_text("noname", "text/plain; charset=utf-8")
    assert not may_be_text("photo.png", "image/png")
    assert not may_be_text("voice-message.ogg", None)
