"""The data of an interaction, built from what a person chose; pure.

Values may be plain (text, numbers) or entities (``User``, ``Channel``, ``Role``, ``Upload``); the
entities and attachments end up in ``resolved``, as Discord does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.playground.applications.commands import GROUP, SUBCOMMAND
from bot.playground.entities import Attachment, Channel, Message, Role, Upload, User
from bot.playground.messages.checks import ACTION_ROW, SELECTS, TEXT_INPUT, walk
from bot.playground.world import payloads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bot.playground.entities import Command, Guild, Payload
    from bot.playground.world.state import World

STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER, ATTACHMENT = range(3, 12)
LABEL = 18


class NotOfferedError(LookupError):
    """A command, option, choice or button that the person's client would not offer."""


class Resolver:
    """Collects the entities that the values of an interaction name."""

    def __init__(self, world: World, guild: Guild | None) -> None:
        self._world = world
        self._guild = guild
        self.data: dict[str, Payload] = {}

    def user(self, value: User | int) -> str:
        """Resolve a user and, in a guild, the member."""
        who = self._world.user(value)
        self._put("users", who.id, payloads.user(who))
        if self._guild is not None and who.id in self._guild.members:
            member = payloads.member(self._world, self._guild, who.id, with_user=False)
            self._put("members", who.id, member | {"permissions": "0"})
        return str(who.id)

    def channel(self, value: Channel | int) -> str:
        """Resolve a channel."""
        where = self._world.channel(value)
        self._put("channels", where.id, payloads.resolved_channel(self._world, where, 0))
        return str(where.id)

    def role(self, value: Role | int) -> str:
        """Resolve a role of the guild."""
        number = value if isinstance(value, int) else value.id
        if self._guild is None or number not in self._guild.roles:
            raise NotOfferedError(f"no role {number} here")
        self._put("roles", number, payloads.role(self._guild.roles[number]))
        return str(number)

    def mentionable(self, value: User | Role | int) -> str:
        """Resolve a user or a role."""
        number = value if isinstance(value, int) else value.id
        return self.user(number) if number in self._world.users else self.role(number)

    def attachment(self, upload: Upload, channel_id: int) -> str:
        """Upload a file for an option."""
        item = Attachment(
            id=self._world.new_id(),
            filename=upload.filename,
            data=upload.data,
            content_type=upload.content_type,
            ephemeral=True,
            expires_at=self._world.clock() + 86_400.0,
        )
        self._world.attachments[item.id] = item
        self._put("attachments", item.id, payloads.attachment(self._world, channel_id, item))
        return str(item.id)

    def message(self, message: Message) -> str:
        """Resolve the message that a context menu was used on."""
        self._put("messages", message.id, payloads.message(self._world, message))
        return str(message.id)

    def _put(self, kind: str, number: int, body: Payload) -> None:
        self.data.setdefault(kind, {})[str(number)] = body


def slash_data(
    world: World,
    command: Command,
    path: Sequence[str],
    values: Mapping[str, object],
    channel: Channel,
    *,
    focused: str | None = None,
) -> Payload:
    """Return the data of a slash command or, with ``focused``, of its autocomplete.

    Args:
        world: where users and channels are looked up.
        command: the registered command.
        path: names of group and subcommand, outermost first; empty for a plain command.
        values: option name to value.
        channel: where it is used.
        focused: the option that is being typed.

    Raises:
        NotOfferedError: no such subcommand or option, a required option or a choice is missing.
    """
    defined: Sequence[Payload] = command.body["options"]
    outer: list[tuple[int, str]] = []
    for name in path:
        found = next((o for o in defined if o["name"] == name and o["type"] in {1, 2}), None)
        if found is None:
            raise NotOfferedError(f"no subcommand {name!r} in /{command.name}")
        outer.append((found["type"], name))
        defined = found.get("options") or []
    if any(option["type"] in {SUBCOMMAND, GROUP} for option in defined):
        raise NotOfferedError(f"/{' '.join([command.name, *path])} needs a subcommand")
    resolver = Resolver(world, world.place(channel).guild)
    inner = _options(resolver, defined, values, channel, focused=focused)
    for kind, name in reversed(outer):
        inner = [{"type": kind, "name": name, "options": inner}]
    data: Payload = {
        "id": str(command.id),
        "name": command.name,
        "type": command.type,
        "options": inner,
    }
    if command.guild_id is not None:
        data["guild_id"] = str(command.guild_id)
    return data | ({"resolved": resolver.data} if resolver.data else {})


