"""Attached pictures, from Discord to the model and into the trace."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from structlog.testing import capture_logs

from bot.playground.entities import Upload
from bot.playground.ids import ADA, DIRECT
from bot.playground.scripted_model import Answer, ModelRequest, ScriptedModel
from bot.playground.server import Playground
from sessions.review.replay import replay_turn
from sessions.traces.proof import Flaw, verify
from sessions.traces.reader import read_trace
from support.app_world import running
from support.session_world import eventually

pytestmark = pytest.mark.slow


def drawn(form: str, size: tuple[int, int]) -> bytes:
    stream = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(stream, form)
    return stream.getvalue()


def shown_in(request: ModelRequest) -> list[bytes]:
    said = [each for each in request.body["messages"] if each["role"] == "user"][-1]["content"]
    parts: list[dict[str, Any]] = said if isinstance(said, list) else []
    addresses = [each["image_url"]["url"] for each in parts if each["type"] == "image_url"]
    return [base64.b64decode(each.partition(",")[2]) for each in addresses]


async def test_pictures_are_shown_exactly_as_traced(tmp_path: Path) -> None:
    """P12, P17: judged by bytes, made smaller, traced before pi has them, and provable."""
    home = tmp_path / "home"
    async with Playground() as pg, ScriptedModel() as model:
        engine = {
            "provider": "test",
            "model": "scripted",
            "url": model.url,
            "context_window": 100_000,
            "images": True,
        }
        async with running(home, pg, model, {"engine": engine}) as app:
            files = [
                Upload(filename="wide.png", data=drawn("PNG", (3000, 600))),
                Upload(filename="notes.png", data=b"only words", content_type="image/png"),
                Upload(filename="photo.dat", data=drawn("JPEG", (50, 60)), content_type="image/x"),
                Upload(filename="huge.png", data=b"\x89PNG" + bytes(9_000_000)),
            ]
            asked = await pg.say(ADA, DIRECT[ADA], "what is this?", attachments=files)
            await pg.wait_for_message(DIRECT[ADA], lambda m: m.reply_to == asked.id, after=asked)
            (request,) = model.requests
            shown = shown_in(request)
            await app.ask(ADA, DIRECT[ADA], "and now?")
            again = model.requests[-1].body["messages"]
        assert app.said == []
    wide, photo = (Image.open(io.BytesIO(each)) for each in shown)
    assert (wide.format, wide.size) == ("PNG", (1568, 314))
    assert (photo.format, photo.size) == ("JPEG", (50, 60))
    assert next(m for m in again if m["role"] == "user") == request.body["messages"][-1]
    (trace,) = home.glob("runs/*/context.jsonl")
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    (turn,) = (line for line in lines if line.get("pictures"))
    hashes = [hashlib.sha256(each).hexdigest() for each in shown]
    assert [each["sha256"] for each in turn["pictures"]] == hashes
    assert [each["width"] for each in turn["pictures"]] == [1568, 50]
    assert all(each in request.last_user_text for each in hashes), "named in the compiled input"
    assert request.last_user_text.count("huge.png") == 1, "described in a line"
    wire = next(line for line in lines if line["event"] == "wire")
    assert wire["problems"] == []
    assert verify(trace).ok
    assert replay_turn(read_trace(trace), 1).ok
    kept = sorted((trace.parent / "pictures").iterdir())
    assert sorted(each.read_bytes() for each in kept) == sorted(shown)
    kept[0].write_bytes(b"another picture")
    assert [each.flaw for each in verify(trace).problems] == [Flaw.PICTURE]


async def test_a_picture_goes_into_the_running_turn(tmp_path: Path) -> None:
    """Issue "The turn", ``busy = "steer"``, and P12: what is shown later is an input of the same
    turn, exactly as traced."""
    home = tmp_path / "home"
    async with Playground() as pg, ScriptedModel() as model:
        engine = {
            "provider": "test",
            "model": "scripted",
            "url": model.url,
            "context_window": 100_000,
            "images": True,
        }
        settings = {"engine": engine, "talk": {"busy": "steer"}}
        async with running(home, pg, model, settings) as app:
            gate = asyncio.Event()
            model.script(Answer(chunks=("One.",), before=gate), Answer.of("Two."))
            asked = await pg.say(ADA, DIRECT[ADA], "first")
            await model.wait_for_requests(1)
            file = Upload(filename="barn.png", data=drawn("PNG", (40, 30)))
            with capture_logs() as logs:
                await pg.say(ADA, DIRECT[ADA], "and this?", attachments=[file])
                await eventually(lambda: any(each["event"] == "turn.steered" for each in logs))
            gate.set()
            answer = await pg.wait_for_message(DIRECT[ADA], lambda m: m.reply_to == asked.id)
            assert answer.content == "One.\n\nTwo."
            (shown,) = shown_in(model.requests[1])
            await app.settle()
    (trace,) = home.glob("runs/*/context.jsonl")
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    (turn,) = (line for line in lines if line.get("pictures"))
    assert turn["turn_id"] == f"discord:message:{asked.id}"
    assert turn["pictures"][0]["sha256"] == hashlib.sha256(shown).hexdigest()
    assert [line["problems"] for line in lines if line["event"] == "wire"] == [[], [], []]
    assert verify(trace).ok
