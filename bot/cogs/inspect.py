"""``/inspect``: a link to the owner's page, in a direct message.

The link is a key for some minutes, so it goes where nobody else reads it; the answer to the command
names none of it.
"""

from __future__ import annotations

import asyncio
from typing import Final

import discord
from discord import app_commands
from discord.ext import commands

from bot.follow_up import follow_up
from bot.inspector.server import Inspector
from bot.permissions import owner_only
from bot.sending import FAILURES

SEND_SECONDS: Final = 20.0
OFF: Final = "My inspector is off. Set `enabled = true` under `[inspector]`, and start me again."
SENT: Final = "I have sent you a link. It opens on the machine that I run on."
UNSENT: Final = (
    "I could not send you a direct message. Allow them from this server, and try again; or start "
    "me again, and take the link that is printed then."
)


class InspectCog(commands.Cog):
    """One command; ``inspector`` makes the links. None: it is off, or has no port."""

    def __init__(self, inspector: Inspector | None) -> None:
        self._inspector = inspector

    @app_commands.command()
    @owner_only
    async def inspect(self, interaction: discord.Interaction) -> None:
        """Send me a link to the page that shows what each answer was made of."""
        await interaction.response.defer(ephemeral=True)
        told = OFF if self._inspector is None else await _send(interaction.user, self._inspector)
        await follow_up(interaction, told, ephemeral=True)


async def _send(person: discord.User | discord.Member, inspector: Inspector) -> str:
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await person.send(
                message(inspector),
                suppress_embeds=True,
                allowed_mentions=discord.AllowedMentions.none(),
            )
    except FAILURES:
        return UNSENT
    return SENT


def message(inspector: Inspector) -> str:
    """Tell what the link is for, and how far it goes."""
    port = inspector.port
    return (
        f"Open this on the machine that I run on:\n<{inspector.link()}>\n"
        f"It lets one browser in, once, and for {inspector.link_minutes:g} minutes. "
        f"From elsewhere, first: `ssh -L {port}:127.0.0.1:{port} <that machine>`"
    )
