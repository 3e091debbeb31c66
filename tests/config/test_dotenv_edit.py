"""Variables set in ``.env``."""

from __future__ import annotations

from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.dotenv_edit import set_variable
from config.layers import parse_dotenv

TEMPLATE = (resources.files("config") / "home" / "dotenv.txt").read_text(encoding="utf-8")


def test_the_line_that_tells_of_a_variable_makes_room_for_it() -> None:
    text = set_variable(TEMPLATE, "DISCORD_TOKEN", "a.b-c_d")
    assert "\nDISCORD_TOKEN=a.b-c_d\n" in text
    assert "# DISCORD_TOKEN=" not in text
    assert len(text.splitlines()) == len(TEMPLATE.splitlines())


def test_all_else_stays_and_a_variable_stands_once() -> None:
    old = "# mine\nA='x y'\n\nexport B=1 # one\nbroken\nB=2"
    new = set_variable(old, "B", "it's")
    assert new == "# mine\nA='x y'\n\nB='it\\'s'\nbroken\n"
    assert set_variable("A=1", "B", "2") == "A=1\nB=2\n"


@settings(deadline=None, max_examples=60)
@given(value=st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=20))
def test_any_printable_value_is_read_back(value: str) -> None:
    changed = set_variable(TEMPLATE, "KEY", value)
    assert parse_dotenv(set_variable(changed, "KEY", value))[0]["KEY"] == value


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(ValueError, match="KEY"):
        set_variable("", "KEY", "two\nlines")
