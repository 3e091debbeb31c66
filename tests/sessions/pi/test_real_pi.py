"""The real pi against a scripted model: what the rest of the house relies on.

One process serves many turns where the case allows, since each start takes a third of a second.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from bot.playground.scripted_model import Answer, Drop, Hang, HttpError, ScriptedModel, echo
from compiler.request import RunId, TurnId
from sessions.exchange import ExchangeResult, TurnExchange
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.limits import SessionLimits
from sessions.pi.client import PiClient
from sessions.pi.errors import PiExited, PiRefused, PiStartFailed, SessionLost
from sessions.pi.process import PiSpec
from sessions.pi.protocol import AssistantEnd
from sessions.pi.session_file import repair_session
from support.pi_world import LIMITS, PREAMBLE, SYSTEM, engine_for, spec_for

HOOK = """
import {{ appendFileSync }} from "node:fs";
import {{ registerHooks }} from "node:module";
registerHooks({{
  load(url, context, next) {{
    appendFileSync({pipe}, `${{url}}\\n`);
    return next(url, context);
  }},
}});
"""
EXPECTED_SYSTEM = f"{PREAMBLE}\n\n<addendum>\n{SYSTEM}\n</addendum>\n\n<cwd>\n/workspace\n</cwd>"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A started pi and its model."""

    model: ScriptedModel
    spec: PiSpec
    client: PiClient

    async def turn(self, text: str, limits: SessionLimits = LIMITS) -> ExchangeResult:
        exchange = TurnExchange(self.client, limits, run_id=RunId("run"), turn_id=TurnId("turn"))
        async with asyncio.timeout(120):
            return await exchange.run(text)

    async def outcome(self, text: str) -> TurnOutcome:
        return (await self.turn(text)).outcome


@asynccontextmanager
async def world_in(home: Path, **engine: object) -> AsyncIterator[World]:
    async with ScriptedModel() as model:
        spec = spec_for(home, engine_for(model.url, **engine))
        async with PiClient(spec, LIMITS) as client:
            await client.start()
            yield World(model=model, spec=spec, client=client)


def conversation(raw: bytes) -> bytes:
    """The bytes of a request from its beginning to the end of its last message."""
    end = raw.index(b'],"stream":true')
    return raw[:end]


async def test_the_model_gets_exactly_the_compiled_prompt_and_the_text(tmp_path: Path) -> None:
    """CC "Outputs": the compiled system prompt is appended; the working directory's text is fixed,
    and nothing of the host's paths or of the clock is in the request.
    """
    async with world_in(tmp_path) as world:
        text = '{"block":"message","text":"/mcp \\u2028 !ls"}\n  blanks kept \u2028\u2029\x85\x0c '
        result = await world.turn(text)
        assert result.outcome.text == f"You said: {text}"
        assert result.first_text_ns is not None
        assert result.prompted_ns < result.first_text_ns < result.ended_ns
        (request,) = world.model.requests
    assert request.system_text == EXPECTED_SYSTEM
    assert request.last_user_text == text
    assert request.tool_names == ()
    assert request.body["prompt_cache_key"] == world.spec.session_id
    assert str(tmp_path) not in request.raw.decode()
    assert not re.search(rb"20[0-9]{2}-[0-9]{2}-[0-9]{2}", request.raw)


async def test_each_request_extends_the_one_before(tmp_path: Path) -> None:
    """P20, CC "Prompt-cache contract": earlier messages are never regenerated or reordered; also
    over a failed attempt, and the second turn reports cached tokens.
    """
    async with world_in(tmp_path) as world:
        world.model.script(Answer.of("One."), HttpError(status=500), Drop(chunks=("Half",)))
        outcomes = [await world.outcome(f"turn {n} \u2028 ü") for n in range(4)]
        requests = [conversation(request.raw) for request in world.model.requests]
        stats = await world.client.stats()
    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.REPLIED] * 4
    assert outcomes[1].text == "You said: turn 1 \u2028 ü"
    assert len(requests) == 6
    for former, later in pairwise(requests):
        assert later.startswith(former)
    assert outcomes[1].usage.cache_read_tokens > 0
    assert outcomes[1].usage.model_calls == 3
    assert stats.context_usage is not None
    assert stats.context_usage.percent is not None


