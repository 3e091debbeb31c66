"""What the bot asks of a server, and the link that invites it with just that. Pure."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

import discord

from config.settings import DISCORD_API

PERMISSIONS: Final = (
    "view_channel",
    "send_messages",
    "send_messages_in_threads",
    "read_message_history",
    "attach_files",
    "add_reactions",
)
"""By discord.py's names; the README says why each."""
_SCOPES: Final = "bot applications.commands"


def invite_link(application: str, *, api: str = DISCORD_API) -> str:
    """Give the address that invites an application; ``api`` says on which Discord."""
    wanted = discord.Permissions(**dict.fromkeys(PERMISSIONS, True))
    query = {"client_id": application, "scope": _SCOPES, "permissions": str(wanted.value)}
    origin = api.partition("/api")[0]
    return f"{origin}/oauth2/authorize?{urlencode(query)}"
