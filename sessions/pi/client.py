"""The talk with one pi process: commands and their answers, one prompt in flight.

``PiClient`` owns its process for as long as its context is open. Records are handled in the
callback that reads them: an answer wakes its waiter, an event goes to the exchange in flight, the
end of the process wakes everybody at once. So there is no reading task that could fall behind or
be forgotten, and stdout is always read (a host that stops reading would stall pi).
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self, assert_never

import structlog

from sessions.limits import SessionLimits
from sessions.pi.commands import (
    encode_command,
    encode_prompt,
    encode_steer,
    encode_ui_answer,
    encode_ui_refusal,
)
from sessions.pi.errors import (
    PiError,
    PiExited,
    PiRefused,
    PiStartFailed,
    ProtocolError,
    SessionLost,
)
from sessions.pi.exchange import Exchange
from sessions.pi.framing import LineFramer
from sessions.pi.host_request import HostRequest, host_request_of
from sessions.pi.process import PiProcess, PiSpec
from sessions.pi.protocol import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AssistantEnd,
    MessageUpdate,
    OtherEvent,
    PiEvent,
    PiRecord,
    PiState,
    Response,
    RetryEnd,
    RetryStart,
    SessionStats,
    ToolResultEnd,
    UiRequest,
    UnknownEvent,
    accepted_of,
    cleared_of,
    command_names_of,
    parse_record,
    state_of,
    stats_of,
)
from sessions.pi.provider_fault import ProviderFault, classify
from sessions.pictures import Picture

_log = structlog.get_logger(__name__)
_MAX_NAMED_TYPES: Final = 100
"""Unknown event types that are told apart in the log; more would be noise."""
_UI_QUESTIONS: Final = frozenset({"confirm", "editor", "input", "select"})


class PiClient:
    """A pi process and the talk with it; enter the context, ``start``, then prompt by prompt."""

    def __init__(self, spec: PiSpec, limits: SessionLimits) -> None:
        """Take the process to start and the limits to keep.

        Args:
            spec: flags, paths and environment of the process.
            limits: ``start_seconds``, ``command_seconds`` and ``shutdown_seconds`` bound the
                waits here; the deadline of a turn is its caller's.
        """
        self._limits = limits
        self._spec = spec
        self._framer = LineFramer()
        self._process = PiProcess(spec, limits, on_stdout=self._hear, on_end=self._on_end)
        self._waiting: dict[str, asyncio.Future[Response]] = {}
        self._prompt_id: str | None = None
        self._exchange: Exchange | None = None
        self._failure: PiError | None = None
        self._ended = asyncio.Event()
        self._commands = 0
        self._unknown: set[str] = set()
        self._host: Callable[[HostRequest], None] | None = None
        self._context = contextvars.copy_context()
        """Of the last prompt: what is heard is of its turn, and logged so."""

    async def __aenter__(self) -> Self:
        await self._process.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._process.__aexit__(exc_type, exc, traceback)
        self._fail(PiExited(self._process.exit_code))

    @property
    def process(self) -> PiProcess:
        """The process: its id, start time, exit code and last words."""
        return self._process

    @property
    def alive(self) -> bool:
        """Whether the process can take another command."""
        return self._failure is None

    @property
    def busy(self) -> bool:
        """Whether a prompt is in flight."""
        return self._exchange is not None and not self._exchange.closed

    async def ended(self) -> None:
        """Wait until the process is of no more use, however that comes about."""
        await self._ended.wait()

    async def start(self, *, expected_messages: int = 0) -> PiState:
        """Wait until pi is ready and check that it is the pi that was asked for.

        Args:
            expected_messages: what a resumed session must hold at least; 0 for a new one.

        Raises:
            PiStartFailed: pi ended, took longer than ``start_seconds``, has another session, no
                model, or commands that could catch a user's text.
            SessionLost: pi is well, but the session to resume is not there.
        """
        try:
            async with asyncio.timeout(self._limits.start_seconds):
                commands = self._send("get_commands")
                state = state_of(await self._ask("get_state"))
                names = command_names_of(await commands)
        except TimeoutError as error:
            raise self._start_failed("not ready in time") from error
        except PiExited as error:
            raise self._start_failed("ended at once") from error
        except (PiRefused, ProtocolError) as error:
            raise self._start_failed("answers in another way") from error
        if names:
            raise self._start_failed("has commands")
        if state.session_id != self._spec.session_id:
            raise self._start_failed("has another session")
        if state.model is None or f"{state.model.provider}/{state.model.id}" != self._spec.model:
            raise self._start_failed("does not know the model")
        if state.message_count < expected_messages:
            raise SessionLost(
                expected_messages=expected_messages, found_messages=state.message_count
            )
        return state

    def prompt(self, text: str, pictures: Sequence[Picture] = ()) -> Exchange:
        """Send one prompt; the line is on its way when this returns.

        Raises:
            PiExited: the process is gone (or another failure that ended its use).
            PiRefused: another prompt is in flight, or the text has no UTF-8 form.
        """
        if self._failure is not None:
            raise self._failure
        if self.busy:
            raise PiRefused("prompt", "another prompt is in flight")
        command_id = self._next_id()
        try:
            line = encode_prompt(command_id, text, pictures)
        except UnicodeEncodeError as error:
            raise PiRefused("prompt", "text without a UTF-8 form") from error
        self._prompt_id = command_id
        self._exchange = exchange = Exchange()
        self._context = contextvars.copy_context()
        self._process.write(line)
        return exchange

    async def steer(self, text: str, pictures: Sequence[Picture] = ()) -> None:
        """Put a further input into the turn in flight; pi takes it up before its next model call.

        Raises:
            TimeoutError: no answer within ``command_seconds``; it may have arrived.
            PiExited: the process is gone.
            PiRefused: nothing is in flight, the text has no UTF-8 form, or pi declined.
        """
        if not self.busy:
            raise PiRefused("steer", "nothing is in flight")
        try:
            line = encode_steer(command_id := self._next_id(), text, pictures)
        except UnicodeEncodeError as error:
            raise PiRefused("steer", "text without a UTF-8 form") from error
        async with asyncio.timeout(self._limits.command_seconds):
            answer = await self._write_command(command_id, line)
        if accepted_of(answer).disposition != "queued":
            raise PiRefused("steer", "not queued")

    async def clear_queue(self) -> tuple[str, ...]:
        """Take back what was put into a turn and not taken up; give those texts.

        Raises:
            TimeoutError: no answer within ``command_seconds``.
            PiExited: the process is gone.
        """
        async with asyncio.timeout(self._limits.command_seconds):
            return cleared_of(await self._ask("clear_queue"))

    async def abort(self) -> None:
        """Ask pi to stop what it does and wait for its answer; the exchange then settles.

        Raises:
            TimeoutError: no answer within ``abort_seconds``.
            PiExited: the process is gone.
        """
        async with asyncio.timeout(self._limits.abort_seconds):
            await self._ask("abort")

    def serve_host(self, handler: Callable[[HostRequest], None] | None) -> None:
        """Hand tool calls to ``handler`` from now on; with None they are refused at once."""
        self._host = handler

    def answer_host(self, request: HostRequest, text: str) -> None:
        """Answer a tool call; one that pi has given up meanwhile is ignored by it."""
        self._process.write(encode_ui_answer(request.id, text))

    def send_abort(self) -> None:
        """Ask pi to stop what it does, without waiting for the answer."""
        self._process.write(encode_command(self._next_id(), "abort"))

    def kill(self) -> None:
        """End the process at once; whoever waits for it is told."""
        self._process.kill()

    async def state(self) -> PiState:
        """Ask for pi's state.

        Raises:
            TimeoutError: no answer within ``command_seconds``.
        """
        async with asyncio.timeout(self._limits.command_seconds):
            return state_of(await self._ask("get_state"))

    async def stats(self) -> SessionStats:
        """Ask for the totals of pi's session and how full its context is.

        Raises:
            TimeoutError: no answer within ``command_seconds``.
        """
        async with asyncio.timeout(self._limits.command_seconds):
            return stats_of(await self._ask("get_session_stats"))

    async def _ask(self, command: str) -> Response:
        return await self._send(command)

    def _send(self, command: str) -> asyncio.Future[Response]:
        command_id = self._next_id()
        return self._write_command(command_id, encode_command(command_id, command))

    def _write_command(self, command_id: str, line: bytes) -> asyncio.Future[Response]:
        if self._failure is not None:
            raise self._failure
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting[command_id] = answer
        answer.add_done_callback(lambda _: self._waiting.pop(command_id, None))
        self._process.write(line)
        return answer

    def _next_id(self) -> str:
        self._commands += 1
        return f"c{self._commands}"

    def _hear(self, chunk: bytes) -> None:
        """Read in the context of the turn; the pipe knows only that of the process's start."""
        self._context.run(self._read, chunk)

    def _read(self, chunk: bytes) -> None:
        try:
            for line in self._framer.feed(chunk):
                if self._failure is None:
                    self._handle(parse_record(line))
        except ProtocolError as error:
            _log.warning("pi.record_broken", **error.facts)
            self._fail(error)
            self._process.kill()

    def _handle(self, record: PiRecord) -> None:
        match record:
            case Response():
                self._handle_response(record)
            case UiRequest():
                self._handle_question(record)
            case UnknownEvent():
                self._note_unknown(record.type)
                self._pass_on(record)
            case (
                AgentStart()
                | AgentEnd()
                | AgentSettled()
                | MessageUpdate()
                | AssistantEnd()
                | RetryStart()
                | RetryEnd()
                | ToolResultEnd()
                | OtherEvent()
            ):
                self._pass_on(record)
            case _:
                assert_never(record)

    def _pass_on(self, event: PiEvent) -> None:
        if self._exchange is not None:
            self._exchange.put(event)

    def _handle_question(self, asked: UiRequest) -> None:
        """Hand on a tool call of the turn at hand; refuse whatever else is asked."""
        request = host_request_of(asked)
        if request is not None and self._host is not None and self.busy:
            self._host(request)
        elif asked.method in _UI_QUESTIONS:
            self._process.write(encode_ui_refusal(asked.id))

    def _note_unknown(self, kind: str) -> None:
        if kind not in self._unknown and len(self._unknown) < _MAX_NAMED_TYPES:
            self._unknown.add(kind)
            _log.warning("pi.event_unknown", event_type=kind)

    def _handle_response(self, response: Response) -> None:
        if response.id is None:
            raise ProtocolError("pi could not parse a command")
        if response.id == self._prompt_id:
            self._handle_prompt_response(response)
            return
        answer = self._waiting.get(response.id)
        if answer is None or answer.done():
            return
        if response.success:
            answer.set_result(response)
        else:
            _tell(answer, PiRefused(response.command, "declined"))

    def _handle_prompt_response(self, response: Response) -> None:
        if self._exchange is None:
            return
        if not response.success:
            fault = classify(response.error)
            known = None if fault is ProviderFault.OTHER else fault
            self._exchange.fail(PiRefused("prompt", "declined", fault=known))
        elif accepted_of(response).disposition != "started":
            self._exchange.fail(PiRefused("prompt", "not started"))

    def _on_end(self) -> None:
        self._fail(PiExited(self._process.exit_code))
        self._process.kill()  # one that closed its stdout and lives on is of no use

    def _fail(self, failure: PiError) -> None:
        if self._failure is not None:
            return
        self._failure = failure
        self._ended.set()
        if self._exchange is not None:
            self._exchange.fail(failure)
        for answer in list(self._waiting.values()):
            if not answer.done():
                _tell(answer, failure)

    def _start_failed(self, reason: str) -> PiStartFailed:
        return PiStartFailed(
            reason,
            exit_code=self._process.exit_code,
            stderr_tail=self._process.stderr_tail,
        )


def _tell(answer: asyncio.Future[Response], failure: PiError) -> None:
    """Fail a waiter; one that has left meanwhile need not fetch it."""
    answer.set_exception(failure)
    answer.exception()
