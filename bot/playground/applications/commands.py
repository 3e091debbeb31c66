"""Application commands: registering them, who sees which, and the data of using one.

Global commands and each guild's own are separate lists; a person sees both. Names, lengths and
numbers: Discord "Application Commands". ``default_member_permissions`` "0" hides a command from all
but administrators, inside guilds; in a DM nobody's permissions count, so there everyone sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import regex
from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from bot.playground.entities import Channel, Command, Payload, User
from bot.playground.errors import ApiError, from_validation, one_field, refusal
from bot.playground.world.bodies import Body, Choice
from bot.playground.world.permissions import ALL, guild_permissions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.playground.world.state import World

CHAT_INPUT, USER_MENU, MESSAGE_MENU = 1, 2, 3
SUBCOMMAND, GROUP = 1, 2
OPTIONS_LIMIT = 25
GLOBAL_LIMITS = {CHAT_INPUT: 100, USER_MENU: 15, MESSAGE_MENU: 15}
DAILY_CREATES = 200
IN_GUILD, IN_BOT_DM = 0, 1
SIZE_LIMIT_CHARS = 8000

_NAME = regex.compile(r"^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$")


def _name(value: str) -> str:
    if not _NAME.match(value) or value != value.lower():
        raise PydanticCustomError("APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    return value


def _unique(parts: Sequence[CommandOption]) -> None:
    names = [part.name for part in parts]
    if len(set(names)) != len(names):
        raise PydanticCustomError(
            "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists"
        )


class CommandOption(Body):
    """An option, or a subcommand or group with options of its own."""

    type: Annotated[int, Field(ge=1, le=11)]
    name: Annotated[str, Field(min_length=1, max_length=32)]
    description: Annotated[str, Field(min_length=1, max_length=100)]
    required: bool = False
    autocomplete: bool = False
    choices: Annotated[list[Choice], Field(max_length=25)] | None = None
    options: Annotated[list[CommandOption], Field(max_length=OPTIONS_LIMIT)] | None = None

    _check_name = field_validator("name")(_name)

    @model_validator(mode="after")
    def _check(self) -> CommandOption:
        _unique(self.options or [])
        _required_first(self.options or [])
        if self.autocomplete and self.choices:
            raise PydanticCustomError(
                "APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_CHOICES",
                "autocomplete may not be set to true if choices are present",
            )
        return self


def _required_first(options: Sequence[CommandOption]) -> None:
    flags = [option.required for option in options]
    if flags != sorted(flags, reverse=True):
        raise PydanticCustomError(
            "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
            "Required options must be placed before non-required options",
        )


def _bits(value: object) -> object:
    """Take a number as well, which is what discord.py sends and Discord accepts."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class CommandBody(Body):
    """A command as a bot registers it."""

    type: Literal[1, 2, 3] = 1  # first, so that the checks of the others know it
    name: Annotated[str, Field(min_length=1, max_length=32)]
    description: Annotated[str, Field(max_length=100, validate_default=True)] = ""
    options: Annotated[list[CommandOption], Field(max_length=OPTIONS_LIMIT)] | None = None
    default_member_permissions: Annotated[str | None, BeforeValidator(_bits)] = None
    contexts: list[Literal[0, 1, 2]] | None = None
    integration_types: list[Literal[0, 1]] | None = None

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str, info: ValidationInfo) -> str:
        return _name(value) if info.data.get("type") == CHAT_INPUT else value

    @field_validator("description")
    @classmethod
    def _check_description(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("type") == CHAT_INPUT and not value:
            raise PydanticCustomError("BASE_TYPE_REQUIRED", "This field is required")
        if info.data.get("type") != CHAT_INPUT and value:
            raise PydanticCustomError(
                "APPLICATION_COMMAND_CONTEXT_MENU_DESCRIPTION",
                "Context menu commands have no description",
            )
        return value

    @model_validator(mode="after")
    def _check(self) -> CommandBody:
        _unique(self.options or [])
        _required_first(self.options or [])
        if len(self.name) + len(self.description) + _size(self.options) > SIZE_LIMIT_CHARS:
            raise PydanticCustomError("APPLICATION_COMMAND_TOO_LARGE", "Command exceeds 8000 chars")
        return self


def _size(options: Sequence[CommandOption] | None) -> int:
    """Return the characters of all names, descriptions and values, as Discord adds them up."""
    return sum(
        len(option.name)
        + len(option.description)
        + sum(len(c.name) + len(str(c.value)) for c in option.choices or [])
        + _size(option.options)
        for option in options or []
    )


_LIST = TypeAdapter(list[CommandBody])
_DEFAULTS: Payload = {
    "description": "",
    "options": [],
    "default_member_permissions": None,
    "dm_permission": True,
    "contexts": None,
    "integration_types": [0],
    "nsfw": False,
}


class Registry:
    """The registered commands of the bot, global ones under None and each guild's under its id."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lists: dict[int | None, dict[int, Command]] = {}
        self.creates_left = DAILY_CREATES
        """How many new commands the day still allows (30034)."""

    def listed(self, guild_id: int | None) -> tuple[Command, ...]:
        """Return the commands of one list."""
        return tuple(self._lists.get(guild_id, {}).values())

    def get(self, guild_id: int | None, command_id: int) -> Command:
        """Return a command of one list, or refuse with 10063."""
        found = self._lists.get(guild_id, {}).get(command_id)
        if found is None:
            raise refusal(10063)
        return found

    def overwrite(self, guild_id: int | None, bodies: object) -> tuple[Command, ...]:
        """Replace a whole list; commands of the same name and type keep their ids."""
        raw = _checked_list(bodies)
        known = {(c.type, c.name): c for c in self.listed(guild_id)}
        fresh = [body for body in raw if (body.get("type", 1), body["name"]) not in known]
        self._spend(len(fresh))
        made = [self._make(guild_id, body, known) for body in raw]
        self._lists[guild_id] = {command.id: command for command in made}
        return tuple(made)

    def upsert(self, guild_id: int | None, body: object) -> tuple[Command, bool]:
        """Add one command, or replace that of the same name; say whether it is new."""
        (raw,) = _checked_list([body], single=True)
        known = {(c.type, c.name): c for c in self.listed(guild_id)}
        new = (raw.get("type", 1), raw["name"]) not in known
        self._spend(int(new))
        command = self._make(guild_id, raw, known)
        self._lists.setdefault(guild_id, {})[command.id] = command
        return command, new

    def change(self, guild_id: int | None, command_id: int, body: Payload) -> Command:
        """Change fields of one command."""
        command = self.get(guild_id, command_id)
        (raw,) = _checked_list(
            [command.body | {"name": command.name, "type": command.type} | body], single=True
        )
        command.name, command.body, command.version = raw["name"], raw, self._world.new_id()
        return command

    def delete(self, guild_id: int | None, command_id: int) -> None:
        """Remove one command."""
        self.get(guild_id, command_id)
        del self._lists[guild_id][command_id]

    def _spend(self, count: int) -> None:
        if count > self.creates_left:
            raise refusal(30034)
        self.creates_left -= count

    def _make(
        self, guild_id: int | None, raw: Payload, known: dict[tuple[int, str], Command]
    ) -> Command:
        earlier = known.get((raw.get("type", 1), raw["name"]))
        return Command(
            id=earlier.id if earlier else self._world.new_id(),
            name=raw["name"],
            type=raw.get("type", 1),
            guild_id=guild_id,
            version=self._world.new_id(),
            body=_DEFAULTS
            | raw
            | {"default_member_permissions": _bits(raw.get("default_member_permissions"))},
        )

    def visible(self, user: User, channel: Channel) -> tuple[Command, ...]:
        """Return the commands that a person's client offers in a channel."""
        every = [*self.listed(None)]
        if channel.guild_id is not None:
            every += self.listed(channel.guild_id)
        return tuple(c for c in every if self._shown(c, user, channel))

    def _shown(self, command: Command, user: User, channel: Channel) -> bool:
        contexts = command.body["contexts"]
        if channel.guild_id is None:
            in_dm = self._world.bot.id in channel.recipients and command.guild_id is None
            return in_dm and (contexts is None or IN_BOT_DM in contexts)
        guild = self._world.guilds[channel.guild_id]
        if self._world.bot.id not in guild.members or (
            contexts is not None and IN_GUILD not in contexts
        ):
            return False
        needed = command.body["default_member_permissions"]
        if needed is None:
            return True
        have = guild_permissions(guild, user.id)
        return have == ALL or (int(needed) != 0 and have & int(needed) == int(needed))

    def find(self, channel: Channel, name: str, kind: int) -> Command | None:
        """Return the command of a name that works in a channel; a guild's own comes first."""
        places = [None] if channel.guild_id is None else [channel.guild_id, None]
        for guild_id in places:
            for command in self.listed(guild_id):
                if command.name == name and command.type == kind:
                    return command
        return None


def _checked_list(bodies: object, *, single: bool = False) -> list[Payload]:
    try:
        parsed = _LIST.validate_python(bodies)
    except ValidationError as exc:
        error = from_validation(exc)
        if single and error.errors and "0" in error.errors:
            error.errors = error.errors["0"]
        raise error from exc
    for kind, limit in GLOBAL_LIMITS.items():
        if sum(body.type == kind for body in parsed) > limit:
            raise refusal(30032)
    keys = [(body.type, body.name) for body in parsed]
    if len(set(keys)) != len(keys):
        raise _duplicate(len(keys) - 1)
    raw: list[Payload] = bodies  # type: ignore[assignment]  # the adapter has just proved its shape
    return raw


def _duplicate(index: int) -> ApiError:
    return one_field(
        (index, "name"),
        "APPLICATION_COMMANDS_DUPLICATE_NAME",
        "Application command names must be unique",
    )
