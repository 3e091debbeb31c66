"""Fields that an event may come without though the library wants them; pure.

Discord's documentation calls them optional, or they are too new to be everywhere, or there is
nothing in place of a list. An event is worth more than any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import discord

Json: TypeAlias = dict[str, Any]
_INTERACTION: Final = "INTERACTION_CREATE"
_MESSAGES: Final = ("MESSAGE_CREATE", "MESSAGE_UPDATE")
_USUAL: Final[Mapping[str, Mapping[str, object]]] = {
    "READY": {"shard": (0, 1)},
    _INTERACTION: {"version": 1, "attachment_size_limit": 10 * 1024 * 1024},
}
_UNASKED: Final = ("entitlements", "entitlement_skus", "authorizing_integration_owners")
"""What nobody here asks an interaction for; it may be of any form."""
EVENTS: Final = (*_USUAL, *_MESSAGES)
"""The events that are filled in."""


def filled(event: str, data: Json) -> Json:
    """Give an event with what the library wants in it; what Discord says of itself stays."""
    if event in _MESSAGES:
        return message(data)
    if event == _INTERACTION:
        return _interaction(data)
    return {**_USUAL[event], **data}


def message(data: Json) -> Json:
    """Give a message in which nothing stands in place of a list, and people have what they need."""
    whole = _without_nulls(data, but="referenced_message")  # there it says that one was deleted
    if "content" in data:
        whole["content"] = data["content"] or ""
    for name, fill in _IN_MESSAGES.items():
        if whole.get(name):
            whole[name] = fill(whole[name])
    return whole


def _person(data: Json) -> Json:
    """Give a user, alone or with what he is in a server."""
    named = data.get("username") or data.get("global_name") or "unknown"
    whole = {"discriminator": "0", "avatar": None, **data, "username": named}
    return whole | {"member": _member(data["member"])} if data.get("member") else whole


def _people(data: list[Json | None]) -> list[Json]:
    return [_person(each) for each in data if each]


def _member(data: Json) -> Json:
    whole = {"roles": [], "flags": 0, **_without_nulls(data)}
    return whole | {"user": _person(whole["user"])} if "user" in whole else whole


_IN_MESSAGES: Final[Mapping[str, Callable[[Any], object]]] = {
    "author": _person,
    "member": _member,
    "mentions": _people,
    "referenced_message": message,
}


def _interaction(data: Json) -> Json:
    told = {name: value for name, value in data.items() if name not in _UNASKED}
    whole = {**_USUAL[_INTERACTION], **_without_nulls(told)}
    if "channel" not in whole and "channel_id" in whole:
        whole["channel"] = _channel(whole)
    if "user" in whole:
        whole["user"] = _person(whole["user"])
    if "guild_id" in whole and "user" in whole:  # who is told of otherwise than usual
        whole.setdefault("member", {"user": whole["user"]})
    if "member" in whole:
        whole["member"] = _member(whole["member"])
    if "message" in whole:
        whole["message"] = message(whole["message"])
    if "data" in whole:
        whole["data"] = _asked(whole["data"])
    return whole


def _asked(data: Json) -> Json:
    """Give what an interaction is about; ``resolved`` has the things named in it, by their ids."""
    whole = _without_nulls(data)
    resolved = _without_nulls(whole.get("resolved", {}))
    for kind, fill in (("users", _person), ("members", _member), ("messages", message)):
        if kind in resolved:
            resolved[kind] = {number: fill(each) for number, each in resolved[kind].items()}
    return whole | {"resolved": resolved} if resolved else whole


def _channel(data: Json) -> Json:
    """Name the place by its id; the kind of a server's channel is known by then."""
    place = {"id": data["channel_id"]}
    return place if "guild_id" in data else place | {"type": discord.ChannelType.private.value}


def _without_nulls(data: Json, *, but: str = "") -> Json:
    return {name: value for name, value in data.items() if value is not None or name == but}
