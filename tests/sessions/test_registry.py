"""The registry: which session serves whom, the cap, and the end of all."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from compiler.request import GuildId, ImpName, MessageId, TurnId
from sessions.inbound import OutcomeKind
from sessions.view import SessionState
from support.session_world import (
    EMBER,
    HEARTH,
    World,
    ask,
    eventually,
    hold,
    inbound,
    only_run,
    scope_of,
    seen,
)


async def test_a_conversation_keeps_one_warm_process(world: World) -> None:
    """Issue "Sessions": a start compiles once, later turns use the same process."""
    async with world.registry() as registry:
        outcomes = [await ask(registry, number) for number in (1, 2, 3)]
    assert [each.text for each in outcomes] == ["answer 1", "answer 2", "answer 3"]
    assert len({each.run_id for each in outcomes}) == 1
    assert len(world.engine.clients) == 1


async def test_each_conversation_has_a_session_of_its_own(world: World) -> None:
    """A thread and another imp in the same channel are conversations of their own."""
    other = ImpName("cinder")
    world.write_identity(imp="cinder")
    async with world.registry() as registry:
        runs = {
            (await ask(registry, 1)).run_id,
            (await ask(registry, 2, channel=200, parent=100)).run_id,
            (await registry.submit(inbound(3, imp=other)).outcome()).run_id,
        }
        assert len(registry.views()) == 3
    assert len(runs) == 3


async def test_conversations_do_not_wait_for_each_other(world: World) -> None:
    """P22: a hung turn in one place delays nobody elsewhere."""
    world.engine.behave = hold
    async with world.registry() as registry:
        stuck = registry.submit(inbound(1))
        await eventually(lambda: len(world.engine.prompts) == 1)
        held = world.engine.last
        world.engine.behave = lambda client, _: client.reply("quick")
        assert (await ask(registry, 2, channel=200)).text == "quick"
        assert not stuck.done
        held.reply("slow")
        assert (await stuck.outcome()).text == "slow"


async def test_a_closed_host_rejects(world: World) -> None:
    """A message after the end is refused, not lost."""
    async with world.registry() as registry:
        pass
    outcome = await registry.submit(inbound(1)).outcome()
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.REJECTED, "host_closing")


async def test_the_least_recently_used_idle_session_leaves_first(world: World) -> None:
    """The cap on warm sessions: LRU among the idle."""
    async with world.registry(max_warm=2) as registry:
        for message, channel in enumerate((100, 200, 100), 1):
            await ask(registry, message, channel=channel)
            # A turn is told of before its session rests, and who rests first may leave first.
            await eventually(lambda: {v.state for v in registry.views()} == {SessionState.IDLE})
        await ask(registry, 4, channel=300)
        await eventually(lambda: len(registry.views()) == 2)
        assert {view.channel_id for view in registry.views()} == {HEARTH, "discord:300"}
    assert world.engine.most_living == 2


async def test_a_busy_session_is_never_evicted(world: World) -> None:
    """With all places busy a new conversation waits until one rests."""
    world.engine.behave = hold
    async with world.registry(max_warm=1) as registry:
        busy = registry.submit(inbound(1))
        await eventually(lambda: len(world.engine.prompts) == 1)
        waiting = registry.submit(inbound(2, channel=200))
        await eventually(lambda: len(registry.views()) == 2)
        assert not busy.done
        world.engine.behave = lambda client, _: client.reply("mine")
        world.engine.last.reply("done")
        assert (await busy.outcome()).text == "done"
        assert (await waiting.outcome()).text == "mine"
    assert world.engine.most_living == 1


async def test_when_all_stay_busy_the_new_conversation_is_told(world: World) -> None:
    """The wait for a place is bounded by the start deadline."""
    world.engine.behave = hold
    async with world.registry(max_warm=1) as registry:
        busy = registry.submit(inbound(1))
        await eventually(lambda: len(world.engine.prompts) == 1)
        waiting = registry.submit(inbound(2, channel=200))
        await eventually(lambda: registry._slots._waiting != type(registry._slots._waiting)())
        world.clock.advance(21)
        outcome = await waiting.outcome()
        assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, "all_busy")
        assert not busy.done
        world.engine.last.reply("done")
        assert (await busy.outcome()).text == "done"


async def test_warm_up_starts_the_process_before_the_message(world: World) -> None:
    """Issue "Sessions": typing starts a session; the first turn still has the history."""
    async with world.registry() as registry:
        await world.parts.history.append(seen(1, "Before."))
        registry.warm(EMBER, scope_of())
        registry.warm(EMBER, scope_of())
        await eventually(lambda: bool(registry.views()) and registry.views()[0].has_process)
        assert not world.engine.prompts
        run = only_run(registry)
        outcome = await ask(registry, 2)
    assert outcome.run_id == run
    assert len(world.engine.clients) == 1
    assert "Before." in world.engine.prompts[0][1]


async def test_warm_up_pushes_nobody_out(world: World) -> None:
    """Typing is not yet a message: with all places taken nothing happens."""
    async with world.registry(max_warm=1) as registry:
        await ask(registry, 1)
        await eventually(lambda: registry.views()[0].state is SessionState.IDLE)
        registry.warm(EMBER, scope_of(200))
        assert [view.channel_id for view in registry.views()] == [HEARTH]


async def test_close_lets_a_running_turn_finish(world: World) -> None:
    """Drain: the running turn may finish, what waits is refused."""
    world.engine.behave = hold
    async with world.registry() as registry:
        running = registry.submit(inbound(1))
        waiting = registry.submit(inbound(2))
        await eventually(lambda: len(world.engine.prompts) == 1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(registry.close())
            refused = await waiting.outcome()
            world.engine.last.reply("just in time")
        assert (await running.outcome()).text == "just in time"
    assert (refused.kind, refused.error_code) == (OutcomeKind.REJECTED, "host_closing")
    assert world.engine.living == 0


async def test_close_cuts_off_what_outlasts_the_drain(world: World) -> None:
    """After ``drain_seconds`` the rest gets an honest outcome."""
    world.engine.behave = hold
    async with world.registry() as registry:
        running = registry.submit(inbound(1))
        await eventually(lambda: len(world.engine.prompts) == 1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(registry.close())
            await eventually(lambda: registry._closing)
            world.clock.advance(21)
            outcome = await running.outcome()
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.CUT_OFF, "host_shutdown")
    assert world.engine.living == 0


async def test_reset_starts_afresh(world: World) -> None:
    """The owner's reset: what waits is answered by the fresh session."""
    async with world.registry() as registry:
        first = await ask(registry, 1)
        await eventually(lambda: registry.views()[0].state is SessionState.IDLE)
        assert await registry.reset(HEARTH) is True
        assert not registry.views()
        assert await registry.reset(HEARTH) is False
        second = await ask(registry, 2)
    assert second.run_id != first.run_id


