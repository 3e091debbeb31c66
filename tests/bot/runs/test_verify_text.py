"""What people read of a check: the verdict, and each flaw with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from bot.runs.book import open_book
from bot.runs.verify_text import FLAWS, verify_text
from sessions.traces.proof import Flaw, TraceProblem, VerifyReport
from support.recorded_runs import RUN, record_run


def _report(*problems: TraceProblem) -> VerifyReport:
    return VerifyReport(run_id=RUN, events=9, compilations=4, head=None, problems=problems)


def test_a_broken_trace_in_words() -> None:
    text = verify_text(
        _report(
            TraceProblem(line=3, flaw=Flaw.BLOCK_HASH, detail="memory"),
            TraceProblem(line=0, flaw=Flaw.TORN_END, detail="17 bytes"),
        )
    )
    assert text == snapshot("""\
Run 2026-11-29-23-16-35-abcd
Lines 9, of them compilations 4
Head -
✗ line 3: a block does not match its hash (memory)
✗ file: the last line is torn; it was never delivered (17 bytes)
The trace does not verify.\
""")


@pytest.mark.parametrize("flaw", Flaw)
def test_every_flaw_has_words(flaw: Flaw) -> None:
    assert f"✗ line 1: {FLAWS[flaw]}" in verify_text(_report(TraceProblem(line=1, flaw=flaw)))


async def test_a_sound_trace_in_words(tmp_path: Path) -> None:
    await record_run(tmp_path)
    async with open_book(tmp_path) as book:
        run = await book.open(RUN)
    assert "✓ Everything is as it was written." in verify_text(run.report)
