"""Discord and the model provider in a process of their own, steered by JSON lines.

Apart from the bot, so that its event loop carries nothing but the bot's work. Each command is
one line ``{"id": n, "do": ..., ...}`` and gets one line back with the same id; commands run side
by side. The first line out names the addresses.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from bot.playground.entities import Channel, Message
from bot.playground.ids import ORCHARD
from bot.playground.scripted_model import Answer, ModelRequest, ScriptedModel, Step
from bot.playground.server import Playground

ANSWER_SECONDS = 120.0
_MESSAGES = "/channels/{channel_id}/messages"


def answer(request: ModelRequest) -> Step:
    """Answer at once with a short text that names the question's mark."""
    text = request.last_user_text
    at = text.rfind("bench-")
    return Answer.of(f"done {text[at : at + 12]}" if at >= 0 else "done")


class FarEnd:
    """Carries out commands against the playground and the model."""

    def __init__(self, pg: Playground, model: ScriptedModel) -> None:
        self._pg = pg
        self._model = model

    async def handle(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out one command and give its answer."""
        match command["do"]:
            case "ask":
                return await self._ask(command["user"], command["channel"], command["text"])
            case "channels":
                return {"channels": self._add_channels(int(command["count"]))}
            case "calls":
                return {"model_ns": self._call_at(command["mark"])}
            case "type":
                await self._pg.typing(command["user"], command["channel"])
                return {}
            case other:
                raise ValueError(other)

    def _call_at(self, mark: str) -> int:
        return next(call.arrived_ns for call in self._model.requests if mark in call.last_user_text)

    def _add_channels(self, count: int) -> list[int]:
        world = self._pg.world
        return [world.add_channel(ORCHARD, f"bench-{number}").id for number in range(count)]

    async def _ask(self, user: int, channel_id: int, text: str) -> dict[str, Any]:
        """Say something, wait for the reply, and tell when things happened."""
        channel: Channel = self._pg.world.channel(channel_id)
        seen_requests, seen_calls = len(self._pg.requests), len(self._model.requests)
        sent_ns = time.monotonic_ns()
        asked = await self._pg.say(user, channel, text)

        def is_answer(message: Message) -> bool:
            return message.reply_to == asked.id

        reply = await self._pg.wait_for_message(
            channel, is_answer, timeout=ANSWER_SECONDS, after=asked
        )
        mark = text[text.rfind("bench-") :][:12]
        creates = [
            request.at_ns
            for request in self._pg.requests[seen_requests:]
            if request.method == "POST" and request.route == _MESSAGES
            if str(request.path).endswith(f"/{channel_id}/messages")
        ]
        calls = [
            call.arrived_ns
            for call in self._model.requests[seen_calls:]
            if mark in call.last_user_text
        ]
        return {
            "sent_ns": sent_ns,
            "create_ns": creates[0] if creates else 0,
            "model_ns": calls[0] if calls else 0,
            "text": reply.content,
        }


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with Playground() as pg, ScriptedModel(default=answer) as model:
        _write({"api": pg.api_base, "token": pg.token, "model": model.url})
        far_end = FarEnd(pg, model)
        async with asyncio.TaskGroup() as tasks:
            while line := await reader.readline():
                tasks.create_task(_one(far_end, json.loads(line)))


async def _one(far_end: FarEnd, command: dict[str, Any]) -> None:
    try:
        result = await far_end.handle(command)
    except TimeoutError:
        result = {"error": "no answer in time"}
    _write({"id": command["id"], **result})


def _write(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve())
