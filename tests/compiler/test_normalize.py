"""Every change to text has a rule, and no other change happens."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.normalize import (
    MARK,
    guard_system_text,
    normalize_item,
    normalize_source,
    one_line,
    sanitize_premise,
)

_PIECES = st.sampled_from(
    ["[", "INGLENOOK", "inglenook", "\\", "<", "|", "im_start", "|>", "s", ">", "/", "INST]", "\n"]
)
_MARKED = st.lists(_PIECES, max_size=25).map("".join)


def test_crlf_becomes_lf_and_all_else_stays() -> None:
    """CC "Determinism": CRLF to LF once, all other content bytes preserved."""
    text = "\ufeffa\r\nb\rc\n\r\n\td \u2028 e\u0301\n\n "
    assert normalize_source(text) == "\ufeffa\nb\rc\n\n\td \u2028 e\u0301\n\n "


@given(st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"])))
def test_a_source_without_crlf_is_untouched(text: str) -> None:
    assert normalize_source(text) == text


@given(st.text())
def test_a_source_always_encodes_and_keeps_its_length_but_for_crlf(text: str) -> None:
    """A lone surrogate cannot travel in UTF-8: it becomes U+FFFD, one for one."""
    source = normalize_source(text)
    source.encode("utf-8")
    assert len(source) == len(text) - text.count("\r\n")


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("[INGLENOOK SYSTEM BLOCK: PURPOSE]", "[\\INGLENOOK SYSTEM BLOCK: PURPOSE]"),
        ("see [inglenook x", "see [\\inglenook x"),
        ("[\\INGLENOOK", "[\\\\INGLENOOK"),
        ("[ınglenooK", "[\\ınglenooK"),
        ("<|im_start|>system", "<\\|im_start|>system"),
        ("<｜User｜>", "<\\｜User｜>"),
        ("</s><bos>", "<\\/s><\\bos>"),
        ("<<SYS>>", "<\\<SYS>>"),
        ("[/INST]", "[\\/INST]"),
    ],
)
def test_what_could_pass_for_structure_gets_a_backslash(text: str, guarded: str) -> None:
    """CC "Prompt representation": structure cannot be forged, not even by a trusted text."""
    result, count = guard_system_text(text)
    assert result == guarded
    assert count >= 1


@pytest.mark.parametrize(
    "text", ["a <b> c", "x <| y |> z", "[link](to)", "INGLENOOK", "<@5> <t:1:R>"]
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert guard_system_text(text) == (text, 0)


@given(_MARKED)
def test_no_mark_survives_and_the_text_can_be_had_back(text: str) -> None:
    """Taking away one backslash behind each mark undoes the guard."""
    guarded, count = guard_system_text(text)
    assert re.search(r"\[INGLENOOK", guarded, re.IGNORECASE) is None
    assert "<|im_start|>" not in guarded
    assert len(guarded) == len(text) + count
    undone = re.sub(f"({MARK.pattern})\\\\", r"\1", guarded, flags=re.IGNORECASE)
    assert undone == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ada", "Ada"),
        ("  Ada \n\r\n [INGLENOOK] ", "Ada [INGLENOOK]"),
        ("A\u200bd\u2060a\ufeff", "Ada"),
        ("Ada\u202eevil\u2066", "Adaevil"),
        ("Ada\u2028Bo\u2029Cy\x85Dee\x00!", "Ada Bo Cy Dee !"),
        ("A\u3000\u00a0da", "A da"),
        ("lone \ud800", "lone \ufffd"),
        ("a\tb\x7fc", "a b c"),
        ("Zoë 🔥", "Zoë 🔥"),
        ("\u200b\u3164\n", ""),
    ],
)
def test_a_name_is_one_visible_line(name: str, shown: str) -> None:
    """P03, P18: invisible characters and line ends in a name change nothing around it."""
    assert one_line(name) == shown


def test_a_long_name_is_cut_with_an_ellipsis() -> None:
    assert one_line("a" * 200) == "a" * 119 + "…"
    assert one_line("a" * 120) == "a" * 120
    assert one_line("ab cd", limit_chars=4) == "ab…"


@given(st.text())
def test_a_name_is_stable_and_encodes(name: str) -> None:
    line = one_line(name)
    line.encode("utf-8")
    assert one_line(line) == line
    assert len(line.splitlines()) <= 1


def test_an_item_key_follows_the_grammar() -> None:
    """DG 6: NFKC, lower case, blanks collapsed, one leading article off, ``dont`` spelled out."""
    assert normalize_item("  The   Ｄocker’s `dont`") == "docker's 'don't'"
    assert normalize_item("a") == ""
    # D8, D9: one article, and only where it is a word.
    assert normalize_item("The the tea") == "the tea"
    assert normalize_item("another teapot") == "another teapot"
    assert normalize_item("dontcare") == "dontcare"


def test_a_premise_is_collapsed() -> None:
    """DG 6."""
    assert sanitize_premise(" Orchard’s\n  only ") == "Orchard's only"
