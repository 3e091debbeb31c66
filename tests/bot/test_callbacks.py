"""What Discord says to an answer of ours; over the wire it is proven end to end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import patch

import aiohttp
import discord
import pytest
from discord.webhook.async_ import AsyncWebhookAdapter, async_context

from bot import callbacks

ANSWER = discord.http.MultipartParameters(payload={"type": 5}, multipart=None, files=None)
Request = Callable[..., Awaitable[Any]]


def says(*answers: object) -> Request:
    left = list(answers)

    async def request(*_: object, **__: object) -> object:
        said = left.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    return request


def refusal(code: int) -> discord.HTTPException:
    class Response:
        status, reason = 400, "no"

    response: Any = Response()
    return discord.HTTPException(response, {"code": code, "message": ""})


async def answered(*answers: object) -> Any:  # noqa: ANN401
    adapter = callbacks.Adapter(lambda data: data)
    session: Any = None
    with patch.object(AsyncWebhookAdapter, "request", says(*answers)):
        return await adapter.create_interaction_response(5, "t", session=session, params=ANSWER)


@pytest.mark.parametrize("said", ["<html>", None, {}, {"interaction": None}])
async def test_an_answer_that_was_taken_is(said: object) -> None:
    """P15: whatever is said to it."""
    assert await answered(said) == {"interaction": {"id": 5}}


async def test_nothing_of_what_was_made_of_it_is_read() -> None:
    """P15: the message may be odd; its id may be told."""
    about = {"id": "5", "response_message_id": "6"}
    said = {"interaction": about, "resource": {"type": 4, "message": {}}}
    assert await answered(said) == {"interaction": about}


async def test_an_answer_of_which_nothing_was_heard_is_given_again() -> None:
    """P15: 40060 says then that it was taken; any other refusal stays one."""
    lost = aiohttp.ServerDisconnectedError()
    assert await answered(lost, {}) == {"interaction": {"id": 5}}
    assert await answered(ValueError("half an answer"), refusal(40060)) == {
        "interaction": {"id": 5}
    }
    with pytest.raises(discord.HTTPException):
        await answered(lost, refusal(10062))
    with pytest.raises(discord.HTTPException):
        await answered(refusal(40060))


async def test_a_follow_up_is_read_as_far_as_it_can_be() -> None:
    """P15: messages go through what was installed."""
    callbacks.install(lambda data: data | {"read": True})
    session: Any = None
    with patch.object(AsyncWebhookAdapter, "request", says({"id": "1"}, None, [])):
        adapter: Any = async_context.get()
        found = [await adapter.delete_webhook(1, session=session) for _ in range(3)]
    assert found == [{"id": "1", "read": True}, None, []]
