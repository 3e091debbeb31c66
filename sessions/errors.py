"""What can go wrong in a session, named by who must act.

    SafeError                     (``compiler.errors``)
    +-- StoreUnavailable          host: the database cannot be read or written just now
    |   +-- StoreDamaged          owner: the file is broken; stop, keep it, restore a copy
    |   +-- StoreTooNew           owner: a newer release wrote the file
    |   +-- StoreMissing          owner: nothing was recorded in this home yet (read-only opening)
    |   +-- KeysUnavailable       owner: see ``sessions.store.vault``
    +-- TurnRejected              user: the message was not accepted, or its turn was withdrawn
    +-- SessionStartFailed        host: no process to talk to; the next message tries again

``TraceUnwritable`` lives in ``sessions.trace``, the errors of the child in ``sessions.pi.errors``.
Messages are one plain sentence each and name no text, path outside the home, or other channel.
"""

from __future__ import annotations

from enum import StrEnum

from compiler.errors import SafeError


class SessionErrorCode(StrEnum):
    """Stable names, also found in ``TurnRow.error_code`` and ``TurnOutcome.error_code``."""

    STORE_UNAVAILABLE = "store_unavailable"
    STORE_DAMAGED = "store_damaged"
    STORE_TOO_NEW = "store_too_new"
    STORE_MISSING = "store_missing"
    KEYS_UNAVAILABLE = "keys_unavailable"
    INBOX_FULL = "inbox_full"
    SENDER_FULL = "sender_full"
    HOST_CLOSING = "host_closing"
    SESSION_BROKEN = "session_broken"
    STOPPED = "stopped"
    WITHDRAWN = "withdrawn"
    JOINED = "joined"
    ALL_BUSY = "all_busy"
    START_TIMEOUT = "start_timeout"
    START_FAILED = "start_failed"
    HOST_KILLED = "host_killed"
    INTERNAL = "internal"


class StoreUnavailable(SafeError):
    """The records cannot be read or written now; nothing unrecorded reaches the model."""

    def __init__(
        self,
        reason: str,
        *,
        code: SessionErrorCode = SessionErrorCode.STORE_UNAVAILABLE,
        safe_message: str = "My records cannot be reached just now. Please try again in a moment.",
    ) -> None:
        super().__init__(code, safe_message, facts={"reason": reason})


class StoreDamaged(StoreUnavailable):
    """The file failed its check; it is never replaced silently (P24)."""

    def __init__(self, reason: str, *, name: str) -> None:
        super().__init__(
            reason,
            code=SessionErrorCode.STORE_DAMAGED,
            safe_message=(
                f"The database {name} is damaged. Stop the bot, move the file aside and restore "
                "a copy of it; without a copy the bot starts with empty records, and the traces "
                "in runs/ stay readable."
            ),
        )


class StoreTooNew(StoreUnavailable):
    """The schema is newer than this release knows; reading it could lose data."""

    def __init__(self, *, found: int, known: int, name: str) -> None:
        super().__init__(
            f"schema {found}, known {known}",
            code=SessionErrorCode.STORE_TOO_NEW,
            safe_message=(
                f"The database {name} was written by a newer release (schema {found}, this one "
                f"knows {known}). Update the bot, or use another home."
            ),
        )


class StoreMissing(StoreUnavailable):
    """There is no database, or none of this schema yet, and this opening may not make one."""

    def __init__(self, reason: str, *, name: str) -> None:
        super().__init__(
            reason,
            code=SessionErrorCode.STORE_MISSING,
            safe_message=f"There is no usable {name} in this home yet. Start the bot once.",
        )


_REJECTIONS = {
    SessionErrorCode.INBOX_FULL: (
        "Too many messages are waiting here already. Please ask again in a moment."
    ),
    SessionErrorCode.SENDER_FULL: (
        "Several of your messages are waiting here already. Please wait for their answers."
    ),
    SessionErrorCode.HOST_CLOSING: "I am shutting down, so I did not start on this message.",
    SessionErrorCode.SESSION_BROKEN: (
        "Something went wrong on my side before I got to this message. Please say it again."
    ),
    SessionErrorCode.STOPPED: "I was stopped before I got to this message.",
    SessionErrorCode.WITHDRAWN: "The message was withdrawn before I got to it.",
    SessionErrorCode.JOINED: "The message was answered together with another one.",
}


class TurnRejected(SafeError):
    """A message that gets no turn. ``code`` is one of those in ``_REJECTIONS``."""

    def __init__(self, code: SessionErrorCode) -> None:
        super().__init__(code, _REJECTIONS[code])


_START_FAILURES = {
    SessionErrorCode.ALL_BUSY: (
        "All my places are busy with other conversations. Please try again in a moment."
    ),
    SessionErrorCode.START_TIMEOUT: "I took too long to wake up. Please try again.",
    SessionErrorCode.START_FAILED: "I could not wake up. Please try again.",
}


class SessionStartFailed(SafeError):
    """No process could be started for a conversation; the next message tries again."""

    def __init__(self, code: SessionErrorCode, *, reason: str = "") -> None:
        super().__init__(code, _START_FAILURES[code], facts={"reason": reason} if reason else {})
