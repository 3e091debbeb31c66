"""Messages of a world: sending, editing, deleting, pins, typing.

People (the Python API, the page) and the bot (REST) go through the same rules; whoever acts is a
user id. Ephemeral messages live here too, beside the history that everyone reads.

Two rules that surprise: sending into an archived thread opens it again unless it is locked, and
the same nonce by the same author within some minutes gives back the message that is already there.
"""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING

from bot.playground.entities import (
    Attachment,
    Channel,
    ChannelKind,
    Event,
    Message,
    MessageFlag,
    MessageKind,
    Payload,
    Upload,
)
from bot.playground.errors import one_field, refusal
from bot.playground.messages.drafts import Draft, check_draft
from bot.playground.world import payloads
from bot.playground.world.mentions import find_mentions
from bot.playground.world.permissions import Permission

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.playground.world.bodies import EditMessage
    from bot.playground.world.state import World

NONCE_SECONDS = 300.0
"""How long a nonce is remembered; Discord says "the past few minutes"."""
ATTACHMENT_SECONDS = 86_400.0
"""After a day an attachment's address stops working."""
PINS_LIMIT = 50
BULK_LIMIT = 100
BULK_DELETE_SECONDS = 14 * 86_400.0
TYPING_SECONDS = 10.0

_ANSWERABLE = frozenset(
    {
        MessageKind.DEFAULT,
        MessageKind.REPLY,
        MessageKind.CHAT_INPUT_COMMAND,
        MessageKind.CONTEXT_MENU_COMMAND,
        MessageKind.THREAD_STARTER,
    }
)