async def test_the_providers_protocol_is_loaded_before_the_first_prompt(tmp_path: Path) -> None:
    """Issue "Warm-up": after typing the first turn is as warm as any, so nothing is left to load.

    Node tells each module that it loads through a pipe.
    """
    told = tmp_path / "loaded"
    os.mkfifo(told)
    hook = tmp_path / "hook.mjs"
    hook.write_text(HOOK.format(pipe=json.dumps(str(told))))
    loaded = asyncio.StreamReader()
    async with ScriptedModel() as model:
        spec = spec_for(tmp_path, engine_for(model.url))
        spec = replace(spec, env={**spec.env, "NODE_OPTIONS": f"--import={hook.as_uri()}"})
        with os.fdopen(os.open(told, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0) as pipe:
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(loaded), pipe
            )
            async with PiClient(spec, LIMITS) as client, asyncio.timeout(120):
                await client.start()
                async for line in loaded:
                    if b"/openai-completions-" in line:
                        break
            transport.close()
        assert model.requests == []


@pytest.mark.parametrize(
    ("api", "path"),
    [
        ("openai-completions", "/v1/chat/completions"),
        ("openai-responses", "/v1/responses"),
        ("anthropic-messages", "/v1/messages"),
    ],
)
async def test_the_way_to_the_model_is_gone_once_before_the_first_prompt(
    tmp_path: Path, api: str, path: str
) -> None:
    """Issue 2, warm-up: behind the gateway, with no words and a key that it knows nobody by."""
    asked: asyncio.Queue[tuple[bytes, bytes]] = asyncio.Queue()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        asked.put_nowait((head, await reader.readexactly(int(length[1]) if length else 0)))
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        engine = engine_for(f"http://127.0.0.1:{port}/v1", api=api)
        spec = spec_for(tmp_path, engine)
        spec = replace(spec, env={**spec.env, "INGLENOOK_MODEL_SOCKET": "/run/model.sock"})
        async with PiClient(spec, LIMITS) as client, asyncio.timeout(120):
            await client.start()
            head, body = await asked.get()
    assert head.startswith(f"POST {path}".encode())
    assert re.search(rb"\r\n(authorization: Bearer|x-api-key:) none\r\n", head)
    said = json.loads(body)
    assert said.get("messages", said.get("input")) == []
    assert not {"system", "instructions", "tools"} & said.keys()


async def test_failures_of_the_provider_are_named_and_the_next_turn_works(tmp_path: Path) -> None:
    secret = json.dumps({"error": {"message": "key sk-SECRET of ada@orchard", "type": "x"}})
    async with world_in(tmp_path, retries=1) as world:
        for step, times, code in (
            (HttpError(status=401, body=secret), 1, "provider_auth"),
            (HttpError(status=429, body=secret), 2, "provider_rate_limit"),
            (HttpError(status=500, body=secret), 2, "provider_unavailable"),
            (HttpError(status=503), 2, "provider_unavailable"),
            (HttpError(status=404), 1, "provider_no_model"),
            (Drop(chunks=None), 2, "provider_unavailable"),
            (Drop(chunks=("Half",)), 2, "provider_unavailable"),
            (Answer(chunks=("Half",), finish=None), 2, "provider_unavailable"),
            (
                HttpError(status=400, body='{"error":{"message":"prompt is too long"}}'),
                1,
                "provider_context_overflow",
            ),
        ):
            world.model.script(*[step] * times)
            outcome = await world.outcome("hi")
            assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, code), step
            assert "SECRET" not in outcome.safe_message
            assert world.model.steps_left == 0, step
        assert (await world.outcome("still there?")).text == "You said: still there?"


