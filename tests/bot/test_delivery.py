"""What is posted of an outcome; how it is posted is proven end to end."""

from __future__ import annotations

import asyncio
from unittest.mock import create_autospec

import discord
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.delivery import WHOLE_ANSWER, Delivery, compose, nonce
from bot.errors import NOTHING_TO_SAY
from bot.sending import DeliveryLimits
from bot.split import LIMIT_UNITS, count_units
from compiler.request import RunId, TurnId
from sessions.errors import SessionErrorCode
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.limits import TalkSettings
from sessions.store.outbox import OutboxStore
from sessions.visible import is_visible

RUN, TURN = RunId("2026-11-29-23-16-35-abcd"), TurnId("discord:message:5")


def outcome(kind: OutcomeKind = OutcomeKind.REPLIED, text: str = "", code: str = "") -> TurnOutcome:
    return TurnOutcome(
        kind=kind, run_id=RUN, turn_id=TURN, text=text, safe_message="No.", error_code=code
    )


@given(st.text(alphabet=st.characters(), max_size=30), st.integers(min_value=1, max_value=400))
@settings(deadline=None)
def test_nothing_blank_or_too_long_is_ever_posted(text: str, times: int) -> None:
    """P07, P08: whatever the model says, each content is fit for Discord."""
    post = compose(outcome(text=text * times))
    assert post.contents
    for content in post.contents:
        assert is_visible(content)
        assert count_units(content) <= LIMIT_UNITS
        content.encode()  # no half characters


@pytest.mark.parametrize("kind", [OutcomeKind.SILENT, OutcomeKind.REPLIED])
def test_silence_is_told_only_where_somebody_spoke_to_the_imp(kind: OutcomeKind) -> None:
    """A notice in DMs and for mentions; none where the imp only listens along."""
    assert compose(outcome(kind)).contents == (NOTHING_TO_SAY,)
    assert compose(outcome(kind), addressed=False).contents == ()


@pytest.mark.parametrize("kind", [OutcomeKind.FAILED, OutcomeKind.CUT_OFF, OutcomeKind.REJECTED])
def test_a_failure_is_told_in_any_case(kind: OutcomeKind) -> None:
    """One sentence and the run id."""
    assert compose(outcome(kind), addressed=False).contents == (f"No. (run `{RUN}`)",)


def test_a_withdrawn_message_gets_nothing() -> None:
    """P13 (b): who deleted the question is not answered."""
    post = compose(outcome(OutcomeKind.REJECTED, code=SessionErrorCode.WITHDRAWN))
    assert post.contents == ()


def test_more_than_four_parts_are_a_file() -> None:
    """The channel is not buried: a beginning, and the whole as a file."""
    text = "word " * 1700
    post = compose(outcome(text=text))
    (content,) = post.contents
    assert content.endswith(WHOLE_ANSWER)
    assert post.file_text == text
    assert compose(outcome(text="word " * 1500)).file_text is None


TABLE = "| Tea | Minutes |\n|---|:-:|\n| green | 2 |\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Here they are:\n\n{TABLE}\nEnjoy.", f"Here they are:\n\n{WHOLE_ANSWER}"),
        (TABLE, WHOLE_ANSWER),
        ("Tea | Minutes\n--- | ---\ngreen | 2", WHOLE_ANSWER),
    ],
)
def test_an_answer_with_a_table_is_a_file(text: str, shown: str) -> None:
    """Discord shows no tables; the file is the answer byte for byte, unless set otherwise."""
    post = compose(outcome(text=text))
    assert (post.contents, post.file_text) == ((shown,), text)
    as_text = compose(outcome(text=text), talk=TalkSettings(tables="text"))
    assert (as_text.contents, as_text.file_text) == ((text,), None)


@pytest.mark.parametrize(
    "text", [f"```\n{TABLE}```", "a | b\n\n--- | ---", "Either | or.\n---", "x || y", "|---|"]
)
def test_what_only_looks_like_a_table_is_text(text: str) -> None:
    """Code is code, and a bar alone makes no table."""
    assert compose(outcome(text=text)).file_text is None


def test_the_owner_says_how_many_messages_are_too_many() -> None:
    """`[talk] max_parts`."""
    text = "word " * 700
    assert len(compose(outcome(text=text)).contents) == 2
    assert compose(outcome(text=text), talk=TalkSettings(max_parts=1)).file_text == text


def test_halves_of_characters_are_replaced_and_pairs_joined() -> None:
    """A lone surrogate cannot be sent; what stands around it can."""
    assert compose(outcome(text="a\ud83db")).contents == ("a\ufffdb",)
    assert compose(outcome(text="\ud83d\udc4d")).contents == ("👍",)


def test_a_nonce_names_turn_and_place_within_discords_limit() -> None:
    """The same at every attempt; another for each part."""
    names = [nonce(TURN, part) for part in range(5)]
    assert names == [nonce(TURN, part) for part in range(5)]
    assert len(set(names)) == 5
    assert all(len(name) <= 25 for name in names)
    assert nonce(TurnId("discord:message:6"), 0) not in names


@pytest.mark.parametrize("delay_seconds", [0.0, 3600.0])
async def test_typing_leaves_the_prompt_its_head_start(delay_seconds: float) -> None:
    """Issue "The turn, seen from the channel": what is answered within the delay shows none."""
    typed = asyncio.Event()

    async def typing() -> None:
        typed.set()

    channel = create_autospec(discord.DMChannel, instance=True)
    channel.typing.side_effect = typing
    delivery = Delivery(
        outbox=create_autospec(OutboxStore, instance=True),
        limits=DeliveryLimits(typing_delay_seconds=delay_seconds),
    )
    async with asyncio.timeout(120), delivery.typing(channel):
        if not delay_seconds:
            await typed.wait()
    assert typed.is_set() == (delay_seconds == 0)
