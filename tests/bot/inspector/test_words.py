"""Numbers, times and texts as people read them."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.inspector import words


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (words.number(1234567), "1,234,567"),
        (words.money(0), "$0"),
        (words.money(0.00123), "$0.00123"),
        (words.money(12.5), "$12.50"),
        (words.share(None), "–"),
        (words.share(0.5), "50%"),
        (words.share(0.877), "87.7%"),
        (words.duration(12), "12 µs"),
        (words.duration(1_200), "1.2 ms"),
        (words.duration(1_500_000), "1.5 s"),
        (words.duration(90_000_000), "1.5 min"),
        (words.moment("2026-11-29T23:16:35.123Z"), "2026-11-29 23:16:35"),
        (words.moment(None), "–"),
        (words.clock("2026-11-29T23:16:35.123Z"), "23:16:35"),
        (words.short("a" * 64), "aaaaaaaa"),
        (words.short("none"), "none"),
        (words.short(None), "–"),
        (words.bare("discord:77"), "77"),
        (words.bare(None), "–"),
        (words.plural(1, "call"), "1 call"),
        (words.plural(2, "call"), "2 calls"),
    ],
)
def test_figures(told: str, expected: str) -> None:
    assert told == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", 'a<span class="odd">U+202E</span>b'),
        ("\x00", '<span class="odd">U+0000</span>'),
        ("zero\u200bwidth", 'zero<span class="odd">U+200B</span>width'),
        ("tag\U000e0041", 'tag<span class="odd">U+E0041</span>'),
        ("line\nend", 'line<span class="odd">U+000A</span>end'),
        ("\ud800", '<span class="odd">U+D800</span>'),
        ("<b>&\"'", "&lt;b&gt;&amp;&#34;&#39;"),
        ("日本 é 👩\u200d🚀", "日本 é 👩\u200d🚀"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, shown: str) -> None:
    """Hostile names: nothing hides, and nothing turns the line around."""
    assert words.visible(text) == shown


def test_a_choice_shows_it_without_markup() -> None:
    assert words.plain("a\u202eb<b>\n") == "a[U+202E]b<b>[U+000A]"
    assert words.plain("日本 é") == "日本 é"


def test_the_lines_of_a_text_stay_lines() -> None:
    assert words.visible("a\n\tb\r", lines=True) == 'a\n\tb<span class="odd">U+000D</span>'


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(f"{tag} {attrs}")


@settings(max_examples=30)
@given(text=st.text(alphabet=st.characters(), max_size=60))
def test_no_text_becomes_markup(text: str) -> None:
    parser = _Tags()
    shown = words.visible(text, lines=True)
    parser.feed(shown)
    assert parser.found <= {"span [('class', 'odd')]"}
    plain = "".join(c for c in text if c.isascii() and c.isprintable() and c not in "<>&\"'U+")
    assert set(plain) <= set(unescape(shown))
