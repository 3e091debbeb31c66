"""Windows, stable tokens, and the identity of a prompt by its tokens (TR)."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from compiler.hashing import sha256_text
from compiler.tokens import (
    Counting,
    ModelIdentity,
    PromptIdentities,
    StableTokens,
    TokenAccount,
    TokenBudgets,
    prompt_tokens_sha256,
)
from support.word_tokens import IDENTITY, WordTokenizer

IDENTITIES = PromptIdentities(
    model_sha256="a" * 64,
    tokenizer_sha256="b" * 64,
    template_sha256="c" * 64,
    policy_sha256="d" * 64,
)


def account(**changes: int) -> TokenAccount:
    fields = {
        "system_tokens": 100,
        "wrapper_tokens": 20,
        "held_tokens": 300,
        "current_tokens": 40,
        "required_tokens": 5,
        "advisory_tokens": 60,
    }
    return TokenAccount(
        counting=Counting.EXACT,
        budgets=TokenBudgets(context_window=1000, output_reservation=200, safety_margin=50),
        prompt_sha256=None,
        **(fields | changes),
    )


def test_the_output_is_reserved_before_anything_else() -> None:
    """I = C - O - M."""
    assert account().input_limit == 750


def test_the_discretionary_room_is_what_the_fixed_leaves() -> None:
    """B = I - (S + T + U + K), with what the engine holds already."""
    assert account().fixed_tokens == 465
    assert account().discretionary_tokens == 285
    assert (account().used_tokens, account().remaining_tokens) == (525, 225)


def test_the_prompt_identity_is_trs_formula() -> None:
    """Domain, four identities of 32 octets, ids as little-endian 32-bit numbers."""
    ids = (1, 256, 0x01020304)
    octets = b"".join(number.to_bytes(4, "little") for number in ids)
    plain = b"trlm-prompt-tokens-v1\x00" + b"".join(bytes([c * 17]) * 32 for c in range(10, 14))
    expected = hashlib.sha256(plain + octets).hexdigest()
    assert prompt_tokens_sha256(IDENTITIES, (octets[:4], octets[4:])) == expected


@given(st.sampled_from(["model_sha256", "tokenizer_sha256", "template_sha256", "policy_sha256"]))
def test_every_identity_changes_the_prompts(name: str) -> None:
    changed = replace(IDENTITIES, **{name: "e" * 64})
    ids = (b"\x01\x00\x00\x00",)
    assert prompt_tokens_sha256(changed, ids) != prompt_tokens_sha256(IDENTITIES, ids)


def test_every_part_of_an_identity_counts() -> None:
    for name in ("name", "vocabulary_sha256", "special_tokens_sha256"):
        changed = replace(IDENTITY, **{name: "9" * 64})  # type: ignore[arg-type]  # texts
        assert changed.sha256 != IDENTITY.sha256
    model = ModelIdentity(model_id="m", artifact_sha256="a", config_sha256="c")
    for name in ("model_id", "artifact_sha256", "config_sha256"):
        assert replace(model, **{name: "other"}).sha256 != model.sha256


def test_a_stable_text_is_tokenized_once() -> None:
    """A warm turn tokenizes only what is new."""
    tokenizer = WordTokenizer()
    stable = StableTokens(tokenizer)
    text = "You are Ember."
    first = stable.tokenize(text, sha256_text(text))
    assert stable.tokenize(text, sha256_text(text)) is first
    assert tokenizer.seen == [text]


def test_stable_texts_are_bounded_and_the_longest_unused_leaves() -> None:
    tokenizer = WordTokenizer()
    stable = StableTokens(tokenizer, limit=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        stable.tokenize(text, sha256_text(text))
    assert len(stable) == 2
    assert tokenizer.seen == ["a", "b", "c", "b"]
