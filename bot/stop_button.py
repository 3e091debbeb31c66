"""The Stop button under a running turn: for who asked, and for owners; it outlives a restart.

Its id says which message the turn answers and whose it is, so nothing about it is kept in this
process. Pressed when that turn is over, it says so.
"""

from __future__ import annotations

import re
from typing import Any, Final, Self

import discord
import structlog
from discord.ext import commands

from bot import ingress
from bot.buttons import Interaction, hand_on, laid_out
from bot.client import InglenookBot
from bot.errors import answer
from bot.permissions import is_owner
from bot.stop_word import told_of
from compiler.request import ChannelId, TurnId
from sessions.registry import Registry

NOT_YOURS: Final = "Only who asked, or my owner, can stop that."
OVER: Final = "That is over already."
_log = structlog.get_logger(__name__)


class StopButton(
    discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]],
    template=r"stop:(?P<message>[0-9]{1,20}):(?P<user>[0-9]{1,20})",
):
    """A button whose id names the message whose turn it stops, and the person who asked."""

    def __init__(self, message_id: int, user_id: int) -> None:
        super().__init__(
            discord.ui.Button(
                label="Stop",
                style=discord.ButtonStyle.secondary,
                custom_id=f"stop:{message_id}:{user_id}",
            )
        )
        self._message_id = message_id
        self._user_id = user_id

    @classmethod
    async def from_custom_id(
        cls, _: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
    ) -> Self:
        """Read a pressed button's id."""
        del item
        return cls(int(match["message"]), int(match["user"]))

    async def callback(self, interaction: Interaction) -> None:
        """Hand the press on."""
        cog = interaction.client.get_cog(StopButtons.__cog_name__)
        if isinstance(cog, StopButtons):
            work = cog.press(interaction, message_id=self._message_id, user_id=self._user_id)
            await hand_on(interaction, work)


def stop_view(message_id: int, user_id: int) -> discord.ui.View:
    """Lay out the button."""
    return laid_out([StopButton(message_id, user_id)])


class StopButtons(commands.Cog):
    """Does what the button says."""

    def __init__(self, bot: InglenookBot, registry: Registry) -> None:
        self._bot = bot
        self._live = bot.live
        self._registry = registry

    async def cog_load(self) -> None:
        """Let the buttons of earlier starts work too."""
        self._bot.add_dynamic_items(StopButton)

    async def press(self, interaction: Interaction, *, message_id: int, user_id: int) -> None:
        """Stop the turn of a message, if this person may and it runs still."""
        settings = self._live.current
        if interaction.user.id != user_id and not is_owner(interaction.user.id, settings):
            await answer(interaction, NOT_YOURS)
            return
        done = self._registry.stop_turn(
            TurnId(f"{ingress.PROVIDER}:message:{message_id}"),
            ChannelId(ingress.prefixed(interaction.channel_id or 0)),
            drop=settings.talk.on_stop == "drop",
        )
        _log.info("turn.stop_pressed", message_id=message_id, stopped=done.stopped)
        await answer(interaction, told_of(done) if done.stopped else OVER)
