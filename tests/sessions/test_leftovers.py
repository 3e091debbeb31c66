"""What a killed host leaves behind."""

from __future__ import annotations

from support.session_world import HEARTH, World, eventually, hold, inbound, only_run


async def test_a_killed_host_leaves_an_honest_record(world: World) -> None:
    """P06: turns without an outcome are cut off at the next start, and told to the edge."""
    world.engine.behave = hold
    async with world.registry() as registry:
        ticket = registry.submit(inbound(1))
        await eventually(lambda: len(world.engine.prompts) == 1)
        run = only_run(registry)
        async with world.registry() as after:
            (interrupted,) = after.interrupted
        world.engine.last.reply("late")
        await ticket.outcome()
    assert interrupted.turn_id == "discord:message:1"
    assert (interrupted.run_id, interrupted.channel_id) == (run, HEARTH)
