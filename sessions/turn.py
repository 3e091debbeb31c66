r"""One turn as a machine: pi's events and the host's signals in, commands and one outcome out.

Pure: no clock, no process, no waiting. ``sessions.exchange`` feeds it and obeys it.

**What pi does.** A prompt that was sent (``SENT``) starts a run of the model (``agent_start``,
``RUNNING``). In a run pi makes one or more model calls, each ended by an assistant
``message_end``. The run ends (``agent_end``, ``PAUSED``), but not always the turn: after a failure
that may pass pi waits (``auto_retry_start``) and starts another run. Only ``agent_settled`` says
that nothing more will come (``ENDED``); it may come from any open phase, since pi promises it for
every accepted prompt, however that fared. ::

    SENT --agent_start--> RUNNING --agent_end--> PAUSED --agent_start--> RUNNING ...
      \____________________ agent_settled ____________________/ --> ENDED

**What the host wants.** It lets the turn run (``WAIT``), or has asked pi to stop (``HALT``), or,
when that took too long, has the process killed (``KILL``). The host never goes back. pi may still
settle in each of these. The two tables below hold every legal move; anything else raises
``IllegalMove`` and changes nothing.

**What it comes to.** The text of the *last* assistant message is the answer: a retry replaces
what an attempt before it has streamed, and a tool turn's earlier messages are no answer. Where the
turn was steered, an answer that was complete before pi took the further input up stands before
the last one. Usage is summed over all model calls, failed ones too: they may cost. The outcome
exists once, when the phase is ``ENDED``:

==========================================================  ===========================
the process went away, or a halt took effect                CUT_OFF
pi refused, or broke its protocol                            FAILED (``pi_...``)
the last message is an error, or there is none               FAILED (``provider_...``)
text that a reader can see                                   REPLIED
cut by the output limit before any visible text              FAILED (``output_limit``)
nothing to see                                               SILENT
==========================================================  ===========================

An answer that was complete when the deadline's abort arrived is still an answer; after a stop by
a person, or at shutdown, it is not: nobody waits for it.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import Final

from compiler.request import RunId, TurnId
from sessions.inbound import OutcomeKind, TurnOutcome, Usage
from sessions.pi.errors import PiError, PiExited
from sessions.pi.protocol import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AssistantEnd,
    AssistantMessage,
    MessageUpdate,
    OtherEvent,
    PiEvent,
    RetryEnd,
    RetryStart,
    ToolResultEnd,
    UnknownEvent,
)
from sessions.pi.provider_fault import SAFE_SENTENCES, ProviderFault, classify
from sessions.visible import is_visible


class Phase(StrEnum):
    """Where pi is with the prompt."""

    SENT = "sent"
    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"


class Will(StrEnum):
    """What the host wants of the turn."""

    WAIT = "wait"
    HALT = "halt"
    KILL = "kill"


class HaltReason(StrEnum):
    """Why the host ends a turn; also the error code of its outcome."""

    DEADLINE = "turn_timeout"
    STOPPED = "turn_stopped"
    SHUTDOWN = "host_shutdown"


class Halted(Exception):
    """What was on its way was cut off by a wish."""

    def __init__(self, reason: HaltReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class TurnErrorCode(StrEnum):
    """Further ways in which a turn goes wrong; pi's and the provider's codes stand beside them."""

    NO_ANSWER = "no_answer"
    OUTPUT_LIMIT = "output_limit"
    ABORTED = "turn_aborted"


class Command(StrEnum):
    """What the shell is to do."""

    NOTE_FIRST_TEXT = "note-first-text"
    """The first visible text of the answer has come: look at the clock."""
    ABORT = "abort"
    KILL = "kill"


class _Signal(StrEnum):
    HALT = "halt"
    OVERDUE = "overdue"


class IllegalMove(RuntimeError):
    """An event that cannot come now, or a signal given twice; the machine is as it was."""


_OPEN: Final = (Phase.SENT, Phase.RUNNING, Phase.PAUSED)
_MOVES: Final = MappingProxyType(
    {
        (Phase.SENT, AgentStart): Phase.RUNNING,
        (Phase.PAUSED, AgentStart): Phase.RUNNING,
        (Phase.RUNNING, MessageUpdate): Phase.RUNNING,
        (Phase.RUNNING, AssistantEnd): Phase.RUNNING,
        (Phase.RUNNING, RetryEnd): Phase.RUNNING,  # an attempt succeeded
        (Phase.RUNNING, AgentEnd): Phase.PAUSED,
        (Phase.PAUSED, RetryStart): Phase.PAUSED,
        (Phase.PAUSED, RetryEnd): Phase.PAUSED,  # the last attempt failed
        **{(phase, AgentSettled): Phase.ENDED for phase in _OPEN},
        **{(phase, ToolResultEnd): phase for phase in _OPEN},
        **{(phase, OtherEvent): phase for phase in _OPEN},
        **{(phase, UnknownEvent): phase for phase in _OPEN},
    }
)
_WILLS: Final = MappingProxyType(
    {
        (Will.WAIT, _Signal.HALT): Will.HALT,
        (Will.HALT, _Signal.HALT): Will.HALT,  # asked already: the first reason counts
        (Will.KILL, _Signal.HALT): Will.KILL,
        (Will.HALT, _Signal.OVERDUE): Will.KILL,
    }
)
_SENTENCES: Final = MappingProxyType(
    {
        HaltReason.DEADLINE: "That took too long, so I stopped. Please try again.",
        HaltReason.STOPPED: "I was stopped before I could answer.",
        HaltReason.SHUTDOWN: "I am being restarted and could not answer. Please say it again.",
        TurnErrorCode.NO_ANSWER: "My engine ended without an answer. Please try again.",
        TurnErrorCode.OUTPUT_LIMIT: "My model ran out of room before it came to an answer.",
        TurnErrorCode.ABORTED: "I was interrupted before I could answer. Please try again.",
    }
)


class TurnMachine:
    """The state of one turn."""

    def __init__(self, run_id: RunId, turn_id: TurnId) -> None:
        self._run_id = run_id
        self._turn_id = turn_id
        self._phase = Phase.SENT
        self._will = Will.WAIT
        self._reason: HaltReason | None = None
        self._last: AssistantMessage | None = None
        self._steered = False
        self._answers: list[str] = []
        """Complete answers before the last message."""
        self._usage = Usage()
        self._text_noted = False
        self._outcome: TurnOutcome | None = None

    @property
    def phase(self) -> Phase:
        """Where pi is with the prompt."""
        return self._phase

    @property
    def will(self) -> Will:
        """What the host wants of the turn."""
        return self._will

    @property
    def outcome(self) -> TurnOutcome | None:
        """How the turn ended; None while it is open."""
        return self._outcome

    def handle(self, event: PiEvent) -> tuple[Command, ...]:
        """Take the next event of pi's.

        Raises:
            IllegalMove: pi cannot say this now.
        """
        phase = _MOVES.get((self._phase, type(event)))
        if phase is None:
            raise IllegalMove(f"{type(event).__name__} while {self._phase}")
        self._phase = phase
        match event:
            case MessageUpdate():
                return self._note_text(event.text_delta)
            case AssistantEnd(message=message):
                self._keep_answer()
                self._last = message
                self._usage = _added(self._usage, message)
            case AgentSettled(aborted=aborted):
                self._outcome = self._settled(aborted=aborted)
            case _:
                pass
        return ()

    def steer(self) -> None:
        """Say that pi was given a further input, which it may take up or not."""
        self._must_be_open()
        self._steered = True

    def halt(self, reason: HaltReason) -> tuple[Command, ...]:
        """Ask for an end: the deadline passed, someone stopped the turn, the host closes.

        The first reason counts; a further one asks for nothing new.
        """
        if self._signal(_Signal.HALT) is not Will.WAIT:
            return ()
        self._reason = reason
        return (Command.ABORT,)

    def overdue(self) -> tuple[Command, ...]:
        """Say that the abort has not settled the turn in time.

        Raises:
            IllegalMove: nothing was asked to end.
        """
        self._signal(_Signal.OVERDUE)
        return (Command.KILL,)

    def gone(self, error: PiError) -> None:
        """Say that nothing more will come from pi, and why; the turn ends with it."""
        self._must_be_open()
        self._phase = Phase.ENDED
        if self._reason is not None:
            self._outcome = self._cut_off(self._reason)
            return
        kind = OutcomeKind.CUT_OFF if isinstance(error, PiExited) else OutcomeKind.FAILED
        self._outcome = self._without_text(kind, error.code, error.safe_message)

    def _signal(self, signal: _Signal) -> Will:
        """Move the will; give what it was."""
        self._must_be_open()
        before = self._will
        after = _WILLS.get((before, signal))
        if after is None:
            raise IllegalMove(f"{signal} while {before}")
        self._will = after
        return before

    def _must_be_open(self) -> None:
        if self._phase is Phase.ENDED:
            raise IllegalMove("the turn has ended")

    def _keep_answer(self) -> None:
        """Keep what was answered before a further input is."""
        last = self._last
        complete = last is not None and last.stop_reason in ("stop", "length")
        if self._steered and last is not None and complete and is_visible(last.text):
            self._answers.append(last.text)

    def _note_text(self, delta: str) -> tuple[Command, ...]:
        if self._text_noted or not is_visible(delta):
            return ()
        self._text_noted = True
        return (Command.NOTE_FIRST_TEXT,)

    def _settled(self, *, aborted: bool) -> TurnOutcome:
        last = self._last
        interrupted = aborted or (last is not None and last.stop_reason == "aborted")
        if self._reason is not None and (interrupted or self._reason is not HaltReason.DEADLINE):
            return self._cut_off(self._reason)
        if interrupted:
            return self._cut_off(TurnErrorCode.ABORTED)
        if last is None:
            return self._cut_off(self._reason) if self._reason else self._no_answer()
        if last.stop_reason == "error":
            fault = classify(last.error_message)
            return self._without_text(OutcomeKind.FAILED, fault, SAFE_SENTENCES[fault])
        return self._answered(last)

    def _answered(self, last: AssistantMessage) -> TurnOutcome:
        cut_short = last.stop_reason == "length"
        texts = [*self._answers, *([last.text] if is_visible(last.text) else [])]
        if texts:
            return TurnOutcome(
                kind=OutcomeKind.REPLIED,
                run_id=self._run_id,
                turn_id=self._turn_id,
                text="\n\n".join(texts),
                cut_short=cut_short,
                usage=self._usage,
            )
        if cut_short:
            code = TurnErrorCode.OUTPUT_LIMIT
            return self._without_text(OutcomeKind.FAILED, code, _SENTENCES[code])
        return self._without_text(OutcomeKind.SILENT, "", "")

    def _no_answer(self) -> TurnOutcome:
        code = TurnErrorCode.NO_ANSWER
        return self._without_text(OutcomeKind.FAILED, code, _SENTENCES[code])

    def _cut_off(self, code: HaltReason | TurnErrorCode) -> TurnOutcome:
        return self._without_text(OutcomeKind.CUT_OFF, code, _SENTENCES[code])

    def _without_text(self, kind: OutcomeKind, code: str, safe_message: str) -> TurnOutcome:
        return TurnOutcome(
            kind=kind,
            run_id=self._run_id,
            turn_id=self._turn_id,
            safe_message=safe_message,
            error_code=str(code),
            usage=self._usage,
        )


def needs_fresh_session(outcome: TurnOutcome) -> bool:
    """Tell whether the conversation no longer fits the model, so that the session has to end."""
    return outcome.error_code == ProviderFault.CONTEXT_OVERFLOW


def _added(usage: Usage, message: AssistantMessage) -> Usage:
    call = message.usage
    return Usage(
        input_tokens=usage.input_tokens + call.input,
        output_tokens=usage.output_tokens + call.output,
        cache_read_tokens=usage.cache_read_tokens + call.cache_read,
        cache_write_tokens=usage.cache_write_tokens + call.cache_write,
        cost_usd=usage.cost_usd + call.cost.total,
        model_calls=usage.model_calls + 1,
    )
