"""What the model gateway costs, and what the provider's cache keeps.

The figures are bounds from above, as all targets here: the share of the expected prefix that was
*not* served from the cache is at most 5 % (CC acceptance test 17).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from pathlib import Path

import aiohttp

from bot import bootstrap
from bot.bench.figures import Figure, figure, milliseconds
from bot.bench.host import far_end_process, pi_install
from bot.logs import configure_logging
from bot.playground.embedded_model import EmbeddedModel
from compiler.budget import ContextBudgets
from compiler.hashing import sha256_text
from compiler.request import (
    ChannelId,
    ImpName,
    MessageId,
    MessageInput,
    Place,
    Role,
    RunId,
    RunScope,
    TurnId,
    UserId,
)
from config.settings import LogLevel, LogSettings
from sessions.allowance import Spender
from sessions.clock import SystemClock
from sessions.engine import PiEngine, installed_version
from sessions.inbound import InboundMessage
from sessions.limits import EngineSettings, SessionLimits
from sessions.model_gateway import ModelGateway
from sessions.parts import SessionParts
from sessions.registry import Registry
from sessions.review.cache_report import report_cache
from sessions.store.database import open_database
from sessions.trace import TRACE_FILE
from sessions.traces.events import TraceMark, WireEvent
from sessions.traces.reader import read_trace
from sessions.wire.ledger import ExpectedTurn

ADDED_TARGET_MS = 1.0
UNCACHED_TARGET_PERCENT = 5.0
IDENTITY_CHARS = 12_000
CACHE_TURNS = 20
_MARK = TraceMark(seq=0, sha256="0" * 64)
_SPENDER = Spender(imp=ImpName("ember"), user_id=None, channel_id=None)
_IDENTITY = "You are Ember, a small imp at a hearth, warm and brief. " * 12
_LIMITS = SessionLimits(start_seconds=60, turn_seconds=120)


async def gateway_latency(*, rounds: int) -> list[Figure]:
    """Ask the same growing conversation directly and through the gateway, by turns."""
    direct: list[float] = []
    through: list[float] = []
    inputs: set[str] = set()
    clock = SystemClock()
    async with (
        far_end_process() as far_end,
        ModelGateway(environment={}, clock=clock) as gateway,
        aiohttp.ClientSession() as client,
    ):
        base = str(far_end.hello["model"])
        engine = EngineSettings(provider="bench", model="scripted", url=base)
        prompt = "x" * IDENTITY_CHARS
        async with gateway.open(
            engine, run_id=RunId("bench"), system_prompt=prompt, spender=_SPENDER, inputs=inputs
        ) as endpoint:
            if endpoint is None:
                raise RuntimeError("the bench's own model has an address")
            messages = [{"role": "system", "content": prompt}]
            for number in range(rounds):
                text = f"How warm is it? bench-{number:06}"
                inputs.add(sha256_text(text))
                turn = ExpectedTurn(turn_id=TurnId(str(number)), mark=_MARK, text=text)
                endpoint.begin_turn(turn, _SPENDER)
                messages.append({"role": "user", "content": text})
                body = _body(messages)
                direct.append(await _timed(client, base, body, key="none"))
                local = gateway.address_of(endpoint)
                through.append(await _timed(client, local, body, key=endpoint.secret))
                await endpoint.end_turn()
                messages.append({"role": "assistant", "content": "done"})
    added = [one - other for one, other in zip(through, direct, strict=True)]
    return [
        figure("w  model call, direct", direct),
        figure("w  model call, through the gateway", through),
        figure("w  added by the gateway", added, target=ADDED_TARGET_MS),
    ]


def _body(messages: list[dict[str, str]]) -> bytes:
    document = {"model": "scripted", "messages": messages, "stream": True}
    return json.dumps(document, separators=(",", ":")).encode()


async def _timed(client: aiohttp.ClientSession, base: str, body: bytes, *, key: str) -> float:
    began_ns = time.monotonic_ns()
    async with client.post(
        f"{base}/chat/completions", data=body, headers={"Authorization": f"Bearer {key}"}
    ) as answer:
        await answer.read()
    return milliseconds(time.monotonic_ns() - began_ns)


async def cached_share(home: Path, *, turns: int = CACHE_TURNS) -> list[Figure]:
    """Talk to the embedded model, and compare its cached tokens with what was expected."""
    configure_logging(LogSettings(level=LogLevel.ERROR))
    identity = home / "imps" / "ember" / "identity.md"
    await asyncio.to_thread(_write, identity)
    library = await asyncio.to_thread(bootstrap.libgomp_dir)
    clock = SystemClock()
    install = pi_install()
    async with (
        EmbeddedModel(bootstrap.find_model(), library_dir=library) as model,
        open_database(home / "inglenook.db", clock=clock, patience_seconds=10) as database,
        ModelGateway(environment={}, clock=clock) as gateway,
    ):
        settings = EngineSettings(url=model.url, model=model.name, max_tokens=2)
        parts = SessionParts.over(
            home=home,
            database=database,
            engine=PiEngine(
                install,
                version=installed_version(install),
                config_dir=home / "engine",
                limits=_LIMITS,
                environment={},
            ),
            engine_settings=lambda _: settings,
            budgets=lambda _: ContextBudgets(),
            limits=_LIMITS,
            gateway=gateway,
        )
        async with Registry(parts) as registry:
            outcomes = [
                await registry.submit(_message(number)).outcome() for number in range(1, turns + 1)
            ]
    (run_id,) = {outcome.run_id for outcome in outcomes}
    trace = await asyncio.to_thread(read_trace, home / "runs" / str(run_id) / TRACE_FILE)
    usages = [
        each.event.usage
        for each in trace
        if isinstance(each.event, WireEvent) and each.event.usage is not None
    ]
    missing = [
        100 * max(0, former.input_tokens - latter.cached_tokens) / former.input_tokens
        for former, latter in itertools.pairwise(usages)
    ]
    share = report_cache([trace]).sessions[0].figures.hit_share or 0.0
    return [
        figure(
            "w  expected prefix not cached",
            missing,
            unit="%",
            target=UNCACHED_TARGET_PERCENT,
            target_p95=UNCACHED_TARGET_PERCENT,
        ),
        figure(f"w  hit share of {turns} turns, first one included", [100 * share], unit="%"),
    ]


def _write(identity: Path) -> None:
    identity.parent.mkdir(parents=True)
    identity.write_text(_IDENTITY, encoding="utf-8")


def _message(number: int) -> InboundMessage:
    message_id, ada = MessageId(f"discord:{number}"), UserId("discord:7")
    return InboundMessage(
        imp=ImpName("ember"),
        scope=RunScope(
            provider="discord",
            place=Place.DM,
            channel_id=ChannelId("discord:100"),
            user_id=ada,
            message_id=message_id,
            role=Role.OWNER,
        ),
        message=MessageInput(
            provider="discord",
            author_label="Ada",
            role=Role.OWNER,
            text=f"Tell me about ember {number}.",
            message_id=message_id,
            author_id=ada,
        ),
        turn_id=TurnId(f"discord:message:{number}"),
        received_ns=time.monotonic_ns(),
    )
