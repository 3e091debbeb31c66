"""The answer to a deferred command, also when the command took longer than Discord waits.

An interaction's token lives for fifteen minutes. What comes later goes to the person who asked, in
a direct message: never to the channel, where others would read it (P15).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import discord
import structlog

_EXPIRED: Final = frozenset({50027, 10015, 10062})
"""The token is dead, or the webhook and the interaction behind it are gone."""
_log = structlog.get_logger(__name__)


async def follow_up(
    interaction: discord.Interaction,
    content: str,
    *,
    file: discord.File | None = None,
    files: Sequence[discord.File] = (),
    ephemeral: bool = False,
    suppress_embeds: bool = False,
) -> None:
    """Send what a deferred command gave.

    Raises:
        HTTPException: Discord refuses for another reason, or the direct message as well.
    """
    nobody = discord.AllowedMentions.none()
    attached = [*files] if file is None else [file, *files]
    try:
        await interaction.followup.send(
            content,
            files=attached,
            ephemeral=ephemeral,
            suppress_embeds=suppress_embeds,
            allowed_mentions=nobody,
        )
    except discord.HTTPException as failure:
        if failure.code not in _EXPIRED:
            raise
        _log.info("command.answered_late", code=failure.code)
        for each in attached:
            each.reset()
        await interaction.user.send(
            content, files=attached, suppress_embeds=suppress_embeds, allowed_mentions=nobody
        )
