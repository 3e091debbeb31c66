"""The trial of a box: something is run in it once, and what came of that is told. Blocks."""

from __future__ import annotations

import subprocess
from typing import Final

from sessions.pi.process import Spawn

_SAID_CHARS: Final = 300


def try_out(spawn: Spawn, patience_seconds: float) -> str:
    """Run a command line to its end; empty if it went well, else what it said or how it ended."""
    try:
        ended = subprocess.run(  # noqa: S603  (our own command line)
            spawn.argv,
            cwd=spawn.cwd,
            env=spawn.env,
            pass_fds=spawn.descriptors,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience_seconds,
            check=False,
            umask=0o022,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    finally:
        spawn.close()
    said = ended.stderr.decode("utf-8", "replace").strip()
    return "" if ended.returncode == 0 else said[-_SAID_CHARS:] or f"exit {ended.returncode}"
