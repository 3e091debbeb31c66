"""Acting as people: saying, editing, reacting, threads; and reading what stands in a channel.

Everyone is a ``User`` or an id, a channel a ``Channel`` or an id. What Discord would refuse to a
person raises ``errors.ApiError`` with Discord's code. The methods are coroutines, so that callers
need not care when one of them has to wait.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from bot.playground.entities import (
    Channel,
    ChannelKind,
    Message,
    MessageFlag,
    MessageKind,
    Payload,
    Upload,
    User,
)
from bot.playground.errors import refusal
from bot.playground.messages.drafts import PERSON_FILE_LIMIT_BYTES, Draft, as_forward
from bot.playground.messages.reactions import Reactions
from bot.playground.messages.talk import Talk
from bot.playground.people.watch import WAIT_SECONDS, Watch
from bot.playground.world.bodies import AllowedMentions, EditMessage, Reference
from bot.playground.world.permissions import Permission

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bot.playground.world.state import World

Who = User | int
Where = Channel | int


class People:
    """What people do and see in a world."""

    def __init__(self, world: World, talk: Talk, reactions: Reactions, watch: Watch) -> None:
        self._world = world
        self._talk = talk
        self._reactions = reactions
        self._watch = watch

    # Doing

    async def say(
        self,
        user: Who,
        channel: Where,
        text: str,
        *,
        reply_to: Message | int | None = None,
        ping: bool = True,
        attachments: Sequence[Upload] = (),
        type: int = MessageKind.DEFAULT,  # noqa: A002 - Discord's own word
        nonce: str | None = None,
        extra: Payload | None = None,
    ) -> Message:
        """Send a message as a person, exactly as written (white space is not trimmed).

        Args:
            user: who says it.
            channel: where; a DM comes from ``open_dm``.
            text: what; may be empty only with files or a forward, sticker or poll in ``extra``.
            reply_to: the message that is answered.
            ping: whether the reply notifies its author.
            attachments: files.
            type: a message type; one other than default and reply makes a system message.
            nonce: the sender's nonce.
            extra: JSON fields merged in last (``webhook_id``, ``poll``, ``flags`` ...).
        """
        author, place = self._world.user(user), self._world.channel(channel)
        if type not in {MessageKind.DEFAULT, MessageKind.REPLY}:
            return self._talk.system(author.id, place, type, content=text, extra=extra)
        reference = None
        if reply_to is not None:
            number = reply_to if isinstance(reply_to, int) else reply_to.id
            reference = Reference(message_id=number)
        allowed = None
        if not ping:
            allowed = AllowedMentions(parse=["users", "roles", "everyone"], replied_user=False)
        draft = Draft(
            content=text,
            uploads=attachments,
            nonce=nonce,
            enforce_nonce=nonce is not None,
            reference=reference,
            allowed_mentions=allowed,
            file_limit_bytes=PERSON_FILE_LIMIT_BYTES,
            extra=extra or {},
        )
        return self._talk.send(author.id, place, draft)

    async def forward(self, user: Who, channel: Where, original: Message) -> Message:
        """Forward a message into a channel."""
        draft = as_forward(self._world, original, Draft())
        return self._talk.send(self._world.user(user).id, self._world.channel(channel), draft)

    async def edit(self, user: Who, message: Message, text: str) -> Message:
        """Edit an own message."""
        body = EditMessage.model_construct({"content"}, content=text)
        return self._talk.edit(self._world.user(user).id, message, body)

    async def delete(self, user: Who, message: Message) -> None:
        """Delete a message."""
        self._talk.delete(self._world.user(user).id, message)

    async def bulk_delete(self, user: Who, channel: Where, messages: Iterable[Message]) -> None:
        """Delete many messages at once, as moderation bots do."""
        place = self._world.channel(channel)
        self._talk.bulk_delete(self._world.user(user).id, place, [m.id for m in messages])

    async def react(self, user: Who, message: Message, emoji: str) -> None:
        """Add a reaction."""
        self._reactions.add(self._world.user(user).id, message, emoji)

    async def unreact(self, user: Who, message: Message, emoji: str) -> None:
        """Take an own reaction away."""
        user_id = self._world.user(user).id
        self._reactions.remove(user_id, user_id, message, emoji)

    async def pin(self, user: Who, message: Message, *, pinned: bool = True) -> None:
        """Pin or unpin a message."""
        self._talk.pin(self._world.user(user).id, message, pinned=pinned)

    async def typing(self, user: Who, channel: Where) -> None:
        """Begin to type."""
        self._talk.typing(self._world.user(user).id, self._world.channel(channel))

    async def open_dm(self, user: Who, other: Who | None = None) -> Channel:
        """Return the direct conversation with another user, the bot unless said."""
        return self._world.dm(user, self._world.bot if other is None else other)

    async def create_thread(
        self,
        user: Who,
        channel: Where,
        name: str,
        *,
        message: Message | None = None,
        private: bool = False,
    ) -> Channel:
        """Open a thread, from a message when one is given."""
        owner, parent = self._world.user(user), self._world.channel(channel)
        self._world.require(parent, owner.id, Permission.CREATE_PUBLIC_THREADS)
        if message is not None and message.thread_id is not None:
            raise refusal(160004)
        kind = ChannelKind.PRIVATE_THREAD if private else ChannelKind.PUBLIC_THREAD
        thread_id = None if message is None else message.id
        thread = self._world.add_thread(parent, name, owner, thread_id=thread_id, kind=kind)
        if message is not None:
            message.thread_id = thread.id
            message.flags |= MessageFlag.HAS_THREAD
            self._talk.touch(message)
        elif not private:
            reference = {"channel_id": str(thread.id), "guild_id": str(thread.guild_id)}
            self._talk.system(
                owner.id,
                parent,
                MessageKind.THREAD_CREATED,
                content=name,
                extra={"message_reference": reference},
            )
        return thread

    async def bring_in(self, user: Who, thread: Where, guest: Who) -> None:
        """Let somebody take part in a thread; a bot hears of the thread only then."""
        found, actor, invited = (
            self._world.channel(thread),
            self._world.user(user),
            self._world.user(guest),
        )
        self._world.require(found, actor.id, Permission.SEND_MESSAGES_IN_THREADS)
        if invited.id not in found.thread_members:
            found.thread_members.append(invited.id)
            self._world.tell_channel("THREAD_CREATE", found)

    async def archive(self, user: Who, thread: Where, *, locked: bool = False) -> Channel:
        """Archive a thread, and lock it when told so (then only moderators may go on)."""
        found, actor = self._world.channel(thread), self._world.user(user)
        if found.owner_id != actor.id or locked:
            self._world.require(found, actor.id, Permission.MANAGE_THREADS)
        return self._world.update_channel(found, archived=True, locked=locked)

    # Seeing

    def messages(self, channel: Where, *, as_user: Who | None = None) -> tuple[Message, ...]:
        """Return a channel's messages, oldest first; ``as_user`` adds that person's ephemerals."""
        place = self._world.channel(channel)
        if as_user is None:
            return tuple(place.messages.values())
        reader = self._world.user(as_user).id
        whispered = [
            m
            for m in self._world.ephemerals.values()
            if m.channel_id == place.id and m.only_for == reader
        ]
        return tuple(sorted([*place.messages.values(), *whispered], key=lambda m: m.id))

    def typing_in(self, channel: Where) -> tuple[User, ...]:
        """Return who is typing in a channel now."""
        place = self._world.channel(channel)
        return tuple(self._world.users[u] for u in self._talk.typing_in(place))

    async def wait_for_message(
        self,
        channel: Where,
        predicate: Callable[[Message], bool] | None = None,
        *,
        after: Message | int | None = None,
        timeout: float = WAIT_SECONDS,  # noqa: ASYNC109 - a test's own bound, as in discord.py
    ) -> Message:
        """Return the first message of the bot in a channel that comes, or came, after another.

        Args:
            channel: where.
            predicate: which message; unless given, any of the bot's that is no "thinking" line.
            after: look behind this message only; unless given, behind the last one by a person.
            timeout: how many seconds to wait.

        Raises:
            TimeoutError: none came.
        """
        place = self._world.channel(channel)
        start = self._last_of_people(place) if after is None else after
        start_id = start if isinstance(start, int) else start.id
        wanted = self._is_answer if predicate is None else predicate

        def look() -> Message | None:
            newest_first = reversed(place.messages.values())
            newer = list(takewhile(lambda m: m.id > start_id, newest_first))
            return next((m for m in reversed(newer) if wanted(m)), None)

        return await self._watch.until(look, timeout=timeout)

    def _is_answer(self, message: Message) -> bool:
        return message.author_id == self._world.bot.id and not message.loading

    def _last_of_people(self, place: Channel) -> int:
        bot_id = self._world.bot.id
        newest_first = reversed(place.messages.values())
        return next((m.id for m in newest_first if m.author_id != bot_id), 0)
