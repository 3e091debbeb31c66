"""The gateway as a caller meets it: what it serves, what it refuses, what it leaves alone."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp
import pytest

from bot.playground.scripted_model import Answer, Drop, Hang, HttpError, ScriptedModel
from compiler.request import ImpName, RunId, TurnId
from sessions.allowance import Allowance, Holder, Spender
from sessions.clock import SystemClock
from sessions.limits import EngineSettings, UsageLimits
from sessions.model_gateway import ModelGateway, WireEndpoint
from sessions.pi.errors import PiStartFailed
from sessions.store.database import open_database
from sessions.store.usage import UsageStore
from sessions.traces.events import TraceMark
from sessions.wire.ledger import ExpectedTurn, WireProblem
from sessions.wire.record import CallEnd, wire_event

KEY = "sk-real"
SYSTEM = "You are Ember."
WITHIN_SECONDS = 120.0
MARK = TraceMark(seq=1, sha256="0" * 64)
SPENDER = Spender(imp=ImpName("ember"), user_id=None, channel_id=None)
RUN = RunId("2026-11-29-23-16-35-abcd")


@dataclass(slots=True)
class Wire:
    """A model, a gateway before it, one endpoint, and a client."""

    model: ScriptedModel
    gateway: ModelGateway
    endpoint: WireEndpoint
    client: aiohttp.ClientSession
    alarms: list[tuple[str, ...]]

    @property
    def url(self) -> str:
        return f"{self.gateway.address_of(self.endpoint)}/chat/completions"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.endpoint.secret}"}

    def begin(self, text: str = "Hi.") -> bytes:
        """Expect a turn and give the request that carries it out."""
        self.endpoint.begin_turn(
            ExpectedTurn(turn_id=TurnId("turn:1"), mark=MARK, text=text), SPENDER
        )
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        return json.dumps({"model": "m", "messages": messages, "stream": True}).encode()

    async def ask(self, body: bytes) -> tuple[int, bytes]:
        async with (
            asyncio.timeout(WITHIN_SECONDS),
            self.client.post(self.url, data=body, headers=self.headers) as answer,
        ):
            return answer.status, await answer.read()


@asynccontextmanager
async def wire_to(
    settings: EngineSettings | None = None, *, allowance: Allowance | None = None, **changes: object
) -> AsyncIterator[Wire]:
    """Open everything; a model of one's own only where no address is given."""
    alarms: list[tuple[str, ...]] = []

    def note(*, run_id: str, turn_id: str, problems: tuple[WireProblem, ...]) -> None:
        alarms.append((run_id, turn_id, *problems))

    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ScriptedModel())
        engine = settings or EngineSettings(
            provider="test", model="m", url=model.url, key_env="MODEL_KEY"
        )
        engine = replace(engine, **changes)  # type: ignore[arg-type]  # names are checked by replace
        gateway = await stack.enter_async_context(
            ModelGateway(
                environment={"MODEL_KEY": KEY},
                clock=SystemClock(),
                allowance=allowance,
                on_alarm=note,
            )
        )
        endpoint = await stack.enter_async_context(
            gateway.open(engine, run_id=RUN, system_prompt=SYSTEM, spender=SPENDER)
        )
        assert endpoint is not None
        client = await stack.enter_async_context(aiohttp.ClientSession())
        yield Wire(model, gateway, endpoint, client, alarms)


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with wire_to() as made:
        yield made


async def test_bytes_pass_unchanged_in_both_directions(wire: Wire) -> None:
    """Issue "The wire": it streams through unchanged, and adds the key."""
    wire.model.default = Answer.of("Héllo \u2028", " there.")
    body = wire.begin()
    status, through = await wire.ask(body)
    async with (
        ScriptedModel(default=wire.model.default) as twin,
        wire.client.post(f"{twin.url}/chat/completions", data=body) as direct,
    ):
        assert through == await direct.read()
    (one,) = wire.model.requests
    assert (status, one.raw, one.headers["authorization"]) == (200, body, f"Bearer {KEY}")
    assert "accept-encoding" in one.headers
    (record,) = await wire.endpoint.end_turn()
    assert record.response_bytes == len(through)
    assert wire.alarms == []


