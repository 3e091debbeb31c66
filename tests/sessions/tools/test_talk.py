"""``reply`` speaks in the turn's own conversation alone; ``stay_silent`` in none."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from compiler.request import (
    ChannelId,
    ImpName,
    MessageId,
    Place,
    Role,
    RunId,
    RunScope,
    RunSurface,
    TurnId,
)
from sessions.limits import TalkSettings
from sessions.tools import talk as words
from sessions.tools.call import BAD_ARGUMENTS, ToolAnswer, ToolCall, ToolTurn
from sessions.tools.talk import LateVoice, ReplyTool, Said, stay_silent
from sessions.workspace_files import FileFault, WorkspaceFile

Heard = tuple[str | None, int, str, tuple[str, ...]]


@dataclass(slots=True)
class Throat:
    """A voice that remembers what it was to say, and where."""

    becomes: Said = Said.POSTED
    heard: list[Heard] = field(default_factory=list)

    async def say(
        self, turn: ToolTurn, number: int, text: str, files: tuple[WorkspaceFile, ...]
    ) -> Said:
        names = tuple(each.name for each in files)
        self.heard.append((turn.scope.channel_id, number, text, names))
        return self.becomes


def turn_in(
    place: Place = Place.GROUP, *, channel: str | None = "discord:100", message: str | None = "m"
) -> ToolTurn:
    return ToolTurn(
        imp=ImpName("ember"),
        scope=RunScope(
            provider="discord",
            place=place,
            channel_id=None if channel is None else ChannelId(channel),
            message_id=None if message is None else MessageId(message),
            role=Role.MEMBER,
        ),
        run_id=RunId("run"),
        turn_id=TurnId("turn"),
        offered=frozenset({"reply", "stay_silent"}),
    )


@dataclass(slots=True)
class Desk:
    """The tool over a run's folder."""

    tool: ReplyTool
    throat: Throat

    async def reply(self, turn: ToolTurn, **arguments: object) -> ToolAnswer:
        return await self.tool.answer(turn, ToolCall(name="reply", arguments=json.dumps(arguments)))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    workspace = tmp_path / "run" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "plan.md").write_text("the plan")
    throat = Throat()
    tool = ReplyTool(
        throat,
        workspace=lambda run_id: tmp_path / run_id / "workspace",
        settings=lambda: TalkSettings(reply_messages=2, reply_files=1),
    )
    return Desk(tool, throat)


async def silent(turn: ToolTurn, arguments: str = "{}") -> ToolAnswer:
    return await stay_silent(turn, ToolCall(name="stay_silent", arguments=arguments))


async def test_a_reply_goes_where_the_turn_is(desk: Desk) -> None:
    """The target is the turn's; each message has a number of its own, and counts once it is out."""
    turn = turn_in()
    assert await desk.reply(turn, text="One.") == ToolAnswer(ok=True, text=Said.POSTED)
    assert (await desk.reply(turn, files=["plan.md"])).ok
    assert desk.throat.heard == [
        ("discord:100", 1, "One.", ()),
        ("discord:100", 2, "", ("plan.md",)),
    ]
    assert turn.marks.said == 2
    assert await desk.reply(turn, text="Three.") == ToolAnswer(ok=False, text=words.ENOUGH)


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "x", "channel": "999"},
        {"text": "x", "to": "discord:999"},
        {"text": 7},
        {"files": "plan.md"},
    ],
)
async def test_no_argument_names_a_place(desk: Desk, arguments: dict[str, object]) -> None:
    """Issue "Tools": the target is never an argument."""
    told = await desk.reply(turn_in(), **arguments)
    assert told == ToolAnswer(ok=False, text=BAD_ARGUMENTS)
    assert desk.throat.heard == []


async def test_what_cannot_be_said_is_told_and_does_not_count(desk: Desk) -> None:
    turn = turn_in()
    assert (await desk.reply(turn, text=" \u200b")).text == words.NOTHING
    assert (await desk.reply(turn_in(channel=None), text="x")).text == words.NO_PLACE
    shell = replace(turn_in(), surface=RunSurface.DIRECT)
    assert (await desk.reply(shell, text="x")).text == words.NO_PLACE
    assert desk.throat.heard == []
    assert (await desk.reply(turn, text="x", files=["/etc/passwd"])).text == FileFault.OUTSIDE
    desk.throat.becomes = Said.HELD
    assert await desk.reply(turn, text="x") == ToolAnswer(ok=False, text=Said.HELD)
    assert turn.marks.said == 0
    desk.throat.becomes = Said.ON_ITS_WAY
    other = turn_in()
    assert (await desk.reply(other, text="x")).ok
    assert other.marks.said == 1


async def test_silence_ends_a_turn_in_a_group(desk: Desk) -> None:
    """A clean end, and nothing is said after it."""
    for place in (Place.GROUP, Place.THREAD):
        turn = turn_in(place)
        assert await silent(turn) == ToolAnswer(ok=True, text=words.QUIET, ends_turn=True)
        assert turn.marks.silent
        assert (await desk.reply(turn, text="But!")).text == words.AFTER_SILENCE
    assert desk.throat.heard == []


async def test_nobody_is_left_waiting_in_a_direct_message() -> None:
    """Who writes there waits for an answer; a task, which nobody waits for, may be silent."""
    turn = turn_in(Place.DM)
    assert await silent(turn) == ToolAnswer(ok=False, text=words.SOMEBODY_WAITS)
    assert not turn.marks.silent
    assert (await silent(turn_in(Place.DM, message=None))).ends_turn
    assert (await silent(turn_in(), '{"until":"tomorrow"}')).text == BAD_ARGUMENTS


async def test_before_the_edge_is_there_nothing_can_be_said() -> None:
    voice = LateVoice()
    assert await voice.say(turn_in(), 1, "x", ()) is Said.FAILED
    voice.voice = throat = Throat()
    assert await voice.say(turn_in(), 1, "x", ()) is Said.POSTED
    assert len(throat.heard) == 1
