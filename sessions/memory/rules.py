"""The rules of writing memory: who a note belongs to, and what may be in it. Pure.

The scope of a note comes from the host's record of the turn. A direct message makes notes of its
person, a channel makes notes of the channel, and only an owner's own command makes notes of the imp
(table "Writing memory"). Whom a note is about decides whose consent it needs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from compiler.audience import Binding, MemoryScope
from compiler.request import ImpName, MessageId, Place, Role, RunId, RunScope, TurnId, UserId
from compiler.secrets import find_secret
from compiler.terms import fold
from sessions.limits import MemorySettings
from sessions.memory.notes import Claim
from sessions.memory.results import RefusalCode, Refused

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""What no message holds and no note needs: controls but for TAB, LF and CR, and half characters."""
_MENTION: Final = re.compile(r"<@!?([0-9]{1,20})>")
_CLAIM_CHARS: Final = 200
_LEAST_NAME: Final = 2
_ENOUGH_TENTHS: Final = 7
"""Tenths of a note's telling words that a message must hold to count as a copy of it."""
_LEAST_WORD: Final = 3
_LEAST_CHARS: Final = 6
_LEAST_CHARS_OF_DENSE_SCRIPT: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """Who acts where: the trusted record of a turn, or of a person's own command.

    ``by_model`` is true for everything that a tool asks for; such a note is never explicit.
    ``revision`` is ``MemoryService.revision`` from when the turn's sources were read.
    """

    imp: ImpName
    scope: RunScope
    by_model: bool
    run_id: RunId | None = None
    turn_id: TurnId | None = None
    speaker: str = ""
    """The name that the acting person goes by, to find him in a text."""
    revision: int = 0

    @property
    def is_owner(self) -> bool:
        """Whether the host knows the acting person as an owner, and he acts himself."""
        return self.scope.role is Role.OWNER and not self.by_model


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMessage:
    """A message that a person wants remembered, as the platform names it."""

    message_id: MessageId
    author_id: UserId | None
    by_bot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """To whom a note belongs, and whom it is about (None: the channel or the imp)."""

    binding: Binding
    subject_id: UserId | None


def place(
    ctx: MemoryContext,
    text: str,
    *,
    scope: MemoryScope | None = None,
    about_channel: bool = False,
    source: SourceMessage | None = None,
) -> Placed | Refused:
    """Decide a note's binding and subject.

    Args:
        ctx: the acting person and place.
        text: looked at only for whom it is about, never for where it goes.
        scope: an owner's wish for the imp's own notes; anything else is as if not given.
        about_channel: that the note is about the channel, not about a person. From the model it
            counts only where no person is recognised in the text.
        source: the message that a person wants remembered.
    """
    if source is not None and source.by_bot:
        return Refused(code=RefusalCode.UNTRUSTED_SOURCE)
    where = ctx.scope
    if scope is MemoryScope.IMP:
        if not ctx.is_owner:
            return Refused(code=RefusalCode.NOT_ALLOWED)
        return Placed(binding=Binding(imp=ctx.imp, scope=MemoryScope.IMP), subject_id=None)
    if where.user_id is None or where.place is Place.NONE or where.circle_channel_id is None:
        return Refused(code=RefusalCode.NO_PLACE)
    if where.is_dm:
        own = Binding(imp=ctx.imp, scope=MemoryScope.USER, user_id=where.user_id)
        return Placed(binding=own, subject_id=where.user_id)
    channel = Binding(
        imp=ctx.imp,
        scope=MemoryScope.CHANNEL,
        guild_id=where.guild_id,
        channel_id=where.circle_channel_id,
    )
    subject = _subject(ctx, text, about_channel=about_channel, source=source)
    return subject if isinstance(subject, Refused) else Placed(binding=channel, subject_id=subject)


def _subject(
    ctx: MemoryContext, text: str, *, about_channel: bool, source: SourceMessage | None
) -> UserId | Refused | None:
    speaker = ctx.scope.user_id
    if source is not None and source.author_id is not None:
        return source.author_id
    named = {UserId(f"{ctx.scope.provider}:{digits}") for digits in _MENTION.findall(text)}
    if len(named) > 1:
        return Refused(code=RefusalCode.SEVERAL_PEOPLE)
    if named:
        return named.pop()
    name = fold(ctx.speaker).strip()
    speaks_of_speaker = len(name) >= _LEAST_NAME and _names(name, fold(text))
    if about_channel and not (ctx.by_model and speaks_of_speaker):
        return None
    return speaker


def _names(name: str, text: str) -> bool:
    """Tell whether a name stands in a text; in scripts with blanks it has to be a word of its own.

    "Bo" is not named by "harbour".
    """
    if not name.isascii():
        return name in text
    return re.search(rf"(?<![a-z0-9_]){re.escape(name)}(?![a-z0-9_])", text) is not None


def check_text(text: str, claim: Claim | None, settings: MemorySettings) -> Refused | None:
    """Refuse what no note may hold; the size first, so nothing long is looked through."""
    if len(text) > settings.note_max_chars or any(
        len(part) > _CLAIM_CHARS for part in _parts(claim)
    ):
        return Refused(code=RefusalCode.TOO_LONG)
    if not text.strip():
        return Refused(code=RefusalCode.EMPTY)
    for part in (text, *_parts(claim)):
        if _CONTROL.search(part):
            return Refused(code=RefusalCode.BAD_TEXT)
        secret = find_secret(part)
        if secret is not None:
            return Refused(code=RefusalCode.SENSITIVE, secret=secret)
    return None


def _parts(claim: Claim | None) -> tuple[str, ...]:
    if claim is None:
        return ()
    return (claim.subject, claim.predicate, claim.value, claim.valid_from, claim.valid_until)


class CopyTest:
    """Tells whether a message holds the words of one of some notes; for purging history.

    A message counts that holds a whole note, or seven in ten of its telling words. A very short
    note counts only where it is the whole message: "tea" must not empty a channel's history.
    """

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._notes = [(folded, _words(folded)) for folded in map(_plain, texts) if folded]

    def __call__(self, message: str) -> bool:
        """Look at one message."""
        plain = _plain(message)
        return any(self._is_copy(plain, note, words) for note, words in self._notes)

    def _is_copy(self, plain: str, note: str, words: frozenset[str]) -> bool:
        least = _LEAST_CHARS if note.isascii() else _LEAST_CHARS_OF_DENSE_SCRIPT
        if len(note) < least:
            return plain == note
        if note in plain:
            return True
        held = sum(word in plain for word in words)
        return len(words) > 1 and 10 * held >= _ENOUGH_TENTHS * len(words)


def _plain(text: str) -> str:
    return " ".join(fold(text).split()).strip(" .!?,;:\"'")


def _words(folded: str) -> frozenset[str]:
    """Give the words that tell something: short ones of common letters are in every message."""
    return frozenset(
        word
        for word in re.findall(r"\w+", folded)
        if len(word) >= _LEAST_WORD or not (word.isascii() and word.isalpha())
    )
