"""Bounds and relations of settings."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.budget import ContextBudgets
from config.coherence import find_incoherent
from config.rules.context import MIN_INJECTED_CHARS, POLICY_CHARS
from config.settings import Settings
from sessions.boxes.settings import BoxMode, BoxSettings
from sessions.limits import EngineSettings, SessionLimits


def _found(**sections: object) -> list[str]:
    findings = find_incoherent(Settings.model_validate(sections))
    return [".".join(map(str, finding.paths[0])) for finding in findings]


def test_the_defaults_hold() -> None:
    assert _found() == []


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("discord", "api", "127.0.0.1:4000"),
        ("discord", "api", "http://"),
        ("discord", "api", "http://[::1"),
        ("discord", "api", "http://x:99999"),
        ("discord", "token", "two words"),
        ("engine", "api", "openai"),
        ("engine", "preamble", "mine"),
        ("engine", "thinking", "much"),
        ("engine", "tokenizer", "o200k"),
        ("engine", "tokenizer", "llama"),
        ("engine", "token_margin", -1),
        ("engine", "token_margin", 3841),
        ("engine", "provider", "a/b"),
        ("engine", "provider", ""),
        ("engine", "provider", "google"),
        ("engine", "model", ""),
        ("engine", "url", "ftp://x"),
        ("engine", "key_env", "sk-abc"),
        ("engine", "http_idle_seconds", 0),
        ("engine", "retries", -1),
        ("engine", "retries", 99),
        ("engine", "retry_base_seconds", -0.1),
        ("engine", "context_window", 0),
        ("engine", "max_tokens", 0),
        ("engine", "max_tokens", 8192),
        ("engine", "cost_input", -0.1),
        ("engine", "connect_seconds", 0),
        ("engine", "request_seconds", 0),
        ("engine", "max_request_bytes", 0),
        ("engine", "on_mismatch", "shrug"),
        ("engine", "images", True),
        ("gates", "expiry_hours", 0),
        ("gates", "expiry_hours", 721),
        ("gates", "earned_after", -1),
        ("gates", "earned_after", 501),
        ("gates", "earned_window_days", 0),
        ("limits", "user_tokens", -1),
        ("limits", "total_usd", -0.01),
        ("limits", "imp_usd", float("nan")),
        ("limits", "channel_usd", float("inf")),
        ("limits", "timezone", "Nowhere/Land"),
        ("limits", "timezone", ""),
        ("engine", "cost_output", float("nan")),
        ("engine", "cost_cache_read", float("inf")),
        ("talk", "busy", "shout"),
        ("talk", "on_stop", "burn"),
        ("talk", "sender_waiting", 0),
        ("talk", "max_parts", 0),
        ("talk", "tables", "picture"),
        ("talk", "bot_turns", -1),
        ("talk", "reply_messages", -1),
        ("talk", "reply_files", 11),
        ("talk", "reply_file_bytes", 0),
        ("talk", "bot_window_seconds", 0),
        ("files", "max_count", 11),
        ("files", "max_bytes", 0),
        ("files", "max_chars", 0),
        ("files", "max_image_bytes", 0),
        ("files", "max_image_side", 2001),
        ("files", "seconds", 0),
        ("catch_up", "max_age_seconds", 0),
        ("catch_up", "max_messages", 0),
        ("catch_up", "max_messages", 1001),
        ("memory", "semantic", "cloud"),
        ("memory", "semantic_seconds", 0),
        ("memory", "note_max_chars", 0),
        ("inspector", "port", 65_536),
        ("telemetry", "endpoint", "localhost:4318"),
        ("telemetry", "endpoint", "file:///tmp/spans"),
        ("telemetry", "endpoint", "http://[::1"),
        ("inspector", "link_minutes", 61),
        ("inspector", "link_minutes", 0),
        ("inspector", "session_hours", float("nan")),
        ("retention", "trace_days", -1),
        ("retention", "history_days", 36_501),
        ("retention", "trace_mb", -1),
        ("retention", "free_mb", -1),
        ("memory", "note_max_chars", 2001),
        ("memory", "max_active", 0),
        ("memory", "selected_notes", -1),
        ("memory", "changes_per_minute", 0),
        ("memory", "tool_seconds", 0),
        ("context", "max_injected_chars", 100),
        ("context", "identity_max_chars", 48_001),
        ("context", "task_max_chars", 48_000 - POLICY_CHARS + 1),
        ("context", "task_max_chars", 0),
        ("context", "memory_max_chars", -1),
        ("context", "memory_max_chars", 48_001),
        ("context", "history_max_messages", -1),
        ("sessions", "idle_seconds", 0),
        ("sessions", "turn_seconds", float("nan")),
        ("sessions", "drain_seconds", 1e9),
        ("sessions", "max_warm", 0),
        ("sessions", "inbox_size", -3),
        ("sessions", "rollover_percent", 101),
    ],
)
def test_what_cannot_be_meant_is_found(section: str, key: str, value: object) -> None:
    assert _found(**{section: {key: value}}) == [f"{section}.{key}"]


def test_what_leads_to_a_thing_is_kept_at_least_as_long() -> None:
    """A forgotten note's messages are found by its turn, and a trace by its run's turns."""
    assert _found(retention={"run_days": 30, "history_days": 31}) == [
        "retention.trace_days",
        "retention.history_days",
    ]
    assert not _found(retention={"run_days": 30, "history_days": 30, "trace_days": 7})
    late = _found(retention={"history_days": 2}, catch_up={"max_age_seconds": 200_000})
    assert late == ["retention.history_days"]


def test_a_key_pasted_for_its_name_is_not_shown() -> None:
    settings = Settings.model_validate({"engine": {"key_env": "sk-CANARY"}})
    assert "CANARY" not in str(find_incoherent(settings))


def test_each_imp_s_overlay_is_checked() -> None:
    context = {"identity_max_chars": 47_000}
    assert _found(imps={"ember": {"context": context}}) == ["imps.ember.context.identity_max_chars"]


@pytest.mark.parametrize("emoji", ["", "two words", "<broken", "<:x:>", "a" * 17])
def test_the_emoji_of_house_rules_is_one(emoji: str) -> None:
    assert _found(directives={"emoji": emoji}) == ["directives.emoji"]


@pytest.mark.parametrize("emoji", ["✅", "👍🏽", "<:kettle:123>", "<a:kettle:123>"])
def test_unicode_and_server_emojis_are_taken(emoji: str) -> None:
    assert _found(directives={"emoji": emoji}) == []


def test_tasks_have_their_bounds() -> None:
    """A zone that is one, at least one run at a time, and repositories by their whole paths."""
    found = _found(
        tasks={
            "timezone": "Middle/Earth",
            "max_running": 0,
            "code_seconds": 0,
            "code_calls": 0,
            "repositories": {"orchard": "~/orchard", "two words": "/x", "near": "orchard"},
        }
    )
    assert sorted(found) == [
        "tasks.code_calls",
        "tasks.code_seconds",
        "tasks.max_running",
        "tasks.repositories.near",
        "tasks.repositories.two words",
        "tasks.timezone",
    ]
    assert _found(limits={"timezone": "Middle/Earth"}) == ["limits.timezone"]


def test_an_alias_names_an_item_and_a_tool() -> None:
    """DG 6: an item of nothing but an article is empty."""
    found = _found(directives={"aliases": {"the": "recall", "notes": " ", "web": "fetch"}})
    assert sorted(found) == ["directives.aliases.notes", "directives.aliases.the"]


@pytest.mark.parametrize(
    ("section", "limits"),
    [
        ("sessions", SessionLimits),
        ("context", ContextBudgets),
        ("engine", EngineSettings),
        ("box", BoxSettings),
    ],
)
def test_every_numeric_limit_refuses_less_than_nothing(
    section: str, limits: type[SessionLimits | ContextBudgets | EngineSettings | BoxSettings]
) -> None:
    """A limit added later is bounded without being named here."""
    for limit in fields(limits):
        if isinstance(limit.default, str | bool):
            continue
        assert f"{section}.{limit.name}" in _found(**{section: {limit.name: -5}})


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ({"tool": "bsh", "verdict": "allow"}, "tool"),
        ({"tool": "", "verdict": "allow"}, "tool"),
        ({"tool": "bash", "verdict": "allow", "imp": "Em ber"}, "imp"),
        ({"tool": "stay_silent", "verdict": "gate"}, "verdict"),
        ({"tool": "bash", "verdict": "deny", "arguments": {"comand": "*"}}, "arguments.comand"),
        ({"tool": "recall", "verdict": "deny", "arguments": {"text": "*"}}, "arguments.text"),
    ],
)
def test_a_grant_that_could_never_count_is_found(rule: dict[str, object], wrong: str) -> None:
    """Issue "Gateway of actions": a rule that holds nothing must not look as if it did."""
    fine: dict[str, object] = {"tool": "*", "verdict": "gate", "arguments": {"any": "*"}}
    assert _found(grants=(fine,)) == []
    assert _found(grants=(fine, rule)) == [f"grants.1.{wrong}"]


def test_a_docker_box_needs_an_image() -> None:
    """Issue "Box": Docker as a second box."""
    assert _found(box={"kind": "docker"}) == ["box.image"]
    assert _found(box={"kind": "docker", "image": "hearth:1"}) == []


def test_the_box_is_on_unless_it_is_switched_off_in_so_many_words() -> None:
    """Issue "Box": never an unboxed fallback."""
    assert Settings().box.mode is BoxMode.ON


@given(
    st.integers(MIN_INJECTED_CHARS, 10**6),
    st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5),
)
def test_limits_that_fit_are_never_complained_of(total: int, shares: list[float]) -> None:
    keys = ["identity", "purpose", "connections", "state", "task"]
    room = total - POLICY_CHARS
    limits: dict[str, int] = {
        f"{key}_max_chars": max(1, int(room * share))
        for key, share in zip(keys, shares, strict=True)
    }
    limits |= {f"{key}_max_chars": total for key in ("memory", "briefing", "history")}
    assert _found(context={"max_injected_chars": total, **limits}) == []
