"""The border to pi's words: typed models of its records, and the commands written to it.

Nothing past this module sees raw JSON. pi's events may gain fields, so unknown keys are ignored
and an unknown type becomes a named value, ``UnknownEvent``.

Only what is used is read. Some records are huge and of no use to us (``agent_end`` repeats every
message of its run, ``message_start`` and ``message_end`` echo the prompts): these are recognised
by the beginning of their line and become an ``OtherEvent`` without being parsed. pi builds its
records with ``type`` first; a line that begins otherwise is parsed whole.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from sessions.pi.errors import ProtocolError


class _Record(BaseModel):
    """A part of what pi says: frozen, camelCase outside, open for new fields."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True
    )


class Cost(_Record):
    """US dollars of one model call, as pi works them out from the configured prices."""

    total: float = 0.0


class CallUsage(_Record):
    """Tokens of one model call, as the provider reports them.

    ``input`` excludes the cached ones; all are 0 if the provider reports nothing.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Cost = Field(default_factory=Cost)


class ContentPart(_Record):
    """A piece of an answer; only pieces of type ``text`` are meant for the reader."""

    type: str
    text: str = ""


class _Contents(_Record):
    content: tuple[ContentPart, ...] = ()

    @property
    def text(self) -> str:
        """The text pieces in their order, as they were written; pictures have none."""
        return "".join(part.text for part in self.content if part.type == "text")


class AssistantMessage(_Contents):
    """One answer of the model, or the failed attempt at one."""

    role: Literal["assistant"]
    usage: CallUsage = Field(default_factory=CallUsage)
    stop_reason: str
    """``stop``, ``length``, ``toolUse``, ``error`` or ``aborted``."""
    error_message: str = ""
    """The provider's own words: to be classified, never to be shown."""


class AgentStart(_Record):
    """A run of the model begins; a retry begins one anew."""

    type: Literal["agent_start"]


class AgentEnd(_Record):
    """A run of the model ended; pi may still go on, until ``AgentSettled``."""

    type: Literal["agent_end"]


class AgentSettled(_Record):
    """pi will do nothing more for the prompt: the end of the turn."""

    type: Literal["agent_settled"]
    aborted: bool = False


class AnswerDelta(_Record):
    """A step in the making of an answer; ``delta`` only with ``text_delta`` and its like."""

    type: str
    delta: str = ""


class MessageUpdate(_Record):
    """A step of the streamed answer."""

    type: Literal["message_update"]
    assistant_message_event: AnswerDelta

    @property
    def text_delta(self) -> str:
        """The visible text that this step adds, else empty."""
        step = self.assistant_message_event
        return step.delta if step.type == "text_delta" else ""


class AssistantEnd(_Record):
    """A ``message_end`` of the assistant: the whole message, which replaces all its steps."""

    type: Literal["message_end"]
    message: AssistantMessage


class RetryStart(_Record):
    """A failed attempt will be repeated after a pause."""

    type: Literal["auto_retry_start"]
    attempt: int
    max_attempts: int
    delay_ms: int


class RetryEnd(_Record):
    """The repeating is over: an attempt succeeded, or none did."""

    type: Literal["auto_retry_end"]
    success: bool


class UiRequest(_Record):
    """An extension asks the host something; ours does for each call of a tool.

    ``title`` is then ``host:`` and the tool's name, ``placeholder`` its arguments in JSON.
    """

    type: Literal["extension_ui_request"]
    id: str
    method: str
    title: str = ""
    placeholder: str = ""


class Response(_Record):
    """The answer to a command, matched by its id; none for a line that pi could not parse.

    ``data`` is read by ``state_of`` and its like; ``error`` is pi's own words, never shown.
    """

    type: Literal["response"]
    id: str | None = None
    command: str
    success: bool
    error: str = ""
    data: JsonValue = None


class ToolResult(_Contents):
    """What the model is told of one tool call."""

    role: Literal["toolResult"]
    tool_call_id: str = ""
    is_error: bool = False


class ToolResultEnd(_Record):
    """A ``message_end`` of a tool's result."""

    type: Literal["message_end"]
    message: ToolResult


class OtherEvent(_Record):
    """A known event whose content is not used."""

    type: str


class UnknownEvent(_Record):
    """An event of a type that this version of the protocol does not know."""

    type: str


class PiModel(_Record):
    """The model that pi has chosen."""

    id: str
    provider: str


class PiState(_Record):
    """What pi says of itself (``get_state``)."""

    session_id: str
    session_file: str | None = None
    message_count: int
    is_streaming: bool
    model: PiModel | None = None


class ContextUsage(_Record):
    """How full the model's window is; unknown before the first answer."""

    tokens: int | None = None
    context_window: int = 0
    percent: float | None = None


class SessionStats(_Record):
    """Totals of pi's session, also after a resume (``get_session_stats``)."""

    cost: float = 0.0
    context_usage: ContextUsage | None = None


class ClearedQueue(_Record):
    """What pi had not taken up of the inputs that steer a turn (``clear_queue``)."""

    steering: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()


class PromptAccepted(_Record):
    """What pi does with a prompt; anything but ``started`` ends in no ``AgentSettled``."""

    disposition: str


class _NamedCommand(_Record):
    name: str


