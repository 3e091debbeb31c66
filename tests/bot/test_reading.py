"""What a message is here, by the settings of the moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import discord
import pytest

from bot.client import InglenookBot
from bot.reading import Reader
from bot.wake import Wake
from compiler.request import Role
from config.load import LiveConfig, ensure_home
from support.discord_messages import ADA, BO, HEARTH, ME, make_message, make_state, user

PROXY, WEBHOOK = 7000, 7001


@pytest.fixture
async def reader(tmp_path: Path) -> Reader:
    ensure_home(tmp_path)
    settings = {
        "discord": {"owners": [str(ADA)]},
        "allow": {"proxies": [str(PROXY)], "bots": [str(WEBHOOK)]},
        "channels": {str(HEARTH): {"enabled": True}},
    }

    async def setup(_: InglenookBot) -> None: ...

    bot = InglenookBot(LiveConfig(tmp_path, environ={}, overrides=settings), setup=setup)
    me: Any = user(ME)
    bot._connection.user = discord.ClientUser(state=bot._connection, data=me)
    return Reader(bot)


def webhook_says(text: str, application: int) -> discord.Message:
    """A webhook of an application, which has a person's name and no membership."""
    return make_message(
        make_state(),
        text,
        author=WEBHOOK,
        webhook_id=str(WEBHOOK),
        application_id=str(application),
    )


async def test_words_in_a_proxys_mouth_are_a_persons_of_whom_nothing_is_known(
    reader: Reader,
) -> None:
    """Issue "Message types": a proxy's copy is no bot's message, and nobody's own either."""
    copy = webhook_says(f"<@{ME}> hello", PROXY)
    facts = reader.facts(copy)
    inbound = reader.inbound(copy, facts, 0)
    assert (facts.is_bot, facts.author_id) == (False, "")
    assert (inbound.scope.user_id, inbound.scope.role) == (None, Role.MEMBER)
    assert inbound.message.author_id is None
    assert reader.seen(copy).entry.author_id is None


async def test_any_other_webhook_is_a_bot(reader: Reader) -> None:
    """P10: what makes a copy a person's words is the proxy's id, not its being a webhook."""
    message = webhook_says(f"<@{ME}> hello", PROXY + 5)
    facts = reader.facts(message)
    assert not reader.is_copy(message)
    assert (facts.is_bot, facts.author_id) == (True, str(WEBHOOK))
    assert reader.seen(message).entry.author_id == f"discord:{WEBHOOK}"


async def test_both_forms_of_our_own_mark_count(reader: Reader) -> None:
    """P18: older clients write a mention by nickname."""
    assert reader.marks == (f"<@{ME}>", f"<@!{ME}>")


@pytest.mark.parametrize(
    ("channel", "guild", "kept"), [(HEARTH, 20, True), (HEARTH + 5, 20, False), (90, None, False)]
)
async def test_only_enabled_channels_of_a_server_keep_what_anybody_says(
    reader: Reader, *, channel: int, guild: int | None, kept: bool
) -> None:
    """Privacy: elsewhere only what is answered is kept."""
    assert reader.keeps_all(reader.place_facts(channel, guild, BO, None)) is kept


async def test_who_may_speak_is_read_anew_each_time(reader: Reader) -> None:
    """P03: who was let in by a click may write in private, and nowhere else by that."""
    private = reader.place_facts(90, None, BO, None)
    closed = reader.place_facts(HEARTH + 5, 20, BO, None)
    assert reader.wake(private) is Wake.DECLINE
    reader._bot.paired.add(str(BO))
    assert reader.wake(private) is Wake.ANSWER
    assert reader.wake(closed) is Wake.IGNORE
