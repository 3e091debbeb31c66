"""A gate: one proposed action that waits for a person, and all that can become of it. Pure.

    pending --approve--> approved --begin--> executing --succeed--> executed
       |                                         |
       |--deny--> denied                         +------fail------> failed
       +--expire--> expired

What was proposed is frozen when it is filed: the tool, its arguments in one canonical form, and the
hash of both. What a person approves is that hash, and what is executed is checked against it, so
nothing can be exchanged between the two. A gate is decided once; whoever comes second is told what
it had become by then. From ``approved`` on there is no way back and no expiry: the decision was in
time, and what remains is the host's work, also after a crash.

How an executing gate that a crash left behind goes on depends on its effect (``EffectKind``): an
effect inside our own database shares the transaction that ends the gate, so such a gate is never
seen executing; one that may be repeated is; one that may not ends as failed, with a code that says
that nobody knows. None is ever carried out twice.

Who asked and where, and who decides, are platform ids of the trusted scope, never words of a model.

Spec: CC "Briefing" (open gates of this scope); WS; issue "Gateway of actions".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NewType

from compiler.canonical_json import JsonValue, canonical_bytes
from compiler.errors import SafeError
from compiler.hashing import sha256_fields
from compiler.request import (
    ChannelId,
    GuildId,
    ImpName,
    MessageId,
    Place,
    RunId,
    RunScope,
    TurnId,
    UserId,
)

GateId = NewType("GateId", str)
_PAYLOAD_TAG: Final = "inglenook-gate-v1"
INTERRUPTED: Final = "interrupted"
"""Result code of an effect that may have taken place or not when the host was killed."""
EARNED: Final = UserId("host:earned-trust")
"""Stands for the host where trust that was earned decided, and no person (``sessions.earned``)."""
SHELL: Final = UserId("host:shell")
"""Stands for whoever sits at the machine of the host, where he asks or decides."""
TURN: Final = "gate:"
"""How the ids of turns begin that hear how a gate ended."""
DETAIL_CHARS: Final = 4_000
"""Kept of what an action gave."""


class GateState(StrEnum):
    """What a gate is."""

    PENDING = "pending"
    APPROVED = "approved"
    EXECUTING = "executing"
    EXECUTED = "executed"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"


class GateMove(StrEnum):
    """What can be done with one."""

    APPROVE = "approve"
    DENY = "deny"
    EXPIRE = "expire"
    BEGIN = "begin"
    SUCCEED = "succeed"
    FAIL = "fail"


class EffectKind(StrEnum):
    """What carrying an action out twice would do."""

    RECORDED = "recorded"
    """It lies in our own database, written together with the gate's end."""
    REPEATABLE = "repeatable"
    """The same again changes nothing, such as writing the same bytes to the same file."""
    ONCE = "once"
    """It must not be repeated, and nobody can ask whether it took place."""


MOVES: Final[Mapping[tuple[GateState, GateMove], GateState]] = MappingProxyType(
    {
        (GateState.PENDING, GateMove.APPROVE): GateState.APPROVED,
        (GateState.PENDING, GateMove.DENY): GateState.DENIED,
        (GateState.PENDING, GateMove.EXPIRE): GateState.EXPIRED,
        (GateState.APPROVED, GateMove.BEGIN): GateState.EXECUTING,
        (GateState.EXECUTING, GateMove.SUCCEED): GateState.EXECUTED,
        (GateState.EXECUTING, GateMove.FAIL): GateState.FAILED,
    }
)
"""All moves there are."""
FINAL: Final = frozenset(
    {GateState.EXECUTED, GateState.FAILED, GateState.DENIED, GateState.EXPIRED}
)


class GateErrorCode(StrEnum):
    """Why a move was refused."""

    ALREADY_DECIDED = "gate_already_decided"
    NOT_YOURS = "gate_not_yours"
    TOO_LATE = "gate_expired"
    ALTERED = "gate_altered"
    UNKNOWN = "gate_unknown"


class GateRefused(SafeError):
    """A move that is not to be; the gate is as it was.

    ``state`` is what the gate is, for the one who came second.
    """

    def __init__(self, code: GateErrorCode, safe_message: str, *, state: GateState) -> None:
        super().__init__(code, safe_message, facts={"state": state.value})
        self.state = state


