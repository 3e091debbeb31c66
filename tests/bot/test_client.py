"""The commands as Discord gets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.client import InglenookBot, command_forms, command_hash, intents
from bot.cogs.channel import ChannelCog
from bot.cogs.context import ContextCog
from bot.cogs.doctor import DoctorCog
from bot.cogs.gates import Gates
from bot.cogs.imp import ImpCog
from bot.cogs.memory import MemoryCog
from bot.cogs.memory_menus import MemoryMenus
from bot.cogs.runs import Runs
from bot.cogs.sessions import SessionsCog
from bot.cogs.state import StateCog
from bot.runs.book import RunBook
from config.load import LiveConfig, ensure_home
from sessions.sources import Sources
from support.discord_messages import ME, user

Form = dict[str, Any]


class Nothing:
    """Commands are only described here, never run."""


@pytest.fixture
async def forms(tmp_path: Path) -> list[Form]:
    ensure_home(tmp_path)
    live = LiveConfig(tmp_path, environ={})

    async def setup(bot: InglenookBot) -> None:
        nothing: Any = Nothing()
        await bot.add_cog(SessionsCog(live, nothing))
        await bot.add_cog(ChannelCog(live))
        await bot.add_cog(ImpCog(live, Sources(tmp_path)))
        await bot.add_cog(DoctorCog(live))
        await bot.add_cog(Runs(bot, book=RunBook(tmp_path, None)))
        await bot.add_cog(StateCog(live, nothing))
        await bot.add_cog(Gates(bot, desk=nothing))
        await bot.add_cog(ContextCog(live, nothing))
        await bot.add_cog(MemoryCog(bot, memory=nothing))
        await bot.add_cog(MemoryMenus(bot, memory=nothing, desk=nothing, runs=nothing))

    bot = InglenookBot(live, setup=setup)
    await bot.setup_hook()
    return [dict(form) for form in command_forms(bot.tree)]


def is_hidden(form: Form) -> bool:
    return bool(form["default_member_permissions"] == 0)


def leaves(forms: list[Form], path: str = "") -> list[tuple[str, Form]]:
    found: list[tuple[str, Form]] = []
    for form in forms:
        name = f"{path} {form['name']}".strip()
        below = [option for option in form.get("options", ()) if option["type"] == 1]
        found += leaves(below, name) if below else [(name, form)]
    return found


async def test_the_owner_commands_are_those_of_the_issue(forms: list[Form]) -> None:
    """Issue "Bot": the list of slash commands, and the context menu."""
    wanted = {f"runs {name}" for name in ("list", "show", "context", "diff", "receipt")}
    wanted |= {f"sessions {name}" for name in ("list", "show", "reset", "stop")}
    wanted |= {f"channel {name}" for name in ("enable", "disable", "show", "mode", "purpose")}
    wanted |= {f"channel {name}" for name in ("directives", "threads", "trust", "replies")}
    wanted |= {f"gates {name}" for name in ("list", "show", "approve", "deny")}
    wanted |= {"imp list", "imp reload"}
    wanted |= {"imp show", "doctor", "context preview", "Why this answer?"}
    names = [name for name, _ in leaves([form for form in forms if is_hidden(form)])]
    assert set(names) == wanted
    assert len(names) == len(wanted)


async def test_an_event_that_cannot_be_read_ends_nothing(tmp_path: Path) -> None:
    """Issue "Bad input": the library would end the whole bot over one missing field."""
    ensure_home(tmp_path)

    async def setup(_: InglenookBot) -> None: ...

    parsers = InglenookBot(LiveConfig(tmp_path, environ={}), setup=setup)._connection.parsers
    half = {"id": "1", "channel_id": "2", "embeds": []}
    with capture_logs() as logs:
        for name in ("MESSAGE_CREATE", "MESSAGE_UPDATE", "TYPING_START", "INTERACTION_CREATE"):
            parsers[name](half)
    assert {entry["event"] for entry in logs} == {"discord.event_unreadable"}
    assert "embeds" not in repr(logs)
    with pytest.raises(KeyError):
        parsers["READY"](half)


async def test_ready_need_not_name_the_only_shard(tmp_path: Path) -> None:
    """Discord's documentation lets READY leave out ``shard``; the library wants it."""
    ensure_home(tmp_path)

    async def setup(_: InglenookBot) -> None: ...

    bot = InglenookBot(LiveConfig(tmp_path, environ={}), setup=setup)
    bot._connection.shard_ids = [0]
    bot._connection.parsers["READY"]({"user": user(ME), "guilds": []})
    assert bot.user is not None
    assert bot.user.id == ME


async def test_what_is_everyones_is_shown_to_everyone(forms: list[Form]) -> None:
    """Issues "Memory" and "House rules": one's own notes, and the conversation's state."""
    shown = {form["name"] for form in forms if not is_hidden(form)}
    assert shown == {"memory", "state", "Remember this", "Forget this", "What was used?"}
    names = {name for name, _ in leaves(forms) if name.startswith("memory ")}
    own = ("list", "search", "show", "remember", "confirm", "forget", "correct", "pin", "export")
    assert names == {f"memory {name}" for name in (*own, "consent", "inspect")}


async def test_all_commands_are_described_and_shown_in_servers_and_dms(forms: list[Form]) -> None:
    """Issue "Bot": contexts guild and DM; every option says what it is."""
    for form in forms:
        assert form["default_member_permissions"] in {0, None}
        assert sorted(form["contexts"]) == [0, 1]
    for name, form in leaves(forms):
        if form["type"] == 1:
            assert len(form["description"]) >= 10, name
            assert all(len(option["description"]) >= 3 for option in form.get("options", ())), name


async def test_a_change_of_a_command_changes_the_hash(forms: list[Form]) -> None:
    """P16: unchanged commands are not written again; a change is noticed."""
    before = command_hash(forms)
    assert before == command_hash([dict(form) for form in forms])
    forms[0]["description"] = "another"
    assert command_hash(forms) != before


async def test_nobody_hears_of_missing_voice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A start says nothing that its reader cannot use: this bot has no voice to miss."""
    ensure_home(tmp_path)

    async def setup(_: InglenookBot) -> None:
        """Add nothing."""

    InglenookBot(LiveConfig(tmp_path, environ={}), setup=setup)
    assert caplog.records == []


def test_no_more_intents_than_needed() -> None:
    """Issue "Bot": no member lists; servers, messages, content and typing only."""
    assert {name for name, on in intents() if on} == {
        "guilds",
        "guild_messages",
        "dm_messages",
        "message_content",
        "guild_typing",
        "dm_typing",
    }


async def test_a_shard_without_a_connection_is_deaf(tmp_path: Path) -> None:
    """Not ready before the first READY, nor while any shard is away; a resume counts as back."""
    bot = InglenookBot(LiveConfig(tmp_path, environ={}, overrides={}), setup=_no_cogs)
    heard = [bot.hears]
    bot.connected.set()
    heard.append(bot.hears)
    await bot.on_shard_disconnect(0)
    await bot.on_shard_disconnect(1)
    await bot.on_shard_resumed(1)
    heard.append(bot.hears)
    await bot.on_shard_ready(0)
    heard.append(bot.hears)
    assert heard == [False, True, False, True]


async def _no_cogs(bot: InglenookBot) -> None:
    del bot
