"""A home, a store, a clock held still and an engine that does as told, for tests of sessions."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from compiler.budget import ContextBudgets
from compiler.request import (
    ChannelId,
    GuildId,
    HistoryMessage,
    ImpName,
    MessageId,
    MessageInput,
    Place,
    Role,
    RunId,
    RunScope,
    TurnId,
    UserId,
)
from sessions.engine import SESSION_DIR, EngineClient, Launch
from sessions.inbound import InboundMessage, SeenMessage, TurnOutcome
from sessions.limits import EngineSettings, SessionLimits
from sessions.memory.service import MemoryService
from sessions.parts import SessionParts
from sessions.pi.errors import PiExited, PiRefused, PiStartFailed, SessionLost
from sessions.pi.exchange import Exchange
from sessions.pi.host_request import HostRequest
from sessions.pi.protocol import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AssistantEnd,
    AssistantMessage,
    CallUsage,
    ContentPart,
    ContextUsage,
    PiState,
    SessionStats,
    ToolResult,
    ToolResultEnd,
)
from sessions.pictures import Picture
from sessions.registry import Registry
from sessions.store.database import Database, open_database
from sessions.store.key_fault import KEYS_FILE
from sessions.store.vault import open_vault

EMBER = ImpName("ember")
HEARTH = ChannelId("discord:100")
ADA = UserId("discord:7")
BOUND_SECONDS = 120.0
"""Longest wait of a test for something that must happen; machines stand still for seconds."""
IMPATIENT_SECONDS = 0.05
"""How long a store waits that is meant to give up."""


class ManualClock:
    """A clock that moves only when told; its timeouts end when it is moved past them."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000_000
        self.wall = datetime(2026, 11, 29, 23, 16, 35, tzinfo=UTC)
        self._timeouts: list[tuple[int, asyncio.Timeout]] = []

    def monotonic_ns(self) -> int:
        """Time since some beginning."""
        return self.now_ns

    def utc_now(self) -> datetime:
        """The wall."""
        return self.wall

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """A timeout that waits for ``advance``; one without any time is over at once."""
        if seconds <= 0:
            return asyncio.timeout(0)
        timeout = asyncio.Timeout(None)
        self._timeouts.append((self.now_ns + round(seconds * 1e9), timeout))
        return timeout

    def advance(self, seconds: float) -> None:
        """Let time pass, on both clocks."""
        self.now_ns += round(seconds * 1e9)
        self.wall += timedelta(seconds=seconds)
        due = [timeout for when, timeout in self._timeouts if when <= self.now_ns]
        self._timeouts = [each for each in self._timeouts if each[0] > self.now_ns]
        for timeout in due:
            try:
                timeout.reschedule(asyncio.get_running_loop().time())
            except RuntimeError:
                continue  # its block has ended


@dataclass(slots=True)
class FakeProcess:
    """The end of a fake process."""

    exit_code: int | None = None


