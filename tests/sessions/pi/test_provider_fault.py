"""A provider's failure gets a stable code and a sentence of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.pi.provider_fault import SAFE_SENTENCES, ProviderFault, classify


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('401: {"message":"Incorrect API key provided"}', ProviderFault.AUTH),
        ("403: forbidden", ProviderFault.AUTH),
        ("anthropic API error (401): no", ProviderFault.AUTH),
        ("No API key found for provider anthropic", ProviderFault.AUTH),
        ('429: {"type":"insufficient_quota"}', ProviderFault.QUOTA),
        ("402: Payment required", ProviderFault.QUOTA),
        ("400: Your credit balance is too low", ProviderFault.QUOTA),
        ("429: too many requests", ProviderFault.RATE_LIMIT),
        ("429: Too many tokens, please wait", ProviderFault.RATE_LIMIT),
        ("ThrottlingException: Too many tokens, please wait", ProviderFault.RATE_LIMIT),
        ("400: prompt is too long: 213462 tokens > 200000 maximum", ProviderFault.CONTEXT_OVERFLOW),
        ("400: This model's maximum context length is 8192 tokens", ProviderFault.CONTEXT_OVERFLOW),
        ("the request exceeds the available context size", ProviderFault.CONTEXT_OVERFLOW),
        ('400: {"type":"exceed_context_size_error"}', ProviderFault.CONTEXT_OVERFLOW),
        ("413: request_too_large", ProviderFault.CONTEXT_OVERFLOW),
        ("Your input exceeds the context window of this model", ProviderFault.CONTEXT_OVERFLOW),
        ("Provider finish_reason: content_filter", ProviderFault.REFUSED),
        ("404: model m9 not found", ProviderFault.NO_MODEL),
        ("400: The model `m9` does not exist", ProviderFault.NO_MODEL),
        ("500: rate limit, api key, context length exceeded", ProviderFault.UNAVAILABLE),
        ("529: overloaded", ProviderFault.UNAVAILABLE),
        ("408: timeout", ProviderFault.UNAVAILABLE),
        ("fetch failed", ProviderFault.UNAVAILABLE),
        ("connect ECONNREFUSED 127.0.0.1:5000", ProviderFault.UNAVAILABLE),
        ("Stream ended without finish_reason", ProviderFault.UNAVAILABLE),
        ("Request timed out.", ProviderFault.UNAVAILABLE),
        ("terminated", ProviderFault.UNAVAILABLE),
        ("422: odd", ProviderFault.OTHER),
        ("", ProviderFault.OTHER),
        ("4017 apples", ProviderFault.OTHER),
    ],
)
def test_known_failures_are_told_apart(text: str, fault: ProviderFault) -> None:
    assert classify(text) is fault


@given(st.text())
def test_any_text_has_some_fault(text: str) -> None:
    assert classify(text) in ProviderFault
    assert classify(f"401: {text}") in {ProviderFault.AUTH, ProviderFault.QUOTA}


def test_a_huge_page_is_read_only_at_its_beginning() -> None:
    assert classify("x" * 10_000_000 + "rate limit") is ProviderFault.OTHER


def test_each_fault_has_a_plain_sentence() -> None:
    assert set(SAFE_SENTENCES) == set(ProviderFault)
    for sentence in SAFE_SENTENCES.values():
        assert sentence.endswith(".")
        assert len(sentence) < 120