class _CommandList(_Record):
    commands: tuple[_NamedCommand, ...]


PiEvent = (
    AgentStart
    | AgentEnd
    | AgentSettled
    | MessageUpdate
    | AssistantEnd
    | RetryStart
    | RetryEnd
    | ToolResultEnd
    | OtherEvent
    | UnknownEvent
)
PiRecord = PiEvent | Response | UiRequest

_UsedRecord = (
    AgentSettled | MessageUpdate | AssistantEnd | RetryStart | RetryEnd | UiRequest | Response
)
_USED: Final[TypeAdapter[_UsedRecord]] = TypeAdapter(
    Annotated[_UsedRecord, Field(discriminator="type")]
)
_RESULT: Final[TypeAdapter[ToolResultEnd]] = TypeAdapter(ToolResultEnd)
_USED_TYPES: Final = frozenset(
    {
        "agent_settled",
        "auto_retry_end",
        "auto_retry_start",
        "extension_ui_request",
        "message_update",
        "response",
    }
)
_OTHER_TYPES: Final = frozenset(
    {
        "bash_execution_update",
        "compaction_end",
        "compaction_start",
        "entry_appended",
        "extension_error",
        "message_end",
        "message_start",
        "queue_update",
        "session_info_changed",
        "summarization_retry_attempt_start",
        "summarization_retry_finished",
        "summarization_retry_scheduled",
        "thinking_level_changed",
        "tool_execution_end",
        "tool_execution_start",
        "tool_execution_update",
        "turn_end",
        "turn_start",
    }
)
_Read = TypeVar("_Read")
_START: Final = AgentStart(type="agent_start")
_END: Final = AgentEnd(type="agent_end")
_OTHER: Final = {name: OtherEvent(type=name) for name in _OTHER_TYPES}
_HEAD: Final = re.compile(rb'\{"type":"([a-z_]{1,64})"(?:,"message":\{"role":"([A-Za-z]{1,32})")?')
_LONE_SURROGATE: Final = re.compile(
    rb"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""An escaped backslash or a proper pair (kept), else half a pair. Escapes occur only in strings."""


def parse_record(line: bytes) -> PiRecord:
    """Read one line of pi's output (without its LF).

    Half a surrogate pair in the model's answer becomes U+FFFD: no UTF-8 and no Discord message
    can hold it.

    Raises:
        ProtocolError: the line is no record.
    """
    head = _HEAD.match(line)
    kind, role = (head[1].decode("ascii"), head[2]) if head else _look_inside(line)
    if kind in _USED_TYPES or (kind == "message_end" and role == b"assistant"):
        return _read(_USED, line)
    if kind == "message_end" and role == b"toolResult":
        return _read(_RESULT, line)
    if not line.rstrip().endswith(b"}"):
        raise ProtocolError("broken record", size_bytes=len(line))
    if kind == "agent_start":
        return _START
    if kind == "agent_end":
        return _END
    return _OTHER.get(kind) or UnknownEvent(type=kind)


def _look_inside(line: bytes) -> tuple[str, bytes | None]:
    """Find type and role of a record that does not begin with them."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("broken record", size_bytes=len(line)) from error
    kind = record.get("type") if isinstance(record, dict) else None
    if not isinstance(kind, str):
        raise ProtocolError("record without a type", size_bytes=len(line))
    message = record.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    return kind, role.encode() if isinstance(role, str) else None


def _read(form: TypeAdapter[_Read], line: bytes) -> _Read:
    try:
        return form.validate_json(line)
    except ValidationError:
        mended = _LONE_SURROGATE.sub(_keep_pairs, line)
    try:
        return form.validate_json(mended)
    except ValidationError as error:
        raise ProtocolError("broken record", size_bytes=len(line)) from _without_input(error)


def _keep_pairs(match: re.Match[bytes]) -> bytes:
    kept: bytes | None = match[1]
    return kept or rb"\ufffd"


def _without_input(error: ValidationError) -> ValueError:
    """Name what was wrong where, without the values: an error may end up in a log."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return ValueError("; ".join(f"{each['type']} at {each['loc']}" for each in found[:5]))


_DataT = TypeVar("_DataT", bound=_Record)


def _data_of(response: Response, model: type[_DataT]) -> _DataT:
    try:
        return model.model_validate(response.data)
    except ValidationError as error:
        reason = f"unexpected answer to {response.command}"
        raise ProtocolError(reason) from _without_input(error)


def state_of(response: Response) -> PiState:
    """Read the answer to ``get_state``."""
    return _data_of(response, PiState)


def stats_of(response: Response) -> SessionStats:
    """Read the answer to ``get_session_stats``."""
    return _data_of(response, SessionStats)


def accepted_of(response: Response) -> PromptAccepted:
    """Read the answer to ``prompt``."""
    return _data_of(response, PromptAccepted)


def cleared_of(response: Response) -> tuple[str, ...]:
    """Read the answer to ``clear_queue``: the texts that the model was not given."""
    cleared = _data_of(response, ClearedQueue)
    return (*cleared.steering, *cleared.follow_up)


def command_names_of(response: Response) -> tuple[str, ...]:
    """Read the answer to ``get_commands``: the names that would be run instead of sent."""
    return tuple(each.name for each in _data_of(response, _CommandList).commands)