class FakeClient:
    """An engine's process in this process: it keeps a session file as pi does."""

    def __init__(self, engine: FakeEngine, launch: Launch) -> None:
        self.engine = engine
        self.launch = launch
        self.process = FakeProcess()
        self.exchange: Exchange | None = None
        self.host: Callable[[HostRequest], None] | None = None
        self.tool_answers: list[dict[str, object]] = []
        self.aborted = False
        self.answering = False
        self.queue: list[str] = []
        """What steers the turn and was not taken up."""
        self._ended = asyncio.Event()
        directory = launch.run_dir / SESSION_DIR
        directory.mkdir(exist_ok=True)
        self._file = directory / f"0_{launch.route_key}.jsonl"

    @property
    def alive(self) -> bool:
        return not self._ended.is_set()

    @property
    def in_flight(self) -> bool:
        """Whether a prompt waits for its answer."""
        return self.exchange is not None and not self.exchange.closed

    async def ended(self) -> None:
        await self._ended.wait()

    async def start(self, *, expected_messages: int = 0) -> PiState:
        if self.engine.start_gate is not None:
            await self.engine.start_gate.wait()
        if self.engine.start_error is not None:
            raise self.engine.start_error
        found = len(self._file.read_text().splitlines()) if self._file.exists() else 0
        if found < expected_messages:
            raise SessionLost(expected_messages=expected_messages, found_messages=found)
        return PiState(session_id=self.launch.route_key, message_count=found, is_streaming=False)

    def prompt(self, text: str, pictures: Sequence[Picture] = ()) -> Exchange:
        if not self.alive:
            raise PiExited(self.process.exit_code)
        self.engine.prompts.append((self.launch.run_dir.name, text))
        self.engine.shown.extend(pictures)
        self._keep({"role": "user"})
        self.aborted = self.answering = False
        self.exchange = Exchange()
        self.engine.prompted.set()
        self.engine.behave(self, text)
        return self.exchange

    def reply(self, text: str, *, stop: str = "stop", error: str = "") -> None:
        """Answer the prompt in flight and settle."""
        self._answer(text, stop=stop, error=error)
        exchange = self._asked()
        exchange.put(AgentEnd(type="agent_end"))
        exchange.put(AgentSettled(type="agent_settled"))

    def _answer(self, text: str, *, stop: str = "stop", error: str = "") -> None:
        self._keep({"role": "assistant", "stopReason": stop})
        message = AssistantMessage(
            role="assistant",
            content=(ContentPart(type="text", text=text),),
            stop_reason=stop,
            error_message=error,
            usage=self.engine.usage,
        )
        exchange = self._asked()
        if not self.answering:
            exchange.put(AgentStart(type="agent_start"))
        self.answering = True
        exchange.put(AssistantEnd(type="message_end", message=message))

    def die(self, exit_code: int = 1) -> None:
        """Go away, whatever is in flight."""
        if self.alive:
            self.process.exit_code = exit_code
            self._ended.set()
            if self.exchange is not None:
                self.exchange.fail(PiExited(exit_code))

    async def steer(self, text: str, pictures: Sequence[Picture] = ()) -> None:
        if not self.in_flight:
            raise PiRefused("steer", "nothing is in flight")
        self.queue.append(text)
        self.engine.shown.extend(pictures)
        self.engine.steered.set()

    def take_up(self, answer: str = "") -> None:
        """Take up what steers the turn, after ``answer`` to what came before it."""
        if answer:
            self._answer(answer)
        self.engine.prompts += [(self.launch.run_dir.name, text) for text in self.queue]
        self.queue.clear()

    async def clear_queue(self) -> tuple[str, ...]:
        left, self.queue = tuple(self.queue), []
        return left

    def send_abort(self) -> None:
        self.aborted = True
        if self.engine.obeys_abort:
            self._asked().put(AgentSettled(type="agent_settled", aborted=True))

    def kill(self) -> None:
        self.die(-9)

    def serve_host(self, handler: Callable[[HostRequest], None] | None) -> None:
        self.host = handler

    def answer_host(self, request: HostRequest, text: str) -> None:
        del request
        self.tool_answers.append(json.loads(text))
        self.engine.tool_answered.set()

    def call(
        self, tool: str, *, builtin: bool = False, call_id: str = "", **arguments: object
    ) -> None:
        """Call a tool as the model does; the answer comes into ``tool_answers``."""
        if self.host is None:
            raise AssertionError("no tools are served")
        self.host(
            HostRequest(
                id=f"q{tool}",
                tool=tool,
                arguments=json.dumps(arguments),
                builtin=builtin,
                call_id=call_id,
            )
        )

    def tell(self, call_id: str, text: str) -> None:
        """Say what the model was told of a call."""
        content = (ContentPart(type="text", text=text),)
        result = ToolResult(role="toolResult", tool_call_id=call_id, content=content)
        self._asked().put(ToolResultEnd(type="message_end", message=result))

    async def stats(self) -> SessionStats:
        if self.engine.stats_error is not None:
            raise self.engine.stats_error
        usage = ContextUsage(percent=self.engine.context_percent, tokens=self.engine.context_tokens)
        return SessionStats(context_usage=usage)

    def _asked(self) -> Exchange:
        if self.exchange is None:
            raise RuntimeError("nothing was asked")
        return self.exchange

    def _keep(self, message: dict[str, str]) -> None:
        with self._file.open("a") as file:
            file.write(json.dumps({"type": "message", "message": message}) + "\n")


