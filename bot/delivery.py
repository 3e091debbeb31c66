"""What a turn gave, as messages in the channel.

``bot.posts`` decides what is posted (pure); ``Delivery`` writes it into the outbox and posts it.
Each message is a reply to the one it answers, pings nobody, is never blank, and carries a nonce
made of its turn and place, so that sending it again after a doubtful failure cannot post it twice.
How one message is tried and given up is in ``bot.sending``; a final failure is for the owner's log,
and what could not be posted is never posted anywhere else. Where the owner wants answers approved
first (``Holds``), one is not posted but handed over to wait.

What an earlier host left in the outbox is posted by ``resume``, which looks into the channel first:
the send may have worked, and only the note of it be missing (P06).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import discord
import structlog
from structlog.contextvars import bound_contextvars

from bot import ingress
from bot.alarms import OwnerAlarms
from bot.auto_threads import channel_above
from bot.find_posted import find_posted
from bot.live_posts import LivePosts, answered
from bot.posts import WHOLE_ANSWER, Post, compose, nonce
from bot.sending import (
    FAILURES,
    DeliveryLimits,
    Sending,
    Target,
    describe_failure,
    send,
)
from compiler.errors import SafeError
from compiler.request import (
    ChannelId,
    GuildId,
    HistoryMessage,
    MessageId,
    Place,
    Role,
    RunId,
    RunScope,
    TurnId,
    UserId,
)
from sessions.inbound import OutcomeKind, SeenMessage, TurnOutcome
from sessions.limits import TalkSettings
from sessions.pi.provider_fault import ProviderFault
from sessions.store.outbox import OutboxStore, Parcel, Piece, PieceState

_log = structlog.get_logger(__name__)
__all__ = ("WHOLE_ANSWER", "Delivery", "DeliveryLimits", "Post", "Target", "compose", "nonce")


class Holds(Protocol):
    """Keeps answers back until somebody approved them."""

    def holds_here(self, scope: RunScope) -> bool:
        """Tell whether answers wait in a place."""

    async def hold(self, target: Target, scope: RunScope, outcome: TurnOutcome) -> bool:
        """Take an answer that must not be posted yet; False where it may be.

        Raises:
            SafeError: it could not be taken; it is not posted.
        """


class Delivery:
    """Posts outcomes and remembers which message belongs to which turn."""

    def __init__(
        self,
        *,
        outbox: OutboxStore,
        limits: DeliveryLimits | None = None,
        alarms: OwnerAlarms | None = None,
        talk: Callable[[], TalkSettings] = TalkSettings,
    ) -> None:
        self._talk = talk
        self._outbox = outbox
        self._alarms = alarms
        self._limits = limits or DeliveryLimits()
        self.live = LivePosts(self, outbox, self._limits)
        """The messages that stand for running turns."""
        self.holds: Holds | None = None
        """Who keeps answers back; set once, where the bot is put together."""
        self.buttons_of: Callable[[str], discord.ui.View | None] = lambda _: None
        """Lays out the buttons of a parcel that an earlier host left, by the parcel's key."""

    @property
    def alarms(self) -> OwnerAlarms | None:
        """Who tells the owner."""
        return self._alarms

    @asynccontextmanager
    async def typing(
        self, channel: discord.abc.Messageable
    ) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Show typing until the block ends, and surely not after what is sent behind it.

        What it gives ends it before.
        """
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            shown = tasks.create_task(self._keep_typing(channel, stop), name="typing")

            async def end() -> None:
                stop.set()
                await asyncio.wait({shown}, timeout=self._limits.typing_grace_seconds)
                shown.cancel()

            try:
                yield end
            finally:
                await end()

    async def deliver(
        self,
        target: Target,
        scope: RunScope,
        outcome: TurnOutcome,
        *,
        addressed: bool = True,
        buttons: discord.ui.View | None = None,
        approved: bool = False,
        over: Sequence[MessageId] = (),
    ) -> int:
        """Post an outcome as an answer to ``target``; give the number of messages posted.

        ``buttons`` go under the last message. ``approved`` is an answer that was kept back.
        ``over`` are the messages that stood for the turn while it ran: they become the answer.
        """
        holds = self.holds if outcome.kind is OutcomeKind.REPLIED and not approved else None
        if holds is not None and await holds.hold(target, scope, outcome):
            await self.live.remove(target.channel, over)
            return 0
        if outcome.error_code == ProviderFault.AUTH and self._alarms is not None:
            self._alarms.key_refused(outcome.run_id)
        parcel = self.parcel(
            outcome,
            channel_id=ChannelId(ingress.prefixed(target.channel.id)),
            guild_id=scope.guild_id,
            reply_to=answered(target),
            addressed=addressed,
        )
        await self.live.remove(target.channel, over[len(parcel.contents) :])
        return await self._carry(target.channel, parcel, buttons, over=over)

    def may_stream(self, scope: RunScope) -> bool:
        """Tell whether an answer may be shown before it is whole: not where it waits for a yes."""
        return self.holds is None or not self.holds.holds_here(scope)

    def parcel(
        self,
        outcome: TurnOutcome,
        *,
        channel_id: ChannelId,
        guild_id: GuildId | None,
        reply_to: MessageId | None,
        addressed: bool = True,
    ) -> Parcel:
        """Give what is posted of an outcome, the same each time it is asked for."""
        post = compose(outcome, addressed=addressed, talk=self._talk())
        return Parcel(
            key=f"turn:{outcome.turn_id}",
            channel_id=channel_id,
            guild_id=guild_id,
            reply_to=reply_to,
            turn_id=outcome.turn_id,
            run_id=outcome.run_id,
            contents=post.contents,
            nonces=tuple(nonce(outcome.turn_id, part) for part in range(len(post.contents))),
            file_text=post.file_text,
            quotable=outcome.kind is OutcomeKind.REPLIED,
        )

    async def post(self, channel: discord.abc.Messageable, parcel: Parcel) -> int:
        """Post what answers no message; its key says which buttons it has."""
        return await self._carry(channel, parcel, None)

    async def notice(
        self,
        target: Target,
        text: str,
        *,
        key: str,
        buttons: discord.ui.View | None = None,
        ends: TurnId | None = None,
        run_id: RunId | None = None,
        over: Sequence[MessageId] = (),
    ) -> bool:
        """Post one fixed line; ``key`` tells it from other lines to the same message.

        ``ends`` is the turn that owes nothing more with it, ``run_id`` where that was recorded.
        ``over`` are messages that stood for the turn: the first becomes the line.
        """
        guild = getattr(target.channel, "guild", None)
        parcel = Parcel(
            key=f"{key}:{target.id}",
            channel_id=ChannelId(ingress.prefixed(target.channel.id)),
            guild_id=None if guild is None else GuildId(ingress.prefixed(guild.id)),
            reply_to=answered(target),
            turn_id=ends,
            run_id=run_id,
            contents=(text,),
            nonces=(nonce(TurnId(f"{key}:{target.id}"), "notice"),),
        )
        await self.live.remove(target.channel, over[1:])
        return await self._carry(target.channel, parcel, buttons, over=over) == 1

    async def react(self, target: Target, emoji: str) -> bool:
        """Put a small sign under a message; it is not worth a second attempt."""
        above = channel_above(target.channel, target.id)
        where = target if above is None else above.get_partial_message(target.id)
        try:
            async with asyncio.timeout(self._limits.send_seconds):
                await where.add_reaction(emoji)
        except FAILURES as failure:
            _log.info("reaction.failed", failure=describe_failure(failure))
            return False
        return True

    async def resume(self, channel: discord.abc.Messageable, pieces: tuple[Piece, ...]) -> None:
        """Bring to an end what an earlier host had begun to post in a channel, once."""
        turn_id = pieces[0].turn_id
        over = await self.live.of_turn(channel, turn_id) if turn_id is not None else ()
        await self.live.remove(channel, over[pieces[-1].part + 1 :])
        for piece in pieces:
            if piece.part < len(over):
                if not await self._post(channel, piece, None, over=over):
                    return
                continue
            found = await self.already_there(channel, piece)
            if isinstance(found, discord.Message):
                await self.note_sent(piece, found, piece.content)
            elif found is None:
                _log.error("delivery.unsure", run_id=piece.run_id, channel_id=piece.channel_id)
                await self._note_failed(piece, ["unsure"])
            elif not await self._post(channel, piece, None):
                return

    async def drop(self, turn_id: TurnId) -> None:
        """Post nothing more for a turn; nothing more is owed to its message."""
        try:
            await self._outbox.drop(turn_id)
        except SafeError as error:
            _log.warning("delivery.unrecorded", turn_id=turn_id, code=str(error.code))

    async def give_up(self, pieces: tuple[Piece, ...], reason: str) -> None:
        """End what cannot be posted any more, because its channel is gone or closed."""
        for piece in pieces:
            await self._note_failed(piece, [reason])

    async def _carry(
        self,
        channel: discord.abc.Messageable,
        parcel: Parcel,
        buttons: discord.ui.View | None,
        *,
        over: Sequence[MessageId] = (),
    ) -> int:
        try:
            pieces = await self._outbox.open(parcel)
        except SafeError as error:
            # The answer is worth more than the note of it; its nonce still guards against doubles.
            _log.warning("delivery.unrecorded", run_id=parcel.run_id, code=str(error.code))
            pieces = self._outbox.unrecorded(parcel)
        posted = 0
        for piece in pieces:
            if piece.state is PieceState.PENDING:
                under = buttons if piece is pieces[-1] else None
                if not await self._post(channel, piece, under, over=over):
                    break
            posted += piece.state is not PieceState.FAILED
        return posted

    def sending(
        self,
        channel: discord.abc.Messageable,
        piece: Piece,
        buttons: discord.ui.View | None,
        *,
        edits: MessageId | None = None,
    ) -> Sending:
        """Make a part ready to be sent, or to take the place of a message of ours."""
        question = ingress.snowflake(piece.reply_to) if piece.reply_to else None
        # What a thread was made of stands above it, where nothing in the thread can refer to it.
        refers = piece.part == 0 and question and channel_above(channel, question) is None
        under = buttons or self.buttons_of(piece.key)
        return Sending(
            channel=channel,
            channel_id=ingress.snowflake(piece.channel_id),
            content=piece.content,
            nonce=piece.nonce,
            edits=None if edits is None else ingress.snowflake(edits),
            reply_to=question if refers else None,
            file_text=piece.file_text,
            attached=piece.files,
            buttons=under,
            pings=piece.quotable and self._talk().ping_asker,
        )

    async def _post(
        self,
        channel: discord.abc.Messageable,
        piece: Piece,
        buttons: discord.ui.View | None,
        *,
        over: Sequence[MessageId] = (),
    ) -> bool:
        edits = over[piece.part] if piece.part < len(over) else None
        sending = self.sending(channel, piece, buttons, edits=edits)
        with bound_contextvars(run_id=piece.run_id):
            sent = await send(sending, self._limits)
            if sent is not None:
                await self.note_sent(piece, sent, piece.content)
                return True
            _log.error("delivery.failed", channel_id=piece.channel_id, attempts=sending.attempts)
        await self._note_failed(piece, sending.attempts)
        return False

    async def already_there(
        self, channel: discord.abc.Messageable, piece: Piece
    ) -> discord.Message | bool | None:
        """Look for a part in its channel: the message, False if it is not there, None if unsure.

        Raises:
            StoreUnavailable: which messages are known cannot be read.
        """
        known = await self._outbox.known_messages(piece.channel_id)
        return await find_posted(channel, piece, known, seconds=self._limits.send_seconds)

    async def note_sent(self, piece: Piece, sent: discord.Message, content: str) -> None:
        """Note that a part is in its channel; an answer becomes history with it."""
        message_id = MessageId(ingress.prefixed(sent.id))
        seen = None
        if piece.quotable:
            entry = HistoryMessage(
                message_id=message_id,
                author_label=ingress.one_line(sent.author.display_name),
                text=content,
                author_id=UserId(ingress.prefixed(sent.author.id)),
                is_imp=True,
            )
            seen = SeenMessage(scope=_scope(piece, entry), entry=entry)
        try:
            await self._outbox.sent(piece, message_id, seen)
        except SafeError as error:
            # The answer stands in the channel; only the note of it is lost.
            _log.warning("delivery.unrecorded", message_id=message_id, code=str(error.code))

    async def _note_failed(self, piece: Piece, attempts: list[str]) -> None:
        if self._alarms is not None:
            reason = attempts[-1] if attempts else ""
            self._alarms.undelivered(
                channel_id=piece.channel_id, run_id=piece.run_id, reason=reason
            )
        try:
            await self._outbox.failed(piece, attempts[-1] if attempts else "")
        except SafeError as error:
            _log.warning("delivery.unrecorded", run_id=piece.run_id, code=str(error.code))

    async def _keep_typing(self, channel: discord.abc.Messageable, stop: asyncio.Event) -> None:
        # The prompt goes first: this request costs the loop as much as compiling does.
        patience_seconds = self._limits.typing_delay_seconds
        while not await _is_set_within(stop, patience_seconds):
            try:
                async with asyncio.timeout(self._limits.typing_seconds):
                    await channel.typing()
            except FAILURES as failure:
                _log.debug("typing.failed", failure=describe_failure(failure))
            patience_seconds = self._limits.typing_every_seconds


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


def _scope(piece: Piece, entry: HistoryMessage) -> RunScope:
    """Say where a part of the imp's own was posted."""
    return RunScope(
        provider=ingress.PROVIDER,
        place=Place.DM if piece.guild_id is None else Place.GROUP,
        channel_id=piece.channel_id,
        guild_id=piece.guild_id,
        user_id=entry.author_id,
        role=Role.MEMBER,
        message_id=entry.message_id,
    )
