"""Open pages hear of changed runs, and of nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from bot.inspector.live import MAX_STREAMS
from compiler.request import RunId
from support.inspector_world import REQUEST_SECONDS, Reader, inspecting
from support.recorded_runs import RUN, record_run
from support.session_world import eventually

OTHER = RunId("2026-11-30-08-00-00-efgh")


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    await record_run(tmp_path)
    async with inspecting(tmp_path) as opened:
        yield opened


async def told(stream: aiohttp.ClientResponse) -> str:
    """The next change's run."""
    async with asyncio.timeout(REQUEST_SECONDS):
        while True:
            line = (await stream.content.readline()).decode()
            if line.startswith("data: "):
                return line.removeprefix("data: ").strip()


async def test_a_page_hears_of_its_run_and_a_list_of_every_run(reader: Reader) -> None:
    """Server-sent events: ids, no content; nothing is asked again and again."""
    origin = reader.inspector.origin
    async with (
        reader.http.get(f"{origin}/live") as every,
        reader.http.get(f"{origin}/live?run={RUN}") as one,
    ):
        assert every.content_type == "text/event-stream"
        assert every.headers["Cache-Control"] == "no-store"
        await eventually(lambda: reader.feed.listening == 2)
        reader.feed.tell(OTHER)
        reader.feed.tell(RUN)
        assert [await told(every), await told(every)] == [OTHER, RUN]
        assert await told(one) == RUN
    await eventually(lambda: reader.feed.listening == 0)  # pages that were closed are noticed


async def test_a_stream_ends_with_its_session(reader: Reader) -> None:
    async with reader.http.get(f"{reader.inspector.origin}/live") as stream:
        await eventually(lambda: reader.feed.listening == 1)
        reader.clock.seconds += 12 * 3600
        reader.feed.wake()
        async with asyncio.timeout(REQUEST_SECONDS):
            assert b"event" not in await stream.content.read()


async def test_streams_are_few(reader: Reader) -> None:
    """A page opened a hundred times takes no more than its share."""
    async with aiohttp.ClientSession(
        cookie_jar=reader.http.cookie_jar, connector=aiohttp.TCPConnector(limit=0)
    ) as many:
        address = f"{reader.inspector.origin}/live"
        streams = [await many.get(address) for _ in range(MAX_STREAMS)]
        async with many.get(address) as refused:
            assert refused.status == 503
        for stream in streams:
            stream.close()
