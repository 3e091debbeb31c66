"""Rows of runs, of their turns and of replies for tests: small, valid, changed by keyword."""

from __future__ import annotations

from dataclasses import replace

from compiler.request import ChannelId, ImpName, MessageId, RunId, TurnId, UserId
from sessions.inbound import OutcomeKind, Usage
from sessions.store.runs import RunRow, RunStore, TurnRow


def run_row(run_id: str, **changes: object) -> RunRow:
    """Give a run that goes on, in a channel, without a turn."""
    row = RunRow(
        run_id=RunId(run_id),
        surface="discord-session",
        imp=ImpName("ember"),
        channel_id=ChannelId("discord:100"),
        is_dm=False,
        started_at="2026-11-29T10:00:00.000Z",
        ended_at=None,
        end_reason=None,
        system_sha256=None,
        route_key=None,
        turns=0,
        trace_events=0,
        trace_head_sha256=None,
    )
    return replace(row, **changes)  # type: ignore[arg-type]  # names are checked by replace


def turn_row(run_id: str, seq: int, **changes: object) -> TurnRow:
    """Give a turn that was answered."""
    row = TurnRow(
        run_id=RunId(run_id),
        turn_id=TurnId(f"discord:message:{run_id[-4:]}{seq}"),
        seq=seq,
        user_id=UserId("discord:7"),
        accepted_at="2026-11-29T10:00:01.000Z",
        outcome=OutcomeKind.REPLIED,
        error_code="",
        input_sha256=None,
        reply_sha256=None,
        wait_us=1,
        compile_us=2,
        trace_us=3,
        first_text_us=4,
        total_us=5,
        usage=Usage(input_tokens=10, output_tokens=5, cache_read_tokens=30, cost_usd=0.25),
    )
    return replace(row, **changes)  # type: ignore[arg-type]  # names are checked by replace


async def remember_reply(
    runs: RunStore, message_id: MessageId, run_id: RunId, turn_id: TurnId
) -> None:
    """Note which turn a message of the imp answers with, as its delivery does."""
    await runs._database.write(
        lambda db: db.execute(
            "INSERT OR REPLACE INTO replies (message_id, run_id, turn_id) VALUES (?, ?, ?)",
            (message_id, run_id, turn_id),
        ).close()
    )
