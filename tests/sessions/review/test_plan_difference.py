"""What came in, what went out, and why."""

from __future__ import annotations

from dataclasses import replace

from compiler.budget import ContextBudgets
from compiler.request import ExcludedNote
from sessions.review.plan_difference import LeftOut, Moved, compare_plans
from support.compiler_factories import compiled_turn, message, notes, snapshot, turn_request
from support.compiler_golden import BRIEFING, HISTORY, MEMORY, RULES


def test_a_plan_does_not_differ_from_itself() -> None:
    plan = compiled_turn(sources=snapshot(memory=MEMORY, history=HISTORY)).plan
    assert compare_plans(plan, plan).is_empty


def test_records_are_told_with_their_reasons() -> None:
    before = compiled_turn(sources=snapshot(memory=MEMORY, history=HISTORY)).plan
    after = compiled_turn(
        turn_request(message("Another.")),
        snapshot(memory=replace(MEMORY, notes=MEMORY.notes[:1]), briefing=BRIEFING),
    ).plan
    difference = compare_plans(before, after)
    assert difference.came_in == (
        Moved(block="briefing", record_id="g1", reason="continuation"),
        Moved(block="briefing", record_id="g2", reason="briefing"),
        Moved(block="briefing", record_id="g3", reason="briefing"),
    )
    assert difference.went_out == (
        Moved(block="memory", record_id="n2", reason="not-offered"),
        Moved(block="history", record_id="discord:8002", reason="not-offered"),
        Moved(block="history", record_id="discord:8001", reason="not-offered"),
    )
    assert difference.changed == (
        Moved(block="message", record_id="message:discord:9001", reason="current-turn"),
    )


def test_what_found_no_room_says_so() -> None:
    sources = snapshot(memory=notes(20), house_rules=RULES)
    before = compiled_turn(sources=sources).plan
    after = compiled_turn(sources=sources, budgets=ContextBudgets(memory_max_chars=400)).plan
    assert {moved.reason for moved in compare_plans(before, after).went_out} == {"budget"}


def test_what_is_in_neither_plan_is_told_for_every_reason() -> None:
    """By selection, by room, newly offered and no longer so; each record once."""

    def left(*pairs: tuple[str, str]) -> tuple[ExcludedNote, ...]:
        return tuple(ExcludedNote(note_id=name, reason=reason) for name, reason in pairs)

    sources, tight = snapshot(memory=notes(20)), ContextBudgets(memory_max_chars=400)
    memory = replace(sources.memory, excluded=left(("a", "rank"), ("b", "rank"), ("c", "scope")))
    before = compiled_turn(sources=snapshot(memory=memory), budgets=tight).plan
    assert compare_plans(before, before).is_empty
    memory = replace(memory, excluded=left(("a", "rank"), ("b", "expired"), ("d", "consent")))
    after = compiled_turn(sources=snapshot(memory=memory), budgets=tight).plan
    difference = compare_plans(before, after)
    budget = {group.reason_code: group.record_ids for group in before.excluded}["budget"]
    assert difference.left_out == tuple(
        LeftOut(block="memory", before=was, after=now, record_ids=ids)
        for was, now, ids in (
            ("budget", "budget", tuple(sorted(budget))),
            ("not-offered", "consent", ("d",)),
            ("rank", "expired", ("b",)),
            ("rank", "rank", ("a",)),
            ("scope", "not-offered", ("c",)),
        )
    )
    assert (difference.came_in, difference.went_out, difference.is_empty) == ((), (), False)


def test_an_identity_that_changed_is_told() -> None:
    plan = compiled_turn().plan
    difference = compare_plans(plan, replace(plan, model_id="another"))
    assert difference.identities == (("model_id", "", "another"),)
    assert not difference.is_empty
