"""The words about notes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory import texts
from compiler.audience import MemoryScope
from compiler.request import ChannelId, UserId
from sessions.memory.results import (
    CleanupCode,
    CleanupProof,
    CleanupStatus,
    ConsentState,
    Forgotten,
    Gone,
    Kept,
    NoteState,
    NoteView,
    NotFound,
    RefusalCode,
    Refused,
)
from sessions.store.consent import ConsentLevel, Purpose

HERE = ChannelId("discord:100")
NOTE = NoteView(
    short_id="m-abcdefgh",
    state=NoteState.CONFIRMED,
    scope=MemoryScope.USER,
    imp="ember",
    text="Bo likes tea",
    recorded_on="2026-11-29",
    about=UserId("discord:8"),
)
PROOF = CleanupProof(
    receipt_id="r",
    at="2026-11-29T23:16:35.000Z",
    status=CleanupStatus.COMPLETED,
    request_hash="h",
    salt="s",
    record_hashes=("x",),
    stores=(),
    caches=(),
    history_copies=2,
    sessions_ended=1,
)


@given(st.text(max_size=200))
def test_no_text_of_a_note_acts_in_discord(text: str) -> None:
    """One line, no ping, no mark, nothing that turns or hides what follows."""
    line = texts.plain(text)
    assert "\n" not in line
    assert "@everyone" not in line
    assert "\u202e" not in line
    assert texts.plain("@everyone <@100000000000000002> **b** `c`") == (
        "@\u200beveryone <@\u200b100000000000000002> \\*\\*b\\*\\* \\`c\\`"
    )


def test_a_line_says_state_place_and_what_else_holds() -> None:
    assert texts.line_of(NOTE) == "`m-abcdefgh` Bo likes tea · confirmed, in our direct messages"
    channel = replace(NOTE, scope=MemoryScope.CHANNEL, channel_id=HERE, pinned=True)
    assert texts.line_of(replace(channel, expires_on="2027-01-01"), with_person=True) == (
        "`m-abcdefgh` Bo likes tea · about <@8>, confirmed, in <#100>, pinned, until 2027-01-01"
    )
    imp = replace(NOTE, scope=MemoryScope.IMP, state=NoteState.REPLACED, replaced_by="m-b")
    assert texts.line_of(imp) == "`m-abcdefgh` Bo likes tea · replaced by `m-b`, everywhere"
    gone = replace(NOTE, text="", state=NoteState.FORGOTTEN, forgotten_on="2026-11-30")
    assert texts.line_of(gone) == "`m-abcdefgh` forgotten on 2026-11-30, in our direct messages"


@pytest.mark.parametrize(
    ("state", "counts"),
    [
        (NoteState.CONFIRMED, "is used"),
        (NoteState.WAITING, "would be used"),
        (NoteState.FORGOTTEN, "was used"),
    ],
)
def test_a_note_is_shown_with_how_it_counts(state: NoteState, counts: str) -> None:
    told = texts.detail_text(replace(NOTE, state=state), (NOTE,))
    assert told.startswith(f"`m-abcdefgh` {counts} in our direct messages.")
    assert told.endswith("> Bo likes tea")
    assert "versions" in texts.detail_text(NOTE, (NOTE, NOTE))


def test_a_list_counts_what_ended_and_shows_it_on_request() -> None:
    ended = replace(NOTE, short_id="m-old", state=NoteState.EXPIRED)
    told = texts.list_text([NOTE, ended], [], ended=False)
    assert "m-old" not in told
    assert "1 more ended" in told
    assert "m-old" in texts.list_text([NOTE, ended], [], ended=True)
    assert texts.list_text([], [], ended=False).startswith(texts.NOTHING)


def test_a_forgetting_is_told_honestly() -> None:
    """TR cleanup proof: completion or partial failure; the owner's traces are named."""
    told = texts.forgotten_text(Forgotten(short_ids=("m-a", "m-b"), proof=PROOF))
    assert told.startswith("Forgotten: `m-a`, `m-b`.")
    assert "history: 2." in told
    assert "read it: 1." in told
    assert texts.TRACES_STAY in told
    partial = replace(PROOF, status=CleanupStatus.PARTIAL, errors=tuple(CleanupCode))
    told = texts.forgotten_text(Forgotten(short_ids=("m-a",) * 6, proof=partial))
    assert told.startswith("Forgotten: 6 notes.")
    assert "not all is done" in told
    for other in (NotFound(), Gone(short_id="m-a", forgotten_on="2026-11-30")):
        assert texts.forgotten_text(other) == other.sentence


def test_what_became_of_a_note_is_told() -> None:
    waiting = replace(NOTE, state=NoteState.WAITING)
    assert texts.remembered_text(Kept(note=waiting)) == "`m-abcdefgh` waits for <@8> to agree."
    assert texts.remembered_text(Kept(note=NOTE, known=True)).startswith("I knew that already:")
    told = texts.remembered_text(Kept(note=NOTE, replaced=("m-a",)))
    assert told.endswith("It is used in our direct messages. It replaces `m-a`.")
    refused = Refused(code=RefusalCode.FULL)
    assert texts.remembered_text(refused) == refused.sentence


@pytest.mark.parametrize("level", ConsentLevel)
@pytest.mark.parametrize("purpose", Purpose)
@pytest.mark.parametrize("channel", [None, HERE])
def test_consent_is_said_in_words(
    level: ConsentLevel, purpose: Purpose, channel: ChannelId | None
) -> None:
    state = ConsentState(level=level, purpose=purpose, channel_id=channel, is_default=False)
    assert texts.consent_text(state).endswith(".")
    if purpose is Purpose.REMEMBER or channel is not None:
        until = replace(state, until="2026-12-06T23:16:35.000Z")
        assert texts.consent_text(until).endswith("by itself on 2026-12-06 23:16 UTC.")


def test_a_choice_fits_discord() -> None:
    label = texts.choice_label(replace(NOTE, text="x\u202e\n" * 200))
    assert len(label) == texts.CHOICE_CHARS
    assert label.startswith("m-abcdefgh · x x")
