"""The house rules of all conversations: the one way to read and to change them.

Messages, slash commands, undo and imports all come through here, and each is one transaction of
the store in which pure code decides (``ruling``). A message is ruled on when it arrives, ahead of
every queue: so the order of messages is the order of rules, an answer in fixed words waits for no
model, and a message that has to wait is answered under the rules of its own moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import structlog

from compiler.budget import ContextBudgets
from compiler.directives.engine import Engine, StateImportError
from compiler.directives.values import State
from compiler.request import ChannelId, ImpName, MessageId, RunId, RunScope
from sessions.clock import Clock, timestamp
from sessions.house.reading import hides_something, read
from sessions.house.rules import (
    DirectiveSettings,
    KeptRules,
    Origin,
    conversation_of,
    prohibited_tools,
)
from sessions.house.ruling import ORDINARY, Ruling, RulingCode, RulingKind, changed, judge
from sessions.inbound import InboundMessage, OutcomeKind, SeenMessage, TurnOutcome
from sessions.store.directives import DirectiveStore, EventKind, RuleEvent, Verdict

LEAST_IMPORT_BYTES: Final = 1_000_000
"""A file of this size is read whatever the owner's limit: by hand JSON is written with blanks."""
_BYTES_OF_CHAR: Final = 12
"""A checkpoint is ASCII; the widest character in it is two escapes, ``\\ud83c\\udf75``."""
SAY_AGAIN: Final = (
    "I was restarted before I could answer this about the house rules. Please say it again."
)
NOTHING_TO_UNDO: Final = "There is no change to take back here."
_TAKEN_BACK: Final = "Taken back."
_IMPORTED: Final = "Imported."
_KINDS: Final = {
    RulingKind.UPDATED: EventKind.UPDATED,
    RulingKind.CLARIFIED: EventKind.CLARIFIED,
    RulingKind.REFUSED: EventKind.REFUSED,
}
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the place says of a text, decided from platform ids.

    ``reads`` is whether directives count at all here; ``trusted`` whether this person's do.
    ``marks`` are the raw mentions of the bot, one of which may lead the text.
    """

    reads: bool = True
    trusted: bool = False
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A new message with the rules after it, and what it did to them."""

    inbound: InboundMessage
    ruling: Ruling


