"""A plan goes into a trace and comes back as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from compiler.budget import ContextBudgets
from compiler.compile import CompiledContext, Model, compile_start, compile_turn
from compiler.plan import plan_hash
from compiler.startup import startup_package
from sessions.traces.events import CompiledEvent, decode_event, encode_event
from sessions.traces.plan import account_of, plan_of
from sessions.traces.reader import planned, receipted
from sessions.traces.writing import Occasion, compiled_event
from support.compiler_factories import message, notes, snapshot, start_request, turn_request
from support.compiler_golden import BRIEFING, HISTORY, MEMORY, RULES
from support.receipt_scan import scan_receipt
from support.word_tokens import word_scene

AT = datetime(2026, 11, 29, 23, 16, 35, tzinfo=UTC)
FULL = snapshot(memory=MEMORY, briefing=BRIEFING, history=HISTORY, house_rules=RULES)


def compiled(text: str = "Good evening.", room: int = 0) -> CompiledContext:
    system = compile_start(start_request(), FULL, ContextBudgets()).system
    scene = word_scene(room or 100_000, held=2_000, wrapper=12)
    sources = replace(FULL, memory=notes(40)) if room else FULL
    return compile_turn(
        turn_request(message(text)), sources, ContextBudgets(), system, Model(scene=scene)
    )


def written(context: CompiledContext, **occasion: object) -> CompiledEvent:
    line = encode_event(compiled_event(context, Occasion(at=AT, **occasion)))  # type: ignore[arg-type]
    event = decode_event(line)
    assert isinstance(event, CompiledEvent)
    return event


def test_plan_and_account_come_back_as_they_were() -> None:
    for context in (compiled(), compiled(room=3_400)):
        event = written(context)
        plan = planned(event)
        assert plan is not None
        assert event.tokens is not None
        assert plan == context.plan
        assert plan_hash(plan) == context.plan.canonical_plan_hash
        assert account_of(event.tokens) == context.tokens


def test_a_missing_omission_shows_in_the_hash() -> None:
    """What was excluded is not repeated in the plan, and yet cannot be taken away."""
    context = compiled(room=3_400)
    event = written(context)
    assert event.plan is not None
    plan = plan_of(event.plan, context.omissions[:-1])
    assert plan_hash(plan) != plan.canonical_plan_hash


def test_the_receipt_is_made_again_from_the_event() -> None:
    event = written(compiled("Where is the key?"))
    receipt = receipted(event)
    assert receipt is not None
    assert receipt["cache"] == {"status": "extends", "reusedPrefixTokens": 2_000}
    scan_receipt(receipt, compiled("Where is the key?"))


def test_every_receipt_has_a_key_of_its_own() -> None:
    context = compiled()
    assert written(context).receipt_key != written(context).receipt_key


def test_the_plan_of_a_trace_holds_no_content() -> None:
    event = written(compiled("zebra-canary"))
    assert event.plan is not None
    assert "zebra-canary" not in json.dumps(event.plan.model_dump(mode="json"))


def test_the_first_turn_names_its_sources() -> None:
    context = compiled()
    package = startup_package(context, FULL)
    event = written(context, startup=package)
    assert event.startup is not None
    assert (event.startup.sources, event.startup.sha256) == (package.sources, package.sha256)


def test_a_line_from_before_plans_is_still_read() -> None:
    fields = json.loads(encode_event(compiled_event(compiled(), Occasion(at=AT))))
    for name in ("plan", "tokens", "startup", "receipt_key", "receipt_sha256"):
        del fields[name]
    event = decode_event(json.dumps(fields).encode())
    assert isinstance(event, CompiledEvent)
    assert (planned(event), receipted(event)) == (None, None)
