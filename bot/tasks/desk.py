"""All that a running bot does about tasks, put together: who may, what runs, where it is told."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import discord
import structlog

from bot import ingress
from bot.client import InglenookBot
from bot.delivery import Delivery
from bot.parcels import Parcels
from bot.place import place_facts, role_now, rules_of
from bot.sending import FAILURES, describe_failure
from bot.tasks.posts import TaskPosts
from bot.wake import Wake, decide
from compiler.request import Role, RunScope
from sessions.parts import SessionParts
from sessions.store.database import Database
from sessions.store.outbox import OutboxStore
from sessions.store.tasks import TaskStore
from sessions.supervisor import Supervisor
from sessions.task_run import Standing
from sessions.task_service import TaskService

FIND_SECONDS = 20.0
_log = structlog.get_logger(__name__)


class TaskDesk:
    """Runs beside the conversations."""

    def __init__(
        self,
        bot: InglenookBot,
        *,
        parts: SessionParts,
        database: Database,
        outbox: OutboxStore,
        delivery: Delivery,
        parcels: Parcels,
    ) -> None:
        self._bot = bot
        store = TaskStore(database, outbox)
        posts = TaskPosts(bot, delivery=delivery, parcels=parcels)
        self._supervisor = Supervisor(
            parts,
            store,
            settings=lambda: bot.live.current.tasks,
            outbox=posts,
            keeper=self._standing,
        )
        self.service = TaskService(
            store,
            clock=parts.clock,
            settings=lambda: bot.live.current.tasks,
            wake=self._supervisor.wake,
        )

    def wake(self) -> None:
        """Look at once for what is due."""
        self._supervisor.wake()

    async def run(self) -> None:
        """Run tasks until closed."""
        await self._supervisor.serve()

    async def close(self) -> None:
        """Begin nothing more, and let what runs finish for a while."""
        await self._supervisor.close()

    async def _standing(self, scope: RunScope) -> Standing:
        """Ask anew who somebody is and whether he may talk to the imp there, by ids alone."""
        settings = self._bot.live.current
        if scope.channel_id is None or scope.user_id is None:
            return Standing(role=Role.MEMBER, is_open=False)
        user_id = ingress.snowflake(scope.user_id)
        guild_id = None if scope.guild_id is None else ingress.snowflake(scope.guild_id)
        roles = settings.allow.roles
        member = await self._member(guild_id, user_id) if roles and guild_id is not None else None
        facts = replace(
            place_facts(
                ingress.snowflake(scope.channel_id),
                None,
                guild_id=guild_id,
                user_id=user_id,
                user=member,
            ),
            parent_id=scope.parent_channel_id and str(ingress.snowflake(scope.parent_channel_id)),
        )
        here = self._bot.live.channel(facts.channel_id, facts.parent_id, is_dm=scope.is_dm)
        is_open = decide(facts, rules_of(settings, here, paired=self._bot.paired)) is Wake.ANSWER
        return Standing(role=role_now(user_id, member, settings), is_open=is_open)

    async def _member(self, guild_id: int, user_id: int) -> discord.Member | None:
        """Ask for the person as a member of the server, with the roles of now."""
        guild = self._bot.get_guild(guild_id)
        if guild is None:
            return None
        try:
            async with asyncio.timeout(FIND_SECONDS):
                return await guild.fetch_member(user_id)
        except FAILURES as failure:
            _log.warning("task.member_unknown", failure=describe_failure(failure))
            return None
