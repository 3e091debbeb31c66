"""Where tests write: in memory, where the machine has room for it there.

Nearly every test makes a home, and the bot syncs what it must not lose. On a disk each of those
syncs waits, on a busy one for seconds; in memory they cost nothing, and what is tested is the same.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psutil

PLACE: Final = Path("/dev/shm")  # noqa: S108 - no file is named here, only what files are made under
LEAST_FREE_BYTES: Final = 2 << 30
"""A whole run writes a tenth of that; pytest keeps the last three."""


def place_in_memory(environ: Mapping[str, str], place: Path = PLACE) -> Path | None:
    """Say where temporary files go; None if whoever runs the tests chose, or there is no room."""
    if "TMPDIR" in environ or not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
        return None
    disk = os.statvfs(place)
    room = min(disk.f_bavail * disk.f_frsize, psutil.virtual_memory().available)
    may_run_programs = not disk.f_flag & os.ST_NOEXEC
    return place if may_run_programs and room >= LEAST_FREE_BYTES else None


def write_in_memory() -> None:
    """Have this process and its children make their temporary files there."""
    place = place_in_memory(os.environ)
    if place is not None:
        os.environ["TMPDIR"] = str(place)
        tempfile.tempdir = None  # asked for anew by the next who needs it
