"""Error shapes."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from bot.playground.errors import form_error, from_validation, refusal
from bot.playground.world.bodies import CreateMessage


def test_form_errors_are_a_tree() -> None:
    """Each wrong field hangs at its path; two faults of one field stand side by side."""
    error = form_error({("a", 0, "b"): ("X", "x"), ("a",): ("Y", "y"), (): ("Z", "z")})
    assert error.payload() == {
        "code": 50035,
        "message": "Invalid Form Body",
        "errors": {
            "_errors": [{"code": "Z", "message": "z"}],
            "a": {
                "_errors": [{"code": "Y", "message": "y"}],
                "0": {"b": {"_errors": [{"code": "X", "message": "x"}]}},
            },
        },
    }


def test_known_refusals_carry_status_and_words() -> None:
    """One table holds Discord's codes."""
    error = refusal(40060)
    assert (error.status, error.code) == (400, 40060)
    assert error.payload() == {
        "message": "Interaction has already been acknowledged.",
        "code": 40060,
    }


def test_validation_errors_become_discords() -> None:
    """Every wrong field is named at once, without pydantic's own tags in the path."""
    with pytest.raises(ValidationError) as refused:
        CreateMessage.model_validate(
            {"content": "x" * 2001, "nonce": "n" * 30, "message_reference": {"message_id": -1}}
        )
    errors = from_validation(refused.value).errors
    assert errors is not None
    assert set(errors) == {"content", "nonce", "message_reference"}
    assert errors["message_reference"]["message_id"]["_errors"][0]["code"] == "NUMBER_TYPE_MAX"
