"""What a session was to send and what it did send, request by request; pure.

The system prompt must stand whole in the first item, the turn's input must be the last thing that
a person said, everything a person said must be an input that was compiled for this run, and each
request must go on exactly where the one before it ended. What was found once and lies in the part
that a later request repeats byte for byte is not looked for again.

Spec: CC "Trace and owner interface" (exact model input), issue "The wire".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compiler.hashing import sha256_text
from compiler.request import TurnId
from sessions.traces.events import TraceMark
from sessions.wire.body import (
    BodyReader,
    Reading,
    UnreadableBody,
    is_plain,
    pictures_of,
    role_of,
    text_of,
)


class WireProblem(StrEnum):
    """How a request can differ from what was compiled."""

    UNREADABLE = "unreadable"
    """The body is not of the form that was chosen."""
    NO_TURN = "no-turn"
    """pi asked although no turn was on its way."""
    SYSTEM_ALTERED = "system-altered"
    """The compiled system prompt is not there, byte for byte."""
    INPUT_ALTERED = "input-altered"
    """The turn's compiled input is not there, or is not the last that was said."""
    INPUT_FOREIGN = "input-foreign"
    """Something is said in a person's place, or as a further system prompt, that was never compiled
    for this run."""
    PREFIX_BROKEN = "prefix-broken"
    """The request does not extend the one before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a compiled text stands: the item, from 0, and the character in its text."""

    item: int
    at_chars: int
    chars: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTurn:
    """A turn that was compiled and traced. ``mark`` is its line."""

    turn_id: TurnId
    mark: TraceMark
    text: str
    pictures: tuple[str, ...] = ()
    """Hashes of what is shown with the text, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one request held. ``reading`` is None for an unreadable body."""

    turn: ExpectedTurn | None
    reading: Reading | None
    system: Place | None
    input: Place | None
    problems: tuple[WireProblem, ...]


_USER: Final = "user"
_SYSTEM: Final = "system"


class WireLedger:
    """The requests of one process of a run."""

    def __init__(self, api: str, system_prompt: str, *, inputs: Collection[str] = ()) -> None:
        """Take what is known before the first request.

        Args:
            api: the form of the requests.
            system_prompt: as compiled.
            inputs: hashes of the inputs that were compiled for the run before, live: those of
                turns to come may be added by whoever owns it.
        """
        self._reader = BodyReader(api)
        self._system_prompt = system_prompt
        self._system_sha256 = sha256_text(system_prompt)
        self._inputs = inputs
        self._turn: ExpectedTurn | None = None
        """The turn on its way, by the input of it that was found last."""
        self._expected: dict[str, ExpectedTurn] = {}
        """Inputs of the turn on its way, by their texts: the first, and those that steer it."""
        self._system: Place | None = None
        self._input: Place | None = None
        self._last_said: int | None = None

    @property
    def turn(self) -> ExpectedTurn | None:
        """The turn on its way."""
        return self._turn

    def goes_on(self, body: bytes) -> bool:
        """Tell whether a body begins as the last one did, so that reading it is cheap."""
        return bool(self._reader.head) and body.startswith(self._reader.head)

    def begin(self, turn: ExpectedTurn) -> None:
        """Expect a turn's input from now on."""
        self._turn = turn
        self._expected = {turn.text: turn}
        self._input = None

    def add(self, steering: ExpectedTurn) -> None:
        """Expect a further input of the turn on its way; when it comes is for pi to say."""
        self._expected[steering.text] = steering

    def end(self) -> None:
        """Expect nothing more of the turn."""
        self._turn = None
        self._expected = {}

    def inspect(self, body: bytes) -> Finding:
        """Look through the next request."""
        try:
            reading, fresh = self._reader.read(body)
        except UnreadableBody:
            return Finding(
                turn=self._turn,
                reading=None,
                system=None,
                input=None,
                problems=(WireProblem.UNREADABLE,),
            )
        problems: list[WireProblem] = []
        if reading.extends is False:
            problems.append(WireProblem.PREFIX_BROKEN)
        if self._turn is None:
            problems.append(WireProblem.NO_TURN)
        if not self._all_known(reading.items - len(fresh), fresh):
            problems.append(WireProblem.INPUT_FOREIGN)
        if self._system is None:
            problems.append(WireProblem.SYSTEM_ALTERED)
        if self._turn is not None and self._missing():
            problems.append(WireProblem.INPUT_ALTERED)
        return Finding(
            turn=self._turn,
            reading=reading,
            system=self._system,
            input=self._input if self._turn is not None else None,
            problems=tuple(problems),
        )

    def _missing(self) -> bool:
        return self._input is None or self._input.item != self._last_said

    def _all_known(self, first: int, fresh: Sequence[object]) -> bool:
        """Find the compiled texts in what is new; say whether all that was said is known."""
        if first == 0:
            self._system = self._input = self._last_said = None
        known = True
        for number, item in enumerate(fresh, first):
            text, role = text_of(item), role_of(item)
            if role == _USER and not is_plain(item):
                known = False  # a file, say, which no input of ours has
            if text is None:
                # Pictures come with an input's text; results of tools are no words of a person.
                known &= role != _USER or not pictures_of(item)
            elif role == _SYSTEM:
                self._system = self._system or self._place_of_system(number, text)
                known &= number == 0  # there is one, and it stands first
            elif role == _USER:
                self._last_said = number
                known &= self._note_input(number, text, item)
        return known

    def _place_of_system(self, item: int, text: str) -> Place | None:
        at = text.find(self._system_prompt)
        if at < 0:
            return None
        return Place(
            item=item, at_chars=at, chars=len(self._system_prompt), sha256=self._system_sha256
        )

    def _note_input(self, item: int, text: str, said: object) -> bool:
        sha256 = sha256_text(text)
        found = self._expected.get(text)
        if found is not None and pictures_of(said) == found.pictures:
            self._turn = found
            self._input = Place(item=item, at_chars=0, chars=len(text), sha256=sha256)
            return True
        return sha256 in self._inputs
