"""The request bodies of Discord's REST API, as far as they are looked at.

A body that its model refuses becomes 50035 with Discord's tree (``errors.from_validation``).
Unknown fields are ignored, as Discord does.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from bot.playground.entities import Payload

CONTENT_LIMIT_CHARS = 2000
NONCE_LIMIT_CHARS = 25
EMBEDS_LIMIT = 10
CUSTOM_ID_LIMIT_CHARS = 100
CHOICES_LIMIT = 25
MODAL_TITLE_LIMIT_CHARS = 45

_SNOWFLAKE_MAX = (1 << 63) - 1


def _snowflake(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and value.isascii() and value.isdigit():
        number = int(value)
    else:
        raise PydanticCustomError(
            "NUMBER_TYPE_COERCE", 'Value "{value}" is not snowflake.', {"value": str(value)[:40]}
        )
    if not 0 <= number <= _SNOWFLAKE_MAX:
        raise PydanticCustomError("NUMBER_TYPE_MAX", "snowflake value should be less than 2^63.")
    return number


def _nonce(value: object) -> object:
    return str(value) if isinstance(value, int) else value


Snowflake = Annotated[int, BeforeValidator(_snowflake)]
Nonce = Annotated[str, Field(max_length=NONCE_LIMIT_CHARS), BeforeValidator(_nonce)]
Content = Annotated[str, StringConstraints(strip_whitespace=True, max_length=CONTENT_LIMIT_CHARS)]
"""Discord trims white space around a text before it looks at its length."""
Embeds = Annotated[list[Payload], Field(max_length=EMBEDS_LIMIT)]


class Body(BaseModel):
    """Base of all bodies."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class AllowedMentions(Body):
    """Which mentions of a text may notify; ``replied_user`` is false unless said."""

    parse: list[Literal["roles", "users", "everyone"]] = Field(default_factory=list)
    users: list[Snowflake] = Field(default_factory=list, max_length=100)
    roles: list[Snowflake] = Field(default_factory=list, max_length=100)
    replied_user: bool = False

    @model_validator(mode="after")
    def _exclusive(self) -> AllowedMentions:
        for kind, listed in (("users", self.users), ("roles", self.roles)):
            if listed and kind in self.parse:
                raise PydanticCustomError(
                    "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                    "parse:[{kind}] and {kind}: [ids...] are mutually exclusive.",
                    {"kind": f'"{kind}"'},
                )
        return self

    def lets_user(self, user_id: int) -> bool:
        """Say whether a mention of this user counts."""
        return "users" in self.parse or user_id in self.users

    def lets_role(self, role_id: int) -> bool:
        """Say whether a mention of this role counts."""
        return "roles" in self.parse or role_id in self.roles


class Reference(Body):
    """What a message answers (type 0) or forwards (type 1)."""

    type: Literal[0, 1] = 0
    message_id: Snowflake | None = None
    channel_id: Snowflake | None = None
    guild_id: Snowflake | None = None
    fail_if_not_exists: bool = True


class AttachmentNote(Body):
    """An entry of ``attachments``: a new file by its index, or an old one by its id."""

    id: Snowflake
    filename: str | None = None
    description: Annotated[str, Field(max_length=1024)] | None = None


class CreateMessage(Body):
    """POST messages, follow-ups and the data of a first answer."""

    content: Content | None = None
    embeds: Embeds | None = None
    components: list[Payload] | None = None
    nonce: Nonce | None = None
    enforce_nonce: bool = False
    tts: bool = False
    flags: int = 0
    allowed_mentions: AllowedMentions | None = None
    message_reference: Reference | None = None
    attachments: list[AttachmentNote] | None = None
    sticker_ids: list[Snowflake] | None = None
    poll: Payload | None = None


class EditMessage(Body):
    """PATCH of a message; a field that is absent (see ``model_fields_set``) stays."""

    content: Content | None = None
    embeds: Embeds | None = None
    components: list[Payload] | None = None
    flags: int | None = None
    allowed_mentions: AllowedMentions | None = None
    attachments: list[AttachmentNote] | None = None


class BulkDelete(Body):
    """POST bulk-delete."""

    messages: list[Snowflake]


class OpenDm(Body):
    """POST /users/@me/channels."""

    recipient_id: Snowflake


class CreateThread(Body):
    """POST threads, from a message or without one; ``message`` only in forums."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    auto_archive_duration: Literal[60, 1440, 4320, 10080] | None = None
    type: Literal[10, 11, 12] | None = None
    message: CreateMessage | None = None


class EditChannel(Body):
    """PATCH of a channel or thread."""

    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    topic: Annotated[str, Field(max_length=1024)] | None = None
    archived: bool | None = None
    locked: bool | None = None
    auto_archive_duration: Literal[60, 1440, 4320, 10080] | None = None


class Choice(Body):
    """One choice of an option or of autocomplete."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    value: Annotated[str, Field(max_length=100)] | int | float


class ChoicesData(Body):
    """The data of an autocomplete answer."""

    choices: Annotated[list[Choice], Field(max_length=CHOICES_LIMIT)]


class ModalData(Body):
    """The data of a modal answer."""

    custom_id: Annotated[str, Field(min_length=1, max_length=CUSTOM_ID_LIMIT_CHARS)]
    title: Annotated[str, Field(min_length=1, max_length=MODAL_TITLE_LIMIT_CHARS)]
    components: Annotated[list[Payload], Field(min_length=1, max_length=5)]


class Callback(Body):
    """POST of the first answer to an interaction."""

    type: int
    data: dict[str, Any] | None = None
