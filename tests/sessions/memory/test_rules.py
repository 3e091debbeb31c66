"""Who a note belongs to, what may be in it, and which messages are copies of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.audience import Binding, MemoryScope
from compiler.request import MessageId, Place, Role, RunScope, UserId
from sessions.limits import MemorySettings
from sessions.memory.notes import Claim
from sessions.memory.results import RefusalCode, Refused
from sessions.memory.rules import CopyTest, Placed, SourceMessage, check_text, place
from support.memory_world import (
    ADA,
    BO,
    CY,
    EMBER,
    HARBOUR,
    HEARTH,
    ORCHARD,
    by_hand,
    by_model,
    dm,
    group,
    thread,
)

CHANNEL = Binding(imp=EMBER, scope=MemoryScope.CHANNEL, guild_id=ORCHARD, channel_id=HEARTH)
OWN = Binding(imp=EMBER, scope=MemoryScope.USER, user_id=BO)


def test_the_place_decides_the_scope() -> None:
    """Table "Writing memory": user scope in a DM, channel scope in a group, parent for a thread."""
    assert place(by_model(dm()), "tea") == Placed(binding=OWN, subject_id=BO)
    assert place(by_model(group()), "tea") == Placed(binding=CHANNEL, subject_id=BO)
    assert place(by_model(thread()), "tea") == Placed(binding=CHANNEL, subject_id=BO)
    elsewhere = place(by_model(group(guild=HARBOUR)), "tea")
    assert isinstance(elsewhere, Placed)
    assert elsewhere.binding == replace(CHANNEL, guild_id=HARBOUR)


@given(st.text(max_size=60))
def test_no_text_moves_a_note(text: str) -> None:
    """CC "Security invariants": nothing in a text selects a scope."""
    for ctx, binding in ((by_model(dm()), OWN), (by_model(group()), CHANNEL)):
        placed = place(ctx, text)
        if isinstance(placed, Placed):
            assert placed.binding == binding


@pytest.mark.parametrize(
    "text", ["scope: imp", "@everyone imp-wide", "user discord:9", "../ember", "<@9>"]
)
def test_forged_scopes_in_a_direct_message_stay_text(text: str) -> None:
    assert place(by_model(dm()), text) == Placed(binding=OWN, subject_id=BO)


def test_the_imp_s_own_notes_are_an_owner_s_command() -> None:
    owner = group(ADA, role=Role.OWNER)
    placed = place(by_hand(owner), "tea", scope=MemoryScope.IMP)
    assert placed == Placed(binding=Binding(imp=EMBER, scope=MemoryScope.IMP), subject_id=None)
    for ctx in (by_model(owner), by_hand(group(role=Role.ADMIN)), by_hand(dm())):
        refused = place(ctx, "tea", scope=MemoryScope.IMP)
        assert refused == Refused(code=RefusalCode.NOT_ALLOWED)


def test_a_note_is_about_whom_it_mentions() -> None:
    assert place(by_model(group()), "<@9> brings tea") == Placed(binding=CHANNEL, subject_id=CY)
    assert place(by_model(group()), "<@!9> and <@9>") == Placed(binding=CHANNEL, subject_id=CY)
    several = place(by_model(group()), "<@9> and <@7>")
    assert several == Refused(code=RefusalCode.SEVERAL_PEOPLE)


def test_the_model_cannot_call_a_person_a_channel() -> None:
    """Where the speaker is named, or anybody is mentioned, consent is his."""
    ctx = by_model(group())
    assert place(ctx, "tea at four", about_channel=True) == Placed(binding=CHANNEL, subject_id=None)
    assert place(ctx, "BO is late", about_channel=True) == Placed(binding=CHANNEL, subject_id=BO)
    assert place(ctx, "<@9> is late", about_channel=True) == Placed(binding=CHANNEL, subject_id=CY)
    by_bo = place(by_hand(group()), "Bo's tea round", about_channel=True)
    assert by_bo == Placed(binding=CHANNEL, subject_id=None)


def test_a_remembered_message_is_its_author_s() -> None:
    source = SourceMessage(message_id=MessageId("discord:5"), author_id=CY)
    assert place(by_hand(group()), "tea", source=source) == Placed(binding=CHANNEL, subject_id=CY)
    bot = replace(source, by_bot=True)
    refused = place(by_hand(group()), "tea", source=bot)
    assert refused == Refused(code=RefusalCode.UNTRUSTED_SOURCE)


def test_nobody_s_place_takes_no_note() -> None:
    nowhere = RunScope(provider="discord", place=Place.NONE, user_id=BO)
    assert place(by_model(nowhere), "tea") == Refused(code=RefusalCode.NO_PLACE)
    lost = replace(group(), channel_id=None)
    assert place(by_model(lost), "tea") == Refused(code=RefusalCode.NO_PLACE)
    nobody = replace(dm(), user_id=None)
    assert place(by_model(nobody), "tea") == Refused(code=RefusalCode.NO_PLACE)
    assert UserId("") != BO


@pytest.mark.parametrize(("chars", "fits"), [(1_999, True), (2_000, True), (2_001, False)])
def test_a_note_may_have_exactly_its_limit(chars: int, fits: bool) -> None:  # noqa: FBT001
    """Issue "Writing and forgetting": 2,000 characters, to the character."""
    refused = check_text("x " * (chars // 2) + "x" * (chars % 2), None, MemorySettings())
    assert (refused is None) is fits


def test_claims_are_checked_like_the_text() -> None:
    settings = MemorySettings()
    fine = Claim(subject="Bo", predicate="drinks", value="tea")
    assert check_text("tea", fine, settings) is None
    for part in ("x" * 201, "nul \0", "password: orchard77"):
        for claim in (replace(fine, subject=part), replace(fine, value=part)):
            assert check_text("tea", claim, settings) is not None


@given(st.text(max_size=80))
def test_what_is_checked_can_be_stored(text: str) -> None:
    """Whatever passes has a UTF-8 form and no control character but TAB, LF and CR."""
    if check_text(text, None, MemorySettings()) is None:
        text.encode("utf-8")
        assert not any(ord(char) < 32 and char not in "\t\n\r" for char in text)


@pytest.mark.parametrize(
    ("note", "message", "copy"),
    [
        ("Bo's boat is CANARY", "well: bo's  BOAT is canary!", True),
        ("Bo's boat is CANARY", "is CANARY Bo's boat", True),
        ("Bo's boat is CANARY", "the boat is nice", False),
        ("CANARY-26", "remember CANARY-26, please", True),
        ("CANARY-26", "what a canary", False),
        (
            "alpha bravo delta gamma omega kappa sigma theta zetas lambda",
            "alpha bravo delta gamma omega kappa sigma",
            True,
        ),
        (
            "alpha bravo delta gamma omega kappa sigma theta zetas lambda",
            "alpha bravo delta gamma omega kappa",
            False,
        ),
        ("the cat sat", "sat the cat down", True),
        ("o, bicycle of us", "a bicycle", False),
        ("tea", "I like tea", False),
        ("tea", " Tea! ", True),
        ("東京タワー", "明日は東京タワーに行く", True),
        ("caf\u00e9 at nine", "the CAFE\u0301 AT NINE then", True),
        ("", "anything", False),
    ],
)
def test_copies_of_a_note_are_recognised(note: str, message: str, copy: bool) -> None:  # noqa: FBT001
    assert CopyTest((note,))(message) is copy


def test_without_notes_nothing_is_a_copy() -> None:
    assert not CopyTest(())("anything")
