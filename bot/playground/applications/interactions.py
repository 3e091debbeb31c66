"""Interactions: one use of a command, button, select, modal or autocomplete, and its answers.

The rules (Discord "Receiving and Responding"):

- The first answer must come within 3 s (404, 10062 later) and only once (400, 40060).
- A deferred answer (5) shows "thinking" until the original is edited or the first follow-up comes,
  which takes its place and its visibility; every later follow-up has a flag of its own.
- The token is good for 15 minutes (401, 50027 later). Before the first answer its webhook does not
  exist (404, 10015).
- An ephemeral message is in no history and reaches one reader only.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from bot.playground.applications.commands import GROUP, SUBCOMMAND
from bot.playground.applications.stages import (
    ALLOWED,
    MESSAGES,
    UPDATES,
    AnswerKind,
    Interaction,
    InteractionKind,
    Stage,
)
from bot.playground.entities import (
    Channel,
    Event,
    Message,
    MessageFlag,
    MessageKind,
    Payload,
    Upload,
)
from bot.playground.errors import from_validation, one_field, refusal
from bot.playground.messages.checks import check_modal
from bot.playground.messages.drafts import Draft, as_ephemeral
from bot.playground.world import payloads
from bot.playground.world.bodies import Callback, ChoicesData, CreateMessage, EditMessage, ModalData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.playground.messages.talk import Talk
    from bot.playground.world.state import World

FIRST_ANSWER_SECONDS = 3.0
TOKEN_SECONDS = 900.0
ATTACHMENT_SIZE_LIMIT = 10 * 1024 * 1024

T = TypeVar("T", bound=BaseModel)


class Desk:
    """All interactions of a world."""

    def __init__(self, world: World, talk: Talk) -> None:
        self._world = world
        self._talk = talk
        self._by_id: dict[int, Interaction] = {}
        self._by_token: dict[str, Interaction] = {}

    # The person's side

    def open(
        self,
        kind: InteractionKind,
        user_id: int,
        channel: Channel,
        data: Payload,
        *,
        source: Message | None = None,
        world: World | None = None,
    ) -> Interaction:
        """Make an interaction; ``announce`` sends it to the bot.

        ``world`` is that of the bot that is asked, the first one's unless said.
        """
        interaction = Interaction(
            id=self._world.new_id(),
            token=secrets.token_urlsafe(48),
            world=world or self._world,
            kind=kind,
            user_id=user_id,
            channel=channel,
            created_at=self._world.clock(),
            data=data,
            source=source,
        )
        self._by_id[interaction.id] = interaction
        self._by_token[interaction.token] = interaction
        return interaction

    def announce(self, interaction: Interaction) -> None:
        """Emit INTERACTION_CREATE."""
        self._world.emit(
            Event(
                name="INTERACTION_CREATE",
                data=self.payload(interaction),
                guild_id=interaction.channel.guild_id,
                channel_id=interaction.channel.id,
                interaction_id=interaction.id,
                only_for=interaction.user_id,
                bot_id=interaction.world.bot.id,
            )
        )

    def payload(self, interaction: Interaction) -> Payload:
        """Return the interaction object that the bot gets."""
        world, channel = interaction.world, interaction.channel
        body: Payload = {
            "id": str(interaction.id),
            "application_id": str(world.bot.id),
            "type": int(interaction.kind),
            "token": interaction.token,
            "version": 1,
            "data": interaction.data,
            "channel_id": str(channel.id),
            "channel": payloads.resolved_channel(world, channel, interaction.user_id),
            "locale": "en-US",
            "entitlements": [],
            "app_permissions": payloads.app_permissions(world, channel),
            "attachment_size_limit": ATTACHMENT_SIZE_LIMIT,
            "authorizing_integration_owners": {"0": str(channel.guild_id or 0)},
            "context": 1 if channel.guild_id is None else 0,
        }
        if interaction.source is not None:
            body["message"] = payloads.message(world, interaction.source)
        person = world.users[interaction.user_id]
        if channel.guild_id is None:
            return body | {"user": payloads.user(person)}
        guild = world.guilds[channel.guild_id]
        rights = str(world.permissions(channel, person.id))
        return body | {
            "guild_id": str(guild.id),
            "guild_locale": "en-US",
            "guild": {"id": str(guild.id), "locale": "en-US", "features": []},
            "member": payloads.member(world, guild, person.id) | {"permissions": rights},
        }

    # The bot's side

    def answer(
        self, interaction_id: int, token: str, body: Callback, uploads: Sequence[Upload]
    ) -> Interaction:
        """Take the first answer."""
        interaction = self._by_id.get(interaction_id)
        if interaction is None or interaction.token != token:
            raise refusal(10062)
        if interaction.stage is not Stage.WAITING:
            raise refusal(40060)
        if self._world.clock() - interaction.created_at > FIRST_ANSWER_SECONDS:
            raise refusal(10062)
        kind = self._answer_kind(interaction, body.type)
        data = body.data or {}
        if kind in MESSAGES:
            self._answer_message(interaction, kind, data, uploads)
        elif kind in UPDATES:
            self._answer_update(interaction, kind, data, uploads)
        elif kind is AnswerKind.CHOICES:
            choices = _parsed(ChoicesData, data).choices
            interaction.choices = tuple(choice.model_dump() for choice in choices)
            interaction.stage = Stage.CHOICES
        else:
            _parsed(ModalData, data)
            check_modal(data["components"])
            interaction.modal, interaction.stage = data, Stage.MODAL
        self._changed(interaction)
        return interaction

    @staticmethod
    def _answer_kind(interaction: Interaction, number: int) -> AnswerKind:
        allowed = ALLOWED[interaction.kind]
        if number not in allowed or (number in UPDATES and interaction.source is None):
            names = ", ".join(str(int(kind)) for kind in sorted(allowed))
            raise one_field(("type",), "BASE_TYPE_CHOICES", f"Value must be one of {{{names}}}.")
        return AnswerKind(number)

    def _answer_message(
        self, it: Interaction, kind: AnswerKind, data: Payload, uploads: Sequence[Upload]
    ) -> None:
        flags = data.get("flags")
        hidden = bool((flags if isinstance(flags, int) else 0) & MessageFlag.EPHEMERAL)
        if kind is AnswerKind.DEFERRED_MESSAGE:
            draft = Draft(flags=int(MessageFlag.LOADING))
        else:
            draft = _draft(_parsed(CreateMessage, data), uploads)
        it.original = self._post(it, draft, hidden=hidden, first=True)
        it.ephemeral = hidden
        it.deferred = kind is AnswerKind.DEFERRED_MESSAGE
        it.stage = Stage.THINKING if it.deferred else Stage.ANSWERED

    def _answer_update(
        self, it: Interaction, kind: AnswerKind, data: Payload, uploads: Sequence[Upload]
    ) -> None:
        it.original = it.source
        it.ephemeral = it.source is not None and it.source.ephemeral
        if kind is AnswerKind.DEFERRED_UPDATE:
            it.deferred, it.stage = True, Stage.UPDATING
            return
        if it.source is not None:
            self._talk.edit(it.world.bot.id, it.source, _parsed(EditMessage, data), uploads)
        it.stage = Stage.UPDATED

    def by_token(self, token: str) -> Interaction:
        """Return the interaction of a webhook token; refuse with 10015 or 50027."""
        interaction = self._by_token.get(token)
        if interaction is None or interaction.stage is Stage.WAITING:
            raise refusal(10015)
        if self._world.clock() - interaction.created_at > TOKEN_SECONDS:
            raise refusal(50027)
        return interaction

    def message(self, interaction: Interaction, which: str) -> Message:
        """Return the original answer (``@original``) or a follow-up by its id; 10008 otherwise."""
        if which == "@original":
            found = interaction.original
        else:
            found = next((m for m in interaction.messages if str(m.id) == which), None)
        if found is None:
            raise refusal(10008)
        return found

    def follow_up(self, token: str, body: CreateMessage, uploads: Sequence[Upload]) -> Message:
        """Post a follow-up; the first after "thinking" takes its place."""
        it = self.by_token(token)
        if it.stage is Stage.THINKING and it.original is not None:
            edit = EditMessage.model_construct(
                {"content", "embeds", "components", "allowed_mentions", "flags"},
                content=body.content,
                embeds=body.embeds,
                components=body.components,
                allowed_mentions=body.allowed_mentions,
                flags=body.flags & ~MessageFlag.EPHEMERAL,
            )
            return self.edit(token, "@original", edit, uploads)
        hidden = bool(body.flags & MessageFlag.EPHEMERAL)
        message = self._post(it, _draft(body, uploads), hidden=hidden, first=False)
        if it.stage is Stage.UPDATING:
            it.stage = Stage.UPDATED
        self._changed(it)
        return message

    def edit(self, token: str, which: str, body: EditMessage, uploads: Sequence[Upload]) -> Message:
        """Edit the original answer or a follow-up."""
        it = self.by_token(token)
        message = self._talk.edit(it.world.bot.id, self.message(it, which), body, uploads)
        if message is it.original:
            self._fill(it)
        self._changed(it)
        return message

    def delete(self, token: str, which: str) -> None:
        """Delete the original answer or a follow-up."""
        it = self.by_token(token)
        message = self.message(it, which)
        self._talk.delete(it.world.bot.id, message)
        it.messages = [m for m in it.messages if m is not message]
        if message is it.original:
            it.original = None
            self._fill(it)
        self._changed(it)

    @staticmethod
    def _fill(it: Interaction) -> None:
        if it.stage is Stage.THINKING:
            it.stage = Stage.ANSWERED
        elif it.stage is Stage.UPDATING:
            it.stage = Stage.UPDATED

    def _post(self, it: Interaction, draft: Draft, *, hidden: bool, first: bool) -> Message:
        draft = replace(
            draft,
            type=self._type(it) if first else MessageKind.DEFAULT,
            interaction_id=it.id,
            extra=draft.extra,
        )
        if hidden:
            draft = as_ephemeral(draft, it.user_id)
        message = self._talk.build(it.world.bot.id, it.channel, draft)
        message.extra = message.extra | self._marks(it)
        it.messages.append(message)
        return self._talk.put(message)

    @staticmethod
    def _type(it: Interaction) -> int:
        if it.kind is not InteractionKind.COMMAND:
            return MessageKind.DEFAULT
        menu = it.data.get("type", 1) != 1
        return MessageKind.CONTEXT_MENU_COMMAND if menu else MessageKind.CHAT_INPUT_COMMAND

    def _marks(self, it: Interaction) -> Payload:
        person = payloads.user(self._world.users[it.user_id])
        bot_id = str(it.world.bot.id)
        about: Payload = {
            "id": str(it.id),
            "type": int(it.kind),
            "user": person,
            "authorizing_integration_owners": {"0": str(it.channel.guild_id or 0)},
        }
        marks: Payload = {
            "webhook_id": bot_id,
            "application_id": bot_id,
            "interaction_metadata": about,
        }
        if it.kind is InteractionKind.COMMAND:
            name = command_path(it.data)
            about["name"] = name
            marks["interaction"] = {"id": str(it.id), "type": 2, "name": name, "user": person}
        if it.source is not None:
            about["interacted_message_id"] = str(it.source.id)
        return marks

    def _changed(self, it: Interaction) -> None:
        self._world.emit(
            Event(
                name="PLAYGROUND_INTERACTION_ANSWERED",
                data={"id": str(it.id), "stage": it.stage.value, "ephemeral": it.ephemeral},
                guild_id=it.channel.guild_id,
                channel_id=it.channel.id,
                interaction_id=it.id,
                only_for=it.user_id,
                to_bot=False,
            )
        )

    def response(self, it: Interaction, kind: int) -> Payload:
        """Return the body of a callback made ``with_response``."""
        about: Payload = {
            "id": str(it.id),
            "type": int(it.kind),
            "channel_id": str(it.channel.id),
        }
        resource: Payload = {"type": kind}
        if it.original is not None:
            about |= {
                "response_message_id": str(it.original.id),
                "response_message_loading": it.original.loading,
                "response_message_ephemeral": it.original.ephemeral,
            }
            resource["message"] = payloads.message(it.world, it.original)
        return {"interaction": about, "resource": resource}


def _draft(body: CreateMessage, uploads: Sequence[Upload]) -> Draft:
    return Draft(
        content=body.content or "",
        embeds=body.embeds or [],
        components=body.components or [],
        uploads=uploads,
        tts=body.tts,
        flags=body.flags & ~(MessageFlag.EPHEMERAL | MessageFlag.LOADING),
        allowed_mentions=body.allowed_mentions,
        extra={} if body.poll is None else {"poll": body.poll},
    )


def _parsed(model: type[T], data: Payload) -> T:
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        raise from_validation(exc) from exc


def command_path(data: Payload) -> str:
    """Return the whole name of the command that was used, subcommands included."""
    names = [data["name"]]
    inner = data.get("options") or []
    while inner and inner[0]["type"] in {SUBCOMMAND, GROUP}:
        names.append(inner[0]["name"])
        inner = inner[0].get("options") or []
    return " ".join(names)
