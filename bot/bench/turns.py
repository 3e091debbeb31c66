"""Whole turns over real sockets and the real pi: warm, cold, warmed up, and many idle ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from bot.bench.figures import Figure, figure, milliseconds
from bot.bench.host import Asked, Host, pi_install, running
from bot.playground.ids import ADA, DIRECT
from sessions.engine import EXTENSION
from sessions.limits import EngineSettings, SessionLimits
from sessions.pi.client import PiClient
from sessions.pi.engine_files import engine_environment, model_of, write_engine_files
from sessions.pi.process import PiSpec
from sessions.pi.protocol import AgentSettled

OVERHEAD_TARGET_MS, OVERHEAD_P95_MS = 5.0, 12.0
DELIVERY_TARGET_MS = 3.0
COLD_RATIO_TARGET = 1.10
WARM_UPS = 15
"""Turns that are not counted: caches fill, code is compiled."""
WAIT_SECONDS = 120.0
TYPING_SECONDS = 1.0
"""From the start of a session to the message: who types a line takes longer."""


async def warm_turns(home: Path, *, turns: int) -> list[Figure]:
    """Measure (a) event to prompt and (b) settled to answer, in one warm conversation."""
    async with running(home) as host:
        for _ in range(min(WARM_UPS, turns)):
            await host.ask(DIRECT[ADA])
        asked = [await host.ask(DIRECT[ADA]) for _ in range(turns)]
    return [
        figure(
            "a  message event to prompt line, warm",
            [milliseconds(one.prompted_ns - one.sent_ns) for one in asked],
            target=OVERHEAD_TARGET_MS,
            target_p95=OVERHEAD_P95_MS,
        ),
        figure(
            "b  settled event to create-message",
            [milliseconds(one.create_ns - one.settled_ns) for one in asked],
            target=DELIVERY_TARGET_MS,
        ),
    ]


async def cold_starts(home: Path, *, starts: int) -> list[Figure]:
    """Measure (c): first turns of fresh conversations against bare pi, and after typing."""
    bare: list[float] = []
    cold: list[float] = []
    typed: list[float] = []
    warm: list[float] = []
    # Typing warms up only where a place is free.
    settings: dict[str, dict[str, object]] = {"sessions": {"max_warm": 2 * starts + 4}}
    async with running(home, settings) as host:
        channels = (await host.far_end.do("channels", count=2 * starts + 2))["channels"]
        await host.ask(channels.pop())
        await _bare(host, home, 0)
        for number in range(1, starts + 1):
            cold.append(_to_model(await host.ask(channels.pop())))
            bare.append(await _bare(host, home, number))
        for channel in channels[:starts]:
            typed.append(_to_model(await _after_typing(host, channel)))
            warm.append(_to_model(await host.ask(channel)))
    ratios = [one / other for one, other in zip(sorted(cold), sorted(bare), strict=True)]
    return [
        figure("c  cold: message event to model request", cold),
        figure("c  bare pi: spawn to model request", bare),
        figure("c  cold against bare pi", ratios, unit="x", target=COLD_RATIO_TARGET),
        figure("c  first turn after typing", typed),
        figure("c  warm turn in the same channels", warm),
    ]


def _to_model(asked: Asked) -> float:
    return milliseconds(asked.model_ns - asked.sent_ns)


async def _after_typing(host: Host, channel: int) -> Asked:
    host.watch.started.clear()
    await host.far_end.do("type", user=ADA, channel=channel)
    async with asyncio.timeout(WAIT_SECONDS):
        await host.watch.started.wait()
    await asyncio.sleep(TYPING_SECONDS)
    return await host.ask(channel)


async def _bare(host: Host, home: Path, number: int) -> float:
    """Spawn pi by hand with the bot's own flags, prompt it at once, and time its request."""
    engine = EngineSettings(
        provider="bench",
        model="scripted",
        url=host.far_end.hello["model"],
        context_window=4_000_000,
    )
    mark = f"bench-b{number:05}"
    run_dir = home / "bare" / mark
    run_dir.mkdir(parents=True)
    newest = max((home / "runs").iterdir(), key=lambda path: path.stat().st_mtime)
    write_engine_files(home / "bare-engine", engine)
    spec = PiSpec(
        install=pi_install(),
        model=model_of(engine),
        session_id="inglenook-bare",
        session_dir=run_dir / "session",
        workspace=run_dir / "workspace",
        config_dir=home / "bare-engine",
        system_prompt_file=newest / "system.md",
        preamble_file=newest / "preamble.md",
        extensions=(EXTENSION,),
        compile_cache=home / "engine" / "compiled",
        thinking=engine.thinking,
        env=engine_environment(engine, {}),
        record_file=run_dir / "pi.json",
    )
    began_ns = time.monotonic_ns()
    async with PiClient(spec, SessionLimits()) as client:
        async for event in client.prompt(f"How warm is it? {mark}"):
            if isinstance(event, AgentSettled):
                break
    found = await host.far_end.do("calls", mark=mark)
    return milliseconds(found["model_ns"] - began_ns)


async def idle_memory(home: Path, *, conversations: int) -> list[Figure]:
    """Measure (e): what the host itself holds after that many conversations went idle."""
    settings: dict[str, dict[str, object]] = {"sessions": {"max_warm": 4}}
    process = psutil.Process()
    async with running(home, settings) as host:
        channels = (await host.far_end.do("channels", count=conversations))["channels"]
        await host.ask(DIRECT[ADA])
        before = process.memory_info().rss
        await _ask_all(host, channels)
        after = process.memory_info().rss
    return [
        figure("e  host memory, before", [before / 1e6], unit="MB"),
        figure(f"e  host memory, {conversations} idle conversations", [after / 1e6], unit="MB"),
    ]


async def _ask_all(host: Host, channels: Sequence[int]) -> None:
    for channel in channels:
        await host.ask(channel)
