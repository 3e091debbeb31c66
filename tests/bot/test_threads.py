"""A place known by its id alone: asked for once, and only then followed or left."""

from __future__ import annotations

import asyncio

import discord
import pytest

from bot import ingress
from bot.threads import UnknownThreads
from support.discord_messages import HEARTH, ME, THREAD, State, make_message, make_state

HIDDEN = 990


class Rest:
    """Discord's side of ``GET /channels/<id>``: one thread, and nothing else."""

    def __init__(self, thread: discord.Thread) -> None:
        self.thread = thread
        self.asked: list[int] = []
        self.troubles = 0

    async def fetch_channel(self, channel_id: int) -> discord.Thread:
        self.asked.append(channel_id)
        await asyncio.sleep(0)
        if self.troubles:
            self.troubles -= 1
            raise discord.RateLimited(60.0)
        if channel_id != self.thread.id:
            raise discord.InvalidData("another place")
        return self.thread


@pytest.fixture
async def state() -> State:
    return make_state()


@pytest.fixture
async def rest(state: State, monkeypatch: pytest.MonkeyPatch) -> Rest:
    """Make the thread one that Discord knows and the library does not."""
    (guild,) = state.guilds
    thread = guild.get_thread(THREAD)
    assert thread is not None
    guild._remove_thread(thread)
    rest = Rest(thread)
    monkeypatch.setattr(
        discord.Guild, "fetch_channel", lambda _, number: rest.fetch_channel(number)
    )
    return rest


async def test_an_unknown_thread_is_asked_for_once_and_has_its_channel(
    state: State, rest: Rest
) -> None:
    """Issue "Bot": a thread has the settings of its channel, also where nobody told of it."""
    threads = UnknownThreads()
    first = make_message(state, "one", channel_id=str(THREAD))
    assert ingress.facts(first, me=ME).parent_id is None
    await threads.make_known(first)
    assert ingress.facts(first, me=ME).parent_id == str(HEARTH)
    second = make_message(state, "two", channel_id=str(THREAD))
    await threads.make_known(second)
    assert ingress.facts(second, me=ME).parent_id == str(HEARTH)
    assert rest.asked == [THREAD]


async def test_a_hidden_place_is_not_asked_for_again(state: State, rest: Rest) -> None:
    """What Discord does not show is left as it is, at the cost of one request."""
    threads = UnknownThreads()
    for _ in range(3):
        message = make_message(state, "hm", channel_id=str(HIDDEN))
        await threads.make_known(message)
        assert ingress.facts(message, me=ME).parent_id is None
    assert rest.asked == [HIDDEN]


async def test_a_place_is_asked_for_again_when_discord_was_in_trouble(
    state: State, rest: Rest
) -> None:
    """Issue "Bot": a failure that passes leaves a thread without its channel's settings once."""
    rest.troubles = 1
    threads = UnknownThreads()
    for parent in (None, str(HEARTH)):
        message = make_message(state, "hm", channel_id=str(THREAD))
        await threads.make_known(message)
        assert ingress.facts(message, me=ME).parent_id == parent


async def test_a_known_channel_costs_no_request(state: State, rest: Rest) -> None:
    """Between event and turn stands no request to Discord."""
    await UnknownThreads().make_known(make_message(state, "hm"))
    assert rest.asked == []
