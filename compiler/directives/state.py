"""The transitions of the authoritative state (DG 8).

A transition takes a state and returns a ``Decision``; it never changes what it was given, so a
clarify cannot mutate (DG 12.4) and a host can keep every earlier state.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import assert_never

from compiler.directives import decision as d
from compiler.directives.decision import Decision
from compiler.directives.grammar import Compound, Directive, Keyword, Parsed, Replacement
from compiler.directives.values import Policy, State
from compiler.normalize import normalize_item, sanitize_premise


def apply(state: State, parsed: Parsed) -> Decision:
    """Decide one parsed input against a state."""
    match parsed:
        case None:
            return d.PASSTHROUGH
        case Compound():
            return d.clarify(d.COMPOUND)
        case Replacement():
            return _replace(state, parsed)
        case Directive():
            return _apply_directive(state, parsed)
        case _:
            assert_never(parsed)


def _apply_directive(state: State, directive: Directive) -> Decision:
    payload = directive.payload
    match directive.keyword:
        case Keyword.SET_PREMISE:
            return _set_premise(state, payload)
        case Keyword.CHANGE_PREMISE:
            return _change_premise(state, payload)
        case Keyword.USE:
            return _use(state, payload)
        case Keyword.PROHIBIT:
            return _prohibit(state, payload)
        case Keyword.REMOVE_POLICY:
            return _remove(state, payload)
        case Keyword.CLEAR_PREMISE:
            return d.update(replace(state, premise=None))
        case Keyword.RESET_POLICIES:
            return d.update(State(premise=state.premise))
        case Keyword.CLEAR_STATE:
            return d.update(State())
        case _:
            assert_never(directive.keyword)


def _set_premise(state: State, payload: str) -> Decision:
    """DG 8.1; the empty check comes before the lifecycle check (D14)."""
    value = sanitize_premise(payload)
    if not value:
        return d.clarify(d.SET_PREMISE_EMPTY)
    if state.premise is not None:
        return d.clarify(d.PREMISE_ALREADY_SET)
    return d.update(replace(state, premise=value))


def _change_premise(state: State, payload: str) -> Decision:
    value = sanitize_premise(payload)
    if not value:
        return d.clarify(d.CHANGE_PREMISE_EMPTY)
    if state.premise is None:
        return d.clarify(d.PREMISE_NOT_SET)
    return d.update(replace(state, premise=value))


def _use(state: State, payload: str) -> Decision:
    """DG 8.2. An item that normalizes to nothing is an empty item (D13)."""
    key = normalize_item(payload)
    if not key:
        return d.clarify(d.USE_EMPTY)
    if state.policies.get(key) is Policy.PROHIBIT:
        return d.clarify(d.use_of_prohibited(key))
    return d.update(_with(state, key, Policy.USE))


def _prohibit(state: State, payload: str) -> Decision:
    key = normalize_item(payload)
    if not key:
        return d.clarify(d.PROHIBIT_EMPTY)
    if state.policies.get(key) is Policy.USE:
        return d.clarify(d.prohibit_of_used(key))
    return d.update(_with(state, key, Policy.PROHIBIT))


def _remove(state: State, payload: str) -> Decision:
    key = normalize_item(payload)
    if not key:
        return d.clarify(d.REMOVE_EMPTY)
    return d.update(_without(state, key))


def _replace(state: State, pair: Replacement) -> Decision:
    """DG 8.3 in its exact order (D15); an empty new key never succeeds (D16)."""
    if not pair.new.strip() or not pair.old.strip():
        return d.clarify(d.REPLACEMENT_INCOMPLETE)
    new, old = normalize_item(pair.new), normalize_item(pair.old)
    if new == old:
        return d.update(state)
    if old not in state.policies:
        return d.clarify(d.not_in_use(pair.old))
    if state.policies[old] is Policy.PROHIBIT:
        return d.clarify(d.replacement_prohibited(pair.old))
    if state.policies.get(new) is Policy.PROHIBIT:
        return d.clarify(d.replacement_prohibited(pair.new))
    if not new:
        return d.clarify(d.REPLACEMENT_INCOMPLETE)
    return d.update(_with(_without(state, old), new, Policy.USE))


def _with(state: State, key: str, policy: Policy) -> State:
    if state.policies.get(key) is policy:
        return state
    return replace(state, policies=MappingProxyType({**state.policies, key: policy}))


def _without(state: State, key: str) -> State:
    if key not in state.policies:
        return state
    rest = {item: policy for item, policy in state.policies.items() if item != key}
    return replace(state, policies=MappingProxyType(rest))
