"""Sentences for people, codes for programs."""

from __future__ import annotations

import pytest

from sessions.errors import (
    _REJECTIONS,
    _START_FAILURES,
    SessionErrorCode,
    SessionStartFailed,
    StoreDamaged,
    StoreMissing,
    StoreTooNew,
    StoreUnavailable,
    TurnRejected,
)

ERRORS = [
    StoreUnavailable("SQLITE_BUSY"),
    StoreDamaged("SQLITE_CORRUPT", name="inglenook.db"),
    StoreTooNew(found=9, known=3, name="inglenook.db"),
    StoreMissing("no file", name="inglenook.db"),
    *(TurnRejected(code) for code in _REJECTIONS),
    *(SessionStartFailed(code, reason="No space left on device") for code in _START_FAILURES),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: str(error.code))
def test_every_error_is_a_plain_sentence_with_a_stable_code(error: StoreUnavailable) -> None:
    """Short, ended, without reasons that only the owner's log may hold."""
    assert error.safe_message.endswith(".")
    assert len(error.safe_message) < 250
    assert isinstance(error.code, SessionErrorCode)
    for fact in error.facts.values():
        assert str(fact) not in error.safe_message


def test_store_errors_are_caught_as_one() -> None:
    """Whoever writes catches ``StoreUnavailable``."""
    assert all(isinstance(error, StoreUnavailable) for error in ERRORS[:4])
