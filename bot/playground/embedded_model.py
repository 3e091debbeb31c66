"""A real small language model on loopback, so that the playground needs no provider.

SmolLM2-135M through llama.cpp's own server, in a process of its own: a crash or a full processor
there never stops the bot's loop. It speaks OpenAI's form and reports honest cached-token figures.
Its answers are toys.

    EmbeddedModelError    owner: the model did not come up; the message says what to do
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import deque
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Self

import aiohttp
import structlog

from compiler.errors import SafeError

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from types import TracebackType

SERVER_MODULE = "bot.playground.embedded_server"
PACKAGES = Path(__file__).resolve().parents[2]
"""Where ``bot`` is imported from: a checkout or a site-packages folder."""
LOG_LINES = 20
"""How many of the engine's last lines an error looks at."""
SPIN_COUNT = "1000"
"""Measured: with OpenMP's default spinning a busy machine falls from 80 to 7 tokens a second."""
_CHUNK_BYTES = 1 << 16

log = structlog.get_logger(__name__)


class EmbeddedModelErrorCode(StrEnum):
    """Stable names of the ways in which the embedded model does not come up."""

    MODEL_MISSING = "model_missing"
    LIBRARY_MISSING = "model_library_missing"
    MODEL_EXITED = "model_exited"
    MODEL_SLOW = "model_slow"


_ADVICE = {
    EmbeddedModelErrorCode.MODEL_MISSING: "Its file is not there; start once more to fetch it.",
    EmbeddedModelErrorCode.LIBRARY_MISSING: "libgomp.so.1 or the engine is missing on this system.",
    EmbeddedModelErrorCode.MODEL_EXITED: "It ended while loading; is there 1 GB of free memory?",
    EmbeddedModelErrorCode.MODEL_SLOW: "It did not load in time; is the machine very busy?",
}


class EmbeddedModelError(SafeError):
    """The embedded model did not come up."""

    def __init__(self, code: EmbeddedModelErrorCode, **facts: str | int) -> None:
        super().__init__(code, f"The embedded model did not start. {_ADVICE[code]}", facts=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedModelLimits:
    """What the embedded model may use, and how long it may take."""

    slots: int = 2
    """Conversations that compute at once; each has a context of 8192 tokens."""
    cache_mib: int = 128
    """Memory for prompts of conversations that hold no slot."""
    threads: int = 2
    start_seconds: float = 60.0
    stop_seconds: float = 5.0


class EmbeddedModel:
    """The running model; an async context manager.

    ``library_dir`` is the folder of ``libgomp.so.1`` where the system has none.

    Raises:
        EmbeddedModelError: on entry, when the model does not come up.
    """

    name = "smollm2"
    context_window = 8192

    def __init__(
        self,
        model_path: Path,
        *,
        port: int = 0,
        library_dir: Path | None = None,
        limits: EmbeddedModelLimits | None = None,
    ) -> None:
        self._model_path = model_path
        self._port = port
        self._library_dir = library_dir
        self._limits = limits or EmbeddedModelLimits()
        self._log: deque[bytes] = deque(maxlen=LOG_LINES)
        self._process: Process | None = None
        self._address = ""
        self._closing = AsyncExitStack()

    @property
    def url(self) -> str:
        """The base address that an OpenAI client wants."""
        return f"{self._address}/v1"

    @property
    def pid(self) -> int:
        """The process of the model, for measurements."""
        return self._process.pid if self._process else 0

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.returncode is None

    async def __aenter__(self) -> Self:
        if not self._model_path.is_file():
            raise EmbeddedModelError(EmbeddedModelErrorCode.MODEL_MISSING)
        async with AsyncExitStack() as stack:
            group = await stack.enter_async_context(asyncio.TaskGroup())
            process = self._process = await self._spawn()
            stack.push_async_callback(self._stop, process)
            group.create_task(self._drain(process), name="embedded-model-log")
            # A value, not an exception: the group would wrap that into an ExceptionGroup.
            failure = await self._failure(process)
            if failure is None:
                self._closing = stack.pop_all()
        if failure is not None:
            raise EmbeddedModelError(self._explain(failure), returncode=process.returncode or 0)
        log.info("model.ready", pid=self.pid)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._closing.aclose()

    async def _spawn(self) -> Process:
        limits = self._limits
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", SERVER_MODULE, "--model", str(self._model_path)),
            *("--port", str(self._port), "--name", self.name, "--slots", str(limits.slots)),
            *("--cache-mib", str(limits.cache_mib), "--threads", str(limits.threads)),
            cwd=PACKAGES,
            env=self._environment(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the bot, which then ends the model
        )

    def _environment(self) -> dict[str, str]:
        """Give the child what it needs and none of the bot's secrets."""
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "GOMP_SPINCOUNT": SPIN_COUNT}
        if self._library_dir is not None:
            environment["LD_LIBRARY_PATH"] = str(self._library_dir)
        return environment

    async def _failure(self, process: Process) -> EmbeddedModelErrorCode | None:
        """Wait until the model answers; say why if it does not."""
        try:
            async with asyncio.timeout(self._limits.start_seconds):
                return None if await self._answers(process) else EmbeddedModelErrorCode.MODEL_EXITED
        except TimeoutError:
            return EmbeddedModelErrorCode.MODEL_SLOW

    async def _answers(self, process: Process) -> bool:
        """Wait for the address, then for a healthy answer under it."""
        assert process.stdout is not None  # noqa: S101 -- asked for at the spawn
        line = await process.stdout.readline()
        if not line:  # it ended
            return False
        self._address = str(json.loads(line)["url"])
        try:
            async with (
                aiohttp.ClientSession() as client,
                client.get(f"{self._address}/health") as answer,
            ):
                return answer.ok
        except aiohttp.ClientError:
            return False

    def _explain(self, failure: EmbeddedModelErrorCode) -> EmbeddedModelErrorCode:
        """Look into the engine's log, complete by now, for a reason that can be acted on."""
        said = b"\n".join(self._log)
        missing = b"ImportError" in said or b"ModuleNotFoundError" in said
        exited = failure is EmbeddedModelErrorCode.MODEL_EXITED
        return EmbeddedModelErrorCode.LIBRARY_MISSING if missing and exited else failure

    async def _drain(self, process: Process) -> None:
        """Read the engine's log to its end; a full pipe would stop the engine."""
        assert process.stderr is not None  # noqa: S101 -- asked for at the spawn
        while chunk := await process.stderr.read(_CHUNK_BYTES):
            self._log.extend(chunk.splitlines())

    async def _stop(self, process: Process) -> None:
        """Close its input, which ends it; kill it if it does not end."""
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(self._limits.stop_seconds):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
