"""Refuse a request whose parts contradict each other, before anything is rendered.

Scope is the host's own record, so a contradiction here is a fault of the host and never of a
text; compiling on would risk showing one place what belongs to another.

Spec: CC "Inputs", "Failure behavior" (invalid trusted context), "Security invariants".
"""

from __future__ import annotations

import re

from compiler.errors import InvalidRequest
from compiler.request import (
    ContextPhase,
    ContextRequest,
    Place,
    ResolvedGate,
    RunScope,
    RunSurface,
    SourceSnapshot,
)

_CHANNEL_ID = re.compile(r"([a-z][a-z0-9-]{0,31}):[0-9A-Za-z._-]{1,64}")
_IMP_SCOPE = re.compile(r"imp(?::.*)?", re.DOTALL)


def check_start(request: ContextRequest, snapshot: SourceSnapshot) -> None:
    """Check the start of a session: no task, no message, a coherent scope.

    Raises:
        InvalidRequest: with the one reason, in words without content.
    """
    _refuse_if(request.phase is not ContextPhase.START, "a start needs the start phase")
    _refuse_if(request.task is not None, "a start has no task")
    _refuse_if(request.message is not None, "a start has no message")
    _check_scope(request)
    _check_sources(request.scope, snapshot)


def check_turn(request: ContextRequest, snapshot: SourceSnapshot) -> None:
    """Check one turn: exactly one of task and message, and a message of this very scope.

    Raises:
        InvalidRequest: with the one reason, in words without content.
    """
    _refuse_if(request.phase is not ContextPhase.TURN, "an input needs the turn phase")
    _refuse_if(
        request.task is None and request.message is None, "an input needs a task or a message"
    )
    _refuse_if(
        request.task is not None and request.message is not None,
        "an input has a task or a message, not both",
    )
    _check_scope(request)
    _check_content(request)
    _check_sources(request.scope, snapshot)
    continuation(request, snapshot)


def continuation(request: ContextRequest, snapshot: SourceSnapshot) -> ResolvedGate | None:
    """Give the outcome that caused this run, named by its task or by the briefing.

    Raises:
        InvalidRequest: both name one, and they differ.
    """
    of_task = request.task.continuation if request.task is not None else None
    of_briefing = snapshot.briefing.continuation
    _refuse_if(
        of_task is not None and of_briefing is not None and of_task != of_briefing,
        "task and briefing name different continuations",
    )
    return of_task or of_briefing


def _check_scope(request: ContextRequest) -> None:
    scope = request.scope
    _refuse_if(not scope.provider, "the scope names no provider")
    for channel in (scope.channel_id, scope.parent_channel_id):
        _check_channel_id(channel, scope.provider)
    has_parent = scope.parent_channel_id is not None
    match scope.place:
        case Place.DM:
            _refuse_if(scope.channel_id is None, "a direct message needs a channel")
            _refuse_if(scope.user_id is None, "a direct message needs a user")
            _refuse_if(scope.guild_id is not None, "a direct message has no server")
            _refuse_if(has_parent, "a direct message has no parent channel")
        case Place.GROUP:
            _refuse_if(scope.channel_id is None, "a group needs a channel")
            _refuse_if(has_parent, "only a thread has a parent channel")
        case Place.THREAD | Place.PRIVATE_THREAD:
            _refuse_if(scope.channel_id is None, "a thread needs a channel")
            _refuse_if(not has_parent, "a thread needs a parent channel")
            _refuse_if(scope.parent_channel_id == scope.channel_id, "a thread is not its parent")
        case _:  # Place.NONE; a place yet unknown fails closed here
            _refuse_if(scope.channel_id is not None, "a channel needs a place")
            _refuse_if(has_parent, "only a thread has a parent channel")
            _refuse_if(
                request.surface is RunSurface.DISCORD_SESSION, "a conversation needs a place"
            )


def _check_channel_id(channel: str | None, provider: str) -> None:
    """Refuse an id that is none: it is the only run field that enters a system prompt."""
    if channel is None:
        return
    match = _CHANNEL_ID.fullmatch(channel)
    _refuse_if(
        match is None or match.group(1) != provider, "a channel id is not one of its provider"
    )


def _check_content(request: ContextRequest) -> None:
    scope, message = request.scope, request.message
    if message is None:
        _refuse_if(
            request.surface is RunSurface.DISCORD_SESSION, "a conversation turn needs a message"
        )
        return
    _refuse_if(message.provider != scope.provider, "message and scope differ in provider")
    for mine, of_scope, name in (
        (message.author_id, scope.user_id, "author"),
        (message.message_id, scope.message_id, "message id"),
    ):
        differ = mine is not None and of_scope is not None and mine != of_scope
        _refuse_if(differ, f"message and scope differ in {name}")


def _check_sources(scope: RunScope, snapshot: SourceSnapshot) -> None:
    """Refuse what belongs to a channel or a user in a run that has no channel (CC "Memory")."""
    if scope.channel_id is not None:
        return
    _refuse_if(snapshot.purpose is not None, "a run without a channel has no purpose")
    _refuse_if(bool(snapshot.history), "a run without a channel has no history")
    rules = snapshot.house_rules
    has_rules = rules.premise is not None or bool(rules.policies)
    _refuse_if(has_rules, "a run without a channel has no house rules")
    _refuse_if(
        any(_IMP_SCOPE.fullmatch(note.scope) is None for note in snapshot.memory.notes),
        "a run without a channel has memory of the imp only",
    )


def _refuse_if(broken: bool, reason: str) -> None:  # noqa: FBT001 - the condition is the point
    if broken:
        raise InvalidRequest(reason)
