"""What the owner may say about the box, validated by ``config`` straight into this class."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BoxMode(StrEnum):
    """Whether pi is shut in."""

    ON = "on"
    """It is, where the machine allows it; elsewhere the imp has no file and shell tools."""
    OFF = "off"
    """It is not, by the owner's own word: its tools then see all that the host's user sees."""


class BoxKind(StrEnum):
    """What the box is made of."""

    BUBBLEWRAP = "bubblewrap"
    DOCKER = "docker"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxSettings:
    """The box and its limits (``org.toml [box]``). An ``_mb`` is 1024 * 1024 bytes.

    The limits hold for one conversation's box, whatever runs in it.
    """

    mode: BoxMode = BoxMode.ON
    kind: BoxKind = BoxKind.BUBBLEWRAP
    image: str = ""
    """Of a Docker box: an image with bash and the C library that Node needs (glibc)."""
    processes: int = 128
    """Processes and threads; pi itself takes about twelve."""
    open_files: int = 1024
    """Of one process."""
    memory_mb: int = 2048
    """Of all processes together; above it the box ends."""
    address_space_mb: int = 32768
    """Of pi alone. Node reserves ten gigabytes at a time that it never fills, and where it may not,
    a first turn takes a fifth of a second longer; below 2048 it does not start."""
    command_address_space_mb: int = 4096
    """Of each process that a command starts."""
    file_mb: int = 256
    """Size of one file."""
    workspace_mb: int = 1024
    """Workspace and session record together; above it the box ends."""
    workspace_files: int = 50_000
    scratch_mb: int = 256
    """Room of ``/tmp``, which is memory."""
    cpu_seconds: int = 120
    """Processor time of each process that a command starts."""
    command_seconds: int = 120
    """Longest duration of one command and of all that it starts; a tool call may ask for less."""
    watch_seconds: float = 2.0
    """How often memory and disk are looked at."""
    probe_seconds: float = 20.0
    """Longest wait for a trial of the box, and for the first start of pi in it."""
