"""What a channel sees of an outcome: message contents, or a file with a beginning. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import islice

from bot.errors import NOTHING_TO_SAY, sentence_for
from bot.markup import find_table
from bot.split import beginning, cut, split
from compiler.request import TurnId
from sessions.errors import SessionErrorCode
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.limits import TalkSettings
from sessions.visible import is_visible

USUAL_TALK = TalkSettings()
WHOLE_ANSWER = "The whole answer is in the file."
LIVE = "live"
"""How the keys of messages begin that are not the answer yet."""
NONCE_CHARS = 24  # Discord takes at most 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What is to be posted: message contents in order, the first one with a file if there is."""

    contents: tuple[str, ...]
    file_text: str | None = None


def compose(
    outcome: TurnOutcome, *, addressed: bool = True, talk: TalkSettings = USUAL_TALK
) -> Post:
    """Decide what a channel sees of an outcome.

    A model that says nothing gets a short notice where somebody spoke to it, unless it chose to be
    silent or has said something before, and silence where it only listens along. A message that
    was withdrawn gets nothing.
    """
    if outcome.error_code in {SessionErrorCode.WITHDRAWN, SessionErrorCode.JOINED}:
        return Post(contents=())
    if outcome.kind in {OutcomeKind.CLARIFIED, OutcomeKind.UPDATED}:
        return Post(contents=tuple(part.text for part in split(outcome.text)))
    if outcome.kind is OutcomeKind.REPLIED:
        # Half a character cannot be sent; whatever stands around it can.
        text = outcome.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        parts = (part.text for part in cut(text) if is_visible(part.body))
        contents = tuple(islice(parts, talk.max_parts + 1))
        table = find_table(text) if talk.tables == "file" else None
        if table is not None or len(contents) > talk.max_parts:
            return _as_file(text, shown=text[:table])
        if contents:
            return Post(contents=contents)
    if outcome.kind in {OutcomeKind.REPLIED, OutcomeKind.SILENT}:
        answered = outcome.said > 0 or outcome.chose_silence
        return Post(contents=(NOTHING_TO_SAY,) if addressed and not answered else ())
    return Post(contents=(sentence_for(outcome),))


def _as_file(text: str, *, shown: str) -> Post:
    """Attach an answer whole; the channel reads the beginning of ``shown``."""
    short = f"{beginning(shown.lstrip()).rstrip()}\n\n" if is_visible(shown) else ""
    return Post(contents=(f"{short}{WHOLE_ANSWER}",), file_text=text)


def live_key(turn_id: TurnId, number: int | None = None) -> str:
    """Name a message that stands for a running turn; without a number, how all of them begin."""
    return f"{LIVE}:{turn_id}:" + ("" if number is None else f"{number:02}")


def nonce(turn_id: TurnId, part: object) -> str:
    """Name one message of one turn, the same at every attempt and after a restart."""
    return hashlib.sha256(f"{turn_id}\n{part}".encode()).hexdigest()[:NONCE_CHARS]