async def test_chunks_are_not_held_back(wire: Wire) -> None:
    """The first piece arrives while the rest is not yet written."""
    more = asyncio.Event()
    wire.model.script(Answer(chunks=("One", "Two"), between=more))
    async with (
        asyncio.timeout(WITHIN_SECONDS),
        wire.client.post(wire.url, data=wire.begin(), headers=wire.headers) as answer,
    ):
        seen = b""
        while b"One" not in seen:
            seen += await answer.content.readany()
        assert b"Two" not in seen
        more.set()
        assert b"Two" in await answer.read()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/chat/completions?debug=1", 404),
        ("POST", "/chat/completions/", 404),
        ("POST", "/chat/completions/../models", 404),
        ("POST", "/chat//completions", 404),
        ("POST", "/chat/%63ompletions", 404),
        ("POST", "/models", 404),
        ("GET", "/models", 404),
        ("POST", "", 404),
        ("GET", "/chat/completions", 405),
        ("PUT", "/chat/completions", 405),
        ("DELETE", "/chat/completions", 405),
    ],
)
async def test_nothing_but_the_one_path_is_served(
    wire: Wire, method: str, path: str, status: int
) -> None:
    """Hostile paths and methods never reach the provider."""
    base = wire.gateway.address_of(wire.endpoint)
    async with asyncio.timeout(WITHIN_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", _port(wire.gateway))
        writer.write(
            f"{method} {base.removeprefix(wire.gateway.origin)}{path} HTTP/1.1\r\n"
            f"Host: 127.0.0.1\r\nAuthorization: Bearer {wire.endpoint.secret}\r\n"
            "Content-Length: 2\r\nConnection: close\r\n\r\n{}".encode()
        )
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert wire.model.requests == []
    assert wire.endpoint.take_records() == ()


def _port(gateway: ModelGateway) -> int:
    return int(gateway.origin.rsplit(":", 1)[1])


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer wrong"},
        {"x-api-key": KEY},
        {"Authorization": f"Bearer {KEY}"},
    ],
)
async def test_a_stranger_is_turned_away(wire: Wire, headers: dict[str, str]) -> None:
    """Whoever else runs on this machine gets no model, also not with the real key."""
    async with wire.client.post(wire.url, data=wire.begin(), headers=headers) as answer:
        assert answer.status == 401
        assert KEY not in await answer.text()
    assert wire.model.requests == []


async def test_a_process_that_ended_has_no_way_any_more(wire: Wire) -> None:
    """Its secret is worth nothing afterwards."""
    async with wire.gateway.open(
        wire.endpoint.engine, run_id=RUN, system_prompt=SYSTEM, spender=SPENDER
    ) as other:
        assert other is not None
        assert other.secret != wire.endpoint.secret
    headers = {"Authorization": f"Bearer {other.secret}"}
    async with wire.client.post(wire.url, data=b"{}", headers=headers) as answer:
        assert answer.status == 401


async def test_a_body_that_is_too_large_does_not_leave() -> None:
    """Announced or not; bounded in memory as well."""

    async def unannounced() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 100

    async with wire_to(max_request_bytes=1000) as wire:
        assert (await wire.ask(b"x" * 1001))[0] == 413
        async with wire.client.post(wire.url, data=unannounced(), headers=wire.headers) as answer:
            assert answer.status == 413
        assert wire.model.requests == []


@pytest.mark.parametrize("status", [302, 400, 401, 429, 500, 503, 529])
async def test_a_providers_error_passes_as_it_is(wire: Wire, status: int) -> None:
    """pi's own rules decide what is repeated; a redirection leads nowhere."""
    error = HttpError(
        status=status,
        body='{"error":"x"}',
        headers={"Retry-After": "7", "Location": "http://127.0.0.1:1/", "Set-Cookie": "a=b"},
    )
    wire.model.script(error)
    async with wire.client.post(
        wire.url, data=wire.begin(), headers=wire.headers, allow_redirects=False
    ) as answer:
        assert (answer.status, await answer.text()) == (status, '{"error":"x"}')
        assert answer.headers["Retry-After"] == "7"
        assert "Set-Cookie" not in answer.headers
    (record,) = await wire.endpoint.end_turn()
    assert (record.end, record.status, record.usage) == (CallEnd.COMPLETE, status, None)


