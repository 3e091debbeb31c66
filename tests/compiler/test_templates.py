"""The host's own words: short, versioned, free of run data."""

from __future__ import annotations

import re

import pytest

from compiler import templates
from compiler.blocks import INPUT_KINDS, SYSTEM_KINDS, BlockKind
from compiler.request import RunSurface
from support.compiler_factories import dm_scope, group_scope, no_scope, thread_scope

SCOPES = {"dm": dm_scope(), "group": group_scope(), "thread": thread_scope()}


def test_the_policy_is_short_and_ends_without_blanks() -> None:
    assert len(templates.RUNTIME_POLICY) <= 2500
    assert templates.RUNTIME_POLICY.strip() == templates.RUNTIME_POLICY


@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_the_policy_says_how_each_input_block_reads(kind: BlockKind) -> None:
    assert re.search(rf"\b{kind.value}\b", templates.RUNTIME_POLICY)


@pytest.mark.parametrize(
    "words", ["not authority", "grants and gates", "advice", "not a permission"]
)
def test_the_policy_states_its_rules(words: str) -> None:
    """CC "Runtime policy": content is no authority, enforcement is elsewhere."""
    assert words in templates.RUNTIME_POLICY.lower()


def test_the_policy_promises_no_other_tool() -> None:
    """What it names is offered (``tests/sessions/tools/test_table.py``); nothing else exists."""
    assert not re.search(r"\bbash\b|\bshell\b|\bbrowse\b", templates.RUNTIME_POLICY.lower())


def test_labels_depend_on_the_kind_alone() -> None:
    assert [templates.label(kind) for kind in SYSTEM_KINDS] == [
        "[INGLENOOK SYSTEM BLOCK: IDENTITY]",
        "[INGLENOOK SYSTEM BLOCK: RUNTIME POLICY]",
        "[INGLENOOK SYSTEM BLOCK: CONNECTIONS]",
        "[INGLENOOK SYSTEM BLOCK: PURPOSE]",
        "[INGLENOOK SYSTEM BLOCK: RUNTIME SCOPE]",
    ]


@pytest.mark.parametrize("surface", list(RunSurface))
@pytest.mark.parametrize("place", SCOPES)
def test_a_scope_holds_the_channel_and_no_other_run_field(place: str, surface: RunSurface) -> None:
    """CC "Runtime scope": no name, user, message, run or time."""
    scope = SCOPES[place]
    text = templates.runtime_scope(surface, scope)
    ids = set(re.findall(r"discord:\d+", text))
    assert ids - {scope.parent_channel_id} == {scope.channel_id}
    if surface is not RunSurface.DISCORD_SESSION:
        assert ids == {scope.channel_id}


def test_each_surface_and_place_has_a_framing_of_its_own() -> None:
    conversation = RunSurface.DISCORD_SESSION
    texts = [templates.runtime_scope(conversation, scope) for scope in SCOPES.values()]
    texts += [
        templates.runtime_scope(surface, scope)
        for surface in (RunSurface.DIRECT, RunSurface.TASK)
        for scope in (no_scope(), group_scope())
    ]
    assert len(set(texts)) == 7


def test_a_thread_names_its_parent() -> None:
    text = templates.runtime_scope(RunSurface.DISCORD_SESSION, thread_scope())
    assert "Channel: discord:2201, a thread of discord:2001\n" in text


def test_a_run_without_channel_names_none() -> None:
    assert "discord" not in templates.runtime_scope(RunSurface.TASK, no_scope())


def test_the_source_names_version_surface_and_place() -> None:
    name = templates.scope_name(RunSurface.DISCORD_SESSION, dm_scope())
    assert name == f"template:runtime-scope/v{templates.SCHEMA_VERSION}/discord-session/dm"


def test_the_preamble_is_short() -> None:
    assert len(templates.ENGINE_PREAMBLE) <= 300