async def test_a_reset_waits_for_the_record_of_a_turn_that_is_over(world: World) -> None:
    """P26: who forgets a note right after the answer is told of a session that has ended."""
    async with world.registry() as registry:
        await ask(registry, 1)
        assert registry.views()[0].state is SessionState.BUSY
        assert await registry.reset(HEARTH) is True
        assert not registry.views()


async def test_stop_cuts_off_the_turn_and_refuses_what_waits(world: World) -> None:
    """The owner's stop; each message is told what became of it."""
    world.engine.behave = hold
    async with world.registry() as registry:
        running, waiting = registry.submit(inbound(1)), registry.submit(inbound(2))
        await eventually(lambda: len(world.engine.prompts) == 1)
        assert await registry.stop(HEARTH) is True
        cut, refused = await running.outcome(), await waiting.outcome()
        assert (cut.kind, cut.error_code) == (OutcomeKind.CUT_OFF, "turn_stopped")
        assert (refused.kind, refused.error_code) == (OutcomeKind.REJECTED, "stopped")
        assert cut.run_id is not None
        row = await world.parts.runs.get_run(cut.run_id)
        assert row is not None
        assert row.end_reason == "stopped"
        assert world.engine.living == 0


async def test_a_channel_that_is_gone_ends_with_its_threads(world: World) -> None:
    """Issue "Inbound", threads deleted at any moment: nothing runs on where nobody reads."""
    world.engine.behave = hold
    async with world.registry() as registry:
        gone = [registry.submit(inbound(1)), registry.submit(inbound(2, channel=200, parent=100))]
        other = registry.submit(inbound(3, channel=300))
        await eventually(lambda: len(world.engine.prompts) == 3)
        assert registry.end_in_channel(HEARTH) == 2
        assert {(await each.outcome()).error_code for each in gone} == {"turn_stopped"}
        assert not other.done
        registry.end_in_server(GuildId("discord:1"))
        assert (await other.outcome()).error_code == "turn_stopped"


