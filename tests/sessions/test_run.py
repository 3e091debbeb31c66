"""What a run tells of itself."""

from __future__ import annotations

from pathlib import Path

from sessions.run import exit_code_of, extent_of
from support.session_world import ask, eventually, session_world


async def test_a_run_knows_its_process_and_its_trace(tmp_path: Path) -> None:
    """Alive, then lost with an exit code, then cleared away; the trace's extent throughout."""
    async with session_world(tmp_path) as world, world.registry() as registry:
        await ask(registry, 1)
        (session,) = registry._sessions.values()
        run = session._run
        assert run is not None
        states = [(run.alive, run.lost_its_process, exit_code_of(run))]
        world.engine.last.die(7)
        states.append((run.alive, run.lost_its_process, exit_code_of(run)))
        await eventually(lambda: run.client is None)
        states.append((run.alive, run.lost_its_process, exit_code_of(run)))
        assert states == [(True, False, None), (False, True, 7), (False, False, None)]
        assert run.extent == extent_of(run.trace)
        assert run.extent.events == len(world.trace(run.run_id))
