"""One bot a home: a second one would answer everything twice.

The lock is the system's, on an open file, so it is gone with its process however that ended; the
pid in the file only names the holder.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

from compiler.errors import SafeError

LOCK_FILE: Final = "inglenook.lock"


class LockErrorCode(StrEnum):
    """Why a home cannot be used."""

    HOME_IN_USE = "home_in_use"
    HOME_UNUSABLE = "home_unusable"


class HomeInUse(SafeError):
    """Another bot runs with the same home."""

    def __init__(self, holder: str) -> None:
        super().__init__(
            LockErrorCode.HOME_IN_USE,
            f"Another Inglenook already runs with this home (process {holder}). "
            "Stop it first, or choose another home with --home.",
            facts={"holder": holder},
        )


class HomeUnusable(SafeError):
    """The home cannot be written."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            LockErrorCode.HOME_UNUSABLE,
            f"The home directory cannot be used ({reason}).",
            facts={"reason": reason},
        )


@contextmanager
def home_lock(home: Path) -> Iterator[None]:
    """Hold a home for this process.

    Raises:
        HomeInUse: another process holds it.
        HomeUnusable: the lock cannot be made.
    """
    try:
        descriptor = os.open(home / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HomeUnusable(error.strerror or "error") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise HomeInUse(
                os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "?"
            ) from error
        _name_holder(descriptor, f"{os.getpid()}\n")
        try:
            yield
        finally:
            _name_holder(descriptor, "")  # whoever waits for this holder sees it go
    finally:
        os.close(descriptor)


def _name_holder(descriptor: int, name: str) -> None:
    """Write who holds the home; on a full disk the lock holds without a name."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, name.encode(), 0)
