"""Messages of a form that the library does not know: read without what it stumbles over (P12).

Discord adds forms and leaves fields out without notice, and the library gives a message up whole
for one field beside its words. Nobody's question is lost for that: the field is left out, and a
line says that something was there. Nor is what carries a message: a click under one, a command on
one, and Discord's word that our answer to one was posted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import discord
import structlog

from bot.logs import describe

Json: TypeAlias = dict[str, Any]
_BESIDE: Final = (
    "poll",
    "components",
    "message_snapshots",
    "embeds",
    "sticker_items",
    "attachments",
    "activity",
    "application",
    "interaction_metadata",
    "interaction",
    "call",
    "thread",
    "reactions",
    "role_subscription_data",
    "purchase_notification",
    "referenced_message",
    "message_reference",
)
"""What a message may carry beside its words and its author, the likeliest to change first."""
_LISTS: Final = frozenset({"embeds", "attachments"})
"""These the library wants in any case."""
_Read = TypeVar("_Read")
_log = structlog.get_logger(__name__)


def read_odd(read: Callable[[Any], _Read], data: Json) -> _Read:
    """Read a message, without single fields if need be, and in the end without any of them.

    Raises:
        Exception: whatever ``read`` raised first; not even its words can be read.
    """
    return _readable(read, data)[1]


def read_clicked(parse: Callable[[Any], None], state: Any) -> Callable[[Any], None]:  # noqa: ANN401  (the library's)
    """Read interactions whose messages are odd: the one clicked under, those a command is about."""

    def read(data: Json) -> None:
        place = discord.PartialMessageable(state=state, id=int(data.get("channel_id") or 0))
        make = partial(_message, state, place)
        resolved = (data.get("data") or {}).get("resolved") or {}
        if data.get("message"):
            data = data | {"message": _as_far(make, data["message"])}
        if resolved.get("messages"):
            messages = {name: _as_far(make, each) for name, each in resolved["messages"].items()}
            data = data | {"data": data["data"] | {"resolved": resolved | {"messages": messages}}}
        parse(data)

    return read


def without_quoted(send: Callable[..., Awaitable[Json]]) -> Callable[..., Awaitable[Json]]:
    """Post or edit, and take Discord's answer without the message that ours replies to.

    It is not ours and nobody needs it there; the library would take our message for not posted.
    """

    async def sent(*args: Any, **kwargs: Any) -> Json:  # noqa: ANN401  (passed on)
        answer = await send(*args, **kwargs)
        answer.pop("referenced_message", None)
        return answer

    return sent


def _as_far(read: Callable[[Any], object], data: Json) -> Json:
    """Give a message as far as it can be read, or as it came if not even its words can."""
    try:
        return _readable(read, data)[0]
    except Exception:  # noqa: BLE001  (foreign data; whoever reads it next says what is wrong)
        return data


def _message(state: Any, place: Any, data: Any) -> discord.Message:  # noqa: ANN401  (the library's)
    return discord.Message(state=state, channel=place, data=data)


def _readable(read: Callable[[Any], _Read], data: Json) -> tuple[Json, _Read]:
    """Give what of a message can be read, and what was read."""
    try:
        return data, read(data)
    except Exception as error:
        for fields in _attempts(data):
            left = _without(data, fields)
            try:
                found = read(left)
            except Exception:  # noqa: BLE001, S112  (the next attempt leaves out something else)
                continue
            _log.warning("message.read_in_part", without=", ".join(fields), **describe(error))
            return left, found
        raise


def _attempts(data: Json) -> Iterator[tuple[str, ...]]:
    carried = tuple(name for name in _BESIDE if data.get(name))
    yield from ((name,) for name in carried)
    if len(carried) > 1:
        yield carried


def _without(data: Json, fields: tuple[str, ...]) -> Json:
    """Leave fields out, and say which in the form that every message may have."""
    left = {name: value for name, value in data.items() if name not in fields}
    left |= {name: [] for name in fields if name in _LISTS}
    named = ", ".join(name.replace("_", " ") for name in fields)
    told = {"type": "rich", "title": f"(something here cannot be read: {named})"}
    return left | {"embeds": [*left.get("embeds", []), told]}