async def test_an_empty_answer_is_silence_and_a_cut_one_is_marked(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        world.model.script(
            Answer.of(""),
            Answer.of(" \u200b"),
            Answer(thinking="hm", chunks=()),
            Answer(chunks=("Once upon",), finish="length"),
            Answer.of("half \ud83d", " a pair \ud83d\ude00"),
        )
        assert [(await world.outcome("hi")).kind for _ in range(3)] == [OutcomeKind.SILENT] * 3
        cut = await world.outcome("hi")
        assert (cut.text, cut.cut_short) == ("Once upon", True)
        assert (await world.outcome("hi")).text == "half \ufffd a pair \U0001f600"


async def test_a_hung_model_ends_at_the_deadline_and_the_process_lives_on(tmp_path: Path) -> None:
    """P22: the next message is answered by the same process."""
    async with world_in(tmp_path) as world:
        for step in (Hang(headers=False), Hang(chunks=("Half",))):
            world.model.default = step
            result = await world.turn("hi", replace(LIMITS, turn_seconds=0.3))
            assert result.outcome.error_code == "turn_timeout"
            assert world.client.alive
            assert not world.client.busy
        world.model.default = echo
        assert (await world.outcome("again")).text == "You said: again"


async def test_an_abort_ends_what_hangs_in_mid_stream(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        world.model.script(Hang(chunks=("Half",)))
        exchange = world.client.prompt("hi")
        await world.model.wait_for_requests(1)
        async with asyncio.timeout(120):
            await world.client.abort()
            events = [event async for event in exchange]
        assert events[-1].type == "agent_settled"


@pytest.mark.parametrize("size", [200_000, 2_000_000])
async def test_long_prompts_come_through_whole(tmp_path: Path, size: int) -> None:
    async with world_in(tmp_path) as world:
        world.model.script(Answer.of("Read."))
        text = "ünï\u2028 " * (size // 6)
        assert (await world.outcome(text)).text == "Read."
        assert world.model.requests[0].last_user_text == text


async def test_a_long_answer_in_small_pieces_comes_through_whole(tmp_path: Path) -> None:
    """pi stalls when it is not read; 4 MB of records must not gather anywhere."""
    async with world_in(tmp_path) as world:
        pieces = tuple(f"{n:019d} " for n in range(10_000))
        world.model.script(Answer(chunks=pieces))
        assert (await world.outcome("go")).text == "".join(pieces)


async def test_a_crash_in_a_turn_is_resumed_without_the_unanswered_message(tmp_path: Path) -> None:
    """Issue "Sessions": byte-identical prefix, and the user's message is never repeated.

    Killed in mid-stream; the same message is said again to the new process.
    """
    async with ScriptedModel() as model:
        spec = spec_for(tmp_path, engine_for(model.url))
        async with PiClient(spec, LIMITS) as client:
            await client.start()
            await TurnExchange(client, LIMITS, run_id=RunId("r"), turn_id=TurnId("1")).run("one")
            model.script(Hang(chunks=("Half",)))
            exchange = client.prompt("two")
            await model.wait_for_requests(2)
            client.kill()
            with pytest.raises(PiExited):
                [event async for event in exchange]
        expected = repair_session(spec.session_dir, spec.session_id)
        assert expected == 2
        async with PiClient(spec, LIMITS) as client:
            await client.start(expected_messages=expected)
            result = await TurnExchange(client, LIMITS, run_id=RunId("r"), turn_id=TurnId("2")).run(
                "two"
            )
        assert result.outcome.text == "You said: two"
        second, third = model.requests[1:]
    assert third.raw == second.raw
    assert third.raw.count(b"two") == 1


async def test_a_crash_in_the_first_turn_starts_from_the_same_prefix(tmp_path: Path) -> None:
    async with ScriptedModel() as model:
        spec = spec_for(tmp_path, engine_for(model.url))
        model.script(Hang())
        async with PiClient(spec, LIMITS) as client:
            await client.start()
            client.prompt("one")
            await model.wait_for_requests(1)
            client.kill()
            await client.ended()
        assert repair_session(spec.session_dir, spec.session_id) == 0
        async with PiClient(spec, LIMITS) as client:
            await client.start()
            await TurnExchange(client, LIMITS, run_id=RunId("r"), turn_id=TurnId("1")).run("one")
        first, second = model.requests
    assert second.raw == first.raw


async def test_a_lost_session_is_noticed(tmp_path: Path) -> None:
    """Another working directory, or a file that went away: pi would silently begin anew."""
    async with world_in(tmp_path) as world:
        await world.outcome("one")
        spec = world.spec
    for file in spec.session_dir.iterdir():
        file.unlink()
    async with PiClient(spec, LIMITS) as client:
        with pytest.raises(SessionLost):
            await client.start(expected_messages=2)


async def test_two_conversations_share_the_whole_prefix(tmp_path: Path) -> None:
    """Their directories differ, the bytes before the user's text do not."""
    async with ScriptedModel() as model:
        engine = engine_for(model.url)
        for run in ("run-a", "run-b"):
            async with PiClient(spec_for(tmp_path, engine, run=run), LIMITS) as client:
                await client.start()
                await TurnExchange(client, LIMITS, run_id=RunId(run), turn_id=TurnId("1")).run("x")
        first, second = model.requests
    assert first.raw == second.raw


async def test_files_that_pi_makes_are_the_owners_alone(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        await world.outcome("hi")
        made = [*world.spec.session_dir.iterdir(), world.spec.config_dir / "models.json"]
        assert len(made) == 2
        assert {file.stat().st_mode & 0o077 for file in made} == {0}
        environment = psutil.Process(world.client.process.pid).environ()
        assert "SSH_AUTH_SOCK" not in environment
        assert environment["HOME"] == str(world.spec.workspace)


async def test_a_provider_that_pi_knows_takes_the_named_key(tmp_path: Path) -> None:
    """No address of its own: pi's catalogue has the model, the key comes from our variable."""
    engine = engine_for("", provider="anthropic", model="claude-sonnet-4-5", key_env="MY_KEY")
    spec = spec_for(tmp_path, engine, host={"MY_KEY": "sk-x", "OTHER": "no"})
    async with PiClient(spec, LIMITS) as client:
        state = await client.start()
    assert state.model is not None
    assert (state.model.provider, state.model.id) == ("anthropic", "claude-sonnet-4-5")


async def test_a_provider_without_a_key_is_the_owners_to_mend(tmp_path: Path) -> None:
    """pi names its own files in that refusal; the channel reads a sentence of ours."""
    engine = engine_for("", provider="anthropic", model="claude-sonnet-4-5")
    async with PiClient(spec_for(tmp_path, engine), LIMITS) as client:
        await client.start()
        exchange = TurnExchange(client, LIMITS, run_id=RunId("r"), turn_id=TurnId("t"))
        outcome = (await exchange.run("hi")).outcome
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, "provider_auth")
    assert "/" not in outcome.safe_message


async def test_a_model_name_with_a_colon_is_that_model(tmp_path: Path) -> None:
    """Local servers name models ``family:size``; pi also uses a colon for thinking levels."""
    async with world_in(tmp_path, model="llama3.2:1b") as world:
        assert (await world.outcome("hi")).text == "You said: hi"
        assert world.model.requests[0].body["model"] == "llama3.2:1b"


async def test_a_bad_engine_file_is_a_start_failure_with_pis_reason_for_the_log(
    tmp_path: Path,
) -> None:
    spec = spec_for(tmp_path, engine_for("http://127.0.0.1:9/v1"))
    (spec.config_dir / "models.json").write_text("{")
    async with PiClient(spec, LIMITS) as client:
        with pytest.raises(PiStartFailed) as caught:
            await client.start()
    assert caught.value.facts["reason"] in {"ended at once", "does not know the model"}


@pytest.mark.slow
async def test_real_starts_leave_nothing_behind(tmp_path: Path) -> None:
    """P23: no processes, no zombies, no descriptors."""
    me = psutil.Process()
    async with ScriptedModel() as model:
        spec = spec_for(tmp_path, engine_for(model.url))

        async def cycle() -> None:
            async with PiClient(spec, LIMITS) as client:
                await client.start()

        await cycle()
        before = me.num_fds()
        for _ in range(3):
            await cycle()
        assert me.num_fds() <= before  # what others left may be collected meanwhile
    assert me.children(recursive=True) == []


async def test_a_further_input_goes_into_the_turn_or_is_taken_back(tmp_path: Path) -> None:
    """Steering: pi takes it up before its next model call and extends the request with it; what
    comes too late is named by ``clear_queue``, and is in no later request."""
    gate = asyncio.Event()
    async with world_in(tmp_path) as world:
        with pytest.raises(PiRefused):
            await world.client.steer("too early")
        world.model.script(Answer(chunks=("One.",), before=gate), Answer.of("Two."))
        events = world.client.prompt("first")
        await world.model.wait_for_requests(1)
        await world.client.steer("go \u2028 on")
        gate.set()
        texts = [event.message.text async for event in events if isinstance(event, AssistantEnd)]
        assert texts == ["One.", "Two."]
        one, two = world.model.requests
        assert two.last_user_text == "go \u2028 on"
        assert conversation(two.raw).startswith(conversation(one.raw))
        assert await world.client.clear_queue() == ()
        gate.clear()
        world.model.script(Hang())
        events = world.client.prompt("second")
        await world.model.wait_for_requests(3)
        await world.client.steer("too late")
        world.client.send_abort()
        async for _ in events:
            pass
        assert await world.client.clear_queue() == ("too late",)
        await world.outcome("third")
        assert b"too late" not in world.model.requests[-1].raw
