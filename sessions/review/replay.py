"""Replay: from the trace alone, work out everything that a turn said of itself, and compare.

Exact strings are joined anew in the plan's order, and every hash is computed again: of blocks,
items, prompts, plan, startup package, receipt and, where the same tokenizer is here, of the token
ids. ``plan_again`` compiles the same sources under other settings and shows what differs.

Nothing here writes, and nothing but ids, sizes, hashes and codes comes out.

Spec: TR "Privacy-safe receipt"; CC acceptance test 16.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from compiler import templates
from compiler.blocks import INPUT_KINDS, SYSTEM_KINDS
from compiler.budget import ContextBudgets
from compiler.compile import CompiledSystem, Model, compile_again
from compiler.hashing import sha256_fields, sha256_text
from compiler.plan import SYSTEM_RECORD, ContextPlan, join_prompt, plan_hash
from compiler.receipt import receipt_hash
from compiler.startup import startup_hash
from compiler.tokens import ModelIdentity, PromptIdentities, Tokenizer, prompt_tokens_sha256
from sessions.review.inspection import InspectionError, InspectionErrorCode, turn_events
from sessions.review.plan_difference import PlanDifference, compare_plans
from sessions.review.prompts import compiled_turn, latest_compiled
from sessions.review.replay_sources import has_input, sources_of
from sessions.traces.events import CompiledEvent
from sessions.traces.plan import account_of
from sessions.traces.reader import TracedEvent, cache_plan, planned, prompts_of, receipted


class Verdict(StrEnum):
    """What came of one comparison."""

    SAME = "same"
    DIFFERENT = "different"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was worked out again; ``detail`` says what or why not, without content."""

    name: str
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A turn replayed."""

    run_id: str
    turn: int
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing differs; what could not be checked does not count."""
        return all(check.verdict is not Verdict.DIFFERENT for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replanned:
    """The same sources compiled under other settings."""

    run_id: str
    turn: int
    difference: PlanDifference
    stand_ins: int
    """Records of which only the size is known."""


def replay_turn(
    trace: tuple[TracedEvent, ...], turn: int | None, tokenizer: Tokenizer | None = None
) -> Replay:
    """Replay a turn, by default the latest.

    Raises:
        InspectionError: no such turn, or one that was not compiled.
        TraceDamaged: the strings do not hash to what the trace says.
    """
    number, event = _turn(trace, turn)
    return Replay(run_id=event.run_id, turn=number, checks=tuple(_checks(trace, event, tokenizer)))


def plan_again(
    trace: tuple[TracedEvent, ...], turn: int | None, budgets: ContextBudgets, model: Model
) -> Replanned:
    """Compile a turn's sources under other settings, and compare the plans.

    Raises:
        InspectionError: no such turn, or it has no plan.
        CompileError: it does not fit under these settings.
        TraceDamaged: the strings do not hash to what the trace says.
    """
    number, event = _turn(trace, turn)
    before = planned(event)
    if before is None or not has_input(event):
        raise InspectionError(
            InspectionErrorCode.NOT_COMPILED, f"Turn {number} was compiled before there were plans."
        )
    sources = sources_of(event)
    compiled = compile_again(
        sources.request,
        sources.snapshot,
        budgets,
        sources.mandatory,
        system=_system(trace, event),
        model=model,
    )
    return Replanned(
        run_id=event.run_id,
        turn=number,
        difference=compare_plans(before, compiled.plan),
        stand_ins=sources.stand_ins,
    )


def _system(trace: tuple[TracedEvent, ...], event: CompiledEvent) -> CompiledSystem:
    prompt = prompts_of(trace, event).system_prompt
    return CompiledSystem(prompt=prompt, sha256=event.system_prompt_sha256, cache=cache_plan(event))


def _turn(trace: tuple[TracedEvent, ...], turn: int | None) -> tuple[int, CompiledEvent]:
    turns = turn_events(trace)
    number = (latest_compiled(turns) or 1) if turn is None else turn
    return number, compiled_turn(turns, number)


def _checks(
    trace: tuple[TracedEvent, ...], event: CompiledEvent, tokenizer: Tokenizer | None
) -> Iterator[Check]:
    prompts = prompts_of(trace, event)  # refuses strings that do not match
    yield _same("system prompt", sha256_text(prompts.system_prompt), event.system_prompt_sha256)
    text = prompts.input_prompt or ""
    yield _same("input", sha256_text(text), event.input_prompt_sha256 or "")
    plan = planned(event)
    if plan is None:
        yield Check(name="plan", verdict=Verdict.UNCHECKED, detail="older than plans")
        return
    yield _same("plan", plan_hash(plan), plan.canonical_plan_hash)
    yield _same("input in the plan's order", _joined(plan, event), text)
    yield _records(plan, event)
    if event.startup is not None:
        yield _same("startup package", startup_hash(event.startup.sources), event.startup.sha256)
    receipt = receipted(event)
    if receipt is not None:
        yield _same("receipt", receipt_hash(receipt), event.receipt_sha256)
    yield _tokens(plan, event, (prompts.system_prompt, text), tokenizer)


def _joined(plan: ContextPlan, event: CompiledEvent) -> str:
    forms = {sha256_text(block.content): block.content for block in event.blocks}
    try:
        return join_prompt(plan, forms, INPUT_KINDS, templates.INPUT_SEPARATOR) or ""
    except KeyError:
        return ""


def _records(plan: ContextPlan, event: CompiledEvent) -> Check:
    """Look for the exact form of each planned record in the blocks."""
    found = {sha256_text(block.content) for block in event.blocks}
    found.add(event.system_prompt_sha256)
    for block in event.blocks:
        if block.kind not in SYSTEM_KINDS:
            found |= {sha256_text(item) for item in items_of(block.content)}
    rows = [row for row in plan.selected if row.record_id != SYSTEM_RECORD]
    missing = sum(row.record_hash not in found for row in rows)
    same = Verdict.SAME if not missing else Verdict.DIFFERENT
    return Check(name="records", verdict=same, detail=f"{len(rows)} planned, {missing} missing")


def items_of(content: str) -> Iterator[str]:
    """Cut an input block into the exact forms of its items; texts of carried parts as they are."""
    document = json.loads(content)
    for part in document.get("parts", ()):
        yield part["text"]
    mark = '"items":['
    place = content.find(mark)
    decoder = json.JSONDecoder()
    place = len(content) if place < 0 else place + len(mark)
    while place < len(content) and content[place] == "{":
        _, end = decoder.raw_decode(content, place)
        yield content[place:end]
        place = end + 1


def _tokens(
    plan: ContextPlan, event: CompiledEvent, texts: tuple[str, str], tokenizer: Tokenizer | None
) -> Check:
    name = "token hash"
    if event.tokens is None:
        return Check(name=name, verdict=Verdict.UNCHECKED, detail="nobody counted tokens")
    if event.tokens.prompt_sha256 is None:
        return Check(name=name, verdict=Verdict.UNCHECKED, detail="the count was an estimate")
    if tokenizer is None or tokenizer.identity.sha256 != plan.tokenizer_hash:
        detail = f"the tokenizer {plan.tokenizer_id} is not here"
        return Check(name=name, verdict=Verdict.UNCHECKED, detail=detail)
    tokens = tuple(tokenizer.tokenize(text) for text in texts)
    ids = tuple(each.ids for each in tokens if each.ids is not None)
    if len(ids) != len(tokens):
        return Check(name=name, verdict=Verdict.UNCHECKED, detail="the tokenizer did not answer")
    again = prompt_tokens_sha256(_identities(plan), ids)
    account = account_of(event.tokens)
    counted = account.used_tokens - account.wrapper_tokens - account.held_tokens
    if again == event.tokens.prompt_sha256 and counted == sum(each.count for each in tokens):
        return Check(name=name, verdict=Verdict.SAME, detail=f"{counted:,} tokens")
    return Check(name=name, verdict=Verdict.DIFFERENT)


def _identities(plan: ContextPlan) -> PromptIdentities:
    model = ModelIdentity(
        model_id=plan.model_id,
        artifact_sha256=plan.model_artifact_hash,
        config_sha256=plan.model_config_hash,
    )
    return PromptIdentities(
        model_sha256=model.sha256,
        tokenizer_sha256=plan.tokenizer_hash,
        template_sha256=sha256_fields(
            "inglenook-templates-v1", (plan.rendering_template_hash, plan.chat_template_hash)
        ),
        policy_sha256=plan.policy_hash,
    )


def _same(name: str, again: str, told: str) -> Check:
    return Check(name=name, verdict=Verdict.SAME if again == told else Verdict.DIFFERENT)
