"""The bot as a process of its own whose home is on a small disk; run as a program, not imported.

Started in a mount namespace (``unshare --mount``), it makes the disk and serves with the scripted
pi until standard input ends. Lines there are obeyed: ``fill`` takes all room that is left, ``free``
gives it back, ``unsound`` names the runs whose traces do not verify.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from bot.app import serve
from config.homedir import ensure_home
from config.load import LiveConfig
from sessions.traces.proof import verify
from support.pi_world import fake_install

SIZE_BYTES = 24 << 20
BALLAST = "ballast"


def obey(home: Path, command: str) -> str:
    ballast = home / BALLAST
    match command:
        case "fill":
            piece = 1 << 20
            with ballast.open("wb", buffering=0) as file:
                while piece:
                    try:
                        file.write(bytes(piece))
                    except OSError:
                        piece //= 2
        case "free":
            ballast.unlink()
        case _:
            traces = home.glob("runs/*/context.jsonl")
            return ", ".join(each.parent.name for each in traces if not verify(each).ok)
    return ""


async def obey_all(home: Path, stop: asyncio.Event) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        done = await asyncio.to_thread(obey, home, line.strip())
        sys.stdout.write(f"done {done}\n")
        sys.stdout.flush()
    stop.set()


async def main(folder: Path) -> int:
    home, stop = folder / "home", asyncio.Event()
    home.mkdir()
    options = f"size={SIZE_BYTES},mode=700"
    mount = ("mount", "-t", "tmpfs", "-o", options, "none", str(home))
    subprocess.run(mount, check=True)  # noqa: ASYNC221, S603 - fixed words, and nothing runs yet
    ensure_home(home)
    live = LiveConfig(home, environ=os.environ, overrides=json.loads(sys.argv[2]))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(obey_all(home, stop))
        install = fake_install(folder / "pi", "brief")
        return await serve(live, home, install=install, stop=stop)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
