"""A model endpoint that says what a script tells it, for tests and the benchmark.

It speaks OpenAI's two forms and Anthropic's on loopback (``dialects``), records each request,
and reports token figures that follow from the request alone. Without a script it answers
``You said: <the last user message>``::

    async with ScriptedModel() as model:
        model.script(Answer.of("Hello."), HttpError(status=500))
        ...  # point an engine at model.url
        await model.wait_for_requests(2)
        assert model.requests[0].last_user_text == "Hi"

Nothing here sleeps: an answer that must wait is held by an ``asyncio.Event`` of the test.
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias, assert_never

from aiohttp import web

from bot.playground.dialects.completions import whole_answer
from bot.playground.dialects.forms import COMPLETIONS, DIALECTS, Dialect
from bot.playground.model_wire import (
    CHARS_PER_TOKEN,
    ChatMessage,
    Figures,
    ToolCall,
    WireAnswer,
    common_prefix_chars,
    count_tokens,
)

if TYPE_CHECKING:
    from types import TracebackType

WAIT_SECONDS = 120.0
"""How long a test waits for a request before it fails."""
SHUTDOWN_SECONDS = 1.0
CACHED_PROMPTS = 64
"""How many earlier prompts count as cached; bounds memory and work in long benchmarks."""
MAX_BODY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A step that answers well.

    ``chunks`` are the pieces of text in which it streams. ``finish=None`` ends the stream without
    a reason. ``figures=None`` reports the computed figures; ``report_usage=False`` reports none.
    ``before`` holds everything, the status line included; ``between`` holds what follows the
    first piece of it.
    """

    chunks: tuple[str, ...] = ()
    thinking: str = ""
    tools: tuple[ToolCall, ...] = ()
    finish: str | None = "stop"
    figures: Figures | None = None
    report_usage: bool = True
    before: asyncio.Event | None = None
    between: asyncio.Event | None = None

    @classmethod
    def of(cls, *chunks: str) -> Self:
        """Answer with a text, in one or more pieces."""
        return cls(chunks=chunks)

    @classmethod
    def call(cls, *tools: ToolCall) -> Self:
        """Ask for tools, in one message."""
        return cls(tools=tools, finish="tool_calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpError:
    """A step that refuses. Without ``body`` it has OpenAI's error shape."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    before: asyncio.Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """A step that never ends: headers (if wanted) and ``chunks``, then silence.

    It is over when the client leaves or the model closes.
    """

    headers: bool = True
    chunks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A step that cuts the connection after ``chunks``; before the headers when they are None."""

    chunks: tuple[str, ...] | None = ()


Step: TypeAlias = Answer | HttpError | Hang | Drop


@dataclass(slots=True, kw_only=True)
class ModelRequest:
    """One request as it came.

    ``raw`` are the exact bytes, ``body`` their JSON (foreign, so untyped); header names are lower
    case; ``number`` counts from 1; ``arrived_ns`` is ``time.monotonic_ns`` after the last byte.
    ``prompt`` is what a provider would cache, and ``cached_chars`` how much of it an earlier
    request began with. ``ended`` is set when the answer was sent or the client left;
    ``completed`` tells the two apart.
    """

    raw: bytes
    body: dict[str, Any]
    headers: Mapping[str, str]
    dialect: Dialect
    number: int
    arrived_ns: int
    prompt: str
    cached_chars: int
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    completed: bool = False

    @property
    def answer_id(self) -> str:
        """The id of the answer to it."""
        return f"chatcmpl-{self.number}"

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """The messages, texts joined."""
        return self.dialect.read_messages(self.body)

    @property
    def system_text(self) -> str:
        """The texts of all system messages, joined by a blank line."""
        return "\n\n".join(m.text for m in self.messages if m.role in {"system", "developer"})

    @property
    def last_user_text(self) -> str:
        """The text of the last user message, or nothing."""
        return next((m.text for m in reversed(self.messages) if m.role == "user"), "")

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools offered, in order."""
        tools = self.body.get("tools") or ()
        return tuple(tool.get("function", tool)["name"] for tool in tools)


Script: TypeAlias = Callable[[ModelRequest], Step | Awaitable[Step]]


def echo(request: ModelRequest) -> Step:
    """Answer with what was said; the default."""
    return Answer.of(f"You said: {request.last_user_text}")


class ScriptedModel:
    """The endpoint; an async context manager that listens on 127.0.0.1.

    ``default`` answers whenever no scripted step is left.
    """

    def __init__(
        self, *, port: int = 0, name: str = "scripted", default: Script | Step = echo
    ) -> None:
        self.name = name
        self.default: Script | Step = default
        self.requests: list[ModelRequest] = []
        self._steps: deque[Step] = deque()
        self._prompts: deque[str] = deque(maxlen=CACHED_PROMPTS)
        self._arrival = asyncio.Condition()
        self._open: dict[int, web.Request] = {}  # by number: requests compare by content
        self._port = port
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_get("/v1/models", self._models)
        for dialect in DIALECTS:
            app.router.add_post(dialect.path, functools.partial(self._serve, dialect))
        # Cancelling handlers lets Hang end with its client.
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for request in self._open.values():
            _cut(request)
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        """The base address that an OpenAI client wants."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        """The base address that an Anthropic client wants."""
        return f"http://127.0.0.1:{self._port}"

    def script(self, *steps: Step) -> None:
        """Queue steps; each answers one request, in order."""
        self._steps.extend(steps)

    @property
    def steps_left(self) -> int:
        """How many scripted steps no request has taken yet."""
        return len(self._steps)

    async def wait_for_requests(
        self, count: int, *, within: float = WAIT_SECONDS
    ) -> tuple[ModelRequest, ...]:
        """Wait until ``count`` requests have come in all; give them all.

        Raises:
            TimeoutError: they did not come within that many seconds.
        """
        async with asyncio.timeout(within), self._arrival:
            await self._arrival.wait_for(lambda: len(self.requests) >= count)
        return tuple(self.requests)

    async def _models(self, _: web.Request) -> web.Response:
        entry = {"id": self.name, "object": "model", "created": 0, "owned_by": "playground"}
        return web.json_response({"object": "list", "data": [entry]})

    async def _serve(self, dialect: Dialect, request: web.Request) -> web.StreamResponse:
        record = self._record(dialect, await request.read(), request.headers)
        if record is None:
            return _refusal(HttpError(status=400))
        self._open[record.number] = request
        try:
            async with self._arrival:
                self.requests.append(record)
                self._arrival.notify_all()
            response = await self._play(await self._next(record), request, record)
            record.completed = True
            return response
        finally:
            del self._open[record.number]
            record.ended.set()

    def _record(
        self, dialect: Dialect, raw: bytes, headers: Mapping[str, str]
    ) -> ModelRequest | None:
        arrived_ns = time.monotonic_ns()
        try:
            body = json.loads(raw)
        except ValueError:
            return None
        if not isinstance(body, dict):
            return None
        prompt = dialect.render_prompt(body)
        cached_chars = common_prefix_chars(prompt, self._prompts)
        self._prompts.appendleft(prompt)  # the newest first: it is the likeliest match
        return ModelRequest(
            raw=raw,
            body=body,
            headers={key.lower(): value for key, value in headers.items()},
            dialect=dialect,
            number=len(self.requests) + 1,
            arrived_ns=arrived_ns,
            prompt=prompt,
            cached_chars=cached_chars,
        )

    async def _next(self, record: ModelRequest) -> Step:
        if self._steps:
            return self._steps.popleft()
        if not callable(self.default):
            return self.default
        step = self.default(record)
        return await step if isinstance(step, Awaitable) else step

    async def _play(
        self, step: Step, request: web.Request, record: ModelRequest
    ) -> web.StreamResponse:
        match step:
            case Answer():
                return await self._answer(step, request, record)
            case HttpError():
                if step.before is not None:
                    await step.before.wait()
                return _refusal(step)
            case Hang():
                if step.headers:
                    await self._begin(request, step.chunks, record)
                await asyncio.Event().wait()  # ends by cancellation only
                raise ConnectionResetError
            case Drop():
                if step.chunks is not None:
                    await self._begin(request, step.chunks, record)
                _cut(request)
                raise ConnectionResetError
            case _:
                assert_never(step)

    async def _answer(
        self, step: Answer, request: web.Request, record: ModelRequest
    ) -> web.StreamResponse:
        if step.before is not None:
            await step.before.wait()
        figures = step.figures or _figures(step, record)
        answer = WireAnswer(
            model=str(record.body.get("model", self.name)),
            answer_id=record.answer_id,
            texts=step.chunks,
            thinking=step.thinking,
            tools=step.tools,
            finish=step.finish,
            figures=figures if step.report_usage else None,
        )
        if not record.body.get("stream"):
            if record.dialect is not COMPLETIONS:
                return _refusal(HttpError(status=400))  # this form is offered as a stream only
            return web.json_response(whole_answer(answer))
        response = await _open_stream(request)
        for index, event in enumerate(record.dialect.stream(answer)):
            await response.write(event)
            if step.between is not None and index == 1:  # the role came before
                await step.between.wait()
        await response.write_eof()
        return response

    async def _begin(
        self, request: web.Request, chunks: tuple[str, ...], record: ModelRequest
    ) -> None:
        """Send headers and the beginning of an answer that will not end well."""
        response = await _open_stream(request)
        if not chunks:
            return
        cut = WireAnswer(model=self.name, answer_id=record.answer_id, texts=chunks, finish=None)
        for event in record.dialect.stream(cut):
            await response.write(event)


def _figures(step: Answer, record: ModelRequest) -> Figures:
    said = step.thinking + "".join(step.chunks)
    said += "".join(call.name + json.dumps(dict(call.arguments)) for call in step.tools)
    return Figures(
        prompt=count_tokens(record.prompt),
        completion=count_tokens(said),
        # A partly equal token is not cached, so the cached ones round down.
        cached=record.cached_chars // CHARS_PER_TOKEN,
    )


async def _open_stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
    )
    await response.prepare(request)
    return response


def _refusal(step: HttpError) -> web.Response:
    error = {"message": f"Scripted error {step.status}", "type": "scripted_error", "code": None}
    return web.Response(
        status=step.status,
        text=step.body or json.dumps({"error": error}),
        headers=step.headers,
        content_type="application/json",
    )


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
