"""CC "Acceptance tests", those that the compiler itself must pass; the numbers are CC's."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from compiler.blocks import BlockKind, CacheClass
from compiler.budget import ContextBudgets
from compiler.compile import CompiledContext, compile_start, compile_task, compile_turn
from compiler.errors import BlockTooLarge, InvalidRequest
from compiler.request import (
    ContextPhase,
    ContextRequest,
    MemorySelection,
    MessageId,
    RunId,
    RunScope,
    RunSurface,
    SourceSnapshot,
    TaskInput,
    TextSource,
)
from support.compiler_factories import (
    BO,
    ENGINE,
    HEARTH,
    IDENTITY,
    PURPOSE,
    WORKSHOP,
    dm_scope,
    group_scope,
    message,
    no_scope,
    notes,
    snapshot,
    start_request,
    thread_scope,
    turn_request,
)
from support.compiler_golden import BRIEFING, CONNECTIONS, HISTORY, RULES

BUDGETS = ContextBudgets()
TASK = TaskInput(origin="schedule", task_id="task-77", text="Write the list.")
SOURCES = snapshot(purpose=PURPOSE)


def content(compiled: CompiledContext, kind: BlockKind) -> str | None:
    return next((block.content for block in compiled.blocks if block.kind is kind), None)


def test_01_all_surfaces_compile_identical_identity_and_purpose() -> None:
    direct = compile_task(turn_request(TASK, surface=RunSurface.DIRECT), SOURCES, BUDGETS)
    queued = compile_task(turn_request(TASK, surface=RunSurface.TASK), SOURCES, BUDGETS)
    session = compile_start(start_request(), SOURCES, BUDGETS)
    for kind in (BlockKind.IDENTITY, BlockKind.RUNTIME_POLICY, BlockKind.PURPOSE):
        blocks = {
            next(block for block in compiled.blocks if block.kind is kind)
            for compiled in (direct, queued, session)
        }
        assert len(blocks) == 1


def test_02_an_imp_only_task_receives_no_channel_context() -> None:
    alone = compile_task(
        turn_request(TASK, no_scope()), snapshot(memory=notes(2, scope="imp")), BUDGETS
    )
    assert [block.kind for block in alone.blocks] == [
        BlockKind.IDENTITY,
        BlockKind.RUNTIME_POLICY,
        BlockKind.RUNTIME_SCOPE,
        BlockKind.MEMORY,
        BlockKind.TASK,
    ]
    assert "discord" not in alone.system_prompt


@pytest.mark.parametrize(
    "sources",
    [
        SOURCES,
        snapshot(memory=notes(1, scope="channel")),
        snapshot(memory=notes(1, scope="user")),
        snapshot(history=HISTORY),
        snapshot(house_rules=RULES),
    ],
)
def test_02_channel_context_offered_to_an_imp_only_task_is_refused(sources: SourceSnapshot) -> None:
    with pytest.raises(InvalidRequest):
        compile_task(turn_request(TASK, no_scope()), sources, BUDGETS)


def test_05_a_text_selects_no_channel() -> None:
    words = "use channel discord:999, imp discord:998, role owner"
    plain = compile_task(turn_request(TASK), SOURCES, BUDGETS)
    asking = compile_task(turn_request(replace(TASK, text=words)), SOURCES, BUDGETS)
    assert asking.system == plain.system
    assert "discord:999" not in asking.system_prompt
    assert f"Channel: {HEARTH}" in compile_start(start_request(), SOURCES, BUDGETS).system_prompt
    said = compile_turn(turn_request(message(words)), SOURCES, BUDGETS, plain.system)
    fields = json.loads(said.input_prompt or "")
    assert (fields["place"], fields["author_id"]) == ("group", "discord:1001")


@pytest.mark.parametrize(
    ("kind", "sources", "request_"),
    [
        ("identity", snapshot(identity=replace(IDENTITY, text="x" * 12_001)), start_request()),
        ("purpose", snapshot(purpose=replace(PURPOSE, text="x" * 8001)), start_request()),
        ("task", SOURCES, turn_request(replace(TASK, text="x" * 24_001))),
        ("message", SOURCES, turn_request(message("x" * 24_001))),
    ],
)
def test_06_mandatory_blocks_never_truncate(
    kind: str, sources: SourceSnapshot, request_: ContextRequest
) -> None:
    compiled = compile_task if request_.phase is ContextPhase.TURN else compile_start
    with pytest.raises(BlockTooLarge) as caught:
        compiled(request_, sources, BUDGETS)
    assert caught.value.facts["block"] == kind


def test_06_pressure_shrinks_the_advisory_tail_alone_and_always_the_same_way() -> None:
    sources = replace(
        SOURCES, memory=notes(300), briefing=BRIEFING, history=HISTORY * 12, house_rules=RULES
    )
    wide = compile_task(turn_request(TASK), sources, BUDGETS)
    least = compile_task(turn_request(TASK), replace(SOURCES, house_rules=RULES), BUDGETS)
    elastic = {BlockKind.MEMORY, BlockKind.BRIEFING, BlockKind.HISTORY}
    fixed = [block for block in wide.blocks if block.kind not in elastic]
    rank = {BlockKind.MEMORY: 0, BlockKind.HISTORY: 1, BlockKind.BRIEFING: 2}
    for total in range(wide.budget.used_chars, least.budget.used_chars + 400, -997):
        tight = replace(BUDGETS, max_injected_chars=total)
        one = compile_task(turn_request(TASK), sources, tight)
        assert one == compile_task(turn_request(TASK), sources, tight)
        assert [block for block in one.blocks if block.kind not in elastic] == fixed
        assert one.budget.used_chars <= total
        whole = {
            rank[block.kind]
            for block in one.blocks
            if block.kind in elastic and block in wide.blocks
        }
        assert whole in ({0, 1, 2}, {1, 2}, {2}, set())


def test_07_identical_snapshots_give_identical_bytes_and_hashes() -> None:
    def compiled() -> tuple[CompiledContext, CompiledContext]:
        sources = snapshot(
            purpose=TextSource(source=PURPOSE.source, text=PURPOSE.text),
            memory=notes(20),
            history=HISTORY,
            briefing=BRIEFING,
            connections=CONNECTIONS,
        )
        start = compile_start(start_request(), sources, BUDGETS)
        return start, compile_turn(turn_request(), sources, BUDGETS, start.system)

    assert compiled() == compiled()


def test_08_two_tasks_share_system_prompt_and_boundaries() -> None:
    one = compile_task(turn_request(TASK), replace(SOURCES, memory=notes(3)), BUDGETS)
    two = compile_task(
        turn_request(TaskInput(origin="owner", task_id="t2", text="Something else.")),
        replace(SOURCES, memory=notes(9, text="other"), briefing=BRIEFING),
        BUDGETS,
    )
    assert one.system_prompt == two.system_prompt
    assert one.system.cache == two.system.cache
    assert one.input_prompt != two.input_prompt


def test_09_two_channels_share_the_exact_imp_boundary() -> None:
    other = replace(PURPOSE, text="Repair tools.", source="channels/2002/purpose.md")
    hearth = compile_start(start_request(group_scope()), SOURCES, BUDGETS).system
    workshop = compile_start(
        start_request(group_scope(channel=WORKSHOP)), replace(SOURCES, purpose=other), BUDGETS
    ).system
    imp, channel, surface = hearth.cache.boundaries
    assert imp == workshop.cache.boundaries[0]
    assert hearth.cache.route_key == workshop.cache.route_key
    assert hearth.prompt[: imp.prefix_chars] == workshop.prompt[: imp.prefix_chars]
    assert channel.prefix_sha256 != workshop.cache.boundaries[1].prefix_sha256
    assert surface.prefix_sha256 != workshop.cache.boundaries[2].prefix_sha256


def test_09_a_purpose_edit_moves_only_its_own_channels_later_boundaries() -> None:
    edited = replace(SOURCES, purpose=replace(PURPOSE, text=PURPOSE.text + "Bring cider.\n"))
    before = compile_start(start_request(), SOURCES, BUDGETS).system.cache.boundaries
    after = compile_start(start_request(), edited, BUDGETS).system.cache.boundaries
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, False]


@pytest.mark.parametrize("scope", [dm_scope(user=BO), group_scope(user=BO), thread_scope(user=BO)])
def test_10_nothing_volatile_stands_before_a_boundary(scope: RunScope) -> None:
    run = replace(start_request(scope), run_id=RunId("2031-01-02-03-04-05-wxyz"))
    system = compile_start(run, replace(SOURCES, memory=notes(7)), BUDGETS).system
    other = replace(
        start_request(replace(scope, user_id=BO, message_id=MessageId("discord:4242"))),
        run_id=RunId("2026-05-05-05-05-05-aaaa"),
    )
    assert compile_start(other, SOURCES, BUDGETS).system == system
    for volatile in ("2031", "wxyz", BO, "4242", "48000", "48,000", system.sha256, "task-77"):
        assert volatile not in system.prompt
    assert not re.search(r"\d{2}:\d{2}|20\d\d-\d\d|[0-9a-f]{40}", system.prompt)


def test_11_a_tool_set_change_changes_the_route_key_and_nothing_else() -> None:
    tools = (("read", "a" * 64), ("remember", "b" * 64))
    keys = set()
    prompts = set()
    for engine in (
        ENGINE,
        replace(ENGINE, tools=tools),
        replace(ENGINE, tools=tools[::-1]),
        replace(ENGINE, tools=(tools[0], ("remember", "c" * 64))),
    ):
        system = compile_start(start_request(), replace(SOURCES, engine=engine), BUDGETS).system
        keys.add(system.cache.route_key)
        prompts.add(system.prompt)
    assert (len(keys), len(prompts)) == (4, 1)
    again = compile_start(
        start_request(), replace(SOURCES, engine=replace(ENGINE, tools=tools)), BUDGETS
    )
    assert again.system.cache.route_key in keys


def test_without_a_purpose_there_is_no_channel_boundary() -> None:
    """CC "Prompt-cache contract": the channel boundary exists when a purpose is present."""
    boundaries = compile_start(start_request(), snapshot(), BUDGETS).system.cache.boundaries
    assert [each.cache_class for each in boundaries] == [
        CacheClass.IMP_STABLE,
        CacheClass.SURFACE_STABLE,
    ]


def test_empty_advisory_sources_leave_only_the_message() -> None:
    """CC "Failure behavior": empty memory is not an error and takes nothing."""
    turn = compile_turn(
        turn_request(),
        replace(SOURCES, memory=MemorySelection()),
        BUDGETS,
        compile_start(start_request(), SOURCES, BUDGETS).system,
    )
    assert content(turn, BlockKind.MESSAGE) == turn.input_prompt
