"""Answers of memory: each has a sentence for people, and proofs hold no content."""

from __future__ import annotations

import json

import pytest

from compiler.secrets import SecretKind
from sessions.memory.results import (
    CleanupProof,
    CleanupStatus,
    Gone,
    NotFound,
    RefusalCode,
    Refused,
    commitment,
)


@pytest.mark.parametrize("code", list(RefusalCode))
def test_every_refusal_says_why(code: RefusalCode) -> None:
    sentence = Refused(code=code).sentence
    assert sentence.endswith(".")
    assert code.value not in sentence or code.value in {"full", "forgotten"}


@pytest.mark.parametrize("kind", list(SecretKind))
def test_a_secret_is_named_by_its_kind(kind: SecretKind) -> None:
    assert kind.value in Refused(code=RefusalCode.SENSITIVE, secret=kind).sentence


def test_one_answer_for_unknown_and_foreign() -> None:
    assert NotFound() == NotFound()
    assert "id" in NotFound().sentence
    assert Gone(short_id="m-1", forgotten_on="2026-11-29").sentence == (
        "m-1 was forgotten on 2026-11-29."
    )


def test_commitments_differ_between_receipts() -> None:
    assert commitment("salt", "id") == commitment("salt", "id")
    assert commitment("salt", "id") != commitment("other", "id")


def test_a_proof_is_written_whole_and_sorted() -> None:
    proof = CleanupProof(
        receipt_id="r1",
        at="2026-11-29T23:16:35.000Z",
        status=CleanupStatus.COMPLETED,
        request_hash="0" * 64,
        salt="1",
        record_hashes=("2" * 64,),
        stores=(("memory", 1),),
        caches=(),
        history_copies=2,
        sessions_ended=1,
    )
    read = json.loads(proof.document())
    assert list(read) == sorted(read)
    assert (read["status"], read["traces_kept"], read["history_copies"]) == ("completed", True, 2)