class Tier(StrEnum):
    """Whom the platform's ids make somebody, at this moment."""

    OWNER = "owner"
    """Named in ``[discord] owners``."""
    ADMIN = "admin"
    """Has Discord's permission Administrator where the gate was filed."""
    MEMBER = "member"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Who clicks or types."""

    user_id: UserId
    tier: Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """Who may decide (``org.toml [gates]``)."""

    expiry_seconds: float = 24 * 3600.0
    admins_decide: bool = False
    """Whether administrators decide too, on what was asked in their own server."""
    owners_decide_their_own: bool = True
    """Whether an owner may approve what he asked for himself; nobody else ever may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOrigin:
    """Where and for whom an action was proposed: the trusted scope of the turn."""

    imp: ImpName
    channel_id: ChannelId | None
    """None: of a run that the shell asked for, and that belongs to no conversation."""
    is_dm: bool
    requester: UserId
    """``SHELL`` where no person of the platform asked."""
    run_id: RunId
    turn_id: TurnId
    parent_channel_id: ChannelId | None = None
    """Of a thread."""
    in_private_thread: bool = False
    guild_id: GuildId | None = None
    message_id: MessageId | None = None
    """What the answer goes to; None where no message was behind the turn."""

    @classmethod
    def of(cls, imp: ImpName, scope: RunScope, *, run_id: RunId, turn_id: TurnId) -> GateOrigin:
        """Take the origin from a turn's trusted scope. Only the shell's names no person."""
        return cls(
            imp=imp,
            channel_id=scope.channel_id,
            is_dm=scope.is_dm,
            requester=scope.user_id or SHELL,
            run_id=run_id,
            turn_id=turn_id,
            parent_channel_id=scope.parent_channel_id,
            in_private_thread=scope.place is Place.PRIVATE_THREAD,
            guild_id=scope.guild_id,
            message_id=scope.message_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One proposed action. Times are milliseconds since 1970, UTC."""

    gate_id: GateId
    origin: GateOrigin
    tool: str
    payload: str
    """The tool's arguments, canonical JSON (RFC 8785)."""
    payload_sha256: str
    effect: EffectKind
    intent: str
    """What it is about, in words that may be shown in its channel."""
    rationale: str
    """Why, for those who decide."""
    filed_ms: int
    expires_ms: int
    state: GateState = GateState.PENDING
    decided_by: UserId | None = None
    decided_ms: int | None = None
    ended_ms: int | None = None
    result_code: str = ""
    """How a failed one failed; a code, no text."""
    detail: str = ""
    """What carrying it out gave, for the conversation it came from."""

    @property
    def open(self) -> bool:
        """Whether it waits for a person."""
        return self.state is GateState.PENDING

    @property
    def of_shell(self) -> bool:
        """Whether a task of the shell's asked, and a task hears of the end: nobody talks there."""
        return self.origin.requester == SHELL

    @property
    def intact(self) -> bool:
        """Whether its payload is the one that was filed."""
        return self.payload_sha256 == payload_hash(self.tool, self.payload)

    @property
    def owes_a_word(self) -> bool:
        """Whether its conversation has to hear how it ended; of a withdrawn one it does not."""
        return self.state in FINAL and not (
            self.state is GateState.DENIED and self.decided_by is None
        )


def turn_id_of(gate_id: GateId) -> TurnId:
    """Name the turn that hears how a gate ended: one for each gate."""
    return TurnId(f"{TURN}{gate_id}")


def gate_of_turn(turn_id: TurnId) -> GateId | None:
    """Give the gate whose end a turn hears; None for a turn of another kind."""
    return GateId(turn_id.removeprefix(TURN)) if turn_id.startswith(TURN) else None


def payload_hash(tool: str, payload: str) -> str:
    """Hash what is approved: the tool and its arguments."""
    return sha256_fields(_PAYLOAD_TAG, (tool, payload))


def file_gate(
    gate_id: GateId,
    origin: GateOrigin,
    *,
    tool: str,
    arguments: JsonValue,
    effect: EffectKind,
    intent: str,
    rationale: str,
    now_ms: int,
    rules: GateRules,
) -> Gate:
    """Propose an action; from here on its payload does not change.

    Raises:
        ValueError: the arguments have no canonical form.
    """
    payload = canonical_bytes(arguments).decode()
    return Gate(
        gate_id=gate_id,
        origin=origin,
        tool=tool,
        payload=payload,
        payload_sha256=payload_hash(tool, payload),
        effect=effect,
        intent=intent,
        rationale=rationale,
        filed_ms=now_ms,
        expires_ms=now_ms + round(rules.expiry_seconds * 1000),
    )


def may_decide(gate: Gate, decider: Decider, rules: GateRules) -> bool:
    """Tell whether somebody may approve or deny a gate.

    The one who asked is not the one who approves, unless he is an owner and the owner lets it be.
    What was asked in a direct message is no business of a server's administrators.
    """
    own = decider.user_id == gate.origin.requester
    match decider.tier:
        case Tier.OWNER:
            return not own or rules.owners_decide_their_own
        case Tier.ADMIN:
            return rules.admins_decide and not own and not gate.origin.is_dm
        case Tier.MEMBER:
            return False


def approve(
    gate: Gate, decider: Decider, rules: GateRules, *, shown_sha256: str, now_ms: int
) -> Gate:
    """Approve what the decider was shown.

    Raises:
        GateRefused: it is decided or expired, not his to decide, or not what he was shown.
    """
    _check_decision(gate, decider, rules, now_ms=now_ms)
    if shown_sha256 != gate.payload_sha256 or not gate.intact:
        raise _altered(gate)
    return _decided(gate, GateMove.APPROVE, decider, now_ms=now_ms)


def deny(gate: Gate, decider: Decider, rules: GateRules, *, now_ms: int) -> Gate:
    """Deny it.

    Raises:
        GateRefused: as ``approve``.
    """
    _check_decision(gate, decider, rules, now_ms=now_ms)
    return _decided(gate, GateMove.DENY, decider, now_ms=now_ms)


def approve_by_trust(gate: Gate, *, now_ms: int) -> Gate:
    """Approve what trust that was earned lets through without a person.

    Raises:
        GateRefused: it is decided, or was changed since it was filed.
    """
    if not gate.intact:
        raise _altered(gate)
    return replace(moved(gate, GateMove.APPROVE), decided_by=EARNED, decided_ms=now_ms)


def withdraw(gate: Gate, *, now_ms: int) -> Gate:
    """End a gate whose requester takes it back or whose conversation was closed.

    Raises:
        GateRefused: it is decided.
    """
    return replace(moved(gate, GateMove.DENY), decided_ms=now_ms, ended_ms=now_ms)


def expire(gate: Gate, *, now_ms: int) -> Gate:
    """End a gate that nobody decided in time; one whose time has not come stays as it is."""
    if not gate.open or now_ms < gate.expires_ms:
        return gate
    return replace(moved(gate, GateMove.EXPIRE), ended_ms=now_ms)


def begin(gate: Gate) -> Gate:
    """Take an approved gate in hand.

    Raises:
        GateRefused: it is not approved, or its payload was changed since.
    """
    begun = moved(gate, GateMove.BEGIN)
    if not gate.intact:
        raise GateRefused(
            GateErrorCode.ALTERED,
            "What was approved was changed since, so it was not carried out.",
            state=gate.state,
        )
    return begun


def finish(gate: Gate, *, now_ms: int, failure: str = "", detail: str = "") -> Gate:
    """End an executing gate; ``failure`` is the code of what went wrong.

    ``detail`` is what the conversation is told of it; its beginning is kept.

    Raises:
        GateRefused: it is not executing.
    """
    move = GateMove.FAIL if failure else GateMove.SUCCEED
    return replace(
        moved(gate, move), ended_ms=now_ms, result_code=failure, detail=detail[:DETAIL_CHARS]
    )


def recover(gate: Gate, *, now_ms: int) -> Gate:
    """Say how a gate goes on that a killed host left behind.

    An approved one waits to be begun, one that may be repeated to be carried out again; one that
    may not has failed, as far as anybody knows. All others are as they were.
    """
    if gate.state is not GateState.EXECUTING or gate.effect is EffectKind.REPEATABLE:
        return gate
    return finish(gate, now_ms=now_ms, failure=INTERRUPTED)


def moved(gate: Gate, move: GateMove) -> Gate:
    """Make a move of the table.

    Raises:
        GateRefused: there is no such move from where the gate is.
    """
    state = MOVES.get((gate.state, move))
    if state is None:
        raise GateRefused(
            GateErrorCode.ALREADY_DECIDED, f"This is {gate.state.value} already.", state=gate.state
        )
    return replace(gate, state=state)


def open_gates(gates: Iterable[Gate], channel_id: ChannelId, *, now_ms: int) -> tuple[Gate, ...]:
    """Give the open gates of one conversation as a briefing lists them: by time, then by id.

    No other conversation's is among them, so a direct message's is never seen in a group.
    """
    found = (
        gate
        for gate in gates
        if gate.origin.channel_id == channel_id and gate.open and now_ms < gate.expires_ms
    )
    return tuple(sorted(found, key=lambda gate: (gate.filed_ms, gate.gate_id)))


def _altered(gate: Gate) -> GateRefused:
    return GateRefused(
        GateErrorCode.ALTERED,
        "This is not what was asked for, so it was not approved. The owner has to look.",
        state=gate.state,
    )


def _check_decision(gate: Gate, decider: Decider, rules: GateRules, *, now_ms: int) -> None:
    if not may_decide(gate, decider, rules):
        raise GateRefused(GateErrorCode.NOT_YOURS, "This is not yours to decide.", state=gate.state)
    if gate.open and now_ms >= gate.expires_ms:
        raise GateRefused(
            GateErrorCode.TOO_LATE, "This has expired; ask again.", state=GateState.EXPIRED
        )


def _decided(gate: Gate, move: GateMove, decider: Decider, *, now_ms: int) -> Gate:
    after = moved(gate, move)
    ended = now_ms if after.state in FINAL else None
    return replace(after, decided_by=decider.user_id, decided_ms=now_ms, ended_ms=ended)
