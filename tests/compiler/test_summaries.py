"""Lineage of summaries: what binds them, when they save, when they are stale (TR)."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from compiler.hashing import sha256_text
from compiler.records import CreatorClass, RecordKind, authority_at_birth
from compiler.summaries import (
    OVERHEAD_CHARS,
    StaleReason,
    SummaryLineage,
    lineage_bytes,
    saves,
    staleness,
)

LINEAGE = SummaryLineage(
    summary_record_id="a" * 64,
    source_record_ids=("discord:1", "discord:2"),
    source_record_hashes=(sha256_text("one"), sha256_text("two")),
    summarizer_model_id="test/m",
    summarizer_model_hash="b" * 64,
    tokenizer_hash="c" * 64,
    template_hash="d" * 64,
    generated_at="2026-11-29T23:16:35.000Z",
    scope="ember discord:10",
    output_hash="e" * 64,
)
TEXTS = st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=40), max_size=6)


def test_a_summary_is_the_models_untrusted_memory() -> None:
    """TR: the default authority of a generated summary is A6."""
    birth = authority_at_birth(RecordKind.SHORT_TERM_SUMMARY, CreatorClass.MODEL)
    assert (birth.instruction, birth.factual, birth.state) == (6, 0, 0)


def test_the_lineage_has_every_field_of_trs_and_no_word_of_anybody() -> None:
    fields = json.loads(lineage_bytes(LINEAGE))
    assert set(fields) == {
        "summary_record_id",
        "source_record_ids",
        "source_record_hashes",
        "summarizer_model_id",
        "summarizer_model_hash",
        "tokenizer_hash",
        "template_hash",
        "prompt_policy_hash",
        "generated_at",
        "scope",
        "declared_omissions",
        "confidence_basis",
        "output_hash",
        "reviewer_status",
        "reviewer_id_hash",
        "supersedes_summary_ids",
    }
    assert fields["reviewer_status"] == "unreviewed"
    assert replace(LINEAGE, output_hash="f" * 64).sha256 != LINEAGE.sha256


@given(TEXTS)
def test_sources_that_are_what_they_were_leave_it_fresh(texts: dict[str, str]) -> None:
    sources = {each: sha256_text(text) for each, text in texts.items()}
    assert staleness(sources, texts) is None
    assert staleness(sources, {**texts, "another": "message"}) is None


@given(TEXTS.filter(bool), st.data())
def test_one_source_gone_or_changed_is_enough(texts: dict[str, str], data: st.DataObject) -> None:
    """TR: stale when any bound source is tombstoned, corrected, superseded or out of reach."""
    sources = {each: sha256_text(text) for each, text in texts.items()}
    one = data.draw(st.sampled_from(sorted(texts)))
    gone = {each: text for each, text in texts.items() if each != one}
    assert staleness(sources, gone) is StaleReason.SOURCE_GONE
    changed = {**texts, one: texts[one] + "!"}
    assert staleness(sources, changed) is StaleReason.SOURCE_CHANGED


def test_it_stands_only_where_it_saves_more_than_its_overhead() -> None:
    """TR: summary savings > summary overhead + required lineage markers."""
    assert not saves(1_000, 1_000 - OVERHEAD_CHARS)
    assert saves(1_000, 1_000 - OVERHEAD_CHARS - 1)
