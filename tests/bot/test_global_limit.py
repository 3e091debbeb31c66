"""The library's gate for Discord's rate limit over all requests."""

from __future__ import annotations

import asyncio

import discord
import pytest

from bot import global_limit


async def test_who_is_given_up_while_he_waits_keeps_nobody_back() -> None:
    """The fault log's 429s: opened by whoever leaves, and by nobody else."""
    client = discord.Client(intents=discord.Intents.none())
    shut = asyncio.Event()

    async def limited(path: str) -> str:
        if path != "limited":
            return path
        client.http._global_over.clear()
        shut.set()
        await asyncio.Event().wait()
        raise AssertionError

    client.http.request = limited  # type: ignore[assignment, method-assign]  # no Discord
    global_limit.guard(client)
    over = client.http._global_over
    assert over.is_set()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await client.http.request("limited")  # type: ignore[arg-type]
    assert shut.is_set()
    assert over.is_set()
    async with asyncio.TaskGroup() as tasks:
        waits = tasks.create_task(client.http.request("limited"))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        assert await client.http.request("other") == "other"  # type: ignore[arg-type]
        assert not over.is_set(), "it holds still"
        waits.cancel()
    assert over.is_set()
