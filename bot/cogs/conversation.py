"""A message's way: wake, ingress, house rules, submit, deliver; ``changes`` follow it.

The order of a channel is kept twice: messages are submitted in the order of their events, and
answers are posted in the order of their turns. Between event and submit there is one short write
(the history, which also tells a repeated event, with the house rules) and no request to Discord.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Final

import discord
import structlog
from discord.ext import commands

from bot import ingress
from bot.answering import Answering
from bot.auto_threads import AutoThreads, title_of
from bot.client import InglenookBot
from bot.cogs.changes import Changes
from bot.cogs.pairing import Pairing
from bot.delivery import Delivery
from bot.errors import reply_for
from bot.logs import describe
from bot.look_back import LookBack
from bot.loop_guard import LoopGuard
from bot.missed import People
from bot.place import may_set_rules
from bot.proxies import Proxies
from bot.reading import Reader
from bot.rule_notices import RuleNotices
from bot.stop_word import is_stop, told_of
from bot.threads import Starters, UnknownThreads
from bot.threshold import Threshold
from bot.wake import Wake, WakeFacts
from compiler.request import Role
from config.load import LiveConfig
from config.settings import DirectiveMode, ThreadMode
from sessions.errors import SessionErrorCode, StoreUnavailable
from sessions.house.keeper import Received, RuleKeeper, Terms
from sessions.house.ruling import RulingKind
from sessions.inbound import InboundMessage
from sessions.outcomes import rejection
from sessions.registry import Registry
from sessions.store.history import HistoryStore
from sessions.ticket import Ticket

MAX_TURNED_AWAY: Final = 1_000
_log = structlog.get_logger(__name__)


class Conversation(commands.Cog):
    """Everything that people say."""

    def __init__(
        self,
        bot: InglenookBot,
        *,
        reader: Reader,
        registry: Registry,
        history: HistoryStore,
        rules: RuleKeeper,
        delivery: Delivery,
        answering: Answering,
        threshold: Threshold,
        pairing: Pairing,
        own_threads: AutoThreads,
        proxies: Proxies,
        changes: Changes,
        notices: RuleNotices,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._bot = bot
        self._reader = reader
        self._answering = answering
        self._live: LiveConfig = bot.live
        self._registry = registry
        self._history = history
        self._rules = rules
        self._notices = notices
        self._changes = changes
        self._delivery = delivery
        self._tasks = tasks
        self._threshold = threshold
        self._pairing = pairing
        self._inward = threshold.inward
        self._threads = UnknownThreads()
        self._own_threads = own_threads
        self._starters = Starters(history, reader.seen)
        self._proxies = proxies
        self._look_back = LookBack(
            history,
            connection=lambda: threshold.catch_up.connection,
            gone=changes.forget,
            edited=changes.correct,
        )
        self._loop_guard = LoopGuard()
        self._blank_told = False
        self._turned_away: dict[int, None] = {}
        """Messages that get no answer any more: they could not be written down when they came, or
        were answered by a host whose records are lost."""

    @commands.Cog.listener()
    async def on_message(self, message: discord.Message) -> None:
        """Answer, record or ignore a message, behind what came before it in its channel."""
        received_ns = time.monotonic_ns()
        async with self._inward.lane(message.channel.id):
            await self._threads.make_known(message)
            await self._threshold.cross(message.channel, self, before=message.id)  # type: ignore[arg-type]  # no group DMs for bots
            if await self._read(message, received_ns):
                self._threshold.catch_up.through(message)
            else:
                self._threshold.catch_up.ask_again(message.channel)

    async def receive(self, message: discord.Message, *, answered: bool) -> bool:
        """Take a message that was missed; its lane is held."""
        if answered:
            self._turn_away(message.id)
        return await self._read(message, time.monotonic_ns())

    async def take_up(self, message: discord.Message) -> None:
        """Take a message that an earlier host wrote down and did not begin; its lane is held."""
        facts = self._reader.facts(message)
        inbound = self._reader.inbound(message, facts, time.monotonic_ns())
        if self._reader.wake(facts) is not Wake.ANSWER:
            await self._delivery.drop(inbound.turn_id)
            return
        seen = self._reader.seen(message).entry
        await self._history.edit(seen.message_id, seen.text)  # it may have changed since
        received = await self._rules.again(inbound, marks=self._reader.marks)
        await self._begin(message, facts, received)

    def is_of_bot(self, message: discord.Message) -> bool:
        """Tell whether nobody would read a line about a message: a bot wrote it (P10)."""
        return self._reader.facts(message).is_bot

    async def forget(self, channel_id: int, message_id: int) -> None:
        """Let nothing of a message that is gone be known any more; its lane is held."""
        await self._changes.forget(channel_id, message_id)

    async def read_again(self, message: discord.Message) -> InboundMessage | None:
        """Make a turn's input of a message that was fetched; None if it is not answered now."""
        await People().complete(message)
        facts = self._reader.facts(message)
        if self._reader.wake(facts) is not Wake.ANSWER:
            return None
        inbound = self._reader.inbound(message, facts, time.monotonic_ns())
        received = await self._rules.again(inbound)
        return await self._reader.with_files(message, received.inbound)

    @commands.Cog.listener()
    async def on_thread_create(self, thread: discord.Thread) -> None:
        """Give a new thread the house rules of its channel as they are now."""
        user_id = thread.owner_id
        facts = self._reader.place_facts(thread.id, thread.guild.id, user_id, None)
        if self._reader.wake(facts) is not Wake.ANSWER:
            return
        place = ingress.place_scope(
            thread.id,
            guild_id=thread.guild.id,
            parent_id=thread.parent_id,
            is_private=ingress.is_private_thread(thread),
            user_id=user_id,
            role=Role.MEMBER,
        )
        async with self._inward.lane(thread.parent_id):
            await self._rules.begin(place)

    async def _read(self, message: discord.Message, received_ns: int) -> bool:
        """Decide over a message and carry it out; its lane is held.

        Returns:
            Whether it is through. What could not be written down is read again later; whoever was
            told that he gets no answer gets none then either.
        """
        facts = self._reader.facts(message)
        if (
            self._live.current.allow.proxies
            and not facts.is_bot
            and not self._reader.is_copy(message)
        ):
            self._proxies.note(message)
        wake = self._reader.wake(facts)
        if wake is Wake.ANSWER and facts.is_bot and not self._admits_bot(message.channel.id):
            _log.warning("message.bot_loop", channel_id=ingress.prefixed(message.channel.id))
            wake = Wake.RECORD
        if wake is Wake.ANSWER and message.id in self._turned_away:
            wake = Wake.RECORD
        try:
            if wake is Wake.DECLINE:
                self._spawn(self._pairing.decline(message), "declined")
            elif wake is Wake.RECORD:
                await self._history.append(self._reader.seen(message))
            elif wake is Wake.ANSWER:
                await self._take(message, facts, received_ns)
        except Exception as error:  # noqa: BLE001  (what cannot be kept is not sent to the model)
            line = reply_for(error)
            if wake is Wake.ANSWER:
                self._turn_away(message.id)
                if not facts.is_bot:
                    self._spawn(self._delivery.notice(message, line, key="unkept"), "unkept")
            return not isinstance(error, StoreUnavailable)
        return True

    def _turn_away(self, message_id: int) -> None:
        if len(self._turned_away) >= MAX_TURNED_AWAY:
            del self._turned_away[next(iter(self._turned_away))]
        self._turned_away[message_id] = None

    async def _take(self, message: discord.Message, facts: WakeFacts, received_ns: int) -> None:
        seen = self._reader.seen(message)
        inbound = self._reader.inbound(message, facts, received_ns)
        is_addressed = facts.is_addressed
        copied = self._reader.is_copy(message)
        if not facts.is_bot and not copied and self._means_stop(message, facts, inbound):
            if await self._history.append(seen):
                self._stop(message, inbound)
            return
        if self._reader.keeps_all(facts):
            await self._starters.learn(message.channel)
        terms = self._terms(inbound, facts, addressed=is_addressed)
        received = await self._rules.receive(seen, inbound, terms)
        if received is not None and copied:
            self._spawn(self._take_copy(message, facts, received), f"copy:{inbound.turn_id}")
        elif received is not None:
            await self._begin(message, facts, received)

    async def _take_copy(
        self, message: discord.Message, facts: WakeFacts, received: Received
    ) -> None:
        """Answer what a proxy said again, unless its original is; the lane is not held."""
        behind = await self._proxies.behind(message)
        async with self._inward.lane(message.channel.id):
            if behind.handled or self._answering.is_gone(message.id):
                await self._delivery.drop(received.inbound.turn_id)
                return
            if behind.person is not None:
                author = behind.person.author
                known = ingress.of_person(received.inbound, author.id, self._reader.role(author))
                received = replace(received, inbound=known)
            await self._begin(message, facts, received)

    async def _begin(self, message: discord.Message, facts: WakeFacts, received: Received) -> None:
        """Make a message that is written down ready: its files, its thread; then queue it."""
        count = self._live.budgets(received.inbound.imp).history_max_messages
        await self._look_back.ensure(message.channel, before=message.id, count=count)  # type: ignore[arg-type]  # no group DMs for bots
        # The lane is held, so the order stays that of the ids.
        inbound = await self._reader.with_files(message, received.inbound)
        received = replace(received, inbound=inbound)
        if self._wants_thread(facts, received):
            await self._own_threads.open(message, title_of(received.inbound.message))
            scope = received.inbound.scope
            place = replace(ingress.scope(message, role=scope.role), user_id=scope.user_id)
            received = replace(received, inbound=replace(received.inbound, scope=place))
            facts = self._reader.facts(message)
        self._start(message, facts, received)

    def _wants_thread(self, facts: WakeFacts, received: Received) -> bool:
        """Tell whether a question of a person goes to the model, in a channel of threads."""
        if facts.is_bot or facts.guild_id is None or facts.parent_id is not None:
            return False
        here = self._reader.channel(facts)
        return here.threads is ThreadMode.AUTO and self._rules.concluded(received) is None

    def _start(self, message: discord.Message, facts: WakeFacts, received: Received) -> None:
        """Queue a message that is written down, and see to its answer."""
        inbound = received.inbound
        if ingress.is_blank(inbound.message):
            self._tell_of_blank(inbound)
            self._spawn(self._delivery.drop(inbound.turn_id), "blank")
            return
        ticket = self._submit(received)
        if received.ruling.kind is RulingKind.UPDATED:
            emoji = self._live.current.directives.emoji
            self._spawn(self._notices.taken(message, emoji), f"rule:{inbound.turn_id}")
        addressed = facts.is_addressed and not facts.is_bot
        shown = self._answering.watch(message, ticket)
        finishing = self._answering.finish(
            message,
            ticket,
            shown,
            addressed=addressed,
            is_bot=facts.is_bot,
            on_answer=lambda: self._proxies.answering(message.id),
        )
        self._spawn(finishing, inbound.turn_id)

    def _means_stop(
        self, message: discord.Message, facts: WakeFacts, inbound: InboundMessage
    ) -> bool:
        """Tell whether a message is the word "stop", meant for the imp.

        Where every message is answered nobody calls it by its name; there the word counts if
        there is something to be stopped.
        """
        if not is_stop(message.content, me=self._reader.me):
            return False
        everyones = inbound.scope.role is Role.OWNER
        return facts.is_addressed or self._registry.concerns(
            inbound.imp, inbound.scope, everyones=everyones
        )

    def _stop(self, message: discord.Message, inbound: InboundMessage) -> None:
        """Stop what runs here: all of it for an owner, his own for anybody else."""
        done = self._registry.interrupt(
            inbound.imp,
            inbound.scope,
            everyones=inbound.scope.role is Role.OWNER,
            drop=self._live.current.talk.on_stop == "drop",
        )
        _log.info("turn.stop_wanted", channel_id=inbound.scope.channel_id, stopped=done.stopped)
        self._spawn(self._delivery.notice(message, told_of(done), key="stop"), "stop")

    def _admits_bot(self, channel_id: int) -> bool:
        talk = self._live.current.talk
        return self._loop_guard.admits(
            channel_id,
            now=time.monotonic(),
            turns=talk.bot_turns,
            window_seconds=talk.bot_window_seconds,
        )

    def _spawn(self, work: Coroutine[object, object, object], name: str) -> None:
        self._tasks.create_task(_guarded(work), name=name)

    def _submit(self, received: Received) -> Ticket:
        """Queue a message, unless fixed words are all there is to say."""
        inbound = received.inbound
        concluded = self._rules.concluded(received)
        if concluded is None and not self._sender_has_room(inbound):
            concluded = rejection(inbound, SessionErrorCode.SENDER_FULL)
        if concluded is None:
            if self._live.current.talk.busy == "interrupt":
                self._registry.interrupt(inbound.imp, inbound.scope, everyones=False, drop=False)
            return self._registry.submit(inbound)
        ticket = Ticket(inbound)
        ticket.settle(concluded)
        return ticket

    def _terms(self, inbound: InboundMessage, facts: WakeFacts, *, addressed: bool) -> Terms:
        """Say whether a directive in this message counts, from its place and its author's tier.

        One that there is no room for in the queue is not read at all: nothing may be changed by
        a message that is then turned away. While the host closes, none is: the next one answers.
        """
        here = self._reader.channel(facts)
        closing = self._registry.closing
        return Terms(
            reads=addressed
            and here.directives is DirectiveMode.ADDRESSED
            and (closing or self._registry.has_room(inbound.imp, inbound.scope))
            and self._sender_has_room(inbound),
            trusted=may_set_rules(inbound.scope.role, here, is_dm=inbound.scope.is_dm),
            marks=self._reader.marks,
        )

    def _sender_has_room(self, inbound: InboundMessage) -> bool:
        """Tell whether one more message of this person may wait here."""
        waiting = self._registry.waiting_of(inbound.imp, inbound.scope)
        return waiting < self._live.current.talk.sender_waiting

    def _tell_of_blank(self, inbound: InboundMessage) -> None:
        """Say once that messages arrive without content: a switched-off intent looks like this."""
        if not self._blank_told:
            self._blank_told = True
            if self._delivery.alarms is not None:
                self._delivery.alarms.blank(str(inbound.scope.channel_id))
            _log.warning(
                "message.blank", channel_id=inbound.scope.channel_id, intent="message content"
            )


async def _guarded(work: Coroutine[object, object, object]) -> None:
    """Keep one message's trouble from ending all deliveries."""
    try:
        await work
    except Exception as error:  # noqa: BLE001  (logged; the others go on)
        _log.error("message.failed", **describe(error))