class Talk:
    """The messages of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._nonces: dict[tuple[int, str], Message] = {}
        self._typing: dict[int, dict[int, float]] = {}

    # Sending

    def send(self, author_id: int, channel: Channel, draft: Draft) -> Message:
        """Post a message after all of Discord's checks; return it."""
        channel = self._world.channel(channel)
        self._may_send(author_id, channel, draft)
        earlier = self._same_nonce(author_id, draft)
        if earlier is not None:
            return earlier
        message = self.build(author_id, channel, draft)
        if message.nonce is not None:
            self._nonces[author_id, message.nonce] = message
        return self.put(message)

    def put(self, message: Message) -> Message:
        """Put a built message where its readers see it, and tell them."""
        channel = self._world.channel(message.channel_id)
        if message.only_for is None:
            channel.messages[message.id] = message
            channel.last_message_id = message.id
            self._typing.get(channel.id, {}).pop(message.author_id, None)
        else:
            self._world.ephemerals[message.id] = message
        self._tell("MESSAGE_CREATE", message)
        return message

    def build(self, author_id: int, channel: Channel, draft: Draft) -> Message:
        """Make a message of a draft whose contents are checked here; it is not posted."""
        check_draft(draft)
        answered = self._answered(author_id, channel, draft)
        reply_to = draft.reference.message_id if draft.reference and answered else None
        found = find_mentions(
            draft.content,
            self._world.place(channel),
            author_id,
            known_users=self._world.users,
            allowed=draft.allowed_mentions,
            replied_to=answered.author_id if answered else None,
        )
        return Message(
            id=self._world.new_id(),
            channel_id=channel.id,
            author_id=author_id,
            content=draft.content,
            type=self._type(draft, reply_to),
            created_at=self._world.clock(),
            flags=draft.flags,
            tts=draft.tts,
            nonce=draft.nonce,
            embeds=list(draft.embeds),
            components=list(draft.components),
            attachments=[self._store(u, ephemeral=bool(draft.only_for)) for u in draft.uploads],
            mentions=found.users,
            mention_roles=found.roles,
            mention_everyone=found.everyone,
            pinged=found.pinged,
            reply_to=reply_to,
            interaction_id=draft.interaction_id,
            only_for=draft.only_for,
            extra=dict(draft.extra),
        )

    @staticmethod
    def _type(draft: Draft, reply_to: int | None) -> int:
        if draft.type is not None:
            return draft.type
        return MessageKind.REPLY if reply_to else MessageKind.DEFAULT

    def _may_send(self, author_id: int, channel: Channel, draft: Draft) -> None:
        if channel.kind in {ChannelKind.CATEGORY, ChannelKind.FORUM}:
            raise refusal(50008)
        sending = (
            Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES
        )
        files = (Permission.ATTACH_FILES,) if draft.uploads else ()
        self._world.require(channel, author_id, sending, *files)
        author = self._world.users[author_id]
        if channel.is_dm and author.bot:
            others = [self._world.users[u] for u in channel.recipients if u != author_id]
            if any(other.dms_closed or other.bot for other in others):
                raise refusal(50007)
        manager = self._world.permissions(channel, author_id) & Permission.MANAGE_THREADS
        if channel.locked and not manager:
            raise refusal(160005)
        if channel.archived:
            self._world.update_channel(channel, archived=False)

    def _same_nonce(self, author_id: int, draft: Draft) -> Message | None:
        if draft.nonce is None or not draft.enforce_nonce:
            return None
        earlier = self._nonces.get((author_id, draft.nonce))
        if earlier and self._world.clock() - earlier.created_at <= NONCE_SECONDS:
            return earlier
        return None

    def _answered(self, author_id: int, channel: Channel, draft: Draft) -> Message | None:
        reference = draft.reference
        if reference is None or reference.message_id is None or reference.type != 0:
            return None
        may_read = self._world.permissions(channel, author_id) & Permission.READ_MESSAGE_HISTORY
        if not may_read:
            raise refusal(160002)
        answered = channel.messages.get(reference.message_id)
        if answered is None:
            if reference.fail_if_not_exists:
                raise one_field(
                    ("message_reference",), "REPLIES_UNKNOWN_MESSAGE", "Unknown message"
                )
            return None
        if answered.type not in _ANSWERABLE:
            raise one_field(
                ("message_reference",),
                "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE",
                "Cannot reply to a system message",
            )
        return answered

    def _store(self, upload: Upload, *, ephemeral: bool) -> Attachment:
        guessed = mimetypes.guess_type(upload.filename)[0]
        item = Attachment(
            id=self._world.new_id(),
            filename=upload.filename,
            data=upload.data,
            content_type=upload.content_type or guessed,
            description=upload.description,
            ephemeral=ephemeral,
            expires_at=self._world.clock() + ATTACHMENT_SECONDS,
        )
        self._world.attachments[item.id] = item
        return item

    # Changing

    def edit(
        self, editor_id: int, message: Message, body: EditMessage, uploads: Sequence[Upload] = ()
    ) -> Message:
        """Change an own message; fields that are not set in ``body`` stay as they are."""
        channel = self._world.channel(message.channel_id)
        if message.author_id != editor_id:
            raise refusal(50005)
        if channel.archived:
            raise refusal(50083)
        changed = body.model_fields_set
        content = (body.content or "") if "content" in changed else message.content
        kept = self._kept(message, body)
        draft = Draft(
            content=content,
            embeds=(body.embeds or []) if "embeds" in changed else message.embeds,
            components=(body.components or []) if "components" in changed else message.components,
            uploads=uploads,
            flags=(message.flags | (body.flags or 0)) & ~MessageFlag.LOADING,
            allowed_mentions=body.allowed_mentions,
            extra=message.extra,
        )
        check_draft(draft, has_files=bool(kept))
        stored = [self._store(u, ephemeral=message.ephemeral) for u in uploads]
        self._apply(message, draft, [*kept, *stored])
        return message

    def _kept(self, message: Message, body: EditMessage) -> list[Attachment]:
        if "attachments" not in body.model_fields_set:
            return message.attachments
        wanted = {note.id for note in body.attachments or []}
        return [item for item in message.attachments if item.id in wanted]

    def _apply(self, message: Message, draft: Draft, files: list[Attachment]) -> None:
        channel = self._world.channel(message.channel_id)
        answered = channel.messages.get(message.reply_to or 0)
        found = find_mentions(
            draft.content,
            self._world.place(channel),
            message.author_id,
            known_users=self._world.users,
            allowed=draft.allowed_mentions,
            replied_to=answered.author_id if answered else None,
        )
        message.content = draft.content
        message.embeds = list(draft.embeds)
        message.components = list(draft.components)
        message.attachments = files
        message.edited_at = None if message.loading else self._world.clock()
        message.flags = draft.flags & ~MessageFlag.LOADING
        message.mentions, message.mention_roles = found.users, found.roles
        message.mention_everyone = found.everyone  # an edit shows mentions and notifies nobody
        self._tell("MESSAGE_UPDATE", message)

    def touch(self, message: Message) -> None:
        """Tell a MESSAGE_UPDATE without an edit, as Discord does for unfurled links and pins."""
        self._tell("MESSAGE_UPDATE", message)

    def delete(self, actor_id: int, message: Message) -> None:
        """Delete a message; another's needs MANAGE_MESSAGES."""
        channel = self._world.channel(message.channel_id)
        if message.only_for is not None:
            self._world.ephemerals.pop(message.id, None)
            self._tell_gone(message)
            return
        if message.author_id != actor_id:
            if channel.is_dm:
                raise refusal(50003)
            self._world.require(channel, actor_id, Permission.MANAGE_MESSAGES)
        del channel.messages[message.id]
        self._tell_gone(message)

    def bulk_delete(self, actor_id: int, channel: Channel, message_ids: Sequence[int]) -> None:
        """Delete 2 to 100 messages that are at most two weeks old."""
        if channel.is_dm:
            raise refusal(50003)
        self._world.require(channel, actor_id, Permission.MANAGE_MESSAGES)
        if not 2 <= len(message_ids) <= BULK_LIMIT:  # noqa: PLR2004 - Discord's own number
            raise refusal(50016)
        now = self._world.clock()
        found = [channel.messages[m] for m in dict.fromkeys(message_ids) if m in channel.messages]
        if any(now - message.created_at > BULK_DELETE_SECONDS for message in found):
            raise refusal(50034)
        for message in found:
            del channel.messages[message.id]
        data: Payload = {
            "ids": [str(m.id) for m in found],
            "channel_id": str(channel.id),
            **payloads.guild_field(channel),
        }
        self._world.emit(
            Event(
                name="MESSAGE_DELETE_BULK",
                data=data,
                guild_id=channel.guild_id,
                channel_id=channel.id,
            )
        )

    # Pins, system messages, typing

    def pin(self, actor_id: int, message: Message, *, pinned: bool) -> None:
        """Pin or unpin; pinning posts Discord's system message."""
        channel = self._world.channel(message.channel_id)
        self._world.require(
            channel, actor_id, *([] if channel.is_dm else [Permission.MANAGE_MESSAGES])
        )
        if message.pinned is pinned:
            return
        if pinned and sum(m.pinned for m in channel.messages.values()) >= PINS_LIMIT:
            raise refusal(30003)
        message.pinned = pinned
        self._tell("MESSAGE_UPDATE", message)
        data = {
            "channel_id": str(channel.id),
            "last_pin_timestamp": payloads.iso(self._world.clock()),
        }
        self._emit("CHANNEL_PINS_UPDATE", message, data | payloads.guild_field(channel))
        if pinned:
            self.system(actor_id, channel, MessageKind.PIN, reply_to=message.id)

    def system(
        self,
        author_id: int,
        channel: Channel,
        kind: int,
        *,
        content: str = "",
        reply_to: int | None = None,
        extra: Payload | None = None,
    ) -> Message:
        """Post a message that Discord itself makes (pin, join, thread created, any other type)."""
        message = Message(
            id=self._world.new_id(),
            channel_id=channel.id,
            author_id=author_id,
            content=content,
            type=kind,
            created_at=self._world.clock(),
            reply_to=reply_to,
            extra=extra or {},
        )
        return self.put(message)

    def typing(self, user_id: int, channel: Channel) -> None:
        """Show that a user is typing, for 10 s or until their next message here."""
        self._world.require(channel, user_id)
        now = self._world.clock()
        self._typing.setdefault(channel.id, {})[user_id] = now + TYPING_SECONDS
        data: Payload = {
            "channel_id": str(channel.id),
            "user_id": str(user_id),
            "timestamp": int(now),
        }
        if channel.guild_id is not None:
            guild = self._world.guilds[channel.guild_id]
            data |= payloads.guild_field(channel)
            data["member"] = payloads.member(self._world, guild, user_id)
        self._world.emit(
            Event(name="TYPING_START", data=data, guild_id=channel.guild_id, channel_id=channel.id)
        )

    def typing_in(self, channel: Channel) -> tuple[int, ...]:
        """Return the ids of those who are typing in a channel now."""
        now = self._world.clock()
        return tuple(u for u, until in self._typing.get(channel.id, {}).items() if until > now)

    # Telling

    def _tell(self, name: str, message: Message) -> None:
        self._emit(name, message, payloads.message_event(self._world, message))

    def _tell_gone(self, message: Message) -> None:
        channel = self._world.channel(message.channel_id)
        data = {"id": str(message.id), "channel_id": str(channel.id)} | payloads.guild_field(
            channel
        )
        self._emit("MESSAGE_DELETE", message, data)

    def _emit(self, name: str, message: Message, data: Payload) -> None:
        channel = self._world.channel(message.channel_id)
        hidden = message.only_for is not None
        self._world.emit(
            Event(
                name=f"PLAYGROUND_{name}" if hidden else name,
                data=data,
                guild_id=channel.guild_id,
                channel_id=channel.id,
                message=message,
                interaction_id=message.interaction_id,
                only_for=message.only_for,
                to_bot=not hidden,
            )
        )
