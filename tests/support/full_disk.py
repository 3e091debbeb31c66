"""A bot whose home is on a disk that can be filled (``support.small_disk``), seen from outside."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.playground.ids import ADA
from support.crowd import Crowd
from support.playground_bot import PATIENCE_SECONDS

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
TESTS = Path(__file__).parents[1]


def can_mount() -> bool:
    """Tell whether this machine lets us have mounts of our own."""
    trial = (*NAMESPACE, "true")
    try:
        return subprocess.run(trial, check=False, capture_output=True).returncode == 0  # noqa: S603 - fixed words
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class DiskBot:
    """The running bot, which also does things to its disk."""

    process: asyncio.subprocess.Process

    async def do(self, command: str) -> str:
        """Give a command and its answer."""
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("it was started without pipes")
        stdin.write(f"{command}\n".encode())
        while line := (await stdout.readline()).decode():
            if line.startswith("done "):
                return line.removeprefix("done ").strip()
        raise RuntimeError("the bot has ended")


@asynccontextmanager
async def on_small_disk(crowd: Crowd) -> AsyncIterator[DiskBot]:
    """Run the bot for a crowd until the block ends; its exit code must be 0."""
    overrides = {
        "discord": {"api": crowd.pg.api_base, "owners": [str(ADA)]},
        "engine": {
            "provider": "test",
            "model": "scripted",
            "url": crowd.model.url,
            "context_window": 1_000_000,
        },
        "channels": {"default": {"enabled": True}},
        "warm_up": {"dm": False, "trusted": False},
        "inspector": {"enabled": False},
        "box": {"mode": "off"},
        "sessions": {"start_seconds": PATIENCE_SECONDS, "command_seconds": PATIENCE_SECONDS},
        "metrics": {"enabled": True, "port": crowd.port},
    }
    words = (sys.executable, "-m", "support.small_disk", str(crowd.folder), json.dumps(overrides))
    process = await asyncio.create_subprocess_exec(
        *(*NAMESPACE, *words),
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent), "DISCORD_TOKEN": crowd.pg.token},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await crowd.pg.connected.wait()
        yield DiskBot(process)
    finally:
        await process.communicate(b"")  # the end of its input ends it
    assert process.returncode == 0
