"""Request bodies as models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bot.playground.world.bodies import AllowedMentions, CreateMessage, EditMessage, Reference


@pytest.mark.parametrize("value", ["1.5", "-1", "", "x", True, None, [], 1 << 63, "９"])
def test_what_is_no_snowflake(value: object) -> None:
    """Only whole numbers below 2^63, as number or as digits."""
    with pytest.raises(ValidationError):
        AllowedMentions.model_validate({"users": [value]})


@given(st.integers(0, (1 << 63) - 1))
def test_snowflakes_as_number_or_text(value: int) -> None:
    """Both spellings are the same id."""
    body = AllowedMentions.model_validate({"users": [value, str(value)]})
    assert body.users == [value, value]


def test_content_is_trimmed_before_it_is_measured() -> None:
    """Discord trims; a zero-width space stays."""
    assert CreateMessage(content=" \n x\u200b \u2003").content == "x\u200b"
    assert CreateMessage(content=" " * 3000).content == ""


def test_nonce_may_be_a_number() -> None:
    """It is kept as text."""
    assert CreateMessage.model_validate({"nonce": 12}).nonce == "12"


def test_an_edit_knows_what_was_named() -> None:
    """Absent and null are not the same."""
    assert EditMessage.model_validate({"content": None}).model_fields_set == {"content"}
    assert EditMessage.model_validate({"unknown": 1}).model_fields_set == set()


def test_references_fail_unless_told() -> None:
    """``fail_if_not_exists`` is true when left out."""
    assert Reference().fail_if_not_exists