def echo(client: FakeClient, text: str) -> None:
    """Answer at once, naming the number of the prompt."""
    del text
    client.reply(f"answer {len(client.engine.prompts)}")


def hold(client: FakeClient, text: str) -> None:
    """Answer nothing; the test does it later."""
    del client, text


@dataclass(slots=True)
class FakeEngine:
    """Spawns fake clients and remembers what they were given."""

    version: str = "1.6.0"
    confinement: str = ""
    behave: Callable[[FakeClient, str], None] = echo
    start_error: Exception | None = None
    start_gate: asyncio.Event | None = None
    end_gate: asyncio.Event | None = None
    at_end_gate: bool = False
    """Whether some process waits there to end."""
    stats_error: Exception | None = None
    obeys_abort: bool = True
    context_percent: float = 1.0
    context_tokens: int | None = None
    usage: CallUsage = field(default_factory=CallUsage)
    """Of each answer."""
    clients: list[FakeClient] = field(default_factory=list)
    prompts: list[tuple[str, str]] = field(default_factory=list)
    shown: list[Picture] = field(default_factory=list)
    """Pictures that went with them."""
    prompted: asyncio.Event = field(default_factory=asyncio.Event)
    steered: asyncio.Event = field(default_factory=asyncio.Event)
    tool_answered: asyncio.Event = field(default_factory=asyncio.Event)
    living: int = 0
    most_living: int = 0

    @asynccontextmanager
    async def spawn(self, launch: Launch) -> AsyncIterator[EngineClient]:
        client = FakeClient(self, launch)
        self.clients.append(client)
        self.living += 1
        self.most_living = max(self.most_living, self.living)
        try:
            yield client
        finally:
            if self.end_gate is not None:
                self.at_end_gate = True
                await self.end_gate.wait()
            self.living -= 1
            client.die(0)

    @property
    def last(self) -> FakeClient:
        """The process spawned last."""
        return self.clients[-1]


