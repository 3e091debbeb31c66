"""What is tried again, and what is final; attempts over the wire are proven end to end."""

from __future__ import annotations

from typing import Any

import aiohttp
import discord
import pytest

from bot.sending import DeliveryLimits, Sending, describe_failure, is_passing, send


class _Response:
    reason = "no"

    def __init__(self, status: int) -> None:
        self.status = status


def refusal(status: int, code: int = 0) -> discord.HTTPException:
    response: Any = _Response(status)
    kind = discord.DiscordServerError if status >= 500 else discord.HTTPException
    return kind(response, {"code": code, "message": "CANARY"})


class Channel:
    """Refuses as it is told, then takes the message."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.sent: list[dict[str, Any]] = []

    async def send(self, content: str, **fields: Any) -> str:  # noqa: ANN401
        self.sent.append({"content": content, **fields})
        if self.failures:
            raise self.failures.pop(0)
        return "message"


LIMITS = DeliveryLimits(retry_seconds=(0.0, 0.0), rate_limit_seconds=1.0)


async def sent(*failures: Exception) -> tuple[Any, Sending, Channel]:
    channel: Any = Channel(*failures)
    sending = Sending(channel=channel, channel_id=1, content="x", nonce="n", reply_to=5)
    return await send(sending, LIMITS), sending, channel


@pytest.mark.parametrize(
    "failure",
    [
        refusal(500),
        refusal(429),
        aiohttp.ClientError(),
        TimeoutError(),
        OSError(),
        TypeError("a page of some proxy in between, taken for the message"),
    ],
)
async def test_what_passes_is_tried_again_with_the_same_nonce(failure: Exception) -> None:
    """Outbound: 429, 5xx and the network are passing; so is what Discord cannot have said."""
    message, _, channel = await sent(failure)
    assert message == "message"
    assert [each["nonce"] for each in channel.sent] == ["n", "n"]


@pytest.mark.parametrize("failure", [refusal(403, 50013), refusal(404, 10003), refusal(400, 50083)])
async def test_what_is_final_is_given_up_at_once(failure: Exception) -> None:
    """Outbound: 403, 404, an archived thread."""
    message, sending, channel = await sent(failure)
    assert message is None
    assert len(channel.sent) == 1
    assert sending.attempts == [describe_failure(failure)]
    assert "CANARY" not in repr(sending.attempts)


async def test_an_outage_ends_at_last() -> None:
    """A bounded number of attempts."""
    message, _, channel = await sent(*[refusal(503)] * 9)
    assert message is None
    assert len(channel.sent) == 3


async def test_a_question_that_is_gone_is_answered_without_it() -> None:
    """The fault log's 10008, and 160002."""
    for code in (10008, 160002):
        message, _, channel = await sent(refusal(400, code))
        assert message == "message"
        assert ["reference" in each for each in channel.sent] == [True, False]


class Standing(Channel):
    """A channel with a message of ours that Discord does not let us edit."""

    def __init__(self, refused: Exception, *, deletes: Exception | None = None) -> None:
        super().__init__()
        self.refused, self.deletes = refused, deletes
        self.deleted = 0

    def get_partial_message(self, message_id: int) -> Standing:
        assert message_id == 7
        return self

    async def edit(self, **_: object) -> None:
        raise self.refused

    async def delete(self) -> None:
        self.deleted += 1
        if self.deletes is not None:
            raise self.deletes


@pytest.mark.parametrize(
    ("channel", "deleted"),
    [
        (Standing(refusal(404, 10008)), 0),
        (Standing(refusal(400, 30046)), 1),
        (Standing(refusal(400, 99999), deletes=refusal(403, 50013)), 1),
    ],
)
async def test_what_cannot_be_an_edit_is_a_message_of_its_own(
    channel: Standing, deleted: int
) -> None:
    """Outbound: whatever Discord has against the edit, and also if the old one has to stay."""
    place: Any = channel
    sending = Sending(channel=place, channel_id=1, content="x", nonce="n", edits=7)
    sent: Any = await send(sending, LIMITS)
    assert sent == "message"
    assert ([each["content"] for each in channel.sent], channel.deleted) == (["x"], deleted)


async def test_a_rate_limit_says_how_long_to_wait() -> None:
    """A wait that Discord names is made if it is bearable, else the message is given up."""
    message, _, _ = await sent(discord.RateLimited(0.01))
    assert message == "message"
    message, _, channel = await sent(discord.RateLimited(2.0))
    assert message is None
    assert len(channel.sent) == 1


def test_passing_is_told_from_final() -> None:
    """By status, and by kind."""
    assert is_passing(discord.RateLimited(1.0))
    assert not is_passing(refusal(401))
