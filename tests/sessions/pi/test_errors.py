"""pi's failures are safe to show: sentences of ours, facts without content."""

from __future__ import annotations

import pytest

from compiler.errors import SafeError
from sessions.pi.errors import (
    PiErrorCode,
    PiExited,
    PiRefused,
    PiStartFailed,
    ProtocolError,
    SessionLost,
)
from sessions.pi.provider_fault import SAFE_SENTENCES, ProviderFault


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PiStartFailed("x", exit_code=1, stderr_tail="/home/ada"), PiErrorCode.START_FAILED),
        (PiExited(-9), PiErrorCode.EXITED),
        (PiRefused("prompt", "declined"), PiErrorCode.REFUSED),
        (ProtocolError("broken", size_bytes=3), PiErrorCode.PROTOCOL),
        (SessionLost(expected_messages=4, found_messages=0), PiErrorCode.SESSION_LOST),
    ],
)
def test_each_has_a_stable_code_and_one_safe_sentence(error: SafeError, code: str) -> None:
    assert error.code == code
    assert str(error) == error.safe_message
    assert "/home" not in error.safe_message
    assert error.safe_message.endswith(".")


def test_facts_are_for_the_owners_log() -> None:
    assert PiExited(None).facts == {}
    assert PiExited(-9).facts == {"exit_code": -9}
    assert PiStartFailed("late").facts == {"reason": "late"}
    assert PiRefused("prompt", "x").facts == {"command": "prompt", "reason": "x"}


def test_a_refusal_for_the_providers_sake_is_named_so() -> None:
    refused = PiRefused("prompt", "declined", fault=ProviderFault.AUTH)
    assert refused.code == "provider_auth"
    assert refused.safe_message == SAFE_SENTENCES[ProviderFault.AUTH]
