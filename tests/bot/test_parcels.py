"""Parcels, posted beside everything else."""

from __future__ import annotations

import asyncio
from unittest.mock import create_autospec

import discord
import pytest

from bot.client import InglenookBot
from bot.delivery import Delivery
from bot.lanes import Lanes
from bot.parcels import Parcels
from compiler.request import ChannelId, GuildId
from sessions.store.outbox import Parcel

PARCEL = Parcel(
    key="task:1",
    channel_id=ChannelId("discord:10"),
    guild_id=GuildId("discord:20"),
    contents=("one", "two"),
    nonces=("n1", "n2"),
)


class Post:
    """Where parcels are brought, with a lane that a test may hold."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.delivery = create_autospec(Delivery, instance=True)
        self.outward = Lanes()
        self.bot = create_autospec(InglenookBot, instance=True)
        self.parcels = Parcels(self.bot, delivery=self.delivery, outward=self.outward, tasks=tasks)


@pytest.mark.parametrize(("stands", "whole"), [(2, True), (1, False)])
async def test_it_tells_whether_all_of_it_stands_there(*, stands: int, whole: bool) -> None:
    """Issue "Outbound": delivered parts are counted, and the place is the parcel's own."""
    async with asyncio.TaskGroup() as tasks:
        post = Post(tasks)
        post.delivery.post.return_value = stands
        assert await post.parcels.post(PARCEL) is whole
    post.bot.get_partial_messageable.assert_called_once_with(10, guild_id=20)


@pytest.mark.parametrize("failure", [OSError(), discord.ClientException(), KeyError()])
async def test_one_that_cannot_be_posted_ends_no_other_work(failure: Exception) -> None:
    """Style "Async": the group of all deliveries outlives one message."""
    async with asyncio.TaskGroup() as tasks:
        post = Post(tasks)
        post.delivery.post.side_effect = failure
        assert await post.parcels.post(PARCEL) is False


async def test_it_waits_for_the_answers_of_its_channel() -> None:
    """Issue "Inbound", order: nothing is put between the parts of an answer."""
    async with asyncio.TaskGroup() as tasks:
        post = Post(tasks)
        post.delivery.post.return_value = 2
        async with post.outward.lane(10):
            posting = post.parcels.post(PARCEL)
            elsewhere = post.parcels.post(
                Parcel(
                    key="task:2",
                    channel_id=ChannelId("discord:11"),
                    guild_id=None,
                    contents=("one", "two"),
                    nonces=("n3", "n4"),
                )
            )
            assert await elsewhere is True
            assert not posting.done()
        assert await posting is True
