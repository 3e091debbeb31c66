"""``run`` in a process of its own, as an owner starts it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.playground_bot import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
SECONDS = PATIENCE_SECONDS
"""For a start or an end on a machine with much else to do."""
_UNHURRIED = {
    f"INGLENOOK_SESSIONS__{name}_SECONDS": str(PATIENCE_SECONDS)
    for name in ("START", "ABORT", "COMMAND", "STORE")
}


@asynccontextmanager
async def run_process(
    environ: Mapping[str, str], *options: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start ``run`` with a provider that is not the embedded one; it is gone afterwards."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import sys; from bot.cli import main; sys.exit(main(sys.argv[1:]))",
        "run",
        *options,
        cwd=ROOT,
        env={**os.environ, "INGLENOOK_ENGINE__PROVIDER": "test", **_UNHURRIED, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def line_of(process: asyncio.subprocess.Process, wanted: str) -> list[str]:
    """Read what it says up to the line that holds ``wanted``."""
    assert process.stdout is not None
    lines: list[str] = []
    async with asyncio.timeout(SECONDS):
        async for raw in process.stdout:
            lines.append(raw.decode().rstrip("\n"))
            if wanted in lines[-1]:
                return lines
    pytest.fail(f"no {wanted!r} in {lines} {await rest_of(process.stderr)}")


async def rest_of(stream: asyncio.StreamReader | None) -> str:
    """Read what is left of a stream."""
    return (await stream.read()).decode() if stream is not None else ""


async def ended(process: asyncio.subprocess.Process, number: int = signal.SIGTERM) -> int:
    """Ask it to stop and give its exit code."""
    process.send_signal(number)
    async with asyncio.timeout(SECONDS):
        return await process.wait()
