"""History keeps the newest and drops the oldest (WS "Budgets")."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.blocks import OmissionReason
from compiler.hashing import sha256_text
from compiler.history import fit_history
from compiler.request import HistoryMessage, MessageId


def said(index: int, text: str = "hello") -> HistoryMessage:
    return HistoryMessage(
        message_id=MessageId(f"discord:{index}"), author_label="Bo", text=f"{text} {index}"
    )


TALK = tuple(said(index) for index in range(10))


def ids(content: str) -> list[str]:
    return [item["id"].removeprefix("discord:") for item in json.loads(content)["items"]]


def test_no_history_is_no_block() -> None:
    fit = fit_history((), 25, 6000)
    assert (fit.content, fit.omissions) == ("", ())


def test_all_that_fits_is_shown_oldest_first() -> None:
    fit = fit_history(TALK, 25, 6000)
    assert ids(fit.content) == [str(index) for index in range(10)]
    assert json.loads(fit.content)["omitted"] == 0
    assert fit.omissions == ()


def test_the_message_limit_drops_the_oldest() -> None:
    fit = fit_history(TALK, 3, 6000)
    assert ids(fit.content) == ["7", "8", "9"]
    assert json.loads(fit.content)["omitted"] == 7
    assert {each.reason for each in fit.omissions} == {OmissionReason.ITEM_LIMIT}


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_none_leaves_all_out(limit: int) -> None:
    fit = fit_history(TALK, limit, 6000)
    assert fit.content == ""
    assert len(fit.omissions) == 10


def test_under_pressure_what_stays_is_the_end_without_holes() -> None:
    for room in range(1100, -1, -7):
        fit = fit_history(TALK, 25, room)
        assert len(fit.content) <= room
        if not fit.content:
            assert len(fit.omissions) == 10
            continue
        kept = ids(fit.content)
        assert kept == [str(index) for index in range(10 - len(kept), 10)]
        assert json.loads(fit.content)["omitted"] == 10 - len(kept)


def test_the_room_is_used_to_its_last_character() -> None:
    """Issue 4, off by one at the budget: at the limit all are in, one under the oldest leaves."""
    messages = TALK[:9]  # the count of what is left out has one digit throughout
    whole = fit_history(messages, 25, 6000).content
    assert fit_history(messages, 25, len(whole)).content == whole
    under = fit_history(messages, 25, len(whole) - 1).content
    assert ids(under) == [str(index) for index in range(1, 9)]
    for room in range(60, len(whole)):
        assert len(fit_history(messages, 25, room).content) <= room


def test_an_over_long_newest_is_kept_as_its_beginning() -> None:
    """TR tables, section 4: the newest never vanishes whole."""
    long = said(10, "long " * 5000)
    fit = fit_history((*TALK, long), 25, 2000)
    newest = json.loads(fit.content)["items"][-1]
    assert newest["id"] == "discord:10"
    assert long.text.startswith(newest["text"])
    assert newest["shortened"] == f"kept {len(newest['text'])} of {len(long.text)} characters"
    assert newest["sha256"] == sha256_text(long.text)
    assert len(ids(fit.content)) == 11
    assert [each.reason for each in fit.omissions] == [OmissionReason.SHORTENED]


def test_an_over_long_older_message_does_not_empty_the_block() -> None:
    fit = fit_history((said(0), said(1, "long " * 5000), said(2)), 25, 2000)
    assert ids(fit.content) == ["0", "1", "2"]


@given(st.lists(st.text(max_size=400), max_size=12), st.integers(0, 14), st.integers(-10, 3000))
def test_offered_is_kept_plus_omitted(texts: list[str], limit: int, room: int) -> None:
    talk = tuple(replace(said(index), text=text) for index, text in enumerate(texts))
    fit = fit_history(talk, limit, room)
    kept = ids(fit.content) if fit.content else []
    left = [each for each in fit.omissions if each.reason != OmissionReason.SHORTENED]
    assert len(kept) + len(left) == len(talk)
    assert len(fit.content) <= max(room, 0)
    assert not set(kept) & {each.item_id.removeprefix("discord:") for each in left}
