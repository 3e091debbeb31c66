"""The names of what cannot all hold: TR's typed conflict codes, and which rule gives each.

Every code is given by a rule that reads ids, times, hashes and states, or a short versioned list;
none by understanding a text. A plan lists them with the ids of the records, a receipt counts the
codes, a trace has both.

Spec: TR "Contradiction policy"; the table "Conflicts".
"""

from __future__ import annotations

from enum import StrEnum


class ConflictCode(StrEnum):
    """TR's codes."""

    PREFERENCE_STALE_PROFILE = "PREFERENCE_STALE_PROFILE"
    """Of two claims the explicit or the newer word of the same person wins (``lifecycle``)."""
    CURRENT_USER_CORRECTION = "CURRENT_USER_CORRECTION"
    """The speaker's own note is shown, and a correction of it waits for his word
    (``sessions.memory.corrections``)."""
    AUTHORITATIVE_DATE_DIVERGENCE = "AUTHORITATIVE_DATE_DIVERGENCE"
    """Two claims, no rule: both are shown and told of (``lifecycle``)."""
    SUMMARY_SOURCE_DIVERGENCE = "SUMMARY_SOURCE_DIVERGENCE"
    """A summary is out, since the source that this turn reads says otherwise by now
    (``sessions.summaries``)."""
    DUPLICATE_EQUIVALENT = "DUPLICATE_EQUIVALENT"
    """Two claims of the same value; one is kept (``lifecycle``)."""
    SUPERSEDED_PLAN = "SUPERSEDED_PLAN"
    """A plan was outdated before anything of it was sent; this one takes its place
    (``sessions.turn_account``)."""
    UNCERTAIN_RETRIEVAL = "UNCERTAIN_RETRIEVAL"
    """None of the notes that were chosen answers to the words of the question (``recall``)."""
    UNTRUSTED_EMBEDDED_INSTRUCTION = "UNTRUSTED_EMBEDDED_INSTRUCTION"
    """Content below A4 reads like instructions; it stays data (``embedded``)."""
    TENANT_BINDING_MISMATCH = "TENANT_BINDING_MISMATCH"
    """A path offered a record of another imp, server, channel or person; out, with an alarm."""
    TOMBSTONED_RECORD_SELECTED = "TOMBSTONED_RECORD_SELECTED"
    """A path offered what was forgotten; out, with an alarm."""
