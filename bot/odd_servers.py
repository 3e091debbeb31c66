"""Servers with something in them that the library does not know: taken without it (P05).

The library gives a whole server up for one channel, sound or event of a new form, and with it all
that is said there. What it cannot read alone is left out, and the rest is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import discord
import structlog

from bot.logs import describe

Json: TypeAlias = dict[str, Any]
_log = structlog.get_logger(__name__)


def read_server(read: Callable[[Json], None], state: Any, data: Json) -> None:  # noqa: ANN401  (the library's)
    """Read a server, without single entries of its lists if need be.

    Args:
        read: the library's reading, which must not have taken anything when it raises.
        state: the library's connection.
        data: Discord's JSON of GUILD_CREATE.

    Raises:
        Exception: whatever ``read`` raised; not even the rest can be read.
    """
    try:
        read(data)
    except Exception as error:
        lists = {name: entries for name, entries in data.items() if isinstance(entries, list)}
        kept = {
            name: [each for each in entries if _is_readable(state, data["id"], name, each)]
            for name, entries in lists.items()
        }
        lost = [f"{len(lists[name]) - len(kept[name])} {name}" for name in lists]
        lost = [each for each in lost if not each.startswith("0 ")]
        if not lost:
            raise
        _log.warning("server.read_in_part", without=", ".join(lost), **describe(error))
        read({**data, **kept})


def _is_readable(state: Any, server_id: str, name: str, entry: Any) -> bool:  # noqa: ANN401  (as above)
    """Try an entry in a server that holds nothing else."""
    alone: Any = {"id": server_id, name: [entry]}
    try:
        discord.Guild(data=alone, state=state)
    except Exception:  # noqa: BLE001  (foreign data; it is left out)
        return False
    return True
