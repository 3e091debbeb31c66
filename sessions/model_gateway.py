"""What leaves for the provider: the host's gateway between pi and the model.

pi knows one address on loopback, one path there, and a secret in place of the key. Each process of
a run has a secret of its own, which is what finds its ``WireEndpoint``; the provider's key never
leaves the host. A box without a network reaches the same gateway through a socket file
(``listen_on``); what it may ask there is the same.

    ModelGateway --open--> WireEndpoint --one request--> ModelCall

Nothing but the endpoint's own path is served, bodies are bounded, and a caller that goes away
takes its connection to the provider with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
import ssl
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import aiohttp
import structlog
from aiohttp import hdrs, web
from structlog.contextvars import bound_contextvars

from compiler.request import RunId
from sessions.allowance import Allowance, Spender
from sessions.clock import Clock
from sessions.limits import EngineSettings
from sessions.pi.errors import PiStartFailed
from sessions.wire.call import ModelCall, Stopped, WireAlarm, refused
from sessions.wire.ledger import ExpectedTurn, Finding, WireLedger
from sessions.wire.record import WireRecord
from sessions.wire.upstream import COMPLETIONS, Upstream, proxy_of, secret_of, upstream_of

_log = structlog.get_logger(__name__)


class WireErrorCode(StrEnum):
    """Stable names of why a call is kept back, beside those of an allowance."""

    MISMATCH = "wire_mismatch"
    TOO_MANY_CALLS = "too_many_calls"


_MISMATCH: Final = Stopped(
    WireErrorCode.MISMATCH,
    "What my engine was about to send is not what I had prepared, so I stopped it. "
    "The owner has to look.",
)
_TOO_MANY_CALLS: Final = Stopped(
    WireErrorCode.TOO_MANY_CALLS,
    "This took more steps than my owner allows for one task, so I stopped it.",
)
_SETTLE_SECONDS: Final = 2.0
"""How long a turn that has ended waits for the records of its calls. They are complete before pi
sees the end of an answer; only a call that pi left may take a moment longer."""
_KEEP_ALIVE_SECONDS: Final = 10.0
"""A provider closes idle connections; asking on one that is just being closed would fail."""
_SECRET_BYTES: Final = 32
_CERTIFICATES: Final = "NODE_EXTRA_CA_CERTS"


class WireEndpoint:
    """One process's way to its provider, and the account of what went over it."""

    def __init__(
        self,
        *,
        run_id: RunId,
        upstream: Upstream,
        engine: EngineSettings,
        key: str,
        proxy: str | None,
        ledger: WireLedger,
        spender: Spender,
        on_alarm: WireAlarm | None,
    ) -> None:
        """Take what is fixed for the life of the process."""
        self.run_id = run_id
        self.upstream = upstream
        self.engine = engine
        self.secret = secrets.token_urlsafe(_SECRET_BYTES)
        self.key = key
        self.proxy = proxy
        self.ledger = ledger
        self.spender = spender
        self.stopped: Stopped | None = None
        self.inspecting = asyncio.Lock()
        self.most_calls = 0
        """Of one turn; 0 sets no limit."""
        self._on_alarm = on_alarm
        self._records: list[WireRecord] = []
        self._calls = 0
        self._before = 0
        """Calls of the turns before this one."""
        self._open = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def begin_turn(self, turn: ExpectedTurn, spender: Spender) -> None:
        """Expect a turn's calls; earlier refusals are forgotten, but for a mismatch."""
        self.spender = spender
        self.ledger.begin(turn)
        self._before = self._calls
        if self.stopped is not _MISMATCH:
            self.stopped = None

    def also_expect(self, steering: ExpectedTurn) -> None:
        """Expect a further input in the calls of the turn on its way."""
        self.ledger.add(steering)

    async def end_turn(self) -> tuple[WireRecord, ...]:
        """Close the turn and hand over the records of its calls, in their order."""
        try:
            async with asyncio.timeout(_SETTLE_SECONDS):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("wire.unsettled", run_id=self.run_id, calls=self._open)
        self.ledger.end()
        return self.take_records()

    def take_records(self) -> tuple[WireRecord, ...]:
        """Hand over the records that nobody took yet."""
        taken, self._records = tuple(self._records), []
        return taken

    def next_number(self) -> int:
        """Number a call, and stop the turn at one too many."""
        self._calls += 1
        if 0 < self.most_calls < self._calls - self._before and self.stopped is None:
            self.stopped = _TOO_MANY_CALLS
        return self._calls

    @contextlib.contextmanager
    def call_open(self) -> Iterator[None]:
        """Count a call that is on its way."""
        self._open += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._open -= 1
            if self._open == 0:
                self._idle.set()

    def add(self, record: WireRecord) -> None:
        """Keep a record until the turn takes it."""
        self._records.append(record)

    def alarm(self, finding: Finding) -> None:
        """Tell the owner of a mismatch, and stop the session where the settings say so."""
        turn_id = finding.turn.turn_id if finding.turn else ""
        _log.error(
            "wire.mismatch",
            run_id=self.run_id,
            turn_id=turn_id,
            problems=[problem.value for problem in finding.problems],
        )
        if self.engine.on_mismatch == "stop":
            self.stopped = _MISMATCH
        if self._on_alarm is not None:
            self._on_alarm(run_id=self.run_id, turn_id=turn_id, problems=finding.problems)


