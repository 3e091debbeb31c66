"""Fields that an event may come without though the library wants them; pure.

Discord's documentation calls them optional, or they are too new to be everywhere. An event is worth
more than any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import discord

Json: TypeAlias = dict[str, Any]
_INTERACTION: Final = "INTERACTION_CREATE"
_USUAL: Final[Mapping[str, Mapping[str, object]]] = {
    "READY": {"shard": (0, 1)},
    _INTERACTION: {"version": 1, "attachment_size_limit": 10 * 1024 * 1024},
}
EVENTS: Final = tuple(_USUAL)
"""The events that are filled in."""


def filled(event: str, data: Json) -> Json:
    """Give an event with what the library wants in it; what Discord says of itself stays."""
    whole = {**_USUAL[event], **data}
    if event == _INTERACTION and "channel" not in whole and "channel_id" in whole:
        whole["channel"] = _channel(whole)
    return whole


def _channel(data: Json) -> Json:
    """Name the place by its id; the kind of a server's channel is known by then."""
    place = {"id": data["channel_id"]}
    return place if "guild_id" in data else place | {"type": discord.ChannelType.private.value}
