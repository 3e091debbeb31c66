"""The topics of the bot, made of what the composition root holds, and added in their order."""

from __future__ import annotations

import asyncio

from bot.answering import Answering
from bot.auto_threads import AutoThreads
from bot.client import InglenookBot
from bot.cogs.cache import CacheCog
from bot.cogs.changes import Changes
from bot.cogs.channel import ChannelCog
from bot.cogs.connection import Connection
from bot.cogs.context import ContextCog
from bot.cogs.conversation import Conversation
from bot.cogs.doctor import DoctorCog
from bot.cogs.gates import Gates
from bot.cogs.gone_places import GonePlaces
from bot.cogs.imp import ImpCog
from bot.cogs.inspect import InspectCog
from bot.cogs.memory import MemoryCog
from bot.cogs.memory_menus import MemoryMenus
from bot.cogs.pairing import Pairing
from bot.cogs.runs import Runs, no_page
from bot.cogs.sessions import SessionsCog
from bot.cogs.state import StateCog
from bot.cogs.stop import StopCog
from bot.cogs.usage import UsageCog
from bot.cogs.warm_up import WarmUp
from bot.delivery import Delivery
from bot.gates.service import GateService
from bot.inspector.server import Inspector
from bot.long_message import LongMessages
from bot.memory.desk import MemoryDesk
from bot.proxies import Proxies
from bot.reading import Reader
from bot.rule_notices import RuleNotices
from bot.runs.book import RunBook
from bot.runs.kept_traces import KeptTraces
from bot.stop_button import StopButtons
from bot.threshold import Threshold
from sessions.memory.service import MemoryService
from sessions.parts import SessionParts
from sessions.registry import Registry
from sessions.store.database import Database
from sessions.store.inbox import InboxStore
from sessions.store.kept import KeptStore
from sessions.store.pairings import PairingStore
from sessions.store.usage import UsageStore
from sessions.usage_book import UsageBook


async def add_cogs(
    bot: InglenookBot,
    *,
    parts: SessionParts,
    registry: Registry,
    memory: MemoryService,
    delivery: Delivery,
    threshold: Threshold,
    inbox: InboxStore,
    gates: GateService,
    database: Database,
    tasks: asyncio.TaskGroup,
    inspector: Inspector | None,
) -> None:
    """Give the bot all that it listens to and offers."""
    live = bot.live
    desk = MemoryDesk(bot, memory=memory, delivery=delivery)
    await bot.add_cog(desk)
    await threshold.load()
    pairing = Pairing(bot, store=PairingStore(database), delivery=delivery)
    await pairing.load()
    await bot.add_cog(pairing)
    answering = Answering(
        live,
        registry=registry,
        delivery=delivery,
        desk=desk,
        outward=threshold.outward,
        refusals=parts.feed.refusals,
    )
    reader = Reader(bot)
    notices, proxies = RuleNotices(parts.rules, delivery), Proxies()
    own_threads = AutoThreads(alarms=delivery.alarms)
    changes = Changes(
        bot,
        reader=reader,
        registry=registry,
        history=parts.history,
        notices=notices,
        answering=answering,
        desk=desk,
        own_threads=own_threads,
        proxies=proxies,
        inward=threshold.inward,
    )
    conversation = Conversation(
        bot,
        reader=reader,
        registry=registry,
        history=parts.history,
        rules=parts.rules,
        delivery=delivery,
        answering=answering,
        threshold=threshold,
        pairing=pairing,
        own_threads=own_threads,
        proxies=proxies,
        changes=changes,
        notices=notices,
        tasks=tasks,
    )
    await bot.add_cog(conversation)
    await bot.add_cog(changes)
    await bot.add_cog(GonePlaces(registry, inward=threshold.inward))
    await bot.add_cog(WarmUp(bot, registry=registry, reader=reader))
    gates.add_to(bot, registry=registry, rules=parts.rules, memories=desk, receiver=conversation)
    await bot.add_cog(Gates(bot, desk=gates.desk))
    long_messages = LongMessages(
        bot,
        registry=registry,
        delivery=delivery,
        inbox=inbox,
        outward=threshold.outward,
        read_again=conversation.read_again,
        tasks=tasks,
    )
    answering.on_overflow = long_messages.expect
    await bot.add_cog(long_messages)
    await bot.add_cog(Connection(bot, threshold=threshold, receiver=conversation, tasks=tasks))
    await bot.add_cog(SessionsCog(live, registry))
    await bot.add_cog(StopCog(live, registry))
    await bot.add_cog(StopButtons(bot, registry))
    await bot.add_cog(ChannelCog(live))
    await bot.add_cog(StateCog(live, parts.rules))
    await bot.add_cog(ContextCog(live, parts))
    await bot.add_cog(MemoryCog(bot, memory=memory))
    await bot.add_cog(MemoryMenus(bot, memory=memory, desk=desk, runs=parts.runs))
    await bot.add_cog(ImpCog(live, parts.sources))
    await bot.add_cog(DoctorCog(live))
    kept = KeptTraces()  # who shows a run often asks for its difference next
    await bot.add_cog(CacheCog(RunBook(live.home, parts.runs, kept=kept)))
    book = RunBook(live.home, parts.runs, parts.rules.of_run, kept=kept)
    await bot.add_cog(Runs(bot, book=book, page_of=inspector.page if inspector else no_page))
    await bot.add_cog(InspectCog(inspector))
    if parts.allowance is not None:
        usage = UsageBook(UsageStore(database), parts.allowance)
        await bot.add_cog(UsageCog(bot, book=usage, kept=KeptStore(database), memory=memory))
