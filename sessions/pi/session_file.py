"""pi's own record of a conversation, mended before it is taken up after a crash.

pi appends one JSON line for each message. When it dies in a turn, the user's message is already
there and its answer is not; the host has told the user so, and a repeated message would stand in
the context twice. So everything after the last complete answer is cut: the unanswered message,
failed and aborted attempts, tool calls without an answer, a torn last line. What came before keeps
its bytes, hence the prefix that the model has seen.

Spec: issue "Sessions", resume after a crash; the engine's reference, sections 3 and 5.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sessions.pi.errors import PiStartFailed

COMPLETE: Final = frozenset({"stop", "length"})
"""Stop reasons of a message that ends its turn with an answer; ``toolUse`` is in the middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """A session file as it may be taken up."""

    content: bytes
    answers: int
    """Complete answers of the model in it; a resumed pi knows at least twice as many messages."""

    @property
    def expected_messages(self) -> int:
        """The least number of messages that pi must find: each answer has a message before it."""
        return 2 * self.answers


def repair(content: bytes) -> Repaired:
    """Cut what follows the last complete answer from a session file's bytes.

    The file's head (its header, the system prompt) stays also where there is no answer at all.
    Repairing twice changes nothing.
    """
    kept: list[bytes] = []
    pending: list[bytes] = []
    answers = 0
    in_turn = False
    for line in content.split(b"\n")[:-1]:
        entry = _entry(line)
        if entry is None:
            break
        role, stop_reason = _role(entry)
        in_turn = in_turn or role == "user"
        pending.append(line)
        if in_turn and role == "assistant" and stop_reason in COMPLETE:
            answers += 1
            in_turn = False
        if not in_turn:
            kept += pending
            pending.clear()
    return Repaired(content=b"".join(line + b"\n" for line in kept), answers=answers)


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _role(entry: dict[str, Any]) -> tuple[str, str]:
    message = entry.get("message")
    if entry.get("type") != "message" or not isinstance(message, dict):
        return "", ""
    return str(message.get("role", "")), str(message.get("stopReason", ""))


def repair_session(session_dir: Path, session_id: str) -> int:
    """Mend the session file in ``session_dir`` in place; say how many messages pi must find there.

    No file means that pi had not begun; that is 0 messages. Blocks; call it in a thread, and only
    while no pi has the session.

    Raises:
        PiStartFailed: the file cannot be read or written.
    """
    try:
        found = sorted(session_dir.glob(f"*_{session_id}.jsonl"))
        if not found:
            return 0
        content = _read(found[-1])
        repaired = repair(content)
        if repaired.content != content:
            _replace(found[-1], repaired.content)
    except OSError as error:
        raise PiStartFailed(f"cannot mend its session: {type(error).__name__}") from error
    return repaired.expected_messages


def _read(file: Path) -> bytes:
    """Read a plain file that has one name.

    What runs beside pi may write in this directory. A link there could lead to any file of the
    host's, and a pipe could hold the host up.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
            raise OSError(errno.EMLINK, "not a plain file")
        return stream.read()


def _replace(file: Path, content: bytes) -> None:
    """Put new content in the file's place, for the same owner; nothing else is written to."""
    owner = file.stat(follow_symlinks=False)
    draft = file.with_name(file.name + ".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(descriptor)
        if os.geteuid() == 0:  # a box of the superuser's has another user
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    draft.replace(file)
