"""Which addresses files are fetched from; how they are read is proven end to end."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from bot import ingress
from bot.attachments import is_ours, with_files
from compiler.request import PartKind, Role
from config.settings import DISCORD_API
from sessions.limits import FileSettings
from support.discord_messages import attachment, make_message, make_state

LOCAL = "http://127.0.0.1:4301/api/v10"


@pytest.mark.parametrize(
    ("url", "api", "allowed"),
    [
        ("https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1", DISCORD_API, True),
        ("https://media.discordapp.net/attachments/1/2/a.txt", DISCORD_API, True),
        ("http://cdn.discordapp.com/a.txt", DISCORD_API, False),
        ("https://cdn.discordapp.com:8443/a.txt", DISCORD_API, False),
        ("https://cdn.discordapp.com.example/a.txt", DISCORD_API, False),
        ("https://cdn.discordapp.com@example.org/a.txt", DISCORD_API, False),
        ("https://discord.com/a.txt", DISCORD_API, False),
        ("http://169.254.169.254/latest", DISCORD_API, False),
        ("file:///etc/passwd", DISCORD_API, False),
        ("http://[", DISCORD_API, False),
        ("http://127.0.0.1:4301/attachments/1/2/a.txt", LOCAL, True),
        ("http://127.0.0.1:4302/attachments/1/2/a.txt", LOCAL, False),
        ("http://127.0.0.1:4301/attachments/1/2/a.txt", DISCORD_API, False),
    ],
)
def test_only_discords_own_hosts_are_fetched(url: str, api: str, allowed: bool) -> None:  # noqa: FBT001
    """P17: nothing is downloaded from another host, whatever an event says."""
    assert is_ours(url, api=api) is allowed


async def broken(request: web.Request) -> web.StreamResponse:
    """Begin an answer and cut the connection."""
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"half")
    if request.transport is not None:
        request.transport.abort()
    return response


async def whole(_: web.Request) -> web.Response:
    return web.Response(text="words of the second")


@pytest.fixture
async def host() -> AsyncIterator[str]:
    """A file host of one's own; give its address."""
    app = web.Application()
    app.router.add_get("/broken.txt", broken)
    app.router.add_get("/whole.txt", whole)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_one_file_that_breaks_off_costs_no_other(host: str) -> None:
    """P17's kind: what cannot be had is described in its line, the words of the others are read."""
    files = [
        attachment(filename=name, size=19, url=f"{host}/{name}")
        for name in ("broken.txt", "whole.txt")
    ]
    message = make_message(make_state(), "these", attachments=files)
    inbound = ingress.inbound(message, imp="ember", role=Role.MEMBER, me=5, received_ns=0)
    read = await with_files(inbound, message, files=FileSettings(), api=f"{host}/api")
    told = [(part.kind, part.name) for part in read.message.parts]
    assert told == [
        (PartKind.ATTACHMENT, "broken.txt"),
        (PartKind.ATTACHMENT, "whole.txt"),
        (PartKind.FILE, "whole.txt"),
    ]
    assert read.message.parts[-1].text == "words of the second"
