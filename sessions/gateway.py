"""The one judge of tool calls: the host's tools and the engine's own alike.

    not offered          -> deny    the model was not shown it, so no rule can have meant it
    house rules prohibit -> deny    they come before every grant
    no rule, or deny     -> deny    nothing granted is denied
    gate                 -> a gate is filed; nothing is done now
    allow                -> gate    of a tool with consequences, where the tool is always gated, or
                                    where the channel is not trusted and the rule does not say so
    allow                -> allow

Who asks and where is the turn's own record; of the model's words only the tool's name and its
arguments count. Trust and grants are asked at each call, so that what an owner takes back is gone
at once, also for a session that still shows the tool.

Spec: issue "Gateway of actions"; CC acceptance 19.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from compiler.canonical_json import CanonicalJsonError, JsonValue, parse_strict
from compiler.normalize import normalize_item
from compiler.request import RunScope
from sessions.gate_filing import GateFiler, Proposal
from sessions.gates import Gate, GateId, GateOrigin, GateState
from sessions.grants import Call, Decision, Grant, Trust, Verdict, decide
from sessions.tools.call import BAD_ARGUMENTS, ToolCall, ToolTurn
from sessions.tools.table import BUILTIN_NAMES, Deed, deed_of

Prepare: TypeAlias = Callable[[ToolTurn, Call], Awaitable[Mapping[str, JsonValue] | str]]
MAX_ARGUMENT_CHARS: Final = 1_000_000
"""Longer arguments are not even parsed; the longest that make sense are a file's content."""
NOT_OFFERED: Final = "There is no such tool here."
NOT_GRANTED: Final = "The owner has not allowed this here. Nothing was done; say so plainly."
WITHHELD: Final = "This tool is prohibited in this conversation."
NOBODY_TO_ASK: Final = (
    "This would have to wait for a person's approval, and nobody can be asked here. "
    "Nothing was done."
)
NOT_LATER: Final = (
    "This would have to wait for a person's approval, and the files that you work on here are "
    "taken away when you have answered. Nothing was done; say so plainly."
)
TOO_MANY_WAIT: Final = "Too much waits for approval here already. Nothing was done; say so plainly."
WAITS: Final = (
    "This waits for a person's approval as {gate}. It was not done yet: do not claim that it was, "
    "and do not try another way. You will be told what becomes of it."
)
APPROVED: Final = (
    "This was approved beforehand and is being carried out as {gate}. You will be told what "
    "becomes of it; do not claim that it is done."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What becomes of one call; ``text`` is for the model, empty where it may go on."""

    verdict: Verdict
    rule: int | None = None
    """Counts the rules from 0, the defaults after the owner's; None: no rule had a say."""
    text: str = ""
    gate_id: GateId | None = None


def floor(decision: Decision, grant: Grant | None, deed: Deed | None, *, trusted: bool) -> Verdict:
    """Raise an ``allow`` to a gate where a tool with consequences may not go on by itself.

    In a channel that is not trusted it may only by a rule that says ``trust = "untrusted"``.
    """
    if decision.verdict is not Verdict.ALLOW or deed is None:
        return decision.verdict
    meant = trusted or (grant is not None and grant.trust is Trust.UNTRUSTED)
    by_itself = (meant or not deed.consequential) and not deed.always_gated
    return Verdict.ALLOW if by_itself else Verdict.GATE


class Gateway:
    """Judges calls; files what has to wait."""

    def __init__(
        self,
        *,
        rules: Callable[[], tuple[Grant, ...]],
        trusted: Callable[[RunScope], bool],
        prohibited: Callable[[RunScope], Awaitable[frozenset[str]]],
        filer: GateFiler | None,
        prepare: Prepare | None = None,
    ) -> None:
        """Take what is asked at each call.

        Args:
            rules: all grants, the defaults included.
            trusted: whether a channel is.
            prohibited: the tools that a conversation's house rules close, as normalized items.
            filer: takes what has to wait; None refuses it.
            prepare: makes of a call what a person is asked about, or says why nobody is.
        """
        self._prepare = prepare
        self._rules = rules
        self._trusted = trusted
        self._prohibited = prohibited
        self._filer = filer

    async def judge(self, turn: ToolTurn, call: ToolCall) -> Ruling:
        """Decide a call.

        Raises:
            StoreUnavailable: house rules could not be read or the gate not be filed; it is denied.
        """
        if call.name not in turn.offered:
            return _denied(NOT_OFFERED)
        arguments = _arguments(call.arguments)
        if arguments is None:
            return _denied(BAD_ARGUMENTS)
        if normalize_item(call.name) in await self._prohibited(turn.scope):
            return _denied(WITHHELD)
        rules, trusted = self._rules(), self._trusted(turn.scope)
        asked = Call(imp=turn.imp, tool=call.name, trusted=trusted, arguments=arguments)
        try:
            decision = decide(rules, asked)
        except ValueError:
            return _denied(BAD_ARGUMENTS)
        grant = None if decision.rule is None else rules[decision.rule]
        deed = deed_of(call.name)
        verdict = floor(decision, grant, deed, trusted=trusted)
        match verdict:
            case Verdict.ALLOW:
                return Ruling(verdict=verdict, rule=decision.rule)
            case Verdict.DENY:
                return _denied(NOT_GRANTED, rule=decision.rule)
            case Verdict.GATE:
                return await self._file(turn, asked, deed, rule=decision.rule)
            case _:
                assert_never(verdict)

    async def _file(
        self, turn: ToolTurn, call: Call, deed: Deed | None, *, rule: int | None
    ) -> Ruling:
        if self._filer is None:
            return _denied(NOBODY_TO_ASK, rule=rule)
        if call.tool in BUILTIN_NAMES and not turn.workspace_stays:
            return _denied(NOT_LATER, rule=rule)
        if deed is None:
            # It acts on the conversation of this very moment, so it cannot be done later.
            return _denied(NOT_GRANTED, rule=rule)
        arguments: Mapping[str, JsonValue] | str = call.arguments
        if self._prepare is not None:
            arguments = await self._prepare(turn, call)
        if isinstance(arguments, str):
            return _denied(arguments, rule=rule)
        proposal = Proposal(
            origin=GateOrigin.of(turn.imp, turn.scope, run_id=turn.run_id, turn_id=turn.turn_id),
            tool=call.tool,
            arguments=arguments,
            effect=deed.effect,
            intent=deed.intent,
            rationale=_rationale(call),
        )
        try:
            gate = await self._filer.file(proposal)
        except ValueError:
            return _denied(BAD_ARGUMENTS, rule=rule)
        if gate is None:
            return _denied(TOO_MANY_WAIT, rule=rule)
        return Ruling(verdict=Verdict.GATE, rule=rule, text=_told(gate), gate_id=gate.gate_id)


def _told(gate: Gate) -> str:
    text = WAITS if gate.state is GateState.PENDING else APPROVED
    return text.format(gate=gate.gate_id)


def _rationale(call: Call) -> str:
    """Give the model's own reason where the tool asks for one."""
    reason = call.arguments.get("reason")
    return reason if isinstance(reason, str) else ""


def _denied(text: str, *, rule: int | None = None) -> Ruling:
    return Ruling(verdict=Verdict.DENY, rule=rule, text=text)


def _arguments(text: str) -> dict[str, JsonValue] | None:
    """Read a call's arguments; None if they are none."""
    if len(text) > MAX_ARGUMENT_CHARS:
        return None
    try:
        read = parse_strict(text)
    except CanonicalJsonError:
        return None
    return read if isinstance(read, dict) else None
