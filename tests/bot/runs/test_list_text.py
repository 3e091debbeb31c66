"""What people read of a list of runs: a line each, at most 60 columns."""

from __future__ import annotations

from inline_snapshot import snapshot

from bot.runs.list_text import list_text
from compiler.request import ChannelId
from sessions.store.runs import RunRow
from support.recorded_runs import RUN, narrow
from support.run_rows import run_row


def _row(run_id: str = RUN, **changes: object) -> RunRow:
    ended: dict[str, object] = {"ended_at": "2026-11-29T23:21:35.000Z", "end_reason": "rollover"}
    where = ChannelId("discord:1234567890123456789")
    return run_row(run_id, **{"channel_id": where, "turns": 12, **ended, **changes})


def test_a_list_in_words() -> None:
    rows = [
        _row(),
        _row(is_dm=True, ended_at=None, end_reason=None, turns=1),
        _row("2026-11-28-01-02-03-wxyz", channel_id=None),
    ]
    assert narrow(list_text(rows)) == snapshot("""\
RUN                      WHERE               TURNS ENDED
2026-11-29-23-16-35-abcd 1234567890123456789    12 rollover
2026-11-29-23-16-35-abcd direct message          1 not yet
2026-11-28-01-02-03-wxyz no channel             12 rollover\
""")
    told = narrow(list_text(rows[1:2], lambda _: "DM with Bo")).splitlines()[1]
    assert told.startswith(f"{rows[1].run_id} DM with Bo ")
    named = list_text(rows[:1], lambda channel_id: f"#{channel_id[-2:]}\n a very long name indeed")
    assert narrow(named).splitlines()[1].startswith(f"{rows[0].run_id} #89 a very long na…    12 ")


def test_an_empty_list_says_what_to_do() -> None:
    assert list_text([]) == "No runs yet. Write to the imp, then look again."
