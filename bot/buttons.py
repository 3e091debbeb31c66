"""Buttons whose ids say all they need, so that they work after a restart as before it.

Nothing of them is kept in this process: which kinds there are is told to the library once
(``add_dynamic_items``), and a press finds its topic by name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Any, TypeAlias

import discord

from bot.errors import answer_command_error

Interaction: TypeAlias = discord.Interaction[Any]
LastingButton: TypeAlias = discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]]


def laid_out(buttons: Iterable[LastingButton]) -> discord.ui.View:
    """Put buttons side by side."""
    view = discord.ui.View(timeout=None)
    for button in buttons:
        view.add_item(button)
    view.stop()  # the clicks come by the ids, after a restart as well
    return view


async def hand_on(interaction: Interaction, work: Awaitable[None]) -> None:
    """Have a press carried out, and word a failure where all of them are worded."""
    try:
        await work
    except Exception as error:  # noqa: BLE001  (the border: discord.py would log its text)
        await answer_command_error(interaction, error)
