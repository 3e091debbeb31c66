"""pi's code, compiled once inside a box: each start is then a good tenth of a second shorter.

Node keys what it compiled by the paths of the code, so it must have seen those of a box. One
short-lived pi takes a whole turn there with a stand-in for the model, in whose answer there is
nothing to keep; what it left is then read-only for all that follow. No words of anybody's pass
through the process that writes the cache, and nothing that ran afterwards can change it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog

from sessions.box import BubblewrapBox
from sessions.boxes.plan import PORT_VARIABLE
from sessions.boxes.settings import BoxSettings
from sessions.limits import EngineSettings, SessionLimits
from sessions.pi.client import PiClient
from sessions.pi.engine_files import gateway_environment, model_of, write_engine_files
from sessions.pi.errors import PiError
from sessions.pi.process import PiInstall, PiSpec

_log = structlog.get_logger(__name__)
_PORT: Final = 18080
"""On the loopback of a network that only the box has."""
_DELTA: Final = '{"choices":[{"index":0,"delta":{"role":"assistant","content":"ok"}}]}'
_END: Final = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
_EVENTS: Final = f"data: {_DELTA}\n\ndata: {_END}\n\ndata: [DONE]\n\n"
_ANSWER: Final = (
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + _EVENTS
).encode()


async def warm_cache(
    box: BubblewrapBox,
    install: PiInstall,
    cache: Path,
    *,
    settings: BoxSettings,
    limits: SessionLimits,
) -> bool:
    """Fill the cache unless that was done before; say whether it is there.

    It is made under another name first, so that it is whole or not there, also when two hosts do
    the same at once.

    Args:
        box: what pi will run in.
        install: pi.
        cache: its place, for this version of pi alone.
        settings: ``probe_seconds`` bounds the turn.
        limits: bounds of pi's start and end.
    """
    if await asyncio.to_thread(cache.is_dir):
        return True
    draft = cache.with_name(f"{cache.name}.{secrets.token_hex(4)}")
    try:
        with tempfile.TemporaryDirectory(prefix="inglenook-") as made:
            place = Path(made)
            async with asyncio.timeout(settings.probe_seconds), _stand_in(place) as socket:
                spec = await asyncio.to_thread(_prepare, box.warming(socket), install, draft, place)
                await _take_turn(spec, limits)
        await asyncio.to_thread(_put_in_place, draft, cache)
    except (PiError, OSError, TimeoutError) as error:
        _log.warning("box.not_warmed", error=type(error).__name__)
    finally:
        await asyncio.to_thread(shutil.rmtree, draft, ignore_errors=True)
    return await asyncio.to_thread(cache.is_dir)


async def _take_turn(spec: PiSpec, limits: SessionLimits) -> None:
    async with PiClient(spec, limits) as client:
        await client.start()
        async for _ in client.prompt("ok"):
            pass


def _prepare(box: BubblewrapBox, install: PiInstall, cache: Path, place: Path) -> PiSpec:
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    engine = EngineSettings(
        provider="none", model="none", url=f"http://127.0.0.1:{_PORT}/v1", retries=0
    )
    write_engine_files(place / "engine", engine)
    prompt = place / "system.md"
    prompt.write_text("ok", encoding="utf-8")
    return PiSpec(
        install=install,
        model=model_of(engine),
        session_id="warm",
        session_dir=place / "session",
        workspace=place / "workspace",
        config_dir=place / "engine",
        system_prompt_file=prompt,
        preamble_file=prompt,
        compile_cache=cache,
        env={**gateway_environment("none"), PORT_VARIABLE: str(_PORT)},
        tools=("read", "bash"),
        box=box,
    )


@asynccontextmanager
async def _stand_in(place: Path) -> AsyncIterator[Path]:
    """Answer each request with the same two letters."""
    socket = place / "model.sock"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(_ANSWER)
            await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(answer, socket)
    async with server:
        await asyncio.to_thread(socket.chmod, 0o666)
        yield socket


def _put_in_place(draft: Path, cache: Path) -> None:
    """Let every box read the cache; as the superuser, take it from the one that wrote it."""
    for folder, _, names in os.walk(draft):
        for place in (Path(folder), *(Path(folder, name) for name in names)):
            if os.geteuid() == 0:
                os.chown(place, 0, 0, follow_symlinks=False)
            if not place.is_symlink():
                place.chmod(0o755 if place.is_dir() else 0o644)
    with contextlib.suppress(OSError):  # another host was quicker, and its cache is as good
        draft.rename(cache)
