"""Keys set in an owner's file."""

from __future__ import annotations

import tomllib
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.check import check_layers
from config.layers import parse_org
from config.toml_edit import EditRefused, set_keys

TEMPLATE = (resources.files("config") / "home" / "org.toml").read_text(encoding="utf-8")


def test_a_default_that_is_told_makes_room_for_the_value() -> None:
    """Issue "Set up": what the wizard writes stands where an owner would have written it."""
    text = set_keys(TEMPLATE, "discord", {"owners": ("1", "2"), "alarms": False})
    assert '\nowners = ["1", "2"]\n' in text
    assert "\nalarms = false  # a direct message when a model call is not what was comp" in text
    text = set_keys(text, "engine", {"provider": "openai", "key_env": "KEY"})
    assert '\n#   provider = "openai"        a provider' in text
    assert '\nprovider = "openai"\n' in text
    assert check_layers((parse_org(text),)).settings is not None
    assert len(text.splitlines()) == len(TEMPLATE.splitlines()) + 1  # key_env has no remark


def test_what_stands_there_is_replaced_and_its_remark_kept() -> None:
    old = '[discord]\r\nowners = [ # us\n "1",\n] # mine\n# imp = "x"\nimp = "ember" # who\n'
    new = set_keys(old, "discord", {"owners": ("2",), "imp": 'a"\\b'})
    assert new == ('[discord]\r\nowners = ["2"] # mine\n# imp = "x"\nimp = "a\\"\\\\b" # who\n')


@pytest.mark.parametrize("text", ["", "# only a remark", "[engine]", "[engine]\nmodel = 'x'"])
def test_sections_and_keys_are_added_where_they_are_missing(text: str) -> None:
    new = set_keys(text, "discord", {"imp": "bo"})
    assert tomllib.loads(new)["discord"] == {"imp": "bo"}
    assert new.startswith(text)


@pytest.mark.parametrize("text", ["discord = {imp = 'x'}", "discord = 3", "[broken", "[[discord]]"])
def test_a_form_that_is_not_understood_is_refused(text: str) -> None:
    """Bad input: rather nothing than a spoiled file."""
    with pytest.raises(EditRefused):
        set_keys(text, "discord", {"imp": "bo"})


_VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.text(max_size=12),
    st.lists(st.text(max_size=4), max_size=3).map(tuple),
)


@settings(deadline=None, max_examples=40)
@given(first=_VALUES, second=_VALUES)
def test_any_value_is_read_back_and_nothing_else_changes(first: object, second: object) -> None:
    text = TEMPLATE
    for value in (first, second):
        try:
            text = set_keys(text, "engine", {"model": value})  # type: ignore[dict-item]
        except EditRefused:  # a text with half a surrogate is none of TOML's
            return
        found = tomllib.loads(text)["engine"].pop("model")
        assert found == (list(value) if isinstance(value, tuple) else value)
    rest = tomllib.loads(text)
    rest["engine"].pop("model")
    assert rest == tomllib.loads(TEMPLATE)
