"""The bot under measurement: the real composition in this process, the far end in another."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot import bootstrap
from bot.app import Wiring, serve
from bot.engine_around import EngineAround, Process
from bot.playground.ids import ADA
from config.homedir import ensure_home
from config.load import LiveConfig
from sessions.engine import Engine, EngineClient, EngineProcess
from sessions.pi.exchange import Exchange
from sessions.pi.host_request import HostRequest
from sessions.pi.process import PiInstall
from sessions.pi.protocol import AgentSettled, PiEvent, PiState, SessionStats
from sessions.pictures import Picture

READY_SECONDS = 120.0
MARK_CHARS = 12
"""``bench-`` and six digits, in the text of every message."""


class StopWatch:
    """When each marked prompt was written, and when pi had settled it (monotonic ns)."""

    def __init__(self) -> None:
        self.prompted: dict[str, int] = {}
        self.settled: dict[str, int] = {}
        self.started = asyncio.Event()

    def around(self, engine: Engine) -> Engine:
        """Put the watch around an engine."""
        return EngineAround(engine, self._timed)

    @asynccontextmanager
    async def _timed(self, process: Process) -> AsyncIterator[EngineClient]:
        async with process as client:
            yield _TimedClient(client, self)


class _TimedExchange(Exchange):
    """The exchange of a client, with a look at the clock when it settles."""

    def __init__(self, inner: Exchange, watch: StopWatch, mark: str) -> None:
        super().__init__()
        self._inner = inner
        self._watch = watch
        self._mark = mark

    async def __anext__(self) -> PiEvent:
        event = await self._inner.__anext__()
        if isinstance(event, AgentSettled):
            self._watch.settled[self._mark] = time.monotonic_ns()
        return event


class _TimedClient:
    def __init__(self, client: EngineClient, watch: StopWatch) -> None:
        self._client = client
        self._watch = watch

    @property
    def process(self) -> EngineProcess:
        return self._client.process

    @property
    def alive(self) -> bool:
        return self._client.alive

    async def start(self, *, expected_messages: int = 0) -> PiState:
        state = await self._client.start(expected_messages=expected_messages)
        self._watch.started.set()
        return state

    def prompt(self, text: str, pictures: Sequence[Picture] = ()) -> Exchange:
        at = text.rfind("bench-")
        mark = text[at : at + MARK_CHARS] if at >= 0 else ""
        exchange = self._client.prompt(text, pictures)
        self._watch.prompted[mark] = time.monotonic_ns()
        return _TimedExchange(exchange, self._watch, mark)

    async def steer(self, text: str, pictures: Sequence[Picture] = ()) -> None:
        await self._client.steer(text, pictures)

    async def clear_queue(self) -> tuple[str, ...]:
        return await self._client.clear_queue()

    def send_abort(self) -> None:
        self._client.send_abort()

    def serve_host(self, handler: Callable[[HostRequest], None] | None) -> None:
        self._client.serve_host(handler)

    def answer_host(self, request: HostRequest, text: str) -> None:
        self._client.answer_host(request, text)

    def kill(self) -> None:
        self._client.kill()

    async def stats(self) -> SessionStats:
        return await self._client.stats()

    async def ended(self) -> None:
        await self._client.ended()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question's way, in monotonic nanoseconds."""

    sent_ns: int
    prompted_ns: int
    settled_ns: int
    create_ns: int
    model_ns: int


class FarEndClient:
    """Commands to the far end's process, any number in flight."""

    def __init__(self, process: asyncio.subprocess.Process, hello: dict[str, Any]) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.hello = hello

    async def read(self) -> None:
        """Hand answers to those who wait, until the process ends."""
        while self._process.stdout and (line := await self._process.stdout.readline()):
            answer = json.loads(line)
            self._waiting.pop(answer["id"]).set_result(answer)

    async def do(self, what: str, **values: object) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        if self._process.stdin is None:
            raise RuntimeError("the far end has no input")
        line = json.dumps({"id": number, "do": what, **values}) + "\n"
        self._process.stdin.write(line.encode())
        result = await answer
        if "error" in result:
            raise RuntimeError(str(result["error"]))
        return result


class Host:
    """The running bot with its far end and its stop-watch."""

    def __init__(self, far_end: FarEndClient, watch: StopWatch, home: Path) -> None:
        self.far_end = far_end
        self.watch = watch
        self.home = home
        self._marks = itertools.count(1)

    async def ask(self, channel: int, *, user: int = ADA, words: str = "How warm is it?") -> Asked:
        """Ask one marked question and tell its way."""
        mark = f"bench-{next(self._marks):06}"
        found = await self.far_end.do("ask", user=user, channel=channel, text=f"{words} {mark}")
        return Asked(
            sent_ns=found["sent_ns"],
            prompted_ns=self.watch.prompted.pop(mark),
            settled_ns=self.watch.settled.pop(mark),
            create_ns=found["create_ns"],
            model_ns=found["model_ns"],
        )


def pi_install() -> PiInstall:
    """Find pi as the bot does."""
    files = bootstrap.find_pi()
    return PiInstall(node=files.node, cli=files.cli)


@asynccontextmanager
async def running(
    home: Path,
    settings: dict[str, dict[str, object]] | None = None,
    *,
    replace: Callable[[Engine], Engine] = lambda engine: engine,
) -> AsyncIterator[Host]:
    """Run the bot on a fresh home against the far end until the block ends.

    ``replace`` may put another engine in the place of pi.
    """
    async with far_end_process() as far_end, asyncio.TaskGroup() as tasks:
        ensure_home(home)
        live = LiveConfig(
            home,
            environ={"DISCORD_TOKEN": far_end.hello["token"]},
            overrides=_overrides(far_end.hello, settings or {}),
        )
        watch, stop = StopWatch(), asyncio.Event()
        wiring = Wiring(for_good=True, wrap_engine=lambda engine: watch.around(replace(engine)))
        served = tasks.create_task(
            serve(live, home, install=pi_install(), stop=stop, wiring=wiring), name="bot"
        )
        try:
            async with asyncio.timeout(READY_SECONDS):
                await wiring.ready.wait()
            yield Host(far_end, watch, home)
        finally:
            stop.set()
            await served


def _overrides(
    hello: dict[str, Any], settings: dict[str, dict[str, object]]
) -> dict[str, dict[str, object]]:
    base: dict[str, dict[str, object]] = {
        "discord": {"api": hello["api"], "owners": [str(ADA)]},
        "engine": {
            "provider": "bench",
            "model": "scripted",
            "url": hello["model"],
            "context_window": 4_000_000,
        },
        "channels": {"default": {"enabled": True, "mode": "all", "trusted": True}},
        "log": {"level": "error"},
    }
    for section, values in settings.items():
        base[section] = {**base.get(section, {}), **values}
    return base


@asynccontextmanager
async def far_end_process() -> AsyncIterator[FarEndClient]:
    """Run the far end, and talk to it, until the block ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot.bench.far_end",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
        limit=1 << 24,
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the far end has no output")
        async with asyncio.timeout(READY_SECONDS):
            hello = json.loads(await process.stdout.readline())
        async with asyncio.TaskGroup() as tasks:
            client = FarEndClient(process, hello)
            reading = tasks.create_task(client.read(), name="far-end")
            yield client
            reading.cancel()
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.terminate()
        await process.wait()
