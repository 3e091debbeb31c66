"""The bot as a process of its own: started, killed without warning, and stopped in order."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

STOP_SECONDS: Final = 60.0
_START: Final = "import sys; from bot.cli import main; sys.exit(main(sys.argv[1:]))"


@asynccontextmanager
async def victim(
    home: Path, settings: Mapping[str, str], log: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the bot on a home until the block ends; then it is stopped, unless it is dead.

    ``settings`` are variables of its environment; its lines go to the end of ``log``.
    """
    with log.open("ab") as lines:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _START,
            "run",
            "--headless",
            "--home",
            str(home),
            cwd=Path(__file__).parents[2],
            env={**os.environ, **settings},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=lines,
            stderr=lines,
            start_new_session=True,  # Ctrl-C is for the drill, not for the bot
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
