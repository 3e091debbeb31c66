"""What may be sent."""

from __future__ import annotations

import pytest

from bot.playground.entities import MessageFlag, Upload
from bot.playground.errors import ApiError
from bot.playground.ids import ADA
from bot.playground.messages.drafts import FILE_LIMIT_BYTES, Draft, as_ephemeral, check_draft

FILE = Upload(filename="a", data=b"")


@pytest.mark.parametrize(
    "draft",
    [
        Draft(content="x"),
        Draft(content="\u200b"),
        Draft(embeds=[{"title": "x"}]),
        Draft(uploads=[FILE]),
        Draft(extra={"poll": {}}),
        Draft(extra={"sticker_items": [{}]}),
        Draft(flags=int(MessageFlag.LOADING)),
    ],
)
def test_one_of_many_things_is_enough(draft: Draft) -> None:
    """Text, embed, file, poll, sticker or the "thinking" line."""
    check_draft(draft)


@pytest.mark.parametrize("content", ["", " ", "\n\t"])
def test_nothing_is_refused(content: str) -> None:
    """50006, also with fields that carry no content."""
    with pytest.raises(ApiError) as refused:
        check_draft(Draft(content=content, extra={"webhook_id": "1"}))
    assert refused.value.code == 50006
    check_draft(Draft(content=content), has_files=True)


def test_a_bots_file_may_have_ten_mebibytes() -> None:
    """40005 beyond."""
    check_draft(Draft(uploads=[Upload(filename="a", data=b"x" * FILE_LIMIT_BYTES)]))
    with pytest.raises(ApiError) as refused:
        check_draft(Draft(uploads=[Upload(filename="a", data=b"x" * (FILE_LIMIT_BYTES + 1))]))
    assert refused.value.code == 40005


def test_ephemeral_drafts_have_a_reader_and_the_flag() -> None:
    """Other flags stay."""
    draft = as_ephemeral(Draft(content="x", flags=4), ADA)
    assert (draft.only_for, draft.flags) == (ADA, 4 | 64)
