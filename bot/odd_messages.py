"""Messages of a form that the library does not know: read without what it stumbles over (P12).

Discord adds forms and leaves fields out without notice, and the library gives a message up whole
for one field beside its words. Nobody's question is lost for that: the field is left out, and a
line says that something was there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, TypeVar

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
    try:
        return read(data)
    except Exception as error:
        for fields in _attempts(data):
            try:
                found = read(_without(data, fields))
            except Exception:  # noqa: BLE001, S112  (the next attempt leaves out something else)
                continue
            _log.warning("message.read_in_part", without=", ".join(fields), **describe(error))
            return found
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
