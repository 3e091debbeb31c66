"""What can go wrong with pi, by who must act.

    SafeError
    +-- PiError
        +-- PiStartFailed    owner: pi does not start (wrong Node, bad flags, bad configuration)
        +-- PiExited         host: the process ended although it was needed
        +-- PiRefused        host: pi answered a command with a refusal
        +-- ProtocolError    host: what pi wrote is no record of its protocol
        +-- SessionLost      host: pi opened another session than the one to be resumed

The safe messages name no path, no text of pi and none of the provider; ``facts`` are for the
owner's log.
"""

from __future__ import annotations

from enum import StrEnum

from compiler.errors import SafeError
from sessions.pi.provider_fault import SAFE_SENTENCES, ProviderFault


class PiErrorCode(StrEnum):
    """Stable names of the ways in which pi fails its host."""

    START_FAILED = "pi_start_failed"
    EXITED = "pi_exited"
    REFUSED = "pi_refused"
    PROTOCOL = "pi_protocol"
    SESSION_LOST = "pi_session_lost"


class PiError(SafeError):
    """A failure of the child process or of the talk with it."""


class PiStartFailed(PiError):
    """pi did not come up; nothing was sent to a model.

    ``stderr_tail`` is what it complained of: for the owner's log only, and safe there, since no
    conversation has begun.
    """

    def __init__(self, reason: str, *, exit_code: int | None = None, stderr_tail: str = "") -> None:
        facts: dict[str, str | int] = {"reason": reason}
        if exit_code is not None:
            facts["exit_code"] = exit_code
        if stderr_tail:
            facts["stderr"] = stderr_tail
        super().__init__(
            PiErrorCode.START_FAILED,
            "I could not start my engine. The owner can find out why with the doctor command.",
            facts=facts,
        )
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail


class PiExited(PiError):
    """The process ended while it was needed; a negative ``exit_code`` is the signal's number."""

    def __init__(self, exit_code: int | None) -> None:
        facts = {} if exit_code is None else {"exit_code": exit_code}
        super().__init__(
            PiErrorCode.EXITED,
            "My engine stopped in the middle of this. Please say it again.",
            facts=facts,
        )
        self.exit_code = exit_code


class PiRefused(PiError):
    """pi declined a command. ``reason`` is ours, never pi's text.

    ``fault`` is given where pi declined for the provider's sake, for want of a key above all; the
    error then has that fault's code and sentence.
    """

    def __init__(self, command: str, reason: str, *, fault: ProviderFault | None = None) -> None:
        super().__init__(
            fault or PiErrorCode.REFUSED,
            SAFE_SENTENCES[fault] if fault else "My engine did not take this. Please try again.",
            facts={"command": command, "reason": reason},
        )


class ProtocolError(PiError):
    """A record of pi's could not be understood; the process is not to be trusted further."""

    def __init__(self, reason: str, *, size_bytes: int = 0) -> None:
        super().__init__(
            PiErrorCode.PROTOCOL,
            "My engine said something I could not read. Please try again.",
            facts={"reason": reason, "size_bytes": size_bytes},
        )


class SessionLost(PiError):
    """The resumed process has fewer messages than it must have: its memory of the talk is gone."""

    def __init__(self, *, expected_messages: int, found_messages: int) -> None:
        super().__init__(
            PiErrorCode.SESSION_LOST,
            "I lost the thread of this conversation and have to start afresh.",
            facts={"expected_messages": expected_messages, "found_messages": found_messages},
        )
