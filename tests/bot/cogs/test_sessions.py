"""What the owner reads of warm sessions."""

from __future__ import annotations

from dataclasses import replace

from inline_snapshot import snapshot

from bot.cogs.sessions import details_of, line_of
from compiler.request import ChannelId, ImpName, RunId
from sessions.view import SessionState, SessionView

HEARTH = SessionView(
    imp=ImpName("ember"),
    channel_id=ChannelId("discord:10"),
    is_dm=False,
    state=SessionState.BUSY,
    run_id=RunId("2026-11-29-23-16-35-abcd"),
    turns=3,
    queued=2,
    quiet_seconds=4.4,
    has_process=True,
)


def test_a_session_in_one_line() -> None:
    """Place, imp, state and counts; no words of anybody."""
    assert line_of(HEARTH) == snapshot("<#10> `ember` **busy**, 3 turns, 2 waiting, quiet for 4 s")
    direct = replace(HEARTH, is_dm=True, turns=1, queued=0, quiet_seconds=600.0)
    assert line_of(direct) == snapshot("DM `ember` **busy**, 1 turn, quiet for 10 min")


def test_a_session_in_full() -> None:
    """The run's id leads on to /runs show."""
    assert details_of(HEARTH) == snapshot("""\
<#10>
```
imp       ember
state     busy
run       2026-11-29-23-16-35-abcd
turns     3
waiting   2
quiet for 4 s
process   alive
```\
""")
    crashed = replace(HEARTH, run_id=None, has_process=False)
    assert "not begun" in details_of(crashed)
    assert "the next message starts one" in details_of(crashed)
