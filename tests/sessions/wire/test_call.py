"""What a refusal of ours looks like; whole calls are in ``test_model_gateway``."""

from __future__ import annotations

import json

import pytest

from sessions.allowance import AllowanceErrorCode
from sessions.model_gateway import WireErrorCode
from sessions.pi.provider_fault import ProviderFault, classify
from sessions.wire.call import refused


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses", "anthropic-messages"])
@pytest.mark.parametrize("code", [*AllowanceErrorCode, WireErrorCode.MISMATCH])
def test_a_refusal_has_the_providers_form_and_asks_for_no_repetition(api: str, code: str) -> None:
    """Reference, section 3: 400 is not repeated, and no word in it may mean something else."""
    answer = refused(api, 400, code)
    assert answer.text is not None
    document = json.loads(answer.text)
    assert document["error"]["message"] == f"inglenook: {code}"
    assert (document.get("type") == "error") == (api == "anthropic-messages")
    assert answer.headers["x-should-retry"] == "false"
    assert classify(f"400 {answer.text}") is ProviderFault.OTHER


@pytest.mark.parametrize("status", [502, 504])
def test_a_failure_of_the_line_may_be_repeated(status: int) -> None:
    """It is the provider's, not ours."""
    answer = refused("openai-completions", status, "upstream connection silent")
    assert "x-should-retry" not in answer.headers
    assert classify(f"{status} {answer.text}") is ProviderFault.UNAVAILABLE
