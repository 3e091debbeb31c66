"""REST: messages, reactions, pins, typing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.playground.entities import Channel, Message, Payload
from bot.playground.errors import one_field, refusal
from bot.playground.faults import SEND
from bot.playground.messages.drafts import Draft, as_forward
from bot.playground.messages.reactions import Reactions
from bot.playground.messages.talk import Talk
from bot.playground.world import payloads
from bot.playground.world.bodies import BulkDelete, CreateMessage, EditMessage
from bot.playground.world.permissions import Permission

if TYPE_CHECKING:
    from bot.playground.rest.frame import Answer, Call, Side
    from bot.playground.world.state import World

ONE = SEND + "/{message_id}"
REACTION = ONE + "/reactions/{emoji}"
HISTORY_LIMIT = 100


class MessageRoutes:
    """The bot's side of ``talk``."""

    def __init__(self, world: World, talk: Talk, reactions: Reactions) -> None:
        self._world = world
        self._talk = talk
        self._reactions = reactions

    def attach(self, rest: Side) -> None:
        """Add the routes."""
        rest.route("GET", SEND, self._history)
        rest.route("POST", SEND, self._send)
        rest.route("POST", SEND + "/bulk-delete", self._bulk_delete)
        rest.route("GET", SEND + "/pins", self._pins)
        rest.route("PUT", SEND + "/pins/{message_id}", self._pin)
        rest.route("DELETE", SEND + "/pins/{message_id}", self._unpin)
        rest.route("GET", ONE, self._get)
        rest.route("PATCH", ONE, self._edit)
        rest.route("DELETE", ONE, self._delete)
        rest.route("DELETE", ONE + "/reactions", self._clear_all)
        rest.route("GET", REACTION, self._reacted)
        rest.route("DELETE", REACTION, self._clear_one)
        rest.route("PUT", REACTION + "/@me", self._react)
        rest.route("DELETE", REACTION + "/{user_id}", self._unreact)
        rest.route("POST", "/channels/{channel_id}/typing", self._typing)

    def _channel(self, call: Call, *needed: Permission) -> Channel:
        channel = self._world.channel(call.id("channel_id"))
        self._world.require(channel, self._world.bot.id, *needed)
        return channel

    def _message(self, call: Call, *needed: Permission) -> Message:
        return self._world.message(self._channel(call, *needed), call.id("message_id"))

    def _history(self, call: Call) -> Answer:
        channel = self._channel(call)
        readable = self._world.permissions(channel, self._world.bot.id)
        if not readable & Permission.READ_MESSAGE_HISTORY:
            raise refusal(50001)
        limit = call.number("limit", 50, least=1, most=HISTORY_LIMIT)
        return [payloads.message(self._world, m) for m in _slice(channel, call, limit)]

    def _get(self, call: Call) -> Answer:
        message = self._message(call, Permission.READ_MESSAGE_HISTORY)
        return payloads.message(self._world, message)

    def _send(self, call: Call) -> Answer:
        channel = self._channel(call)
        body = call.parsed(CreateMessage)
        draft = draft_of(body, call)
        if body.message_reference is not None and body.message_reference.type == 1:
            draft = self._forward(body, draft)
        message = self._talk.send(self._world.bot.id, channel, draft)
        return payloads.message(self._world, message)

    def _forward(self, body: CreateMessage, draft: Draft) -> Draft:
        reference = body.message_reference
        if reference is None or reference.channel_id is None or reference.message_id is None:
            raise one_field(("message_reference",), "BASE_TYPE_REQUIRED", "This field is required")
        original = self._world.message(reference.channel_id, reference.message_id)
        return as_forward(self._world, original, draft)

    def _edit(self, call: Call) -> Answer:
        message = self._message(call)
        body = call.parsed(EditMessage)
        self._talk.edit(self._world.bot.id, message, body, call.uploads)
        return payloads.message(self._world, message)

    def _delete(self, call: Call) -> Answer:
        self._talk.delete(self._world.bot.id, self._message(call))
        return None

    def _bulk_delete(self, call: Call) -> Answer:
        channel = self._channel(call)
        wanted = call.parsed(BulkDelete).messages
        self._talk.bulk_delete(self._world.bot.id, channel, wanted)
        return None

    def _pins(self, call: Call) -> Answer:
        channel = self._channel(call, Permission.READ_MESSAGE_HISTORY)
        pinned = [m for m in reversed(channel.messages.values()) if m.pinned]
        items = [
            {
                "pinned_at": payloads.iso(self._world.clock()),
                "message": payloads.message(self._world, message),
            }
            for message in pinned
        ]
        return {"items": items, "has_more": False}

    def _pin(self, call: Call) -> Answer:
        self._talk.pin(self._world.bot.id, self._message(call), pinned=True)
        return None

    def _unpin(self, call: Call) -> Answer:
        self._talk.pin(self._world.bot.id, self._message(call), pinned=False)
        return None

    def _react(self, call: Call) -> Answer:
        self._reactions.add(self._world.bot.id, self._message(call), call.params["emoji"])
        return None

    def _unreact(self, call: Call) -> Answer:
        bot_id = self._world.bot.id
        whose = bot_id if call.params["user_id"] == "@me" else call.id("user_id")
        self._reactions.remove(bot_id, whose, self._message(call), call.params["emoji"])
        return None

    def _clear_all(self, call: Call) -> Answer:
        self._reactions.clear(self._world.bot.id, self._message(call))
        return None

    def _clear_one(self, call: Call) -> Answer:
        self._reactions.clear(self._world.bot.id, self._message(call), call.params["emoji"])
        return None

    def _reacted(self, call: Call) -> Answer:
        message = self._message(call)
        limit = call.number("limit", 25, least=1, most=100)
        after = call.number("after", 0, least=0, most=1 << 63)
        who = [u for u in message.reactions.get(call.params["emoji"], []) if u > after]
        return [payloads.user(self._world.users[u]) for u in who[:limit]]

    def _typing(self, call: Call) -> Answer:
        self._talk.typing(self._world.bot.id, self._channel(call))
        return None


def draft_of(body: CreateMessage, call: Call) -> Draft:
    """Return what a body and its files say."""
    extra: Payload = {}
    if body.poll is not None:
        extra["poll"] = body.poll
    if body.sticker_ids:
        extra["sticker_items"] = [
            {"id": str(i), "name": "sticker", "format_type": 1} for i in body.sticker_ids
        ]
    return Draft(
        content=body.content or "",
        embeds=body.embeds or [],
        components=body.components or [],
        uploads=call.uploads,
        nonce=body.nonce,
        enforce_nonce=body.enforce_nonce,
        tts=body.tts,
        flags=body.flags,
        reference=body.message_reference,
        allowed_mentions=body.allowed_mentions,
        extra=extra,
    )


def _slice(channel: Channel, call: Call, limit: int) -> list[Message]:
    """Return a page of history, newest first (``around`` as well)."""
    newest = sorted(channel.messages.values(), key=lambda m: m.id, reverse=True)
    most = 1 << 63
    if "around" in call.query:
        middle = call.number("around", 0, least=0, most=most)
        older = [m for m in newest if m.id < middle][: limit // 2]
        rest = [m for m in newest if m.id >= middle][-(limit - limit // 2) :]
        return rest + older
    if "after" in call.query:
        after = call.number("after", 0, least=0, most=most)
        return [m for m in newest if m.id > after][-limit:]
    before = call.number("before", most, least=0, most=most)
    return [m for m in newest if m.id < before][:limit]
