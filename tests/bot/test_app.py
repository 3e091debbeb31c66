"""Starting and ending: plain words for what is wrong, one attempt, nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import discord
import pytest
from aiohttp import web

from bot.app import Wiring, serve
from bot.home.lock import home_lock
from bot.login_faults import (
    BAD_TOKEN,
    DISK_FULL,
    INTENT_IS_OFF,
    INTENTS_INVALID,
    NO_TOKEN,
    NOT_DISCORD,
    STORE_CLOSED,
    why_not_started,
)
from bot.playground.pointing import pointed_at
from bot.playground.server import Playground
from compiler.errors import SafeError
from config.load import LiveConfig, ensure_home
from sessions.errors import StoreDamaged, StoreUnavailable
from support.pi_world import INSTALL

SECONDS = 120.0


@pytest.fixture
async def pg() -> AsyncIterator[Playground]:
    async with Playground() as playground:
        with pointed_at(playground):
            yield playground


async def start(
    pg: Playground,
    home: Path,
    *,
    token: str | None = None,
    api: str | None = None,
    stop: asyncio.Event | None = None,
) -> tuple[int, list[str]]:
    """Serve until it ends by itself; give the exit code and the lines said."""
    ensure_home(home)
    environ = {"DISCORD_TOKEN": pg.token if token is None else token}
    live = LiveConfig(home, environ=environ, overrides={"discord": {"api": api or pg.api_base}})
    said: list[str] = []
    async with asyncio.timeout(SECONDS):
        code = await serve(
            live,
            home,
            install=INSTALL,
            stop=stop or asyncio.Event(),
            wiring=Wiring(say=said.append, set_up_logging=False),
        )
    return code, said


def identifies(pg: Playground) -> int:
    return sum(request.route == "/gateway/bot" for request in pg.requests)


async def test_a_wrong_token_is_told_without_showing_it(pg: Playground, tmp_path: Path) -> None:
    """P19: login answers 401: one line that names DISCORD_TOKEN, one attempt, exit code 1."""
    code, said = await start(pg, tmp_path / "home", token="CANARY.token")  # noqa: S106
    assert (code, said) == (1, [BAD_TOKEN])
    assert "CANARY" not in repr(said)
    assert len(pg.requests) == 1


async def test_a_missing_token_is_told(pg: Playground, tmp_path: Path) -> None:
    """Nothing is asked of Discord without a token."""
    assert await start(pg, tmp_path / "home", token="") == (1, [NO_TOKEN])
    assert not pg.requests


async def test_a_switched_off_intent_names_the_switch(pg: Playground, tmp_path: Path) -> None:
    """P19: 4014 is not taken for a bad token; one IDENTIFY."""
    pg.intents_allowed = pg.intents_allowed & ~discord.Intents(message_content=True).value
    assert await start(pg, tmp_path / "home") == (1, [INTENT_IS_OFF])
    assert identifies(pg) == 1


@pytest.mark.parametrize(
    ("close_code", "line"),
    [(4004, BAD_TOKEN), (4013, INTENTS_INVALID), (4014, INTENT_IS_OFF)],
)
async def test_final_close_codes_end_the_bot_in_order(
    pg: Playground, tmp_path: Path, close_code: int, line: str
) -> None:
    """P19: each close code has its own line, and the bot does not connect again."""

    async def close_when_connected() -> None:
        await pg.connected.wait()
        pg.gateway.close(close_code)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(close_when_connected())
        assert await start(pg, tmp_path / "home") == (1, [line])
    assert identifies(pg) == 1


async def test_a_gateway_that_is_not_discord_is_named(tmp_path: Path) -> None:
    """The login works, but nothing of the first event can be read: one line, no traceback."""

    async def greet(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": 60_000}})
        await socket.receive()  # IDENTIFY
        await socket.send_json({"op": 0, "t": "READY", "s": 1, "d": {}})
        await socket.receive()
        return socket

    def attach(app: web.Application, _: Playground) -> None:
        app.router.add_get("/elsewhere", greet)

    async with Playground(extend=(attach,)) as pg:
        with pointed_at(pg):
            pg.gateway.address = f"{pg.origin}/elsewhere".replace("http", "ws", 1)
            code, said = await start(pg, tmp_path / "home")
    assert (code, said) == (1, [NOT_DISCORD.format(api=pg.api_base)])


async def test_an_unreachable_discord_is_named(tmp_path: Path) -> None:
    """The address that was tried stands in the line."""
    async with Playground() as gone:
        pass
    with pointed_at(gone):
        code, (line,) = await start(gone, tmp_path / "home")
    assert code == 1
    assert gone.api_base in line


async def test_an_address_that_is_not_discord_is_named(tmp_path: Path) -> None:
    """Something else answers at ``[discord] api``: one line with the address, no traceback."""

    async def works(_: web.Request) -> web.Response:
        return web.Response(text="<p>It works!</p>", content_type="text/html")

    def attach(app: web.Application, _: Playground) -> None:
        app.router.add_get("/elsewhere/{path:.*}", works)

    async with Playground(extend=(attach,)) as pg:
        with pointed_at(pg):
            api = f"{pg.origin}/elsewhere"
            code, said = await start(pg, tmp_path / "home", api=api)
    assert (code, said) == (1, [NOT_DISCORD.format(api=api)])


async def test_a_home_in_use_is_refused_before_discord_is_asked(
    pg: Playground, tmp_path: Path
) -> None:
    """The fault log's second process with one token: it refuses and names the first."""
    home = tmp_path / "home"
    ensure_home(home)
    with home_lock(home):
        code, (line,) = await start(pg, home)
    assert code == 1
    assert "already runs with this home" in line
    assert not pg.requests


async def test_a_damaged_database_is_told_plainly(pg: Playground, tmp_path: Path) -> None:
    """P24: a broken file stops the start with a remedy, never a silent fresh one."""
    home = tmp_path / "home"
    ensure_home(home)
    file = home / "inglenook.db"
    (home / "runs" / "2026-11-29-10-00-00-abcd").mkdir(parents=True)
    for left in (b"SQLite format 3\x00" + b"\xff" * 5000, b""):
        file.write_bytes(left)
        code, (line,) = await start(pg, home)
        assert code == 1
        assert "damaged" in line
        assert file.read_bytes() == left


async def test_a_database_that_does_not_open_sends_its_owner_to_doctor(
    pg: Playground, tmp_path: Path
) -> None:
    """At the owner's terminal nobody is asked for patience: the reason, and what to do."""
    home = tmp_path / "home"
    ensure_home(home)
    (home / "inglenook.db").mkdir()
    code, (line,) = await start(pg, home)
    assert code == 1
    assert line.startswith("The database of this home cannot be used (")
    assert line.endswith("python3 -m bot doctor")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (StoreUnavailable("SQLITE_FULL"), DISK_FULL),
        (StoreUnavailable("SQLITE_IOERR_SHMSIZE"), DISK_FULL),
        (StoreUnavailable("timeout"), STORE_CLOSED.format(reason="timeout")),
        (StoreDamaged("x", name="keys.db"), StoreDamaged("x", name="keys.db").safe_message),
    ],
)
def test_why_a_store_keeps_the_bot_from_starting(error: SafeError, line: str) -> None:
    """Issue 8 "Bad input": a home on a full disk is told as that."""
    assert why_not_started(error) == line


async def test_a_stop_before_the_connection_ends_at_once(pg: Playground, tmp_path: Path) -> None:
    """Whoever stops the bot while it starts does not wait for it."""
    stop = asyncio.Event()
    stop.set()
    assert await start(pg, tmp_path / "home", stop=stop) == (0, [])
