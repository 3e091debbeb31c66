"""Files that the imp made in its box, read by the host without being led astray.

Who writes in a workspace is a stranger, and may go on writing while the host reads. So each part of
a path is opened below the one before it and no link is followed; what is no plain file is refused
before a byte is read (a pipe would never end); and as many bytes are read as may be sent, whatever
the file says about its size.

Spec: issue "Gateway of actions" (``reply``), "Box" (escapes by links).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Final

from sessions.boxes.plan import WORKSPACE

_WORKSPACE: Final = PurePosixPath(WORKSPACE)
MAX_NAME_CHARS: Final = 80
_UNSAFE: Final = re.compile(r"[^\w.() -]+|^\.+")
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class FileFault(StrEnum):
    """Why a file is not taken; the words are for the model."""

    OUTSIDE = "Only files below /workspace can be sent."
    MISSING = "There is no such file in /workspace, or a link stands in its way."
    NO_FILE = "That is no plain file."
    EMPTY = "That file is empty."
    TOO_LARGE = "That file is too large to be sent."
    TOO_MANY = "That are too many files."


class FileRefused(Exception):
    """A file that is not taken; ``fault`` says why."""

    def __init__(self, fault: FileFault) -> None:
        super().__init__(fault.name)
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFile:
    """A file as it is sent: a harmless name, and what it held when it was read."""

    name: str
    content: bytes = field(repr=False)


def read_files(
    workspace: Path, paths: Iterable[str], *, max_files: int, max_bytes: int
) -> tuple[WorkspaceFile, ...]:
    """Read files of a workspace; blocks.

    Args:
        workspace: where it is on the host.
        paths: as they are inside: below ``/workspace``, or relative to it.
        max_files: of one message.
        max_bytes: of all of them together.

    Raises:
        FileRefused: one of them cannot be taken; none is.
    """
    found: list[WorkspaceFile] = []
    for path in paths:
        if len(found) >= max_files:
            raise FileRefused(FileFault.TOO_MANY)
        room = max_bytes - sum(len(each.content) for each in found)
        read = _read(workspace, _parts(path), room)
        found.append(WorkspaceFile(name=safe_name(path), content=read))
    return tuple(found)


def safe_name(path: str) -> str:
    """Give the last part of a path as a name that is nobody's trick: no leading dot, no signs."""
    stem, dot, ending = path.rstrip("/").rsplit("/", maxsplit=1)[-1].rpartition(".")
    room = max(0, MAX_NAME_CHARS - len(dot + ending))
    return _UNSAFE.sub("_", f"{stem[:room]}{dot}{ending}"[-MAX_NAME_CHARS:]) or "file"


def _parts(path: str) -> tuple[str, ...]:
    if "\0" in path:
        raise FileRefused(FileFault.MISSING)
    place = _WORKSPACE / path
    if not place.is_relative_to(_WORKSPACE):
        raise FileRefused(FileFault.OUTSIDE)
    parts = place.relative_to(_WORKSPACE).parts
    if not parts or ".." in parts:
        raise FileRefused(FileFault.OUTSIDE)
    return parts


def _read(workspace: Path, parts: tuple[str, ...], limit: int) -> bytes:
    try:
        with ExitStack() as stack:
            at = _opened(stack, str(workspace), None, os.O_DIRECTORY)
            for part in parts[:-1]:
                at = _opened(stack, part, at, os.O_DIRECTORY)
            file = _opened(stack, parts[-1], at, 0)
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise FileRefused(FileFault.NO_FILE)
            content = _at_most(file, limit + 1)
    except OSError as error:
        raise FileRefused(FileFault.MISSING) from error
    if not content:
        raise FileRefused(FileFault.EMPTY)
    if len(content) > limit:
        raise FileRefused(FileFault.TOO_LARGE)
    return content


def _opened(stack: ExitStack, name: str, below: int | None, flags: int) -> int:
    descriptor = os.open(name, _FLAGS | flags, dir_fd=below)
    stack.callback(os.close, descriptor)
    return descriptor


def _at_most(descriptor: int, limit: int) -> bytes:
    chunks: list[bytes] = []
    while limit > 0 and (chunk := os.read(descriptor, min(limit, 1 << 20))):
        chunks.append(chunk)
        limit -= len(chunk)
    return b"".join(chunks)
