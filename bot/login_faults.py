"""Why the bot does not run, in one plain line that names what to change (P19)."""

from __future__ import annotations

from typing import Final

import aiohttp
import discord
import structlog

from bot.logs import describe
from compiler.errors import SafeError
from sessions.errors import SessionErrorCode

DISCORD_SAYS_NO: Final = (
    discord.LoginFailure,
    discord.HTTPException,
    discord.GatewayNotFound,
    discord.ConnectionClosed,
    discord.PrivilegedIntentsRequired,
    aiohttp.ClientError,
    OSError,
    TimeoutError,
)
"""What login and connection raise when it is not to be."""
BAD_TOKEN: Final = (
    "Discord does not accept the token. Put a fresh one from the Developer Portal (Bot > Reset "  # noqa: S105  (a text)
    "Token) into DISCORD_TOKEN."
)
NO_TOKEN: Final = "There is no token. Put the bot's token into DISCORD_TOKEN."  # noqa: S105  (a text)
INTENT_IS_OFF: Final = (
    'Discord refuses the privileged intent. Switch on "Message Content Intent" in the Developer '
    "Portal (Bot > Privileged Gateway Intents)."
)
INTENTS_INVALID: Final = (
    "Discord does not know the intents that were asked for. Update Inglenook, or check that "
    "[discord] api leads to Discord."
)
NOT_DISCORD: Final = "What answers at {api} is not Discord. Check [discord] api."
UNREACHABLE: Final = "Discord cannot be reached at {api}. Check the network and [discord] api."
DISK_FULL: Final = "The disk of this home is full. Make room, then start again."
STORE_CLOSED: Final = (
    "The database of this home cannot be used ({reason}). Look closer with: python3 -m bot doctor"
)
_NO_ROOM: Final = frozenset({"SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"})
"""No room in the file itself, or for the one beside it through which connections know each other,
which is made first."""
_BAD_TOKEN: Final = 4004
_INVALID_INTENTS: Final = 4013
_log = structlog.get_logger(__name__)


def why_ended(error: Exception, *, api: str) -> str:
    """Give the one sentence for a connection that cannot be; ``api`` is where it was tried."""
    code = error.code if isinstance(error, discord.ConnectionClosed) else None
    _log.error("discord.ended", code=code, **describe(error))
    if isinstance(error, discord.LoginFailure) or code == _BAD_TOKEN:
        return BAD_TOKEN
    if isinstance(error, discord.PrivilegedIntentsRequired):
        return INTENT_IS_OFF
    if code == _INVALID_INTENTS:
        return INTENTS_INVALID
    if code is not None:
        return f"Discord ended the connection for good (code {code})."
    sentence = UNREACHABLE if isinstance(error, DISCORD_SAYS_NO) else NOT_DISCORD
    return sentence.format(api=api)


def why_not_started(error: SafeError) -> str:
    """Give the sentence for the owner's terminal; that of a channel would ask him for patience."""
    if error.code != SessionErrorCode.STORE_UNAVAILABLE:
        return error.safe_message
    reason = str(error.facts.get("reason", ""))
    return DISK_FULL if reason in _NO_ROOM else STORE_CLOSED.format(reason=reason)