async def test_a_refused_key_is_tried_once_a_turn(wire: Wire) -> None:
    """Whatever the provider's words make of it in pi: a repetition does not leave, the next may."""
    words = '{"error": {"message": "Provider returned error: overloaded"}}'
    wire.model.script(HttpError(status=401, body=words))
    assert (await wire.ask(wire.begin()))[0] == 401
    assert (await wire.ask(wire.begin()))[0] == 200, "another turn"
    wire.model.script(HttpError(status=401, body=words))
    body = wire.begin()
    assert (await wire.ask(body))[0] == 401
    assert (await wire.ask(body))[0] == 400
    assert len(wire.model.requests) == 3


async def test_a_turn_has_no_more_calls_than_it_may(wire: Wire) -> None:
    """Issue "ceilings per kind": the next turn counts anew; without a number there is no limit."""
    wire.endpoint.most_calls = 2
    for _ in range(2):
        body = wire.begin()
        assert [(await wire.ask(body))[0] for _ in range(3)] == [200, 200, 400]
        assert wire.endpoint.stopped is not None
        assert wire.endpoint.stopped.code == "too_many_calls"
    wire.endpoint.most_calls = 0
    body = wire.begin()
    assert [(await wire.ask(body))[0] for _ in range(3)] == [200] * 3


async def test_a_broken_stream_is_broken_for_the_caller_too(wire: Wire) -> None:
    """Half an answer must not look like a whole one."""
    wire.model.script(Drop(chunks=("Half",)))
    with pytest.raises(aiohttp.ClientError):
        await wire.ask(wire.begin())
    (record,) = await wire.endpoint.end_turn()
    assert record.end is CallEnd.DROPPED
    assert record.usage is not None
    assert record.usage.is_estimate


async def test_an_unreachable_provider_is_a_gateways_error() -> None:
    """502, which pi repeats; the call is on record with its hash."""
    engine = EngineSettings(provider="t", model="m", url="http://127.0.0.1:9/v1")
    async with wire_to(engine) as wire:
        body = wire.begin()
        status, answer = await wire.ask(body)
        (record,) = await wire.endpoint.end_turn()
    assert (status, record.end, record.status) == (502, CallEnd.UNREACHABLE, 0)
    assert "upstream" in json.loads(answer)["error"]["message"]
    assert record.finding.reading is not None
    assert record.finding.problems == ()


async def test_silence_before_an_answer_is_a_gateways_timeout() -> None:
    async with wire_to(http_idle_seconds=0.1) as wire:
        wire.model.script(Hang(headers=False))
        status, _ = await wire.ask(wire.begin())
        (record,) = await wire.endpoint.end_turn()
    assert (status, record.end) == (504, CallEnd.SILENT)


async def test_a_caller_that_leaves_closes_the_providers_side(wire: Wire) -> None:
    """Nobody pays for an answer that nobody reads."""
    wire.model.script(Hang(chunks=("Half",)))
    async with asyncio.timeout(WITHIN_SECONDS):
        async with wire.client.post(wire.url, data=wire.begin(), headers=wire.headers) as answer:
            await answer.content.readany()
            answer.close()
        (request,) = await wire.model.wait_for_requests(1)
        await request.ended.wait()
    assert not request.completed
    (record,) = await wire.endpoint.end_turn()
    assert (record.end, record.status) == (CallEnd.LEFT, 200)


async def test_a_call_counts_although_its_caller_left_with_the_last_byte(tmp_path: Path) -> None:
    """Issue: usage by day; pi closes a connection as it likes, while the disk is slow."""
    clock, go_on = SystemClock(), threading.Event()
    path = tmp_path / "inglenook.db"
    async with (
        open_database(path, clock=clock, patience_seconds=WITHIN_SECONDS) as database,
        asyncio.TaskGroup() as beside,
    ):
        store = UsageStore(database)
        allowance = Allowance(store, UsageLimits, clock=clock)
        beside.create_task(database.write(lambda _: go_on.wait()))
        try:
            async with wire_to(allowance=allowance) as wire:
                wire.model.default = Answer.of("Hello.")
                ask = wire.client.post(wire.url, data=wire.begin(), headers=wire.headers)
                async with asyncio.timeout(WITHIN_SECONDS), ask as answer:
                    await answer.read()
                await wire.client.close()
                (record,) = await wire.endpoint.end_turn()
                assert record.end is CallEnd.COMPLETE
                assert allowance.standing(Holder.TOTAL, "").tokens > 0
                go_on.set()
        finally:
            go_on.set()
        assert {row.calls for row in await store.of_day(allowance.today.isoformat())} == {1}