class RuleKeeper:
    """Every method raises ``StoreUnavailable`` when the records cannot be reached."""

    def __init__(
        self,
        store: DirectiveStore,
        *,
        clock: Clock,
        settings: Callable[[], DirectiveSettings],
        budgets: Callable[[ImpName], ContextBudgets],
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._budgets = budgets

    # Messages.

    async def receive(
        self, seen: SeenMessage, inbound: InboundMessage, terms: Terms
    ) -> Received | None:
        """Write down a message that is to be answered, and rule on it.

        Returns:
            None when it was seen before: nothing must be done about it again.
        """
        origin = self._origin(inbound.scope)
        reading = read(inbound.message.text, marks=terms.marks) if terms.reads else None
        limit_chars = self._limit(inbound.imp)
        rulings: list[Ruling] = []

        def decide(kept: KeptRules) -> Verdict | None:
            ruling = judge(kept.state, reading, trusted=terms.trusted, limit_chars=limit_chars)
            rulings.append(ruling)
            return _verdict(kept, ruling, origin)

        place = conversation_of(inbound.scope)
        kept = await self._store.receive(seen, place, decide, at=origin.at, owed=inbound)
        if kept is None:
            return None
        ruling = rulings[-1]
        _tell(inbound.scope, ruling)
        return Received(inbound=replace(inbound, house_rules=kept.in_prompt), ruling=ruling)

    async def again(self, inbound: InboundMessage, *, marks: tuple[str, ...] = ()) -> Received:
        """Take up a message that an earlier host wrote down; what it ruled is not ruled twice.

        What was to be told of it in fixed words still is: no model is asked instead (DG 4).
        """
        kept = await self.rules(inbound.scope)
        told = Received(inbound=replace(inbound, house_rules=kept.in_prompt), ruling=ORDINARY)
        message_id = inbound.message.message_id
        event = None if message_id is None else await self._store.of_message(message_id)
        if event is None:
            return told
        if event.kind is EventKind.UPDATED:
            return replace(told, ruling=Ruling(kind=RulingKind.UPDATED, text=event.told))
        ruling = judge(
            kept.state,
            read(inbound.message.text, marks=marks),
            trusted=event.code != RulingCode.NOT_TRUSTED,
            limit_chars=self._limit(inbound.imp),
        )
        if not ruling.is_final:  # the rules or the words are others by now
            ruling = Ruling(kind=RulingKind.CLARIFIED, text=SAY_AGAIN, code=event.code)
        return replace(told, ruling=ruling)

    async def begin(self, scope: RunScope) -> None:
        """Give a thread that was just made its copy of the channel's rules."""
        await self._store.begin(conversation_of(scope), at=self._now())

    async def changed_by(self, message_id: MessageId) -> bool:
        """Tell whether a message changed a rule and that was not taken back."""
        return await self._store.changed_by(message_id)

    def concluded(self, received: Received) -> TurnOutcome | None:
        """Give the outcome of a message that goes no further, in the exact words for people."""
        kind = OutcomeKind.CLARIFIED
        if received.ruling.kind is RulingKind.UPDATED and not self._settings().forward_updates:
            kind = OutcomeKind.UPDATED
        elif not received.ruling.is_final:
            return None
        return TurnOutcome(
            kind=kind,
            run_id=None,
            turn_id=received.inbound.turn_id,
            text=received.ruling.text,
            error_code=received.ruling.code,
        )

    # Commands; trust is for the caller to have checked.

    async def command(self, scope: RunScope, imp: ImpName, directive: str) -> Ruling:
        """Run a canonical directive through the same reading and the same engine."""
        reading = read(directive)
        return await self._rule(
            scope,
            lambda state: judge(state, reading, trusted=True, limit_chars=self._limit(imp)),
        )

    async def undo(self, scope: RunScope, imp: ImpName) -> Ruling:
        """Take back the latest change that stands."""
        origin, limit_chars = self._origin(scope), self._limit(imp)
        rulings: list[Ruling] = []

        def decide(kept: KeptRules, before: KeptRules) -> Verdict:
            ruling = changed(kept.state, before.state, limit_chars=limit_chars)
            rulings.append(ruling)
            if ruling.state is None:
                return Verdict(kind=EventKind.REFUSED, origin=origin, code=ruling.code)
            return Verdict(kind=EventKind.UNDONE, origin=origin, kept=before, told=ruling.text)

        if not await self._store.undo(conversation_of(scope), decide, at=origin.at):
            return replace(ORDINARY, text=NOTHING_TO_UNDO)
        return _led(_TAKEN_BACK, rulings[-1])

    async def import_checkpoint(self, scope: RunScope, imp: ImpName, data: bytes) -> Ruling:
        """Replace all rules by those of a checkpoint, or change nothing and say why (DG 11)."""
        try:
            state = _checkpoint(data, self.import_limit_bytes(imp))
        except StateImportError as error:
            return Ruling(kind=RulingKind.REFUSED, text=error.safe_message, code=str(error.code))
        ruling = await self._rule(
            scope,
            lambda before: changed(before, state, limit_chars=self._limit(imp)),
            kind=EventKind.IMPORTED,
        )
        return _led(_IMPORTED, ruling)

    def import_limit_bytes(self, imp: ImpName) -> int:
        """Say how long a checkpoint file may be; each state that fits may have a shorter one."""
        return LEAST_IMPORT_BYTES + _BYTES_OF_CHAR * self._limit(imp)

    async def export_checkpoint(self, scope: RunScope) -> str:
        """Give the rules as DG 11's checkpoint, in JSON."""
        kept = await self.rules(scope)
        return Engine.holding(kept.state).export_checkpoint_json()

    async def rules(self, scope: RunScope) -> KeptRules:
        """Read the rules of a conversation."""
        return await self._store.read(conversation_of(scope))

    async def events(self, channel_id: ChannelId, limit: int) -> tuple[RuleEvent, ...]:
        """Read what befell a conversation's rules, the newest first."""
        return await self._store.events(channel_id, limit)

    async def of_run(self, run_id: RunId) -> tuple[RuleEvent, ...]:
        """Read what befell the rules of a run's conversation while it was open."""
        return await self._store.of_run(run_id)

    async def prohibited_tools(self, scope: RunScope) -> frozenset[str]:
        """Name the tools that are closed in a conversation now, as normalized items.

        A question from the shell has no conversation, and so no rules.
        """
        if scope.channel_id is None:
            return frozenset()
        kept = await self.rules(scope)
        return prohibited_tools(kept.in_prompt, self._settings().aliases)

    async def _rule(
        self,
        scope: RunScope,
        rule: Callable[[State], Ruling],
        *,
        kind: EventKind = EventKind.UPDATED,
    ) -> Ruling:
        origin = self._origin(scope)
        rulings: list[Ruling] = []

        def decide(kept: KeptRules) -> Verdict | None:
            ruling = rule(kept.state)
            rulings.append(ruling)
            return _verdict(kept, ruling, origin, kind=kind)

        await self._store.settle(conversation_of(scope), decide, at=origin.at)
        _tell(scope, rulings[-1])
        return rulings[-1]

    def _origin(self, scope: RunScope) -> Origin:
        return Origin(user_id=scope.user_id, at=self._now(), message_id=scope.message_id)

    def _now(self) -> str:
        return timestamp(self._clock.utc_now())

    def _limit(self, imp: ImpName) -> int:
        return self._budgets(imp).state_max_chars


def _verdict(
    kept: KeptRules, ruling: Ruling, origin: Origin, *, kind: EventKind = EventKind.UPDATED
) -> Verdict | None:
    if ruling.kind is RulingKind.ORDINARY:
        return None
    if ruling.state is None:
        return Verdict(kind=_KINDS[ruling.kind], origin=origin, code=ruling.code)
    return Verdict(
        kind=kind, origin=origin, kept=kept.amended(ruling.state, origin), told=ruling.text
    )


def _checkpoint(data: bytes, limit_bytes: int) -> State:
    """Read a checkpoint file of at most some bytes.

    Raises:
        StateImportError: in one plain line; the old state is to be kept.
    """
    if len(data) > limit_bytes:
        raise _not_imported("the file is too large")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _not_imported("it is not UTF-8 text") from None
    engine = Engine()
    engine.import_checkpoint_json(text.removeprefix("\ufeff"))
    state = engine.current
    if any(map(hides_something, (state.premise or "", *state.policies))):
        raise _not_imported("it holds a hidden character")
    return state


def _not_imported(reason: str) -> StateImportError:
    return StateImportError(
        RulingCode.NOT_IMPORTED, f"The checkpoint was not imported: {reason}. Nothing changed."
    )


def _led(words: str, ruling: Ruling) -> Ruling:
    """Put what was done ahead of what it changed."""
    if ruling.kind is not RulingKind.UPDATED:
        return ruling
    return replace(ruling, text=f"{words} {ruling.text}")


def _tell(scope: RunScope, ruling: Ruling) -> None:
    if ruling.kind is not RulingKind.ORDINARY:
        _log.info(
            "rules.ruled",
            channel_id=scope.channel_id,
            user_id=scope.user_id,
            ruling=ruling.kind.value,
            code=ruling.code,
        )
