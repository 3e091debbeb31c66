"""Summaries: records derived of a conversation, bound to each message that they were made of.

A summary is model-generated memory (A6): it is advice, may be wrong, and is never the replacement
of what it was made of. It may stand for raw history where it takes less room than that, and it is
stale as soon as one of its sources is not, word for word, what it was.

Spec: TR "Summary lineage".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

from compiler.canonical_json import canonical_bytes
from compiler.hashing import sha256_fields, sha256_text

SUMMARY_POLICY: Final = "inglenook.summary-policy.v1"
SUMMARY_REQUEST: Final = (
    "This conversation is about to end. Write a summary of it for yourself, for the next time: "
    "what was asked, what was answered, what is still open, who said it. At most 1,200 characters, "
    "plain sentences, nothing that was not said, no secrets. Use no tools. Write only the summary."
)
"""Asked by the host as the last turn of a session; it is data to the model like any message."""
OVERHEAD_CHARS: Final = 240
"""What a note takes beside its text, and the words that say what it is."""
MIN_SOURCES: Final = 4
"""Fewer messages are as short as their summary."""
_LINEAGE_TAG: Final = "inglenook-summary-lineage-v1"


class ReviewerStatus(StrEnum):
    """Whether a person has looked at a summary. It makes no claim in it true."""

    UNREVIEWED = "unreviewed"


class StaleReason(StrEnum):
    """Why a summary stands for nothing any more."""

    SOURCE_GONE = "source-gone"
    """A message was deleted, or a note that the session was given was forgotten."""
    SOURCE_CHANGED = "source-changed"
    """A message was edited, or such a note corrected or replaced."""
    OUT_OF_REACH = "out-of-reach"
    """Such a note's person does not let it be used any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryLineage:
    """TR's lineage. Ids are those of messages and runs; hashes are hex SHA-256 of exact texts."""

    summary_record_id: str
    source_record_ids: tuple[str, ...]
    source_record_hashes: tuple[str, ...]
    summarizer_model_id: str
    summarizer_model_hash: str
    tokenizer_hash: str
    template_hash: str
    generated_at: str
    scope: str
    output_hash: str
    prompt_policy_hash: str = sha256_fields(SUMMARY_POLICY, (SUMMARY_REQUEST,))
    declared_omissions: tuple[str, ...] = ()
    confidence_basis: str = "model-generated, not checked"
    reviewer_status: ReviewerStatus = ReviewerStatus.UNREVIEWED
    reviewer_id_hash: str | None = None
    supersedes_summary_ids: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """The lineage's identity."""
        return sha256_fields(_LINEAGE_TAG, (lineage_bytes(self),))


def lineage_bytes(lineage: SummaryLineage) -> bytes:
    """Write a lineage as canonical JSON; no word of the conversation is in it."""
    fields = asdict(lineage)
    return canonical_bytes(
        {key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()}
    )


def staleness(sources: Mapping[str, str], texts: Mapping[str, str]) -> StaleReason | None:
    """Say why a summary is stale; None if every source is what it was.

    Args:
        sources: hash of each source by its id.
        texts: present text of each by its id; what is gone, or may not be read here, is missing.
    """
    if not sources.keys() <= texts.keys():
        return StaleReason.SOURCE_GONE
    if any(sha256_text(texts[each]) != sha256 for each, sha256 in sources.items()):
        return StaleReason.SOURCE_CHANGED
    return None


def saves(raw_chars: int, summary_chars: int) -> bool:
    """TR: summary savings > summary overhead + required lineage markers."""
    return raw_chars - summary_chars > OVERHEAD_CHARS