async def test_many_callers_at_once_stay_apart(wire: Wire) -> None:
    """Each secret has its own account."""
    async with AsyncExitStack() as stack:
        wires = [wire]
        for _ in range(7):
            opened = await stack.enter_async_context(
                wire.gateway.open(
                    wire.endpoint.engine, run_id=RUN, system_prompt=SYSTEM, spender=SPENDER
                )
            )
            assert opened is not None
            wires.append(replace(wire, endpoint=opened))
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(each.ask(each.begin("Hi."))) for each in wires]
        assert {task.result()[0] for task in asked} == {200}
        for each in wires:
            (record,) = await each.endpoint.end_turn()
            assert record.finding.problems == ()
            assert record.number == 1


async def test_a_large_conversation_is_read_beside_the_loop(wire: Wire) -> None:
    """A megabyte that must be read whole is; the answer does not wait for it."""
    text = "word " * 200_000
    status, _ = await wire.ask(wire.begin(text))
    (record,) = await wire.endpoint.end_turn()
    assert status == 200
    assert record.finding.problems == ()
    assert record.finding.input is not None
    assert record.finding.input.chars == 1_000_000


async def test_a_mismatch_is_told_and_the_answer_given(wire: Wire) -> None:
    """``on_mismatch = "alarm"``."""
    wire.begin("Hi.")
    body = wire.begin("Hi.").replace(b"Hi.", b"Ho.")
    status, _ = await wire.ask(body)
    assert status == 200
    assert wire.alarms == [(RUN, "turn:1", "input-foreign", "input-altered")]


async def test_a_mismatch_stops_all_that_follows() -> None:
    """``on_mismatch = "stop"``: nothing of the session leaves after it, in any turn."""
    async with wire_to(on_mismatch="stop") as wire:
        good = wire.begin()
        assert (await wire.ask(good))[0] == 200
        refused, answer = await wire.ask(good.replace(b"Ember", b"Embla"))
        assert refused == 400
        assert json.loads(answer)["error"]["message"] == "inglenook: wire_mismatch"
        await wire.endpoint.end_turn()
        later = wire.begin()
        assert wire.endpoint.stopped is not None, "a next turn forgives no mismatch"
        assert (await wire.ask(later))[0] == 400
        assert len(wire.model.requests) == 1


async def test_a_key_that_is_not_set_is_named() -> None:
    """The owner reads which variable; nothing starts without it."""
    engine = EngineSettings(provider="t", model="m", url="http://127.0.0.1:9/v1", key_env="OTHER")
    async with ModelGateway(environment={}, clock=SystemClock()) as gateway:
        with pytest.raises(PiStartFailed) as caught:
            async with gateway.open(engine, run_id=RUN, system_prompt="", spender=SPENDER):
                pass
    assert caught.value.facts["reason"] == "the variable OTHER is not set"


async def test_a_provider_that_only_pi_knows_has_no_endpoint() -> None:
    async with ModelGateway(environment={}, clock=SystemClock()) as gateway:
        engine = EngineSettings(provider="google", model="m")
        async with gateway.open(engine, run_id=RUN, system_prompt="", spender=SPENDER) as endpoint:
            assert endpoint is None


async def test_a_socket_file_leads_to_the_same_gateway(wire: Wire, tmp_path: Path) -> None:
    """For a process without a network: owner-only, and gone afterwards."""
    socket = tmp_path / "model.sock"
    async with wire.gateway.listen_on(socket):
        assert socket.stat().st_mode & 0o777 == 0o600
        async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(socket))) as client:
            for headers, status in ((wire.headers, 200), ({}, 401)):
                async with client.post(wire.url, data=wire.begin(), headers=headers) as answer:
                    assert answer.status == status
                    await answer.read()
    assert not socket.exists()


async def test_no_record_holds_a_word(wire: Wire) -> None:
    """Privacy is the product: hashes and sizes only."""
    wire.model.default = Answer.of("An answer.")
    await wire.ask(wire.begin("A secret word."))
    (record,) = await wire.endpoint.end_turn()
    event = wire_event(RUN, record)
    for text in (repr(replace(record, finding=replace(record.finding, turn=None))), repr(event)):
        for word in ("secret", "Ember", "answer.", KEY, wire.endpoint.secret):
            assert word not in text
