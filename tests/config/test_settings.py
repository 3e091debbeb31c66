"""The shape of the settings and the merging of channel layers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from compiler.budget import ContextBudgets
from config.settings import (
    ChannelMode,
    ChannelOverlay,
    DirectiveMode,
    ReplyMode,
    Settings,
    Snowflakes,
    ThreadMode,
    merge_channel,
    parse_snowflake,
)
from sessions.limits import EngineSettings, SessionLimits
from support.channel_overlays import channel_overlays

IDS = TypeAdapter(Snowflakes)


def test_limits_are_the_frozen_classes_of_those_who_obey_them() -> None:
    """Style: a setting is declared once."""
    settings = Settings.model_validate({"context": {"task_max_chars": 7}})
    assert settings.context == ContextBudgets(task_max_chars=7)
    assert settings.sessions == SessionLimits()
    assert settings.engine == EngineSettings()


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings().discord = Settings().discord  # type: ignore[misc]
    with pytest.raises(TypeError):
        Settings().channels["1"] = ChannelOverlay()  # type: ignore[index]


def test_the_token_is_never_printed() -> None:
    settings = Settings.model_validate({"discord": {"token": "CANARY"}})
    assert "CANARY" not in f"{settings!r} {settings} {settings.model_dump_json()}"


@pytest.mark.parametrize(
    ("given_id", "digits"),
    [(5, "5"), ("5", "5"), (" 007 ", "7"), ("discord:18", "18"), (2**64 - 1, str(2**64 - 1))],
)
def test_ids_become_their_digits(given_id: object, digits: str) -> None:
    assert parse_snowflake(given_id) == digits


@pytest.mark.parametrize(
    "wrong", [0, -1, True, 1.0, "", "bo", "1e3", "٣", "²", 2**64, "9" * 5000, None, "discord:"]
)
def test_what_is_no_id_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="Discord id"):
        parse_snowflake(wrong)


@pytest.mark.parametrize("text", ["1,2", "1 2", " 1 , 2 ", "[1, 2]", '["1", "2"]'])
def test_a_variable_may_hold_a_list(text: str) -> None:
    assert IDS.validate_python(text) == ("1", "2")


def test_an_empty_variable_is_an_empty_list() -> None:
    assert IDS.validate_python("") == ()


@pytest.mark.parametrize("text", ["[1,", "[1}", "1;2"])
def test_a_broken_list_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        IDS.validate_python(text)


def test_a_file_has_real_lists() -> None:
    with pytest.raises(ValidationError):
        IDS.validate_json('"1,2"', strict=True)


@given(st.lists(channel_overlays(st.sampled_from(["ember", "coal"])), max_size=4))
def test_channel_layers_merge_key_by_key(layers: list[ChannelOverlay]) -> None:
    """Each key has the value of the first layer that states it."""
    merged = merge_channel(layers, imp="spark")
    last = ChannelOverlay(
        enabled=False,
        mode=ChannelMode.MENTION,
        trusted=False,
        directives=DirectiveMode.ADDRESSED,
        threads=ThreadMode.OFF,
        shared_context=False,
        replies=ReplyMode.POST,
        imp="spark",
    )
    for key in ChannelOverlay.model_fields:
        stated = [getattr(layer, key) for layer in [*layers, last]]
        assert getattr(merged, key) == next(value for value in stated if value is not None)


@pytest.mark.parametrize("trusted", [True, False])
def test_answers_are_held_only_where_the_owner_does_not_trust(trusted: bool) -> None:  # noqa: FBT001
    """Issue "Channel trust": ``replies = "gate"`` is for untrusted channels."""
    held = ChannelOverlay(replies=ReplyMode.GATE, trusted=trusted)
    assert merge_channel([held], imp="ember").holds_replies is not trusted
    assert not merge_channel([ChannelOverlay(trusted=trusted)], imp="ember").holds_replies


def test_a_direct_message_is_always_addressed() -> None:
    """Who may write there is for the allow rules, so ``enabled`` says nothing."""
    merged = merge_channel(
        [ChannelOverlay(enabled=False, mode=ChannelMode.MENTION)], imp="ember", is_dm=True
    )
    assert (merged.enabled, merged.mode) == (True, ChannelMode.ALL)
