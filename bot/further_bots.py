"""Bots with a token of their own, beside the one of ``DISCORD_TOKEN``, in the same process.

Each is a whole bot (``bot.app.serve``) with a folder in the home. One that cannot run says so and
leaves the others alone; all of them end together with the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from bot.app import Wiring, serve
from compiler.errors import SafeError
from config.bots import Bot, make_place
from config.load import LiveConfig
from sessions.day_sums import DaySums
from sessions.pi.process import PiInstall


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all bots of a process share. ``overrides`` lead to what was started around them."""

    live: LiveConfig
    install: PiInstall
    stop: asyncio.Event
    overrides: Mapping[str, Mapping[str, object]]
    say: Callable[[str], None]
    tell: Callable[[str], None]
    sums: DaySums
    """What all of them spend; the limits are the installation's."""


def begin(
    bots: Sequence[Bot], around: Surroundings, group: asyncio.TaskGroup
) -> tuple[asyncio.Task[int], ...]:
    """Start them; each task gives its bot's exit code once ``around.stop`` is set or it failed."""
    return tuple(group.create_task(run_bot(bot, around), name=f"bot {bot.name}") for bot in bots)


async def run_bot(bot: Bot, around: Surroundings, *, wiring: Wiring | None = None) -> int:
    """Run one bot to its end."""
    structlog.contextvars.bind_contextvars(bot=bot.name)
    shared = around.live.shared

    def open_place() -> LiveConfig:
        return LiveConfig(
            make_place(shared, bot),
            environ=around.live.environ,
            overrides=_merged(around.overrides, bot.overrides(around.live.current)),
            shared=shared,
        )

    try:
        live = await asyncio.to_thread(open_place)
    except (SafeError, OSError) as error:
        why = str(error) if isinstance(error, SafeError) else (error.strerror or "error").lower()
        around.say(f"[{bot.name}] It cannot use its folder: {why}")
        return 1
    chosen = wiring or Wiring(
        set_up_logging=False,
        say=lambda line: around.say(f"[{bot.name}] {line}"),
        tell=lambda line: around.tell(f"[{bot.name}] {line}"),
        sums=around.sums,
    )
    async with asyncio.TaskGroup() as group:
        greeting = group.create_task(_greet(chosen, bot), name=f"greeting of {bot.name}")
        code = await serve(live, live.home, install=around.install, stop=around.stop, wiring=chosen)
        greeting.cancel()
    return code


def _merged(
    shared: Mapping[str, Mapping[str, object]], own: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, object]]:
    """Lay a bot's own settings over those of all, key by key."""
    sections = {**shared, **own}
    return {name: {**shared.get(name, {}), **own.get(name, {})} for name in sections}


async def _greet(wiring: Wiring, bot: Bot) -> None:
    await wiring.ready.wait()
    wiring.tell(f"{bot.imp.capitalize()} is awake.")
