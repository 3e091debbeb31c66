"""Receipts and replays, told in the shell and in Discord alike; no content in either. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from bot.runs.diff_text import plan_lines
from bot.runs.forms import WIDTH
from compiler.audience import Exclusion
from compiler.plain_json import PlainValue
from sessions.review.inspection import turn_events
from sessions.review.prompts import compiled_turn, latest_compiled
from sessions.review.replay import Replanned, Replay, Verdict
from sessions.traces.reader import TracedEvent, receipted

_SIGNS: Final = {Verdict.SAME: "✓", Verdict.DIFFERENT: "✗", Verdict.UNCHECKED: "·"}
_SECTIONS: Final = (
    ("recordCounts", "What was used"),
    ("excludedCounts", "What was left out"),
    ("charAllocation", "Characters"),
    ("tokenAllocation", "Tokens"),
    ("cache", "Cache"),
)
_WORDS: Final = {
    "currentUser": "current message",
    "recentDialogue": "recent dialogue",
    "profile": "confirmed notes",
    "memory": "other notes",
    "houseRules": "house rules",
    "carried": "quotes and files",
    "contextWindow": "window",
    "outputReservation": "kept for the answer",
    "safetyMargin": "margin",
    "systemAndTemplate": "system and template",
    "conversation": "conversation so far",
    "selectedOther": "everything else",
    "reusedPrefixTokens": "expected warm tokens",
}


_OF_PEOPLE: Final = frozenset({Exclusion.CONSENT, Exclusion.TOMBSTONED, Exclusion.RETRACTED})
"""Reasons that are some person's word on a note of his: how many there are is not for others."""


def for_asker(receipt: Mapping[str, PlainValue] | None) -> Mapping[str, PlainValue] | None:
    """Give a receipt as the person who asked may see it.

    In a channel the notes behind an answer are of several people. What one of them withheld, took
    back or had forgotten changes no count that another is shown (issue "Who may know"); the owner's
    receipt has it.
    """
    if receipt is None:
        return None
    counts = receipt.get("excludedCounts")
    kept = counts.items() if isinstance(counts, Mapping) else ()
    shown = {reason: count for reason, count in kept if reason not in _OF_PEOPLE}
    return {**receipt, "excludedCounts": shown}


def receipt_of_turn(
    trace: tuple[TracedEvent, ...], turn: int | None
) -> tuple[int, dict[str, PlainValue] | None]:
    """Give a turn's number and receipt, by default the latest; None if it is older than those.

    Raises:
        InspectionError: no such turn, or one that was not compiled.
    """
    turns = turn_events(trace)
    number = (latest_compiled(turns) or 1) if turn is None else turn
    return number, receipted(compiled_turn(turns, number))


def receipt_text(run_id: str, turn: int, receipt: Mapping[str, PlainValue] | None) -> str:
    """Tell a receipt: kinds, counts and sizes, then its commitments."""
    head = [f"Run {run_id}", f"Receipt of turn {turn}"]
    if receipt is None:
        return "\n".join([*head, "", "This turn was recorded before there were receipts."])
    lines = [*head]
    for key, title in _SECTIONS:
        lines += _section(title, receipt.get(key))
        if key == "tokenAllocation":
            lines += _counting(receipt.get("tokenizerIdentity"))
    lines += ["", "Codes", *_row("ended", receipt["stopReason"])]
    for name in ("conflictCodes", "boundedErrors"):
        codes = receipt[name]
        if isinstance(codes, list) and codes:
            lines += _row("codes", ", ".join(map(str, codes)))
    lines += ["", "Commitments", *_row("plan", receipt["planCommitment"])]
    lines += _row("tokens", receipt["promptTokenCommitment"] or "none: no exact count")
    return "\n".join(lines)


def replay_text(replay: Replay) -> str:
    """Tell what a replay worked out again."""
    lines = [f"Run {replay.run_id}", f"Replay of turn {replay.turn}", ""]
    for check in replay.checks:
        detail = f"  {check.detail}" if check.detail else ""
        lines.append(f"{_SIGNS[check.verdict]} {check.name}{detail}")
    told = "Everything is as it was." if replay.ok else "Something is not as it was."
    return "\n".join([*lines, "", told])


def replanned_text(replanned: Replanned) -> str:
    """Tell what another compilation of the same sources would have taken."""
    difference = replanned.difference
    before, after = difference.used_chars
    lines = [
        f"Run {replanned.run_id}",
        f"Turn {replanned.turn}, planned anew under these settings",
        "",
        *plan_lines(difference),
        "",
        f"Characters: {before:,} → {after:,}",
    ]
    if any(difference.used_tokens):
        lines.append("Tokens: {:,} → {:,}".format(*difference.used_tokens))
    if replanned.stand_ins:
        lines.append(f"Known by size alone: {replanned.stand_ins} records")
    stayed = [each for each in difference.left_out if each.before == each.after]
    lines += ["Out in both:"] if stayed else []
    lines += (f"  {each.block:<9} {len(each.record_ids)} {each.after}" for each in stayed)
    return "\n".join(lines)


def receipt_document(
    run_id: str, turn: int, receipt: Mapping[str, PlainValue] | None
) -> dict[str, Any]:
    """Give a receipt for programs."""
    return {"run_id": run_id, "turn": turn, "receipt": receipt}


def replay_document(replay: Replay | Replanned) -> dict[str, Any]:
    """Give a replay for programs."""
    document = asdict(replay)
    return {**document, "ok": replay.ok} if isinstance(replay, Replay) else document


def _counting(identity: PlainValue) -> list[str]:
    counting = identity.get("counting") if isinstance(identity, Mapping) else None
    return _row("counted", counting) if counting else []


def _section(title: str, values: PlainValue) -> list[str]:
    if not isinstance(values, Mapping):
        return []
    rows = [
        line
        for name, value in values.items()
        if value
        for line in _row(_WORDS.get(name, name.replace("_", " ")), value)
    ]
    return ["", title, *rows] if rows else []


def _row(name: str, value: PlainValue) -> list[str]:
    told = f"{value:,}" if isinstance(value, int) else str(value)
    told = f"{told[:16]}…" if len(told) == 64 else told  # noqa: PLR2004  (a hash)
    return [f"  {name:<24} {told}"[:WIDTH]]
