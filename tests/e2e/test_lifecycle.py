"""Starts, stops, reconnects and waits of the whole bot."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot import app as bot_app
from bot.leftovers import INTERRUPTED
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, HEARTH, ORCHARD, WORKSHOP
from bot.playground.rest.commands import WEBHOOK
from bot.playground.scripted_model import Answer, Hang, ScriptedModel
from bot.playground.server import Playground
from config.load import watch
from support.app_world import running
from support.session_world import eventually

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
COMMANDS = "/applications/{application_id}/commands"
GUILD_COMMANDS = "/applications/{application_id}/guilds/{guild_id}/commands"


@dataclass(frozen=True, slots=True)
class Stage:
    """What outlives a bot: Discord, the model, and the home."""

    pg: Playground
    model: ScriptedModel
    home: Path


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with Playground() as pg, ScriptedModel() as model:
        yield Stage(pg, model, tmp_path / "home")


async def logged(logs: Sequence[Mapping[str, object]], event: str) -> None:
    """Wait until a line is in the log; nothing tells of a new one, so it is looked at often."""
    async with asyncio.timeout(120):
        while not any(line["event"] == event for line in logs):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def writes(stage: Stage) -> list[tuple[str, int]]:
    return [
        (request.method, request.status)
        for request in stage.pg.requests
        if "/commands" in request.path and request.method != "GET"
    ]


async def test_commands_are_written_once_and_again_only_on_a_change(stage: Stage) -> None:
    """P16: one bulk write at first, none when nothing changed, nothing deleted first."""
    for _ in range(2):
        async with running(stage.home, stage.pg, stage.model) as app:
            await app.commands.wait()
        assert writes(stage) == [("PUT", 200)]
    state = stage.home / "commands.json"
    state.write_text(state.read_text().replace('"sha256": "', '"sha256": "0'))
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.commands.wait()
    assert writes(stage) == [("PUT", 200)] * 2


async def test_commands_count_as_written_whatever_discord_says_of_them(stage: Stage) -> None:
    """P16: a bare answer to the write is no reason to write the same again, now or later."""
    stage.pg.faults.fail("PUT", COMMANDS, status=200, after=True)
    for _ in range(2):
        async with running(stage.home, stage.pg, stage.model) as app:
            await app.commands.wait()
    assert writes(stage) == [("PUT", 200)]


async def test_commands_left_in_a_server_are_not_shown_twice(stage: Stage) -> None:
    """P16: each command is seen once, also where an earlier version wrote them to the server."""
    body = [{"name": "doctor", "description": "an earlier one", "type": 1}]
    stage.pg.registry.overwrite(ORCHARD, body)
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.commands.wait()
        names = [command.name for command in stage.pg.commands_for(ADA, HEARTH)]
    assert names.count("doctor") == 1


async def test_a_refused_sync_leaves_the_bot_working(stage: Stage) -> None:
    """P16: on a failure the bot runs on and tries later."""
    stage.pg.faults.fail("PUT", COMMANDS, status=403, code=50001, times=1)
    async with running(stage.home, stage.pg, stage.model) as app:
        _, answer = await app.ask(ADA, DIRECT[ADA], "hello")
        assert "hello" in answer.content
        assert not app.commands.is_set()


async def test_a_restart_goes_on_with_the_warm_session_and_answers_nothing_again(
    stage: Stage,
) -> None:
    """P04: replay after a restart runs nothing twice. Issue "Sessions": the same session goes on
    with the same system prompt bytes."""
    async with running(stage.home, stage.pg, stage.model) as app:
        asked, _ = await app.ask(ADA, DIRECT[ADA], "only once")
    async with running(stage.home, stage.pg, stage.model) as app:
        stage.pg.redeliver(asked)
        await app.settle()
        assert len(app.prompts) == 1
    assert [m.reply_to for m in stage.pg.messages(DIRECT[ADA])].count(asked.id) == 1
    before, after = stage.model.requests
    assert after.prompt.startswith(before.prompt)
    assert len(list((stage.home / "runs").iterdir())) == 1


async def test_running_turns_are_answered_before_the_bot_leaves(stage: Stage) -> None:
    """Shutdown: running turns finish and are posted; later messages are for the next start."""
    gate = asyncio.Event()
    stage.model.script(Answer(chunks=("finished",), before=gate))
    async with running(stage.home, stage.pg, stage.model) as app:
        asked = await stage.pg.say(ADA, DIRECT[ADA], "work")
        await stage.model.wait_for_requests(1)
        app.stop.set()
        late = await stage.pg.say(BO, HEARTH, f"{ME} one more?")
        gate.set()
        answer = await stage.pg.wait_for_message(DIRECT[ADA], after=asked)
        assert answer.content == "finished"
    assert len(stage.model.requests) == 1
    assert [m.author_id for m in stage.pg.messages(HEARTH)] == [BO]
    async with running(stage.home, stage.pg, stage.model):
        told = await stage.pg.wait_for_message(HEARTH, after=late)
        assert told.reply_to == late.id
        assert "one more?" in told.content


async def test_a_command_is_answered_before_the_bot_leaves(stage: Stage) -> None:
    """P15: one that was cut off would show "thinking" until its token ends."""
    gate = asyncio.Event()
    stage.pg.faults.hold(gate, "POST", WEBHOOK)
    with capture_logs() as logs:
        async with (
            asyncio.TaskGroup() as tasks,
            running(stage.home, stage.pg, stage.model) as app,
        ):
            await app.commands.wait()
            asked = tasks.create_task(app.slash(ADA, HEARTH, "whoami"))
            await eventually(lambda: not stage.pg.faults._script)
            app.stop.set()
            await eventually(lambda: "app.stopping" in {each["event"] for each in logs})
            gate.set()
    assert "You are" in asked.result().text
    assert not {"error.unexpected", "command.cut_off", "commands.left"} & {
        each["event"] for each in logs
    }


async def test_a_killed_turn_gets_one_honest_line_after_the_restart(stage: Stage) -> None:
    """P06 (a): exactly one "interrupted" line, the conversation is not busy."""
    async with running(stage.home, stage.pg, stage.model) as app:
        asked, posted = await app.ask(ADA, DIRECT[ADA], "hello")
    forget_outcome(stage.home)
    await stage.pg.delete(EMBER, posted)  # the killed host had not come to it
    async with running(stage.home, stage.pg, stage.model) as app:
        line = await stage.pg.wait_for_message(
            DIRECT[ADA], lambda message: INTERRUPTED in message.content, after=asked
        )
        assert line.reply_to == asked.id
        _, answer = await app.ask(ADA, DIRECT[ADA], "again")
        assert "again" in answer.content
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.settle()
    lines = [m for m in stage.pg.messages(DIRECT[ADA]) if INTERRUPTED in m.content]
    assert len(lines) == 1


def forget_outcome(home: Path) -> None:
    """Make the database look as a kill in the middle of the turn leaves it."""
    import sqlite3  # noqa: PLC0415  (the test's own look into the file)

    with sqlite3.connect(home / "inglenook.db") as db:
        db.execute("DELETE FROM replies")
        db.execute("DELETE FROM outbox")
        db.execute("UPDATE inbox SET state = 'waiting'")
        db.execute("UPDATE turns SET outcome = NULL")
        db.execute("UPDATE runs SET ended_at = NULL, end_reason = NULL")
    db.close()


async def test_a_resume_replays_without_a_second_answer(stage: Stage) -> None:
    """P04: the connection drops in a turn, RESUME replays the event: one prompt, one reply."""
    gate = asyncio.Event()
    stage.model.script(Answer(chunks=("once",), before=gate))
    async with running(stage.home, stage.pg, stage.model) as app:
        asked = await stage.pg.say(ADA, DIRECT[ADA], "hello")
        await stage.model.wait_for_requests(1)
        stage.pg.faults.replay_more = 5
        stage.pg.gateway.drop()
        gate.set()
        await stage.pg.wait_for_message(DIRECT[ADA], after=asked)
        await stage.pg.connected.wait()
        await app.settle()
        assert [m.content for m in stage.pg.messages(DIRECT[ADA]) if m.reply_to == asked.id] == [
            "once"
        ]
        assert len(app.prompts) == 1


async def test_a_hung_conversation_does_not_delay_another(stage: Stage) -> None:
    """P22: Cy is answered while Bo's model hangs; /sessions stop tells Bo at once."""
    stage.model.script(Hang())
    async with running(stage.home, stage.pg, stage.model) as app:
        hung = await stage.pg.say(BO, HEARTH, f"{ME} think")
        await stage.model.wait_for_requests(1)
        await stage.pg.until(lambda: stage.pg.typing_in(HEARTH) or None)
        assert [user.id for user in stage.pg.typing_in(HEARTH)] == [EMBER]
        _, answer = await app.ask(CY, WORKSHOP, f"{ME} hi")
        assert "hi" in answer.content
        stopped = await app.slash(ADA, HEARTH, "sessions stop")
        assert "Stopped" in stopped.text
        told = await stage.pg.wait_for_message(
            HEARTH, lambda message: message.reply_to == hung.id, after=hung
        )
        assert re.search(r"run `", told.content)
        assert stage.pg.typing_in(HEARTH) == ()


