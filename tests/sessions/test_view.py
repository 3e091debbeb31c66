"""A session as the owner sees it."""

from __future__ import annotations

from pathlib import Path

from sessions.view import SessionState
from support.session_world import EMBER, HEARTH, eventually, hold, inbound, session_world


async def test_a_view_tells_what_the_session_does(tmp_path: Path) -> None:
    """Busy with one, one waiting; then idle, and for how long."""
    async with session_world(tmp_path) as world, world.registry() as registry:
        world.engine.behave = hold
        running, waiting = registry.submit(inbound(1)), registry.submit(inbound(2))
        await eventually(lambda: len(world.engine.prompts) == 1)
        (busy,) = registry.views()
        assert (busy.imp, busy.channel_id, busy.is_dm) == (EMBER, HEARTH, False)
        assert (busy.state, busy.turns, busy.queued) == (SessionState.BUSY, 1, 1)
        assert busy.has_process
        world.engine.behave = lambda client, _: client.reply("two")
        world.engine.last.reply("one")
        await running.outcome()
        await waiting.outcome()
        await eventually(lambda: registry.views()[0].state is SessionState.IDLE)
        world.clock.advance(30)
        (idle,) = registry.views()
        assert (idle.turns, idle.queued, idle.quiet_seconds) == (2, 0, 30.0)
