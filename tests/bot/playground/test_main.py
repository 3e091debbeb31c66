"""The playground alone, from the shell."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import aiohttp

from bot.playground.__main__ import main, parse, serve

if TYPE_CHECKING:
    import pytest


async def test_it_prints_where_it_is_and_serves(capsys: pytest.CaptureFixture[str]) -> None:
    """Page, REST and gateway answer at the printed addresses until it is told to stop."""
    started, stop = asyncio.Event(), asyncio.Event()
    options = parse(["--port", "0", "--token", "t", "--realistic-limits"])
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        group.create_task(serve(options, started=started, stop=stop))
        await started.wait()
        printed = capsys.readouterr().out.splitlines()
        found = {k.strip(): v for k, v in (line.rsplit(maxsplit=1) for line in printed)}
        assert found["Bot token"] == "t"
        headers = {"Authorization": "Bot t"}
        async with aiohttp.ClientSession(headers=headers) as session:
            async with session.get(f"{found['REST API']}/gateway/bot") as answer:
                assert (await answer.json())["url"] == found["Gateway"]
            async with session.get(found["Chat page"]) as answer:
                assert answer.status == 200
        stop.set()


async def test_a_taken_port_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    """No stack trace, and a non-zero exit."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert await main(["--port", str(taken.getsockname()[1])]) == 1
    assert "cannot start" in capsys.readouterr().err