@dataclass(slots=True)
class World:
    """Everything around a registry, and a way to open registries on it."""

    home: Path
    clock: ManualClock
    engine: FakeEngine
    parts: SessionParts
    database: Database
    settings: EngineSettings

    @asynccontextmanager
    async def registry(self, **limits: float) -> AsyncIterator[Registry]:
        """Run a host on this home, with some limits changed."""
        changed = replace(self.parts.limits, **limits)  # type: ignore[arg-type]
        async with Registry(replace(self.parts, limits=changed)) as registry:
            yield registry

    def write_identity(self, text: str = "You are Ember.", *, imp: str = "ember") -> Path:
        """Give an imp its identity."""
        file = self.home / "imps" / imp / "identity.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def trace(self, run_id: str) -> list[dict[str, object]]:
        """Read the events of a run's trace."""
        lines = (self.home / "runs" / run_id / "context.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@asynccontextmanager
async def session_world(
    home: Path,
    *,
    budgets: ContextBudgets | None = None,
    remembers: bool = False,
) -> AsyncIterator[World]:
    """Make a home with one imp, Ember, its store, and an engine that echoes.

    ``remembers`` gives it a memory, and the model its tools.
    """
    clock = ManualClock()
    engine = FakeEngine()
    chosen = budgets or ContextBudgets()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(
            open_database(home / "inglenook.db", clock=clock, patience_seconds=BOUND_SECONDS)
        )
        memory = None
        if remembers:
            keys = open_vault(
                home / KEYS_FILE, database, clock=clock, patience_seconds=BOUND_SECONDS
            )
            vault = await stack.enter_async_context(keys)
            memory = MemoryService(home=home, database=database, vault=vault, clock=clock)
        world = World(
            home=home,
            clock=clock,
            engine=engine,
            database=database,
            settings=EngineSettings(),
            parts=SessionParts.over(
                home=home,
                database=database,
                engine=engine,
                engine_settings=lambda _: world.settings,
                budgets=lambda _: chosen,
                limits=SessionLimits(),
                clock=clock,
                memory=memory,
            ),
        )
        world.write_identity()
        yield world


@contextmanager
def locked(file: Path, *impatient: Database) -> Iterator[None]:
    """Hold a database's lock from another connection; ``impatient`` soon give up meanwhile.

    Before and after, what must succeed has all the time of a machine that stands still.
    """
    patience = [each._patience_seconds for each in impatient]
    with closing(sqlite3.connect(file, timeout=BOUND_SECONDS, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for each in impatient:
            each._patience_seconds = IMPATIENT_SECONDS
        try:
            yield
        finally:
            for each, seconds in zip(impatient, patience, strict=True):
                each._patience_seconds = seconds


def scope_of(
    channel: int = 100, *, message: int | None = None, user: str = ADA, parent: int | None = None
) -> RunScope:
    """A server channel, or a thread of ``parent``."""
    return RunScope(
        provider="discord",
        place=Place.GROUP if parent is None else Place.THREAD,
        channel_id=ChannelId(f"discord:{channel}"),
        parent_channel_id=None if parent is None else ChannelId(f"discord:{parent}"),
        guild_id=GuildId("discord:1"),
        user_id=UserId(user),
        message_id=None if message is None else MessageId(f"discord:{message}"),
        role=Role.OWNER,
    )


def inbound(
    number: int,
    text: str = "Hello.",
    *,
    channel: int = 100,
    imp: ImpName = EMBER,
    parent: int | None = None,
    received_ns: int = 1_000_000_000_000,
) -> InboundMessage:
    """Message ``number`` of Ada's."""
    scope = scope_of(channel, message=number, parent=parent)
    return InboundMessage(
        imp=imp,
        scope=scope,
        turn_id=TurnId(f"discord:message:{number}"),
        received_ns=received_ns,
        message=MessageInput(
            provider="discord",
            author_label="Ada",
            role=Role.OWNER,
            text=text,
            message_id=scope.message_id,
            author_id=ADA,
        ),
    )


def seen(number: int, text: str, *, channel: int = 100, label: str = "Bo") -> SeenMessage:
    """Message ``number`` as it went by."""
    scope = scope_of(channel, message=number)
    return SeenMessage(
        scope=scope,
        entry=HistoryMessage(
            message_id=MessageId(f"discord:{number}"),
            author_label=label,
            text=text,
            author_id=UserId("discord:8"),
        ),
    )


async def eventually(check: Callable[[], bool]) -> None:
    """Let the loop work until something holds, bounded."""
    async with asyncio.timeout(BOUND_SECONDS):
        while not check():  # noqa: ASYNC110 - what is awaited has no event of its own
            # A turn of the loop, not a length of time: threads hand over their results in it.
            await asyncio.sleep(0.001)


def start_failure() -> PiStartFailed:
    """What an engine says that does not come up."""
    return PiStartFailed("not ready in time")


async def ask(
    registry: Registry,
    number: int,
    text: str = "Hello.",
    *,
    channel: int = 100,
    parent: int | None = None,
) -> TurnOutcome:
    """Submit message ``number`` and await its outcome."""
    message = inbound(number, text, channel=channel, parent=parent)
    async with asyncio.timeout(BOUND_SECONDS):
        return await registry.submit(message).outcome()


def only_run(registry: Registry) -> RunId:
    """The run of the only session there is."""
    (view,) = registry.views()
    if view.run_id is None:
        raise AssertionError("no run has begun")
    return view.run_id
