"""What the host writes down has CC's field names, and no more than it may hold."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from compiler.budget import ContextBudgets
from compiler.compile import compile_start
from compiler.errors import BlockTooLarge, SourceUnreadable
from compiler.request import TurnId
from sessions.inbound import OutcomeKind, TurnOutcome, Usage
from sessions.traces.events import TraceMark, decode_event, encode_event
from sessions.traces.writing import Occasion, compiled_event, failed_event, outcome_event
from support.compiler_factories import (
    RUN,
    compiled_turn,
    message,
    notes,
    snapshot,
    start_request,
    turn_request,
)

AT = datetime(2026, 11, 29, 23, 16, 35, 123456, tzinfo=UTC)
OCCASION = Occasion(
    at=AT,
    turn_id=TurnId("discord:message:9001"),
    extends=TraceMark(seq=0, sha256="a" * 64),
    compile_us=900,
    waited_us=12,
)


def test_a_compilation_has_the_fields_of_the_spec() -> None:
    """CC "Trace and owner interface": names and nesting, as printed there."""
    context = compiled_turn(
        turn_request(), snapshot(memory=notes(3)), ContextBudgets(memory_max_chars=200)
    )
    found = json.loads(encode_event(compiled_event(context, OCCASION)))
    spec = {
        "schema_version": 1,
        "ts": "2026-11-29T23:16:35.123Z",
        "run_id": "2026-11-29-23-16-35-abcd",
        "phase": "turn",
        "turn_id": "discord:message:9001",
        "surface": "discord-session",
        "imp": "ember",
        "status": "compiled",
        "system_prompt_sha256": context.system.sha256,
        "input_prompt_sha256": context.input_sha256,
    }
    assert {key: found[key] for key in spec} == spec
    assert found["scope"]["channel_id"] == "discord:2001"
    assert found["scope"]["user_id"] == "discord:1001"
    assert found["scope"]["is_dm"] is False
    assert set(found["budget"]) == {"limit_chars", "used_chars", "remaining_chars"}
    for block, compiled in zip(found["blocks"], context.blocks, strict=True):
        assert block == {
            "kind": compiled.kind,
            "authority": compiled.authority,
            "cache_class": compiled.cache_class,
            "source": compiled.source,
            "chars": compiled.chars,
            "sha256": compiled.sha256,
            "content": compiled.content,
        }
    assert set(found["cache"]) == {"schema_version", "route_key", "boundaries"}
    assert set(found["cache"]["boundaries"][0]) == {
        "class",
        "after_block",
        "prefix_chars",
        "prefix_sha256",
    }
    own = {
        "event": "compiled",
        "extends": {"seq": 0, "sha256": "a" * 64},
        "compile_us": 900,
        "waited_us": 12,
    }
    assert {key: found[key] for key in own} == own
    assert found["omissions"]
    assert set(found["omissions"][0]) == {"block", "item_id", "reason", "chars"}


def test_a_start_has_no_input_and_no_turn() -> None:
    context = compile_start(start_request(), snapshot(), ContextBudgets())
    found = json.loads(encode_event(compiled_event(context, Occasion(at=AT))))
    assert (found["phase"], found["turn_id"], found["extends"]) == ("start", None, None)
    assert found["input_prompt_sha256"] is None


def test_a_failed_compilation_has_the_source_the_sizes_and_a_safe_message() -> None:
    """CC "Trace and owner interface"."""
    error = BlockTooLarge(
        block="identity",
        source="imps/ember/identity.md",
        chars=13_000,
        limit_chars=12_000,
        sizes=(("identity", 13_000), ("runtime-policy", 900)),
    )
    found = json.loads(encode_event(failed_event(start_request(), error, Occasion(at=AT))))
    assert found["status"] == found["event"] == "failed"
    assert found["error"] == {
        "code": "block_too_large",
        "message": error.safe_message,
        "source": "imps/ember/identity.md",
    }
    assert found["sizes"] == [
        {"kind": "identity", "chars": 13_000},
        {"kind": "runtime-policy", "chars": 900},
    ]


def test_a_path_that_is_no_utf8_is_named_readably() -> None:
    error = SourceUnreadable(block="identity", source="imps/\udce9/x", reason="encoding")
    event = failed_event(start_request(), error, Occasion(at=AT))
    assert event.error.source == "imps/\\udce9/x"
    assert decode_event(encode_event(event)) == event


def test_half_a_surrogate_pair_in_a_message_is_traced_exactly() -> None:
    """P21: the envelope escapes it, so the prompt that pi gets has exact bytes."""
    context = compiled_turn(turn_request(message("half \ud83d\u2028")))
    event = compiled_event(context, OCCASION)
    assert decode_event(encode_event(event)) == event
    envelope = json.loads(event.blocks[-1].content)
    assert envelope["text"] == "half \ud83d\u2028"


def test_a_block_without_exact_bytes_cannot_be_traced() -> None:
    context = compiled_turn()
    broken = replace(context.blocks[0], content="half \ud83d")
    with pytest.raises(UnicodeEncodeError):
        compiled_event(replace(context, blocks=(broken,)), OCCASION)


def test_an_outcome_holds_no_words_of_the_reply() -> None:
    replied = TurnOutcome(
        kind=OutcomeKind.REPLIED, run_id=RUN, turn_id=TurnId("t"), text="Hello", usage=Usage()
    )
    line = encode_event(outcome_event(RUN, replied, at=AT))
    assert b"Hello" not in line
    assert b'"reply_sha256":"185f8db32271fe25' in line
