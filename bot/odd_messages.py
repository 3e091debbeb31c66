"""Messages of a form that the library does not know: read without what it stumbles over (P12).

Discord adds forms and leaves fields out without notice, and the library gives a message up whole
for one field beside its words. Nobody's question is lost for that: the field is left out, and a
line says that something was there. Nor is what carries a message: a click under one, a command on
one, a page of a channel's past, and Discord's word that our answer to one was posted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import discord
import structlog

from bot import usual_fields
from bot.logs import describe

Json: TypeAlias = dict[str, Any]
Edit: TypeAlias = Callable[..., Awaitable[Json]]
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
    "edited_timestamp",
    "application_id",
    "member",
    "mention_roles",
    "mentions",
)
"""What a message may carry beside its words and its author, the likeliest to change first."""
_LISTS: Final = frozenset({"embeds", "attachments"})
"""These the library wants in any case."""
_Read = TypeVar("_Read")
_log = structlog.get_logger(__name__)


def read_odd(read: Callable[[Any], _Read], data: Json) -> _Read:
    """Read a message, without single fields if need be, then without more and more of them.

    Raises:
        Exception: whatever ``read`` raised first; not even its words can be read.
    """
    return _readable(read, data)[1]


def read_clicked(parse: Callable[[Any], None], state: Any) -> Callable[[Any], None]:  # noqa: ANN401  (the library's)
    """Read interactions whose messages are odd: the one clicked under, those a command is about."""

    def read(data: Json) -> None:
        make = partial(as_far, state, int(data.get("channel_id") or 0))
        resolved = (data.get("data") or {}).get("resolved") or {}
        if data.get("message"):
            data = data | {"message": make(data["message"])}
        if resolved.get("messages"):
            messages = {name: make(each) for name, each in resolved["messages"].items()}
            data = data | {"data": data["data"] | {"resolved": resolved | {"messages": messages}}}
        parse(data)

    return read


def readable(state: Any) -> Callable[..., discord.Message]:  # noqa: ANN401  (the library's)
    """Give what the library makes messages with of Discord's answers, odd ones included.

    It would take what stands in the channel for not posted, and one message for the end of a page.
    """
    make = state.create_message

    def create(*, channel: Any, data: Json) -> discord.Message:  # noqa: ANN401  (passed on)
        return read_odd(partial(make_in, channel), usual_fields.message(data))

    def make_in(channel: Any, data: Json) -> discord.Message:  # noqa: ANN401  (as above)
        made: discord.Message = make(channel=channel, data=data)
        return made

    return create


def as_far(state: Any, channel_id: int, data: Json) -> Json:  # noqa: ANN401  (the library's)
    """Give a message as far as it can be read, or as it came if not even its words can."""
    place = discord.PartialMessageable(state=state, id=channel_id)
    try:
        return _readable(partial(_message, state, place), usual_fields.message(data))[0]
    except Exception:  # noqa: BLE001  (foreign data; whoever reads it next says what is wrong)
        return data


def edited(edit: Edit, state: Any) -> Edit:  # noqa: ANN401  (the library's)
    """Edit a message, and give Discord's answer as far as it can be read."""

    async def send(channel_id: int, *args: Any, **kwargs: Any) -> Json:  # noqa: ANN401  (passed on)
        return as_far(state, channel_id, await edit(channel_id, *args, **kwargs))

    return send


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
    yield from (carried[:count] for count in range(2, len(carried) + 1))


def _without(data: Json, fields: tuple[str, ...]) -> Json:
    """Leave fields out, and say which in the form that every message may have."""
    left = {name: value for name, value in data.items() if name not in fields}
    left |= {name: [] for name in fields if name in _LISTS}
    named = ", ".join(name.replace("_", " ") for name in fields)
    told = {"type": "rich", "title": f"(something here cannot be read: {named})"}
    return left | {"embeds": [*(left.get("embeds") or []), told]}
