"""What people read of receipts and replays: no content, and at most 60 characters wide."""

from __future__ import annotations

from pathlib import Path

from inline_snapshot import snapshot

from bot.runs.forms import WIDTH
from bot.runs.inspect_proof import (
    for_asker,
    receipt_document,
    receipt_of_turn,
    receipt_text,
    replanned_text,
    replay_document,
    replay_text,
)
from compiler.budget import ContextBudgets
from compiler.compile import Model
from compiler.plain_json import PlainValue
from sessions.review.replay import plan_again, replay_turn
from sessions.traces.reader import TracedEvent
from support.recorded_runs import CANARY, RUN, record_run, trace_of
from support.word_tokens import word_scene


async def _trace(home: Path) -> tuple[TracedEvent, ...]:
    await record_run(home)
    return trace_of(home)


def _told(text: str) -> str:
    assert CANARY not in text
    assert max(map(len, text.splitlines())) <= WIDTH
    return text


async def test_a_receipt_is_told_in_counts(tmp_path: Path) -> None:
    number, receipt = receipt_of_turn(await _trace(tmp_path), 1)
    text = _told(receipt_text(RUN, number, receipt))
    assert text[: text.index("Commitments")] == snapshot("""\
Run 2026-11-29-23-16-35-abcd
Receipt of turn 1

What was used
  recent dialogue          11
  other notes              3
  current message          1

What was left out
  budget                   9

Characters
  limit                    48,000
  used                     10,471

Cache
  status                   cold

Codes
  ended                    generation_started

""")
    assert receipt_document(RUN, number, receipt)["receipt"] == receipt


def test_who_asks_is_told_no_count_of_what_others_withheld() -> None:
    """Issue "Who may know": counts and receipts do not change because of another's records."""
    counts: dict[str, PlainValue] = {"consent": 1, "tombstoned": 2, "retracted": 1, "rank": 3}
    receipt: dict[str, PlainValue] = {"excludedCounts": counts, "stopReason": "ended"}
    assert for_asker(receipt) == {"excludedCounts": {"rank": 3}, "stopReason": "ended"}
    assert receipt["excludedCounts"] == counts
    assert for_asker({}) == {"excludedCounts": {}}
    assert for_asker(None) is None


async def test_a_receipt_says_how_tokens_were_counted(tmp_path: Path) -> None:
    """Issue "Tokens": exact, or an estimate."""
    _, receipt = receipt_of_turn(await _trace(tmp_path), 1)
    assert receipt is not None
    guessed = {**receipt, "tokenizerIdentity": {"counting": "estimate"}}
    assert "  counted                  estimate" in receipt_text(RUN, 1, guessed)


def test_a_turn_from_before_receipts_says_so() -> None:
    assert "before there were receipts" in receipt_text("r", 1, None)


async def test_a_replay_is_told_check_by_check(tmp_path: Path) -> None:
    replay = replay_turn(await _trace(tmp_path), None)
    assert _told(replay_text(replay)) == snapshot("""\
Run 2026-11-29-23-16-35-abcd
Replay of turn 2

✓ system prompt
✓ input
✓ plan
✓ input in the plan's order
✓ records  5 planned, 0 missing
✓ receipt
· token hash  nobody counted tokens

Everything is as it was.\
""")
    assert replay_document(replay)["ok"] is True


async def test_a_plan_under_other_settings_is_told_record_by_record(tmp_path: Path) -> None:
    trace = await _trace(tmp_path)
    again = plan_again(trace, 1, ContextBudgets(history_max_chars=5_200), Model())
    assert _told(replanned_text(again)) == snapshot("""\
Run 2026-11-29-23-16-35-abcd
Turn 1, planned anew under these settings

Plan: 1 record differs
  - history   discord:8009  budget

Characters: 10,471 → 9,969
Known by size alone: 9 records
Out in both:
  history   9 budget\
""")
    counted = plan_again(trace, 1, ContextBudgets(), Model(scene=word_scene(9_000)))
    assert "Tokens: 0 → " in _told(replanned_text(counted))