class ModelGateway:
    """The server; an async context manager. One for all sessions of a host."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        clock: Clock,
        allowance: Allowance | None = None,
        on_alarm: WireAlarm | None = None,
    ) -> None:
        """Take the collaborators.

        Args:
            environment: the host's own, for keys, proxies and certificates.
            clock: of the records.
            allowance: what may be spent; None sets no limit.
            on_alarm: told of mismatches beside the log.
        """
        self._environment = environment
        self._clock = clock
        self._allowance = allowance
        self._on_alarm = on_alarm
        self._endpoints: dict[bytes, WireEndpoint] = {}
        self._stack = AsyncExitStack()
        self._client: aiohttp.ClientSession | None = None
        self._runner: web.ServerRunner | None = None
        self._keeping = asyncio.TaskGroup()
        self._port = 0

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            trusted = await asyncio.to_thread(_trusted, self._environment.get(_CERTIFICATES))
            await stack.enter_async_context(self._keeping)
            self._client = await stack.enter_async_context(_client(trusted))
            server = web.Server(self._serve, handler_cancellation=True, access_log=None)
            self._runner = web.ServerRunner(server, shutdown_timeout=_SETTLE_SECONDS)
            await self._runner.setup()
            stack.push_async_callback(self._runner.cleanup)
            await web.TCPSite(self._runner, "127.0.0.1", 0).start()
            self._port = int(self._runner.addresses[0][1])
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    @property
    def origin(self) -> str:
        """The address on loopback."""
        return f"http://127.0.0.1:{self._port}"

    @asynccontextmanager
    async def open(
        self,
        engine: EngineSettings,
        *,
        run_id: RunId,
        system_prompt: str,
        spender: Spender,
        inputs: Collection[str] = (),
    ) -> AsyncIterator[WireEndpoint | None]:
        """Open a way to the engine's provider for one process of a run.

        None where only pi knows the way: it then asks by itself, with the key.

        Raises:
            PiStartFailed: the key's variable is named in the settings and not set.
        """
        upstream = upstream_of(engine)
        if upstream is None:
            yield None
            return
        endpoint = WireEndpoint(
            run_id=run_id,
            upstream=upstream,
            engine=engine,
            key=self._key_of(engine),
            proxy=proxy_of(upstream.base, self._environment),
            ledger=WireLedger(upstream.api, system_prompt, inputs=inputs),
            spender=spender,
            on_alarm=self._on_alarm,
        )
        name = _name_of(endpoint.secret)
        self._endpoints[name] = endpoint
        try:
            yield endpoint
        finally:
            del self._endpoints[name]

    def address_of(self, endpoint: WireEndpoint) -> str:
        """Give the base address that pi is told."""
        return f"{self.origin}{endpoint.upstream.local_base}"

    @asynccontextmanager
    async def listen_on(self, socket: Path) -> AsyncIterator[None]:
        """Serve on a socket file as well, for a process that has no network."""
        if self._runner is None:
            raise RuntimeError("the gateway is closed")
        site = web.UnixSite(self._runner, socket)
        await site.start()
        try:
            await asyncio.to_thread(socket.chmod, 0o600)
            yield
        finally:
            await site.stop()
            await asyncio.to_thread(socket.unlink, missing_ok=True)

    def _key_of(self, engine: EngineSettings) -> str:
        if not engine.key_env:
            return ""
        key = self._environment.get(engine.key_env, "")
        if not key:
            raise PiStartFailed(f"the variable {engine.key_env} is not set")
        return key

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        endpoint = self._endpoints.get(_name_of(secret_of(request.headers)))
        if endpoint is None:
            return refused(COMPLETIONS, 401, "unknown caller")
        api = endpoint.upstream.api
        path, _, query = request.raw_path.partition("?")
        if path != endpoint.upstream.local_path or not endpoint.upstream.allows_query(query):
            return refused(api, 404, "no such path")
        if request.method != hdrs.METH_POST:
            return refused(api, 405, "no such method")
        body = await _read(request, endpoint.engine.max_request_bytes)
        if body is None:
            return refused(api, 413, "too large")
        with endpoint.call_open(), bound_contextvars(run_id=endpoint.run_id):
            return await self._call(endpoint, request, body, query)

    async def _call(
        self, endpoint: WireEndpoint, request: web.BaseRequest, body: bytes, query: str
    ) -> web.StreamResponse:
        if self._client is None:
            raise RuntimeError("the gateway is closed")
        call = ModelCall(
            endpoint,
            body,
            number=endpoint.next_number(),
            client=self._client,
            allowance=self._allowance,
            clock=self._clock,
        )
        try:
            response = await call.run(request, query)
        except BaseException:
            await self._account(endpoint, call)
            raise
        # Before pi sees the end of the answer, so that a settled turn finds the record, and the
        # next call the limit that this one reached.
        await self._account(endpoint, call)
        if isinstance(response, web.Response):
            await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            await response.write_eof()
        return response

    async def _account(self, endpoint: WireEndpoint, call: ModelCall) -> None:
        """Record a call and count what it took.

        What is kept of it for good is written beside the call: who asked may close the connection
        with the last byte, which cancels whatever the call still does.
        """
        try:
            endpoint.add(await call.record())
        finally:
            rows = call.spend()
            if rows and self._allowance is not None:
                self._keeping.create_task(self._allowance.keep(rows), name="usage")


async def _read(request: web.BaseRequest, most_bytes: int) -> bytes | None:
    """Read a body whole; None if it is larger than it may be."""
    if (request.content_length or 0) > most_bytes:
        return None
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > most_bytes:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _name_of(secret: str) -> bytes:
    """Find endpoints by a hash: how long a look-up takes then says nothing of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def _trusted(more: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if more:
        context.load_verify_locations(more)
    return context


def _client(trusted: ssl.SSLContext) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=trusted, keepalive_timeout=_KEEP_ALIVE_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=(hdrs.USER_AGENT, hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.CONTENT_TYPE),
    )