async def test_a_deleted_message_that_waits_gets_no_turn(world: World) -> None:
    """P13 b: withdrawn while queued."""
    world.engine.behave = hold
    async with world.registry() as registry:
        running, waiting = registry.submit(inbound(1)), registry.submit(inbound(2))
        await eventually(lambda: len(world.engine.prompts) == 1)
        assert registry.withdraw(TurnId("discord:message:2"), HEARTH)
        assert not registry.withdraw(TurnId("discord:message:1"), HEARTH)
        assert (await waiting.outcome()).error_code == "withdrawn"
        world.engine.last.reply("one")
        await running.outcome()
    assert len(world.engine.prompts) == 1


async def test_who_is_nobody_known_stops_nobody_else(world: World) -> None:
    """Issue "The turn": one's own is stopped; words of which it is not known whose they are (a
    proxy's) stop nothing, and the button under their turn stops that turn alone."""
    world.engine.behave = hold
    nobody = replace(scope_of(message=3), user_id=None)
    async with world.registry() as registry:
        running, waiting = registry.submit(inbound(1)), registry.submit(inbound(2))
        await eventually(lambda: len(world.engine.prompts) == 1)
        done = registry.interrupt(EMBER, nobody, everyones=False, drop=True)
        assert (done.stopped, done.dropped, done.kept) == (False, 0, 1)
        assert not registry.concerns(EMBER, nobody, everyones=False)
        assert registry.concerns(EMBER, nobody, everyones=True)
        assert registry.concerns(EMBER, scope_of(message=3), everyones=False)
        assert not registry.concerns(EMBER, scope_of(channel=7), everyones=True)
        theirs = registry.submit(replace(inbound(3), scope=nobody))
        world.engine.last.reply("one")
        await running.outcome()
        await eventually(lambda: len(world.engine.prompts) == 2)
        world.engine.last.reply("two")
        await waiting.outcome()
        await eventually(lambda: len(world.engine.prompts) == 3)
        last = registry.submit(inbound(4))
        stopped = registry.stop_turn(TurnId("discord:message:3"), HEARTH, drop=True)
        assert (stopped.stopped, stopped.dropped, stopped.kept) == (True, 0, 1)
        assert (await theirs.outcome()).error_code == "turn_stopped"
        await eventually(lambda: len(world.engine.prompts) == 4)
        world.engine.last.reply("four")
        assert (await last.outcome()).text == "four"


async def test_an_edited_message_that_waits_is_taken_in_its_new_form(world: World) -> None:
    """P13 a: only the new text reaches pi."""
    world.engine.behave = hold
    async with world.registry() as registry:
        running, waiting = registry.submit(inbound(1)), registry.submit(inbound(2, "Old text."))
        await eventually(lambda: len(world.engine.prompts) == 1)
        assert registry.amend(inbound(2, "New text."))
        assert not registry.amend(inbound(1, "Too late."))
        world.engine.behave = lambda client, _: client.reply("two")
        world.engine.last.reply("one")
        await running.outcome()
        await waiting.outcome()
    assert "New text." in world.engine.prompts[1][1]
    assert "Old text." not in world.engine.prompts[1][1]


async def test_what_was_edited_is_known_by_its_new_words_from_the_next_turn_on(
    world: World,
) -> None:
    """P13 (d): a message that is at hand is answered as it was, and the run that holds it ends; one
    that waits was given to nobody yet, and ends nothing."""
    for number in (1, 2):
        await world.parts.history.append(seen(number, "Old text."))
    world.engine.behave = hold

    async def edited(number: int) -> None:
        message_id, turn_id = MessageId(f"discord:{number}"), TurnId(f"discord:message:{number}")
        await registry.outdate(message_id, turn_id, HEARTH)

    async with world.registry() as registry:
        first, second = registry.submit(inbound(1)), registry.submit(inbound(2))
        await eventually(lambda: len(world.engine.prompts) == 1)
        await edited(2)
        world.engine.last.reply("one")
        await eventually(lambda: len(world.engine.prompts) == 2)
        await edited(2)
        world.engine.last.reply("two")
        runs = [(await each.outcome()).run_id for each in (first, second)]
        world.engine.behave = lambda client, _: client.reply("three")
        third = await ask(registry, 3)
    assert runs[0] == runs[1]
    assert third.run_id != runs[1]