def _options(
    resolver: Resolver,
    defined: Sequence[Payload],
    values: Mapping[str, object],
    channel: Channel,
    *,
    focused: str | None,
) -> list[Payload]:
    unknown = set(values) - {option["name"] for option in defined}
    if unknown:
        raise NotOfferedError(f"no option {sorted(unknown)}")
    chosen: list[Payload] = []
    for option in defined:
        name = option["name"]
        if name not in values:
            if option.get("required") and focused is None:
                raise NotOfferedError(f"option {name!r} is required")
            continue
        partial = focused is not None
        value = (
            str(values[name])
            if name == focused
            else _value(resolver, option, values[name], channel, partial=partial)
        )
        entry: Payload = {"type": option["type"], "name": name, "value": value}
        chosen.append(entry | ({"focused": True} if name == focused else {}))
    return chosen


def _value(
    resolver: Resolver, option: Payload, value: object, channel: Channel, *, partial: bool
) -> object:
    kind = option["type"]
    choices = [choice["value"] for choice in option.get("choices") or []]
    if choices and value not in choices and not partial:
        raise NotOfferedError(f"{value!r} is no choice of {option['name']!r}")
    if kind == ATTACHMENT and isinstance(value, Upload):
        return resolver.attachment(value, channel.id)
    if kind in {USER, CHANNEL, ROLE, MENTIONABLE}:
        if isinstance(value, str):
            value = int(value)
        resolve = {
            USER: resolver.user,
            CHANNEL: resolver.channel,
            ROLE: resolver.role,
            MENTIONABLE: resolver.mentionable,
        }[kind]
        return resolve(value)  # type: ignore[arg-type]  # the wrong entity is refused by look-up
    if kind == INTEGER:
        return _bounded(option, int(str(value)))
    if kind == NUMBER:
        return _bounded(option, float(str(value)))
    if kind == BOOLEAN:
        return value if isinstance(value, bool) else str(value).lower() in {"true", "1", "yes"}
    return str(value)


def _bounded(option: Payload, number: float) -> float:
    least, most = option.get("min_value"), option.get("max_value")
    if (least is not None and number < least) or (most is not None and number > most):
        raise NotOfferedError(f"{option['name']!r} must be between {least} and {most}")
    return number


def menu_data(world: World, command: Command, target: Message | User, channel: Channel) -> Payload:
    """Return the data of a context menu command used on a message or a user."""
    resolver = Resolver(world, world.place(channel).guild)
    number = resolver.user(target) if isinstance(target, User) else resolver.message(target)
    return {
        "id": str(command.id),
        "name": command.name,
        "type": command.type,
        "target_id": number,
        "resolved": resolver.data,
    }


def component_data(message: Message, custom_id: str, values: Sequence[str] | None) -> Payload:
    """Return the data of a pressed button, or of a select with the chosen values."""
    for _, part in walk(message.components):
        if part.get("custom_id") == custom_id:
            if part.get("disabled"):
                raise NotOfferedError(f"{custom_id!r} is disabled")
            data: Payload = {"custom_id": custom_id, "component_type": part["type"]}
            if part["type"] in SELECTS:
                data["values"] = _picked(part, values or [])
            return data
    raise NotOfferedError(f"no component {custom_id!r} in message {message.id}")


def _picked(part: Payload, values: Sequence[str]) -> list[str]:
    offered = {option["value"] for option in part.get("options") or []}
    if offered and not offered.issuperset(values):
        raise NotOfferedError(f"not offered: {sorted(set(values) - offered)}")
    if not part.get("min_values", 1) <= len(values) <= part.get("max_values", 1):
        raise NotOfferedError("too few or too many values")
    return list(values)


def modal_data(modal: Payload, values: Mapping[str, str]) -> Payload:
    """Return the data of a submitted modal; fields not in ``values`` keep their presets."""
    parts: list[Payload] = []
    for part in modal["components"]:
        if part["type"] == ACTION_ROW:
            inner = [_filled(field, values) for field in part["components"]]
            parts.append({"type": ACTION_ROW, "components": inner})
        elif part["type"] == LABEL:
            parts.append({"type": LABEL, "component": _filled(part["component"], values)})
        else:
            parts.append({"type": part["type"]})
    return {"custom_id": modal["custom_id"], "components": parts}


def _filled(field: Payload, values: Mapping[str, str]) -> Payload:
    custom_id = field["custom_id"]
    value = values.get(custom_id, field.get("value") or "")
    if field["type"] != TEXT_INPUT:
        return {"type": field["type"], "custom_id": custom_id, "values": [value] if value else []}
    least = field.get("min_length") or 0
    most = field.get("max_length") or 4000
    if (field.get("required", True) and not value) or not least * bool(value) <= len(value) <= most:
        raise NotOfferedError(f"{custom_id!r} must have {least} to {most} characters")
    return {"type": TEXT_INPUT, "custom_id": custom_id, "value": value}
