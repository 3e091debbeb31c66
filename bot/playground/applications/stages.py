"""The states of an interaction: kinds, first answers, and how far it has come.

Transitions (``interactions.Desk`` makes them)::

    WAITING -> ANSWERED | THINKING -> ANSWERED      (message 4, deferred message 5)
    WAITING -> UPDATED | UPDATING -> UPDATED        (update 7, deferred update 6; components only)
    WAITING -> CHOICES | MODAL                      (autocomplete 8, modal 9)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.playground.entities import Channel, Message, Payload
    from bot.playground.world.state import World


class InteractionKind(IntEnum):
    """What a person did."""

    COMMAND = 2
    COMPONENT = 3
    AUTOCOMPLETE = 4
    MODAL_SUBMIT = 5


class AnswerKind(IntEnum):
    """How a bot may answer first."""

    MESSAGE = 4
    DEFERRED_MESSAGE = 5
    DEFERRED_UPDATE = 6
    UPDATE = 7
    CHOICES = 8
    MODAL = 9


class Stage(StrEnum):
    """How far an interaction has come; see the module's essay."""

    WAITING = "waiting"
    THINKING = "thinking"
    ANSWERED = "answered"
    UPDATING = "updating"
    UPDATED = "updated"
    CHOICES = "choices"
    MODAL = "modal"


MESSAGES = {AnswerKind.MESSAGE, AnswerKind.DEFERRED_MESSAGE}
UPDATES = {AnswerKind.UPDATE, AnswerKind.DEFERRED_UPDATE}
ALLOWED = {
    InteractionKind.COMMAND: MESSAGES | {AnswerKind.MODAL},
    InteractionKind.COMPONENT: MESSAGES | UPDATES | {AnswerKind.MODAL},
    InteractionKind.AUTOCOMPLETE: {AnswerKind.CHOICES},
    InteractionKind.MODAL_SUBMIT: MESSAGES | UPDATES,
}
SETTLED = frozenset({Stage.ANSWERED, Stage.UPDATED, Stage.CHOICES, Stage.MODAL})


@dataclass(slots=True, kw_only=True)
class Interaction:
    """One interaction with all that the bot answered.

    ``world`` is the world as the asked bot meets it. ``source`` is the message that holds the
    pressed button; ``original`` the message of the first answer (for updates: the source);
    ``messages`` are all messages of the answer, in order.
    """

    id: int
    token: str
    world: World
    kind: InteractionKind
    user_id: int
    channel: Channel
    created_at: float
    data: Payload
    source: Message | None = None
    stage: Stage = Stage.WAITING
    ephemeral: bool = False
    deferred: bool = False
    original: Message | None = None
    messages: list[Message] = field(default_factory=list)
    choices: tuple[Payload, ...] = ()
    modal: Payload | None = None

    @property
    def settled(self) -> bool:
        """Whether the person has an answer in front of them."""
        return self.stage in SETTLED
