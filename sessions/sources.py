"""The only reader of the owner's texts: identity and purpose, from the home directory.

Scope picks the files, and scope comes from the platform: an imp's name from the settings, a
channel's snowflake from its trusted id. Nothing read here can name another file (CC "Security
invariants"). A text that exists but cannot be read safely becomes an ``UnreadableSource``, and its
compilation fails; there is no second choice but the legacy name of an identity.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from compiler.request import (
    Briefing,
    ChannelId,
    Connection,
    EngineIdentity,
    HistoryMessage,
    ImpName,
    MemorySelection,
    RunScope,
    SourceSnapshot,
    TextSource,
    UnreadableSource,
)
from compiler.templates import ENGINE_PREAMBLE
from sessions.limits import EngineSettings

ADHOC: Final = ImpName("adhoc")
"""The one imp that needs no directory (CC "Identity")."""
IDENTITY_NAMES: Final = ("identity.md", "charter.md")
"""The file of an identity, then its legacy name; the trace tells which was used."""
MAX_BYTES: Final = 1_000_000
"""No budget admits so much; what is larger is not read at all."""
_CACHED_FILES: Final = 512
_SETTLED_NS: Final = 2_000_000_000
"""A file changed less than this before it was read may change again within one tick of its
modification time, so it is read anew next time."""
_IMP = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CHANNEL = re.compile(r"discord:([0-9]{1,20})")

Source = TextSource | UnreadableSource | None


@dataclass(frozen=True, slots=True)
class _Stamp:
    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


class Sources:
    """Reads the texts of one home. Unchanged files are looked at, not read again."""

    def __init__(
        self,
        home: Path,
        *,
        now_ns: Callable[[], int] = time.time_ns,
        connections: Callable[[Container[str]], tuple[Connection, ...]] = lambda _: (),
        imps: Path | None = None,
    ) -> None:
        """Take the home.

        Args:
            home: where the texts are.
            now_ns: the clock that files are stamped by (nanoseconds since 1970).
            connections: gives what tools of these names connect the imp with.
            imps: the home that has the identities, if it is another one.
        """
        self._connections = connections
        self._home = home
        self._imps = imps or home
        self._now_ns = now_ns
        self._cache: OrderedDict[Path, tuple[_Stamp, TextSource]] = OrderedDict()
        self._lock = Lock()
        """Reads run in threads; this guards the cache for its few dictionary steps."""

    async def read_start(
        self, imp: ImpName, scope: RunScope, engine: EngineIdentity
    ) -> SourceSnapshot:
        """Read what the system prompt of a session is made of."""
        return await asyncio.to_thread(self._start, imp, scope, engine)

    def turn(
        self,
        engine: EngineIdentity,
        *,
        memory: MemorySelection,
        history: tuple[HistoryMessage, ...] = (),
        briefing: Briefing | None = None,
    ) -> SourceSnapshot:
        """Gather what the input of one turn is made of.

        ``history`` is empty but for the first turn of a fresh session.
        """
        return SourceSnapshot(
            engine=engine, memory=memory, history=history, briefing=briefing or Briefing()
        )

    def _start(self, imp: ImpName, scope: RunScope, engine: EngineIdentity) -> SourceSnapshot:
        return SourceSnapshot(
            engine=engine,
            identity=self._identity(imp),
            purpose=self._purpose(scope.home_channel_id),
            connections=self._connections(frozenset(name for name, _ in engine.tools)),
        )

    def _identity(self, imp: ImpName) -> Source:
        if _IMP.fullmatch(imp) is None:
            return UnreadableSource(source="imps/", reason="not a name of an imp")
        folder = f"imps/{imp}"
        for name in IDENTITY_NAMES:
            found = self._read(f"{folder}/{name}", self._imps)
            if isinstance(found, TextSource) and not found.text.strip():
                return UnreadableSource(source=found.source, reason="empty")
            if found is not None:
                return found
        if imp == ADHOC:
            return None
        return UnreadableSource(source=f"{folder}/{IDENTITY_NAMES[0]}", reason="missing")

    def _purpose(self, channel: ChannelId | None) -> Source:
        file = purpose_file(channel)
        if file is None:
            return None
        found = self._read(file, self._home)
        # CC "Purpose": present when non-empty.
        return None if isinstance(found, TextSource) and not found.text.strip() else found

    def _read(self, relative: str, home: Path) -> Source:
        """Read a text of the home; None when there is no such file."""
        try:
            path = (home / relative).resolve(strict=True)
        except (FileNotFoundError, NotADirectoryError):
            return self._missing(relative, home)
        except (OSError, RuntimeError) as error:
            return UnreadableSource(source=relative, reason=_reason(error))
        if not path.is_relative_to(home.resolve()):
            return UnreadableSource(source=relative, reason="leads out of the home")
        try:
            return self._read_inside(path, relative)
        except OSError as error:
            return UnreadableSource(source=relative, reason=_reason(error))

    def _missing(self, relative: str, home: Path) -> Source:
        # A link to nowhere is there, and somebody meant it to hold a text.
        if (home / relative).is_symlink():
            return UnreadableSource(source=relative, reason="broken link")
        return None

    def _read_inside(self, path: Path, relative: str) -> TextSource | UnreadableSource:
        # Not blocking: a pipe put in place of a file must not hold up the thread.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return UnreadableSource(source=relative, reason="not a file")
            if status.st_size > MAX_BYTES:
                return UnreadableSource(source=relative, reason=f"larger than {MAX_BYTES} bytes")
            stamp = _stamp(status)
            with self._lock:
                known = self._cache.get(path)
            if known is not None and known[0] == stamp and known[1].source == relative:
                return known[1]
            data = _read_at_most(descriptor, MAX_BYTES + 1)
        finally:
            os.close(descriptor)
        if len(data) > MAX_BYTES:
            return UnreadableSource(source=relative, reason=f"larger than {MAX_BYTES} bytes")
        try:
            read = TextSource(source=relative, text=data.decode("utf-8"))
        except UnicodeDecodeError:
            return UnreadableSource(source=relative, reason="not UTF-8")
        self._keep(path, stamp, read)
        return read

    def _keep(self, path: Path, stamp: _Stamp, read: TextSource) -> None:
        settled = self._now_ns() - max(stamp.modified_ns, stamp.changed_ns) >= _SETTLED_NS
        with self._lock:
            self._cache.pop(path, None)
            if settled:
                self._cache[path] = (stamp, read)
            if len(self._cache) > _CACHED_FILES:
                self._cache.popitem(last=False)


def purpose_file(channel: ChannelId | None) -> str | None:
    """Name the file of a channel's purpose within its home; None for what is no channel."""
    match = _CHANNEL.fullmatch(channel or "")
    return None if match is None else f"channels/{match[1]}/purpose.md"


def engine_identity(
    settings: EngineSettings, *, version: str, tools: tuple[tuple[str, str], ...] = ()
) -> EngineIdentity:
    """Say what stands behind the route key: pi, its version, the model, the preamble, the tools."""
    return EngineIdentity(
        engine="pi",
        engine_version=version,
        model=f"{settings.provider}/{settings.model}",
        preamble=ENGINE_PREAMBLE if settings.preamble == "inglenook" else settings.preamble,
        tools=tools,
        traffic_shard=settings.traffic_shard,
    )


def _read_at_most(descriptor: int, limit_bytes: int) -> bytes:
    chunks: list[bytes] = []
    while limit_bytes > 0 and (chunk := os.read(descriptor, limit_bytes)):
        chunks.append(chunk)
        limit_bytes -= len(chunk)
    return b"".join(chunks)


def _stamp(status: os.stat_result) -> _Stamp:
    return _Stamp(
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        changed_ns=status.st_ctime_ns,
    )


def _reason(error: Exception) -> str:
    """Name a fault without its path, which may lie outside the home."""
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
