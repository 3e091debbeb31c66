"""Read a message that is too long for one turn part by part, and answer it once at the end.

Each part is a turn of its own, in order, in the conversation that the message belongs to; what the
model writes in them are its notes, which nobody sees. Only when every part was read, a last turn
asks for the answer, with all notes in it. A turn that does not reply ends the reading, and its
outcome is the outcome of the whole: a stop, a deadline, a host that closes. ``progress`` is then
where ``read`` can go on; after a restart it is gone, and the turn that was cut off is told of as
any other (``Registry.interrupted``).

What is read in parts is the longest text of the message: its own words, or those of a file or a
quote. With one of these the message's own words, which say what is wanted, come with every part.

What reads as if it could only be done with the whole text at once is refused before anything
starts. The whole message stays with the caller and is not stored here.

Spec: TR "Current-turn overflow".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from compiler.chunks import (
    MIN_CHUNK_CHARS,
    ChunkPlan,
    ChunkPolicy,
    ChunkRefusal,
    needs_whole_text,
    plan_chunks,
)
from compiler.errors import SafeError
from compiler.render import quote
from compiler.request import ChunkMark, MessageInput, MessagePart, PartKind, TurnId
from sessions.inbound import InboundMessage, OutcomeKind, Overflow, TurnOutcome
from sessions.ticket import Ticket

Submit = Callable[[InboundMessage], Ticket]
OnProgress = Callable[[int, int], None]
"""Told how many parts have been read, and of how many."""

ENVELOPE_CHARS: Final = 1_500
"""Room in a message block for what the host adds to a part: names, ids, the mark itself."""
PART_CHARS: Final = 400
"""The same around one quote or file."""
LEAST_CHARS: Final = 4 * MIN_CHUNK_CHARS
"""Less room than that is none: most of a part would repeat the one before it."""
TOKENS_SHARE_PERCENT: Final = 70
"""How much of the characters that a limit in tokens lets expect is used; text is uneven."""
NOTES_SHARE: Final = 2
"""The notes of all parts together may fill so much of the last message: one half."""


class ChunkErrorCode(StrEnum):
    """Why a message is not read in parts."""

    NEEDS_WHOLE_TEXT = "needs_whole_text"
    TOO_MANY = "too_many_chunks"


_SENTENCES = {
    ChunkErrorCode.NEEDS_WHOLE_TEXT: (
        "What you ask needs the whole text at once, and that has no room. In parts I would only "
        "guess, so I leave it."
    ),
    ChunkErrorCode.TOO_MANY: "That is too long even in parts. Please send me less of it.",
}


class ChunksRefused(SafeError):
    """The message is not read in parts; nothing was started."""

    def __init__(self, code: ChunkErrorCode) -> None:
        super().__init__(code, _SENTENCES[code])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkProgress:
    """How far a reading is: the plan, and the notes on the parts that were read."""

    plan: ChunkPlan
    subject: int | None = None
    """Which of the message's parts is read; None for its own words."""
    notes: tuple[str, ...] = ()

    @property
    def is_read(self) -> bool:
        """Whether every part has its notes."""
        return len(self.notes) == len(self.plan.chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkResult:
    """The outcome of the whole, and where it can go on if it is not an answer."""

    outcome: TurnOutcome
    progress: ChunkProgress


def limit_of(message: MessageInput, overflow: Overflow) -> int:
    """Say how many characters a message block may have where this one was too long."""
    if overflow.unit == "characters":
        return overflow.limit
    chars = len(message.text) + sum(len(part.text) for part in message.parts)
    return chars * overflow.limit * TOKENS_SHARE_PERCENT // (100 * max(1, overflow.size))


def plan_reading(inbound: InboundMessage, limit_chars: int) -> ChunkProgress:
    """Cut a message for reading; ``limit_chars`` is that of the message block.

    Raises:
        ChunksRefused: it needs its whole text, or has too many parts.
    """
    message = inbound.message
    subject = _subject_of(message)
    text = _text_of(message, subject)
    if needs_whole_text(message.text or text):
        raise ChunksRefused(ChunkErrorCode.NEEDS_WHOLE_TEXT)
    room = limit_chars - ENVELOPE_CHARS - _beside(message, subject)
    if room < LEAST_CHARS:
        raise ChunksRefused(ChunkErrorCode.TOO_MANY)
    policy = ChunkPolicy(limit_chars=room)
    plan = plan_chunks(text, policy, lambda part: len(quote(part)))
    if isinstance(plan, ChunkRefusal):
        raise ChunksRefused(ChunkErrorCode.TOO_MANY)
    return ChunkProgress(plan=plan, subject=subject)


def _subject_of(message: MessageInput) -> int | None:
    """Find the longest text of a message; its own words where none is longer."""
    longest, found = len(message.text), None
    for index, part in enumerate(message.parts):
        if len(part.text) > longest:
            longest, found = len(part.text), index
    return found


def _text_of(message: MessageInput, subject: int | None) -> str:
    if subject is None:
        return message.text
    return message.parts[subject].text if subject < len(message.parts) else ""


def _beside(message: MessageInput, subject: int | None) -> int:
    """Count the characters that stand beside the subject: the other texts, as rendered."""
    others = [part for index, part in enumerate(message.parts) if index != subject]
    own = 0 if subject is None else len(quote(message.text)) + PART_CHARS
    return own + sum(len(quote(part.text)) + PART_CHARS for part in others)


def belongs_to(progress: ChunkProgress, inbound: InboundMessage) -> bool:
    """Tell whether the parts are those of this message, as it is now."""
    text, plan = _text_of(inbound.message, progress.subject), progress.plan
    return plan_chunks(text, plan.policy, lambda part: len(quote(part))) == plan


async def read(
    inbound: InboundMessage,
    progress: ChunkProgress,
    submit: Submit,
    *,
    on_progress: OnProgress = lambda _read, _of: None,
) -> ChunkResult:
    """Read what has not been read yet, then ask for the answer.

    Raises:
        ValueError: the progress is that of another message.
    """
    plan = progress.plan
    if not belongs_to(progress, inbound):
        raise ValueError("the parts are not those of this message")
    while not progress.is_read:
        index = len(progress.notes)
        outcome = await submit(_part(inbound, progress, index)).outcome()
        if outcome.kind not in {OutcomeKind.REPLIED, OutcomeKind.SILENT}:
            return ChunkResult(outcome=_of_whole(outcome, inbound), progress=progress)
        progress = replace(progress, notes=(*progress.notes, outcome.text))
        on_progress(len(progress.notes), len(plan.chunks))
    outcome = await submit(_answer(inbound, progress)).outcome()
    return ChunkResult(outcome=_of_whole(outcome, inbound), progress=progress)


def _part(inbound: InboundMessage, progress: ChunkProgress, index: int) -> InboundMessage:
    """Make the message of one part; what else the original carried comes with the first."""
    plan, subject, whole = progress.plan, progress.subject, inbound.message
    chunk = plan.chunks[index]
    text = _text_of(whole, subject)[chunk.start : chunk.end]
    parts = tuple(
        replace(part, text=text) if at == subject else part
        for at, part in enumerate(whole.parts)
        if at == subject or index == 0
    )
    message = replace(
        whole,
        text=text if subject is None else whole.text,
        parts=parts,
        chunk=ChunkMark(
            index=index,
            count=len(plan.chunks),
            start=chunk.start,
            end=chunk.end,
            original_chars=plan.original_chars,
            original_sha256=plan.original_sha256,
            binding=plan.binding(index),
        ),
    )
    # What is shown goes with the last input, which asks for the answer.
    return replace(inbound, message=message, turn_id=part_turn(inbound.turn_id, index), pictures=())


def _answer(inbound: InboundMessage, progress: ChunkProgress) -> InboundMessage:
    plan = progress.plan
    count = len(plan.chunks)
    room = (plan.policy.limit_chars // NOTES_SHARE) // count
    notes = tuple(
        _note(note, f"part {index + 1} of {count}", room)
        for index, note in enumerate(progress.notes)
    )
    message = replace(
        inbound.message,
        text="" if progress.subject is None else inbound.message.text,
        parts=notes,
        mentions=() if progress.subject is None else inbound.message.mentions,
        chunk=ChunkMark(
            index=count,
            count=count,
            start=0,
            end=plan.original_chars,
            original_chars=plan.original_chars,
            original_sha256=plan.original_sha256,
        ),
    )
    return replace(inbound, message=message)


def _note(text: str, name: str, room_chars: int) -> MessagePart:
    whole = len(text)
    while len(quote(text)) > room_chars and text:
        text = text[: min(len(text) - 1, len(text) * room_chars // len(quote(text)))]
    return MessagePart(
        kind=PartKind.OWN_NOTES,
        name=name,
        text=text,
        total_chars=None if len(text) == whole else whole,
    )


def part_turn(turn_id: TurnId, index: int) -> TurnId:
    """Name the turn of one part; the last turn has the message's own name."""
    return TurnId(f"{turn_id}/part-{index + 1}")


def _of_whole(outcome: TurnOutcome, inbound: InboundMessage) -> TurnOutcome:
    return replace(outcome, turn_id=inbound.turn_id)
