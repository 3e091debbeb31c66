"""Pictures that the model is shown beside a turn's text: what they are, and where they are kept.

A picture is named by the hash of its bytes. Its file lies beside the trace, owner-only and durable
before the line that names it, so what the model saw can be looked at and proven.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

PICTURES_DIR: Final = "pictures"
ENDINGS: Final = MappingProxyType({"image/png": "png", "image/jpeg": "jpg"})
"""The forms in which pictures are given on."""
_PATCH_PIXELS: Final = 27
_WRAPPER_TOKENS: Final = 85
"""Providers count a picture by squares of 28 to 32 pixels, by 750 pixels, or by large squares at a
flat rate; what is assumed here counts a little higher, for a turn must fit its model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One picture as the model gets it."""

    media_type: str
    width: int
    height: int
    data: bytes
    name: str = ""

    @property
    def sha256(self) -> str:
        """The hash of its bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def tokens(self) -> int:
        """How much of the window it takes, estimated."""
        across, down = -(-self.width // _PATCH_PIXELS), -(-self.height // _PATCH_PIXELS)
        return across * down + _WRAPPER_TOKENS


def file_of(run_dir: Path, *, sha256: str, media_type: str) -> Path:
    """Say where a picture is kept."""
    return run_dir / PICTURES_DIR / f"{sha256}.{ENDINGS[media_type]}"


async def keep(run_dir: Path, pictures: Sequence[Picture]) -> None:
    """Write pictures beside the trace, and return when they are durable.

    Raises:
        OSError: one could not be written; nothing of the turn may be delivered.
    """
    if pictures:
        await asyncio.to_thread(_keep, run_dir, pictures)


def is_kept(run_dir: Path, *, sha256: str, media_type: str) -> bool:
    """Tell whether a picture is still there, byte for byte."""
    try:
        data = file_of(run_dir, sha256=sha256, media_type=media_type).read_bytes()
    except (OSError, KeyError):
        return False
    return hashlib.sha256(data).hexdigest() == sha256


def _keep(run_dir: Path, pictures: Iterable[Picture]) -> None:
    folder = run_dir / PICTURES_DIR
    folder.mkdir(mode=0o700, exist_ok=True)
    for picture in pictures:
        path = file_of(run_dir, sha256=picture.sha256, media_type=picture.media_type)
        if not path.exists():
            _write(path, picture.data)
    for directory in (folder, run_dir):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: a torn one would never be written again."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(path)
