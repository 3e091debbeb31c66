"""A purpose is proposed as it would be written, and written as it was approved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compiler.budget import ContextBudgets
from compiler.request import ChannelId, ImpName, Place, Role, RunId, RunScope, TurnId, UserId
from sessions.gate_execution import ActionFailed
from sessions.gates import EffectKind, Gate, GateId, GateOrigin, GateRules, file_gate
from sessions.sources import Sources
from sessions.tools import purpose as words
from sessions.tools.call import BAD_ARGUMENTS, ToolCall, ToolTurn
from sessions.tools.purpose import PurposeErrorCode, PurposeTool

EMBER = ImpName("ember")


def turn_in(channel: str | None, parent: str | None = None) -> ToolTurn:
    return ToolTurn(
        imp=EMBER,
        scope=RunScope(
            provider="discord",
            place=Place.THREAD if parent else Place.GROUP,
            channel_id=None if channel is None else ChannelId(channel),
            parent_channel_id=None if parent is None else ChannelId(parent),
            user_id=UserId("discord:8"),
            role=Role.MEMBER,
        ),
        run_id=RunId("r"),
        turn_id=TurnId("t"),
        offered=frozenset({"propose_purpose"}),
    )


async def proposed(tool: PurposeTool, turn: ToolTurn, text: str) -> Gate:
    arguments = await tool.prepare(turn, {"text": text, "reason": "asked"})
    assert not isinstance(arguments, str), arguments
    return file_gate(
        GateId("g-1"),
        GateOrigin.of(EMBER, turn.scope, run_id=turn.run_id, turn_id=turn.turn_id),
        tool="propose_purpose",
        arguments=dict(arguments),
        effect=EffectKind.REPEATABLE,
        intent="",
        rationale="",
        now_ms=0,
        rules=GateRules(),
    )


@pytest.fixture
def tool(tmp_path: Path) -> PurposeTool:
    return PurposeTool(tmp_path, budgets=lambda _: ContextBudgets(purpose_max_chars=30))


async def test_what_was_approved_is_written_and_read(tool: PurposeTool, tmp_path: Path) -> None:
    """A thread has its channel's purpose; carried out again it changes nothing (REPEATABLE)."""
    turn = turn_in("discord:101", parent="discord:100")
    gate = await proposed(tool, turn, "  Tend the fire.\r\nAsk first. ")
    assert await tool.perform(gate) == words.DONE
    file = tmp_path / "channels" / "100" / "purpose.md"
    assert file.read_text() == "Tend the fire.\nAsk first.\n"
    assert file.stat().st_mode & 0o077 == 0
    stamp = file.stat().st_mtime_ns
    assert await tool.perform(gate) == words.DONE
    assert file.stat().st_mtime_ns == stamp
    source = Sources(tmp_path)._purpose(turn.scope.home_channel_id)
    assert source is not None
    assert [path.name for path in file.parent.iterdir()] == ["purpose.md"]


async def test_an_owners_newer_words_stand(tool: PurposeTool, tmp_path: Path) -> None:
    """What would be replaced is frozen with the proposal."""
    file = tmp_path / "channels" / "100" / "purpose.md"
    file.parent.mkdir(parents=True)
    file.write_text("Old.\n")
    gate = await proposed(tool, turn_in("discord:100"), "New.")
    file.write_text("The owner's.\n")
    with pytest.raises(ActionFailed) as failed:
        await tool.perform(gate)
    assert failed.value.code == PurposeErrorCode.CHANGED
    assert file.read_text() == "The owner's.\n"
    assert json.loads(gate.payload)["text"] == "New."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", words.EMPTY),
        (" \n ", words.EMPTY),
        ("x" * 31, words.TOO_LONG.format(chars=30)),
        ("over\u202eride", words.UNSEEN),
        ("zero\u200bwidth", words.UNSEEN),
        ("bell\x07", words.UNSEEN),
        ("tea\ufe00", words.UNSEEN),
        ("tea\U000e0141\U000e0158", words.UNSEEN),
        ("tag\U000e0041", words.UNSEEN),
        ("filler\u3164", words.UNSEEN),
        ("\ue000", words.UNSEEN),
    ],
)
async def test_what_could_not_be_approved_with_open_eyes_is_not_filed(
    tool: PurposeTool, text: str, told: str
) -> None:
    assert await tool.prepare(turn_in("discord:100"), {"text": text}) == told


async def test_pictures_and_every_script_may_stand_in_a_purpose(tool: PurposeTool) -> None:
    """What joins pictures is seen by what it makes; a text may fill its limit to the last sign."""
    for text in ("❤️‍🔥 tea", "чай, お茶\u3000ได้\tà", "x" * 30):
        arguments = await tool.prepare(turn_in("discord:100"), {"text": text})
        assert not isinstance(arguments, str), arguments
        assert arguments["text"] == text


async def test_no_argument_names_a_channel(tool: PurposeTool, tmp_path: Path) -> None:
    """CC "Purpose": naming another channel never selects its purpose."""
    turn = turn_in("discord:100")
    for arguments in ({"text": "x", "channel": "999"}, {"text": 7}, {}):
        assert await tool.prepare(turn, arguments) == BAD_ARGUMENTS
    assert await tool.prepare(turn_in(None), {"text": "x"}) == words.NO_CHANNEL
    assert await tool.prepare(turn_in("discord:../../x"), {"text": "x"}) == words.NO_CHANNEL
    told = await tool.answer(turn, ToolCall(name="propose_purpose", arguments='{"text":"x"}'))
    assert not told.ok
    await tool.perform(await proposed(tool, turn, "x"))
    assert await tool.prepare(turn, {"text": "x"}) == words.SAME
    assert [path.name for path in (tmp_path / "channels").iterdir()] == ["100"]
