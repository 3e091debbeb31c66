"""Discord's limits for embeds and components; pure, raising 50035 with the path of the fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.playground.entities import MessageFlag
from bot.playground.errors import FieldPath, one_field
from bot.playground.world.bodies import CUSTOM_ID_LIMIT_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bot.playground.entities import Payload

ACTION_ROW = 1
BUTTON = 2
TEXT_INPUT = 4
LINK_STYLE = 5
PREMIUM_STYLE = 6
STRING_SELECT = 3
SELECTS = frozenset({STRING_SELECT, 5, 6, 7, 8})

EMBED_TOTAL_CHARS = 6000
EMBED_FIELDS = 25
_EMBED_CHARS = {"title": 256, "description": 4096}
_FIELD_CHARS = {"name": 256, "value": 1024}
ROWS = 5
V2_COMPONENTS = 40
V2_TEXT_CHARS = 4000
ROW_BUTTONS = 5
BUTTON_LABEL_CHARS = 80
SELECT_OPTIONS = 25
MODAL_LABEL_CHARS = 45
TEXT_INPUT_CHARS = 4000


def check_embeds(embeds: Sequence[Payload]) -> None:
    """Refuse embeds that are too long, alone or together."""
    total = 0
    for index, embed in enumerate(embeds):
        path: FieldPath = ("embeds", index)
        for key, limit in _EMBED_CHARS.items():
            total += _bounded(embed.get(key), limit, (*path, key))
        for key, inner, limit in (("footer", "text", 2048), ("author", "name", 256)):
            holder = _object(embed.get(key), (*path, key))
            total += _bounded(holder.get(inner), limit, (*path, key, inner))
        fields = _objects(embed.get("fields"), (*path, "fields"))
        if len(fields) > EMBED_FIELDS:
            raise _length((*path, "fields"), EMBED_FIELDS)
        for number, field in enumerate(fields):
            for key, limit in _FIELD_CHARS.items():
                total += _bounded(field.get(key), limit, (*path, "fields", number, key), least=1)
    if total > EMBED_TOTAL_CHARS:
        raise one_field(
            ("embeds",),
            "MAX_EMBED_SIZE_EXCEEDED",
            f"Embed size exceeds maximum size of {EMBED_TOTAL_CHARS}",
        )


def check_components(components: Sequence[Payload], flags: int) -> None:
    """Refuse components that Discord would not show."""
    everything = list(walk(components))
    if flags & MessageFlag.COMPONENTS_V2:
        _check_v2(everything)
    else:
        if len(components) > ROWS:
            raise _length(("components",), ROWS)
        for index, row in enumerate(components):
            _check_row(row, ("components", index))
    _check_ids(everything)


def _check_v2(everything: list[tuple[FieldPath, Payload]]) -> None:
    if len(everything) > V2_COMPONENTS:
        raise one_field(
            ("components",),
            "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED",
            f"The total number of components must be {V2_COMPONENTS} or fewer.",
        )
    text = sum(len(str(part.get("content", ""))) for _, part in everything)
    if text > V2_TEXT_CHARS:
        raise one_field(
            ("components",),
            "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
            f"The total displayable text size cannot exceed {V2_TEXT_CHARS}",
        )
    for path, part in everything:
        if part.get("type") == ACTION_ROW:
            _check_row(part, path)


def _check_row(row: Payload, path: FieldPath) -> None:
    if row.get("type") != ACTION_ROW:
        raise one_field((*path, "type"), "BASE_TYPE_CHOICES", "Value must be one of {1}.")
    parts = _objects(row.get("components"), (*path, "components"))
    if not 1 <= len(parts) <= ROW_BUTTONS or (
        len(parts) > 1 and any(part.get("type") in SELECTS for part in parts)
    ):
        raise _length((*path, "components"), ROW_BUTTONS, least=1)
    for index, part in enumerate(parts):
        _check_part(part, (*path, "components", index))


def _check_part(part: Payload, path: FieldPath) -> None:
    kind = _kind(part, path)
    if kind == BUTTON:
        _check_button(part, path)
    elif kind in SELECTS:
        _bounded(part.get("custom_id"), CUSTOM_ID_LIMIT_CHARS, (*path, "custom_id"), least=1)
        options = _objects(part.get("options"), (*path, "options"))
        if kind == STRING_SELECT and not 1 <= len(options) <= SELECT_OPTIONS:
            raise _length((*path, "options"), SELECT_OPTIONS, least=1)
    else:
        raise one_field(
            (*path, "type"), "BASE_TYPE_CHOICES", "Value must be one of {2, 3, 5, 6, 7, 8}."
        )


def _check_button(part: Payload, path: FieldPath) -> None:
    if not part.get("label") and not part.get("emoji") and part.get("style") != PREMIUM_STYLE:
        raise one_field(path, "BUTTON_COMPONENT_LABEL_OR_EMOJI_REQUIRED", "A button needs a label.")
    _bounded(part.get("label"), BUTTON_LABEL_CHARS, (*path, "label"))
    if part.get("style") == LINK_STYLE:
        if not part.get("url"):
            raise one_field((*path, "url"), "BASE_TYPE_REQUIRED", "This field is required")
    elif part.get("style") != PREMIUM_STYLE:
        _bounded(part.get("custom_id"), CUSTOM_ID_LIMIT_CHARS, (*path, "custom_id"), least=1)


def check_modal(components: Sequence[Payload]) -> None:
    """Refuse a modal whose inputs have no id or are too long."""
    inputs = [(path, part) for path, part in walk(components) if part.get("type") == TEXT_INPUT]
    for path, part in inputs:
        _bounded(part.get("custom_id"), CUSTOM_ID_LIMIT_CHARS, (*path, "custom_id"), least=1)
        _bounded(part.get("label"), MODAL_LABEL_CHARS, (*path, "label"))
        _bounded(part.get("value"), TEXT_INPUT_CHARS, (*path, "value"))
    _check_ids(list(walk(components)))


def walk(
    components: Sequence[Payload], path: FieldPath = ("components",)
) -> Iterator[tuple[FieldPath, Payload]]:
    """Yield every component with its path, outer ones first."""
    for index, part in enumerate(components):
        here: FieldPath = (*path, index)
        yield here, part
        inner = (*here, "components")
        yield from walk(_objects(part.get("components"), inner), inner)
        for key in ("accessory", "component"):
            if part.get(key):
                yield (*here, key), _object(part[key], (*here, key))


def _check_ids(parts: Sequence[tuple[FieldPath, Payload]]) -> None:
    seen: set[str] = set()
    for path, part in parts:
        _kind(part, path)
        custom_id = part.get("custom_id")
        _bounded(custom_id, CUSTOM_ID_LIMIT_CHARS, (*path, "custom_id"))
        if custom_id in seen:
            raise one_field(
                ("components",),
                "COMPONENT_CUSTOM_ID_DUPLICATED",
                "Component custom id cannot be duplicated",
            )
        if custom_id:
            seen.add(custom_id)


def _kind(part: Payload, path: FieldPath) -> int:
    kind = part.get("type")
    if not isinstance(kind, int):
        raise one_field((*path, "type"), "NUMBER_TYPE_COERCE", "Value is not a number.")
    return kind


def _object(value: object, path: FieldPath) -> Payload:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise one_field(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
    return value


def _objects(value: object, path: FieldPath) -> list[Payload]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise one_field(path, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
    return [_object(item, (*path, index)) for index, item in enumerate(value)]


def _bounded(text: object, limit: int, path: FieldPath, *, least: int = 0) -> int:
    if text is None:
        if least:
            raise one_field(path, "BASE_TYPE_REQUIRED", "This field is required")
        return 0
    if not isinstance(text, str):
        raise one_field(path, "STRING_TYPE_CONVERT", "Could not interpret as string.")
    size = len(text)
    if not least <= size <= limit:
        raise _length(path, limit, least=least)
    return size


def _length(path: FieldPath, limit: int, *, least: int = 0) -> Exception:
    if least:
        return one_field(
            path, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {limit} in length."
        )
    return one_field(path, "BASE_TYPE_MAX_LENGTH", f"Must be {limit} or fewer in length.")
