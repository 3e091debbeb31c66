"""What people fill in: the form for a channel's purpose."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import discord

from bot.errors import answer_command_error

MAX_FORM_CHARS = 4000
"""Discord's longest text field."""
Save: TypeAlias = Callable[[discord.Interaction, str], Awaitable[None]]


class PurposeForm(discord.ui.Modal, title="What is this channel for?"):
    """One text field with the present purpose; ``save`` gets what was sent."""

    purpose: discord.ui.TextInput[PurposeForm] = discord.ui.TextInput(
        label="Purpose",
        style=discord.TextStyle.paragraph,
        required=False,
        max_length=MAX_FORM_CHARS,
        placeholder="What the imp should do here. Empty it to have no purpose.",
    )

    def __init__(self, present: str, save: Save) -> None:
        super().__init__()
        self.purpose.default = present
        self._save = save

    async def on_submit(self, interaction: discord.Interaction, /) -> None:
        """Hand the text on."""
        await self._save(interaction, self.purpose.value)

    async def on_error(  # type: ignore[override]  # a form's has no item, unlike a view's
        self, interaction: discord.Interaction, error: Exception, /
    ) -> None:
        """Word a failure where all of them are worded."""
        await answer_command_error(interaction, error)
