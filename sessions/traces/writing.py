"""What the host puts into a trace: each thing that happened, as its line.

``Occasion`` is what the host knows of a compilation and the compiler does not. Labels that come
from outside are made writable; a block's text is exact or is not traced at all.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypedDict

from compiler.blocks import CacheBoundary, CachePlan, CompiledBlock, Omission
from compiler.budget import ContextBudgetResult
from compiler.compile import CompiledContext
from compiler.errors import CompileError, SafeError
from compiler.hashing import sha256_text
from compiler.plain_json import PlainValue
from compiler.plan import ContextPlan
from compiler.receipt import KEY_BYTES, Ending, make_receipt, receipt_hash
from compiler.request import (
    ContextPhase,
    ContextRequest,
    MessageId,
    RunId,
    RunScope,
    RunSurface,
    TurnId,
)
from compiler.startup import StartupPackage
from compiler.tokens import TokenAccount
from sessions.clock import timestamp
from sessions.inbound import InboundMessage, JoinedMessage, TurnOutcome, Usage
from sessions.pictures import Picture
from sessions.traces.events import (
    CompiledEvent,
    EndedEvent,
    FailedEvent,
    GapEvent,
    OutcomeEvent,
    ResumedEvent,
    TraceMark,
)
from sessions.traces.forms import (
    TracedBlock,
    TracedBoundary,
    TracedBudget,
    TracedCache,
    TracedError,
    TracedMark,
    TracedMessage,
    TracedOmission,
    TracedPicture,
    TracedScope,
    TracedSize,
    TracedUsage,
    clean,
)
from sessions.traces.plan import traced_plan, traced_startup, traced_tokens


class _Common(TypedDict):
    ts: str
    run_id: str
    phase: ContextPhase
    turn_id: str | None
    surface: RunSurface
    imp: str
    scope: TracedScope
    extends: TracedMark | None
    compile_us: int
    waited_us: int
    steers: TracedMark | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What the host knows of a compilation and the compiler does not."""

    at: datetime
    turn_id: TurnId | None = None
    extends: TraceMark | None = None
    compile_us: int = 0
    waited_us: int = 0
    revisions_sha256: tuple[str, ...] = ()
    joined: tuple[JoinedMessage, ...] = ()
    passed: tuple[MessageId, ...] = ()
    steers: TraceMark | None = None
    startup: StartupPackage | None = None
    pictures: tuple[Picture, ...] = ()
    receipt_key: bytes = field(default_factory=partial(secrets.token_bytes, KEY_BYTES))


def compiled_event(context: CompiledContext, occasion: Occasion) -> CompiledEvent:
    """Describe a compilation that succeeded.

    Raises:
        UnicodeEncodeError: a block holds half a surrogate pair, so it has no exact bytes.
    """
    receipt = receipt_of(context.plan, context.tokens, occasion.receipt_key)
    return CompiledEvent(
        **_common(context.request, occasion),
        budget=_budget(context.budget),
        blocks=tuple(map(_block, context.blocks)),
        omissions=tuple(map(_omission, context.omissions)),
        cache=_cache(context.system.cache),
        system_prompt_sha256=context.system.sha256,
        input_prompt_sha256=context.input_sha256,
        plan=traced_plan(context.plan),
        tokens=None if context.tokens is None else traced_tokens(context.tokens),
        startup=None if occasion.startup is None else traced_startup(occasion.startup),
        revisions_sha256=occasion.revisions_sha256,
        pictures=tuple(
            TracedPicture(
                sha256=each.sha256,
                media_type=each.media_type,
                size_bytes=len(each.data),
                width=each.width,
                height=each.height,
            )
            for each in occasion.pictures
        ),
        joined=tuple(
            TracedMessage(message_id=each.message_id or "", texts_sha256=each.texts_sha256)
            for each in occasion.joined
        ),
        passed=occasion.passed,
        receipt_key=occasion.receipt_key.hex(),
        receipt_sha256=receipt_hash(receipt),
    )


def receipt_of(plan: ContextPlan, tokens: TokenAccount | None, key: bytes) -> dict[str, PlainValue]:
    """Make the receipt of a compilation as it is when its answer is asked for."""
    reused_tokens = 0
    if tokens is not None and tokens.held_tokens:
        reused_tokens = tokens.system_tokens + tokens.wrapper_tokens + tokens.held_tokens
    return make_receipt(plan, tokens, key=key, ending=Ending(reused_prefix_tokens=reused_tokens))


