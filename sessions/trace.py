"""Append to a run's ``context.jsonl``: durable, owner-only, chained, before anything is delivered.

Each line names the hash of the line before it and the first one the run itself, so a line that is
changed, added, removed or moved shows. ``sessions.traces.proof`` checks that.

    SafeError
    +-- TraceUnwritable    host: no durable line, so nothing is delivered (CC "Failure behavior")

Writing and syncing happen in a thread; measured there, an append of 20 kB takes half a
millisecond, a tenth of it for the thread.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import threading
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from compiler.errors import SafeError
from compiler.request import ContextPhase, RunId
from sessions.traces.events import (
    CompiledEvent,
    TraceEvent,
    TraceMark,
    chain_root,
    decode_event,
    encode_event,
    line_hash,
)
from sessions.traces.writing import gap_event

TRACE_FILE: Final = "context.jsonl"
_TORN_PREFIX: Final = "context.torn-"
_sync_data: Final = getattr(os, "fdatasync", os.fsync)
"""Content and length are what must last; a changed time need not."""


class TraceErrorCode(StrEnum):
    """Stable names of the failures of a trace."""

    UNWRITABLE = "trace_unwritable"


class TraceUnwritable(SafeError):
    """The line is not durable; whatever it describes must not be delivered."""

    def __init__(self, reason: str, *, number: int | None = None) -> None:
        facts: dict[str, str | int] = {"reason": reason}
        if number is not None:
            facts["errno"] = number
            facts["errno_name"] = errno.errorcode.get(number, "unknown")
        super().__init__(
            TraceErrorCode.UNWRITABLE,
            "I could not write my record of this, so I did not answer. The owner has to look.",
            facts=facts,
        )


class TraceWriter:
    """The one writer of one run's trace; the file is locked against a second one.

    An append that fails leaves the file as it was, and the next may succeed (a full disk was
    cleared). Where even that is not certain, after a failed sync or a failed roll-back, the writer
    refuses everything further: the session has to end, and the next one has a file of its own.
    """

    def __init__(self, descriptor: int, path: Path, run_id: RunId) -> None:
        """Take an open, locked file; use ``create`` or ``reopen``."""
        self._descriptor: int | None = descriptor
        self._path = path
        self._run_id = run_id
        self._lock = threading.Lock()
        self._next_seq = 0
        self._head_hash = chain_root(run_id)
        self._start: TraceMark | None = None
        self._inputs: set[str] = set()
        self._broken = False

    @classmethod
    async def create(cls, run_dir: Path, run_id: RunId) -> Self:
        """Make the trace of a new run and its directory (0700), the file owner-only from birth.

        Raises:
            TraceUnwritable: it cannot be made, or there is one already.
        """
        return await asyncio.to_thread(cls._create, run_dir, run_id)

    @classmethod
    async def reopen(cls, run_dir: Path, run_id: RunId, *, at: datetime) -> Self:
        """Take up the trace of an earlier process.

        The chain is walked from its beginning. A torn last line was never delivered: it is set
        aside as ``context.torn-N`` and an event ``gap`` stands in its place.

        Raises:
            TraceUnwritable: there is no trace, another writer has it, or it is damaged elsewhere.
        """
        return await asyncio.to_thread(cls._reopen, run_dir, run_id, at)

    @property
    def head(self) -> TraceMark | None:
        """The last line; None while there is none."""
        if self._next_seq == 0:
            return None
        return TraceMark(seq=self._next_seq - 1, sha256=self._head_hash)

    @property
    def start(self) -> TraceMark | None:
        """The start that this run's turns extend."""
        return self._start

    @property
    def inputs(self) -> AbstractSet[str]:
        """Hashes of the inputs compiled so far; grows with the trace."""
        return self._inputs

    @property
    def events(self) -> int:
        """How many lines there are."""
        return self._next_seq

    async def append(self, event: TraceEvent) -> TraceMark:
        """Write one event and return when it is durable.

        A cancelled append may still be written; the chain stays whole in either case.

        Raises:
            TraceUnwritable: it is not durable.
        """
        (mark,) = await asyncio.to_thread(self._append, (event,))
        return mark

    async def append_all(self, events: Sequence[TraceEvent]) -> None:
        """Write several events with one sync: all of them are durable then, or none is there.

        Raises:
            TraceUnwritable: they are not durable.
        """
        if events:
            await asyncio.to_thread(self._append, events)

    def close(self) -> None:
        """Give up the file and its lock; nothing is lost, since every line is durable."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def __del__(self) -> None:
        # A start that is cancelled while its file is being made leaves a writer to nobody.
        self.close()

    @classmethod
    def _create(cls, run_dir: Path, run_id: RunId) -> Self:
        try:
            run_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            run_dir.mkdir(mode=0o700, exist_ok=True)
            path = run_dir / TRACE_FILE
            descriptor = _open_locked(path, os.O_CREAT | os.O_EXCL)
            try:
                for directory in (run_dir, run_dir.parent):
                    _sync_directory(directory)
            except OSError:
                os.close(descriptor)
                raise
        except OSError as error:
            raise _unwritable(error) from error
        return cls(descriptor, path, run_id)

    @classmethod
    def _reopen(cls, run_dir: Path, run_id: RunId, at: datetime) -> Self:
        path = run_dir / TRACE_FILE
        try:
            descriptor = _open_locked(path, 0)
        except OSError as error:
            raise _unwritable(error) from error
        writer = cls(descriptor, path, run_id)
        try:
            torn = writer._walk(path.read_bytes())
            if torn:
                writer._set_aside(torn, at)
        except BaseException as error:
            writer.close()
            if isinstance(error, OSError):
                raise _unwritable(error) from error
            raise
        return writer

    def _walk(self, content: bytes) -> bytes:
        """Follow the chain over the whole file; give the torn bytes at its end."""
        *lines, rest = content.split(b"\n")
        for number, line in enumerate(lines):
            try:
                event = decode_event(line)
            except ValueError as error:
                if number == len(lines) - 1 and not rest:
                    return line + b"\n"  # blocks that never reached the disk read as zeros
                raise TraceUnwritable(f"line {number + 1} is damaged") from error
            if event.seq != self._next_seq or event.prev_sha256 != self._head_hash:
                raise TraceUnwritable(f"line {number + 1} breaks the chain")
            if event.run_id != self._run_id:
                raise TraceUnwritable(f"line {number + 1} is of another run")
            self._advance(event, TraceMark(seq=event.seq, sha256=line_hash(line)))
        return rest

    def _set_aside(self, torn: bytes, at: datetime) -> None:
        number = 1
        while (aside := self._path.with_name(f"{_TORN_PREFIX}{number}")).exists():
            number += 1
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _write_all(descriptor, torn)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _sync_directory(self._path.parent)
        own = self._own_descriptor()
        os.ftruncate(own, os.fstat(own).st_size - len(torn))
        self._append((gap_event(self._run_id, at=at, file=aside.name, torn=torn),))

    def _append(self, events: Sequence[TraceEvent]) -> tuple[TraceMark, ...]:
        with self._lock:
            descriptor = self._own_descriptor()
            linked: list[tuple[TraceEvent, TraceMark]] = []
            data = bytearray()
            seq, head = self._next_seq, self._head_hash
            for event in events:
                if event.run_id != self._run_id:
                    raise TraceUnwritable("an event of another run")
                full = event.model_copy(update={"seq": seq, "prev_sha256": head})
                line = encode_event(full)
                data += line + b"\n"
                seq, head = seq + 1, line_hash(line)
                linked.append((full, TraceMark(seq=full.seq, sha256=head)))
            self._write_durably(descriptor, data)
            for full, mark in linked:
                self._advance(full, mark)
            return tuple(mark for _, mark in linked)

    def _write_durably(self, descriptor: int, data: bytearray) -> None:
        size = os.fstat(descriptor).st_size
        try:
            _write_all(descriptor, data)
        except OSError as error:
            self._roll_back(descriptor, size)
            raise _unwritable(error) from error
        try:
            _sync_data(descriptor)
        except OSError as error:
            self._broken = True  # after a failed sync nobody knows what the disk holds
            raise _unwritable(error) from error

    def _roll_back(self, descriptor: int, size: int) -> None:
        try:
            os.ftruncate(descriptor, size)
        except OSError:
            self._broken = True

    def _advance(self, event: TraceEvent, mark: TraceMark) -> None:
        self._next_seq = mark.seq + 1
        self._head_hash = mark.sha256
        is_start = isinstance(event, CompiledEvent) and event.phase is ContextPhase.START
        if is_start and self._start is None:
            self._start = mark
        if isinstance(event, CompiledEvent) and event.input_prompt_sha256 is not None:
            self._inputs.add(event.input_prompt_sha256)

    def _own_descriptor(self) -> int:
        if self._descriptor is None or self._broken:
            raise TraceUnwritable("the trace is closed" if not self._broken else "broken before")
        return self._descriptor


def _open_locked(path: Path, flags: int) -> int:
    """Open for appending, never through a link, owner-only, and take the lock or fail."""
    descriptor = os.open(
        path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600
    )
    try:
        os.fchmod(descriptor, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _write_all(descriptor: int, data: bytes | bytearray) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(error: OSError) -> TraceUnwritable:
    return TraceUnwritable(type(error).__name__, number=error.errno)