async def test_typing_of_the_owner_warms_a_dm_and_a_strangers_does_not(stage: Stage) -> None:
    """Issue "Sessions": typing starts the session before the message, where it may be answered."""
    settings = {"warm_up": {"dm": True, "trusted": True}}
    with capture_logs() as logs:
        async with running(stage.home, stage.pg, stage.model, settings) as app:
            await stage.pg.typing(BO, DIRECT[BO])
            await stage.pg.typing(BO, HEARTH)
            await stage.pg.typing(ADA, DIRECT[ADA])
            await logged(logs, "session.connected")
            listed = await app.slash(ADA, DIRECT[ADA], "sessions list")
    assert listed.text.count("DM") == 1
    assert str(HEARTH) not in listed.text
    assert stage.model.requests == []


async def test_no_content_in_the_log(stage: Stage) -> None:
    """Privacy: ids, sizes, hashes and codes only; no words of people or of the model."""
    stage.model.script(Answer.of("CANARY-ANSWER"))
    with capture_logs() as logs:
        async with running(stage.home, stage.pg, stage.model) as app:
            await app.ask(ADA, DIRECT[ADA], "CANARY-QUESTION")
            await app.slash(ADA, DIRECT[ADA], "channel purpose", text="CANARY-PURPOSE")
    assert logs
    assert "CANARY" not in repr(logs)
    assert stage.pg.token not in repr(logs)


async def test_a_bad_edit_keeps_the_last_good_settings(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken org.toml while running is refused and named; the bot goes on with the old one."""
    monkeypatch.setattr(bot_app, "watch", partial(watch, every_seconds=0.02))
    with capture_logs() as logs:
        async with running(stage.home, stage.pg, stage.model) as app:
            (stage.home / "org.toml").write_text("[discord]\nimpp = 'x'\n")
            await logged(logs, "config.refused")
            _, answer = await app.ask(ADA, DIRECT[ADA], "still there?")
            told = await app.slash(ADA, DIRECT[ADA], "doctor")
    assert "still there?" in answer.content
    (line,) = (one for one in logs if one["event"] == "config.refused")
    assert (line["file"], line["line"], line["key"]) == ("org.toml", 2, "discord.impp")
    assert line["reason"]
    assert line["hint"] == "Did you mean imp?"
    assert "org.toml, line 2: discord.impp" in told.text