def failed_event(request: ContextRequest, error: SafeError, occasion: Occasion) -> FailedEvent:
    """Describe a compilation that failed."""
    source, sizes = (error.source, error.sizes) if isinstance(error, CompileError) else ("", ())
    return FailedEvent(
        **_common(request, occasion),
        error=TracedError(
            code=str(error.code), message=clean(error.safe_message), source=clean(source)
        ),
        sizes=tuple(TracedSize(kind=kind, chars=chars) for kind, chars in sizes),
    )


def resumed_event(
    run_id: RunId, *, at: datetime, extends: TraceMark, system_sha256: str, kept_answers: int
) -> ResumedEvent:
    """Say that a new process took up the session."""
    return ResumedEvent(
        ts=timestamp(at),
        run_id=run_id,
        extends=_mark(extends),
        system_prompt_sha256=system_sha256,
        kept_answers=kept_answers,
    )


def outcome_event(
    run_id: RunId,
    outcome: TurnOutcome,
    *,
    at: datetime,
    exit_code: int | None = None,
    steered: Sequence[InboundMessage] = (),
) -> OutcomeEvent:
    """Say how a turn ended."""
    return OutcomeEvent(
        ts=timestamp(at),
        run_id=run_id,
        turn_id=clean(outcome.turn_id),
        outcome=outcome.kind,
        error_code=outcome.error_code,
        reply_sha256=sha256_text(outcome.text) if outcome.text else None,
        exit_code=exit_code,
        steered=tuple(each.message.message_id or "" for each in steered),
        usage=_usage(outcome.usage),
    )


def ended_event(run_id: RunId, *, at: datetime, reason: str) -> EndedEvent:
    """Say that the session is over, and why: a code such as ``idle``."""
    return EndedEvent(ts=timestamp(at), run_id=run_id, reason=reason)


def gap_event(run_id: RunId, *, at: datetime, file: str, torn: bytes) -> GapEvent:
    """Name the bytes that were set aside."""
    return GapEvent(
        ts=timestamp(at),
        run_id=run_id,
        file=file,
        torn_bytes=len(torn),
        torn_sha256=hashlib.sha256(torn).hexdigest(),
    )


def _common(request: ContextRequest, occasion: Occasion) -> _Common:
    return {
        "ts": timestamp(occasion.at),
        "run_id": request.run_id,
        "phase": request.phase,
        "turn_id": None if occasion.turn_id is None else clean(occasion.turn_id),
        "surface": request.surface,
        "imp": clean(request.imp),
        "scope": _scope(request.scope),
        "extends": None if occasion.extends is None else _mark(occasion.extends),
        "compile_us": occasion.compile_us,
        "waited_us": occasion.waited_us,
        "steers": None if occasion.steers is None else _mark(occasion.steers),
    }


def _scope(scope: RunScope) -> TracedScope:
    return TracedScope(
        provider=scope.provider,
        place=scope.place,
        channel_id=scope.channel_id,
        parent_channel_id=scope.parent_channel_id,
        guild_id=scope.guild_id,
        user_id=scope.user_id,
        message_id=scope.message_id,
        role=scope.role,
        is_dm=scope.is_dm,
    )


def _budget(budget: ContextBudgetResult) -> TracedBudget:
    return TracedBudget(
        limit_chars=budget.limit_chars,
        used_chars=budget.used_chars,
        remaining_chars=budget.remaining_chars,
    )


def _block(block: CompiledBlock) -> TracedBlock:
    block.content.encode()  # what cannot be encoded cannot be delivered exactly either
    return TracedBlock(
        kind=block.kind,
        authority=block.authority,
        cache_class=block.cache_class,
        source=clean(block.source),
        chars=block.chars,
        sha256=block.sha256,
        content=block.content,
    )


def _omission(omission: Omission) -> TracedOmission:
    return TracedOmission(
        block=omission.block,
        item_id=clean(omission.item_id),
        reason=omission.reason,
        chars=omission.chars,
    )


def _cache(cache: CachePlan) -> TracedCache:
    return TracedCache(
        schema_version=cache.schema_version,
        route_key=cache.route_key,
        boundaries=tuple(map(_boundary, cache.boundaries)),
    )


def _boundary(boundary: CacheBoundary) -> TracedBoundary:
    return TracedBoundary(
        cache_class=boundary.cache_class,
        after_block=boundary.after_block,
        prefix_chars=boundary.prefix_chars,
        prefix_sha256=boundary.prefix_sha256,
    )


def _usage(usage: Usage) -> TracedUsage:
    return TracedUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cost_usd=usage.cost_usd,
        model_calls=usage.model_calls,
    )


def _mark(mark: TraceMark) -> TracedMark:
    return TracedMark(seq=mark.seq, sha256=mark.sha256)
