"""People who speak through a proxy: their message is deleted, and a webhook says it again.

Handled once: while both stand there, the copy waits for what becomes of the words it repeats.
Where the original stays, it is answered and the copy is not; where it goes, its own turn goes with
it, and the copy is answered in its place, unless an answer was on its way already.

Who is behind a copy is known without asking anybody: it is the author of the one message that holds
these words, was said here a moment ago, and was deleted when the copy came. Nobody can have another
person's message deleted, and of two that fit neither counts. Without that certainty the words count
as nobody's: they are answered from what the channel may know, and no person's notes are used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import discord

REMEMBERED_SECONDS: Final = 15.0
"""A proxy repeats within a second or two."""
WAIT_SECONDS: Final = 5.0
"""How long a copy waits for the deletion of what it repeats."""
REMEMBERED: Final = 1_000
"""Messages that may be repeated, of all channels together."""


@dataclass(slots=True, kw_only=True, eq=False)
class Original:
    """A person's message that a proxy may be about to repeat."""

    message: discord.Message
    channel_id: int
    said_at: float
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    answered: bool = False
    """An answer to it is on its way, or stands."""
    claimed: bool = False
    """A copy of it was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """What is known of a copy."""

    person: discord.Message | None = None
    """The message of the person behind it; None if that is not certain."""
    handled: bool = False
    """Whether its words are answered already, or by their original."""


class Proxies:
    """What was said lately, and what became of it."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._said: dict[int, Original] = {}

    def note(self, message: discord.Message) -> None:
        """Remember a person's message for a moment."""
        if len(self._said) >= REMEMBERED:
            del self._said[next(iter(self._said))]
        self._said[message.id] = Original(
            message=message, channel_id=message.channel.id, said_at=self._monotonic()
        )

    def gone(self, message_id: int) -> None:
        """Say that a message was deleted."""
        if (original := self._said.get(message_id)) is not None:
            original.gone.set()

    def answering(self, message_id: int) -> None:
        """Say that an answer to a message is about to be posted."""
        if (original := self._said.get(message_id)) is not None:
            original.answered = True

    async def behind(self, copy: discord.Message) -> Behind:
        """Find out whose words a copy repeats, and whether it is to be answered."""
        originals = self._originals_of(copy)
        if not originals:
            return Behind()
        await _one_is_gone(originals)
        gone = [each for each in originals if each.gone.is_set()]
        if not gone:
            return Behind(handled=True)  # it stays, so it is answered itself
        for original in gone:
            original.claimed = True
        handled = all(each.answered for each in gone)
        return Behind(person=gone[0].message if len(gone) == 1 else None, handled=handled)

    def _originals_of(self, copy: discord.Message) -> list[Original]:
        oldest = self._monotonic() - REMEMBERED_SECONDS
        return [
            each
            for each in self._said.values()
            if each.channel_id == copy.channel.id
            and not each.claimed
            and each.said_at >= oldest
            and _repeats(copy, each.message)
        ]


def _repeats(copy: discord.Message, original: discord.Message) -> bool:
    """Tell whether a copy says what a message said; a proxy leaves out the sign that called it."""
    words = copy.content.strip()
    files = [each.filename for each in original.attachments]
    if copy.id <= original.id or [each.filename for each in copy.attachments] != files:
        return False
    return words in original.content if words else bool(files)


async def _one_is_gone(originals: list[Original]) -> None:
    """Wait until one of them is deleted, and the others have had the same time to be."""
    async with asyncio.TaskGroup() as tasks:
        waiting = {tasks.create_task(each.gone.wait()) for each in originals}
        await asyncio.wait(waiting, timeout=WAIT_SECONDS, return_when=asyncio.ALL_COMPLETED)
        for task in waiting:
            task.cancel()
