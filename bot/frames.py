"""A frame of the gateway that cannot be read costs its connection, and not the bot (P05).

The library ends for good over one: half a line, a stream that something in between broke, a form
that is not Discord's. A connection that once was ready is begun afresh instead, after the waits of
any lost connection; what was missed meanwhile is read over REST.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog
from discord.shard import Shard

from bot.logs import describe
from bot.sending import UNREADABLE

BROKEN: Final = (*UNREADABLE, zlib.error)
CLOSE_CODE: Final = 4000
"""Not 1000: with that the library takes the end for wanted."""
_log = structlog.get_logger(__name__)


def keep(shard: Shard) -> None:
    """Let a shard that is ready live through frames that cannot be read; once for each shard."""
    if zlib.error in shard._handled_exceptions:  # noqa: SLF001  (the library has no other place)
        return
    shard._handled_exceptions += BROKEN  # noqa: SLF001  (as above)
    shard._handle_disconnect = _leaving(shard, shard._handle_disconnect)  # type: ignore[method-assign, assignment]  # noqa: SLF001  (as above)


def _leaving(
    shard: Shard, begin_anew: Callable[[Exception], Awaitable[None]]
) -> Callable[[Exception], Any]:
    """Close a connection that still stands, before the next one is made."""

    async def leave(error: Exception) -> None:
        if isinstance(error, BROKEN):
            _log.warning("discord.frame_unreadable", shard_id=shard.id, **describe(error))
            await shard.ws.close(CLOSE_CODE)
        await begin_anew(error)

    return leave
