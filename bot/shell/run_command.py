"""``run``: decide what stands around the bot, start it, and say in a few lines what is there.

The bot is the same in every case (``bot.app.serve``). Around it there may be the playground (no
token) and the embedded model (no other chosen); both only change addresses in the settings.

The playground uses the same home as the bot on Discord would: ``runs ls`` shows its runs, and
what was learned about settings, identity and purpose stays. Its ids are none of Discord's, so the
conversations of the two never meet; ``--home`` keeps them apart altogether.
"""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from aiohttp import web

from bot import bootstrap
from bot.app import Wiring, serve
from bot.further_bots import Surroundings, begin
from bot.home.lock import home_lock
from bot.logs import configure_logging
from bot.playground import page
from bot.playground.ids import ADA, HARBOUR, ORCHARD
from bot.playground.server import Playground
from bot.read_ahead import read_ahead
from bot.shell.signals import stop_on_signals
from bot.toy_model import open_model, toy_context
from compiler.errors import SafeError
from config.bots import Bot, find_bots
from config.homedir import ensure_home
from config.load import LiveConfig
from config.problems import ConfigError
from config.settings import LogLevel, LogSettings, Settings
from sessions.pi.process import PiInstall

_NO_OWNERS: Final = (
    "Nobody is its owner yet, so nobody can use its commands: put your user id into [discord] "
    "owners of {home}/org.toml."
)
DEFAULT_PORT: Final = 4300
USAGE_EXIT: Final = 2
GOODBYE: Final = "Stopped. Everything is kept in the home."
_HEADLESS_NEEDS_TOKEN: Final = (
    "--headless needs a Discord token: put DISCORD_TOKEN=... into {home}/.env.\n"  # noqa: S105  (a text)
    "Without --headless, run opens the playground, which needs none."
)


class RunErrorCode(StrEnum):
    """Stable names of the ways in which ``run`` itself fails."""

    PORT_TAKEN = "port_taken"


class PortTaken(SafeError):
    """The page cannot have the port that was asked for."""

    def __init__(self, port: int) -> None:
        super().__init__(
            RunErrorCode.PORT_TAKEN,
            f"Port {port} is taken. Choose another with --port, or leave it to me.",
            facts={"port": port},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What stands around the bot."""

    playground: bool
    embedded_model: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the command line said; ``port`` 0 means that it said nothing."""

    headless: bool = False
    port: int = 0
    browser: bool = True


def plan_run(settings: Settings, *, headless: bool) -> Plan | None:
    """Decide what to start; None when a headless bot has no token."""
    has_token = bool(settings.discord.token.get_secret_value())
    if headless and not has_token:
        return None
    return Plan(playground=not has_token, embedded_model=settings.engine.is_embedded)


def main(home: Path, choices: Choices) -> int:
    """Run until stopped; 0 after an orderly end, 1 when it could not run, 2 for a wrong call."""
    try:
        made = ensure_home(home)
        live = LiveConfig(home, environ=os.environ)
    except ConfigError as error:
        return _complain(str(error))
    bots, problems = find_bots(live.current, live.variables)
    if problems:
        return _complain(str(ConfigError(problems)))
    plan = plan_run(live.current, headless=choices.headless)
    if plan is None:
        return _complain(_HEADLESS_NEEDS_TOKEN.format(home=home), code=USAGE_EXIT)
    if made:
        _say(f"Made a new home for you in {home}")
    try:
        with home_lock(home):
            pass  # asked before anything is started and said; whoever serves holds it
        return asyncio.run(_run(live, plan, choices, bots=bots))
    except (SafeError, bootstrap.NotInstalledError) as error:
        return _complain(str(error))


async def _run(live: LiveConfig, plan: Plan, choices: Choices, *, bots: Sequence[Bot] = ()) -> int:
    files = await asyncio.to_thread(bootstrap.find_pi)
    stop = asyncio.Event()
    wiring = Wiring(say=_complain_line, tell=_say, for_good=True)
    async with AsyncExitStack() as stack:
        stack.enter_context(stop_on_signals(stop))
        around = await _surround(stack, live.current, plan, choices.port, bots)
        if around.overrides:
            live = await asyncio.to_thread(
                LiveConfig, live.home, environ=live.environ, overrides=around.overrides
            )
        _say(introduction(live.current, live.home, plan, around.page))
        install = PiInstall(node=files.node, cli=files.cli)
        async with asyncio.TaskGroup() as group:
            shown = around.page if choices.browser else ""
            beside = [group.create_task(_greet(wiring.ready, live.current, shown), name="greeting")]
            if plan.playground and plan.embedded_model:
                beside.append(group.create_task(read_ahead(live, install), name="read-ahead"))
            around_all = Surroundings(
                live=live,
                install=install,
                stop=stop,
                overrides=around.overrides,
                say=_complain_line,
                tell=_say,
                sums=wiring.sums,
            )
            further = begin(bots, around_all, group)
            code = await serve(live, live.home, install=install, stop=stop, wiring=wiring)
            stop.set()
            for task in beside:
                task.cancel()
            code = max([code, *[await bot for bot in further]])
    if not code:
        _say(GOODBYE)
    return code


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What was started: the settings that lead to it, and the page's address or nothing."""

    overrides: Mapping[str, Mapping[str, object]]
    page: str = ""


async def _surround(
    stack: AsyncExitStack, settings: Settings, plan: Plan, port: int, bots: Sequence[Bot]
) -> _Around:
    overrides: dict[str, Mapping[str, object]] = {}
    address = ""
    if plan.playground:
        overrides["log"] = quieter(settings.log)
    # Before anything starts that logs; serve does it again once all settings are known.
    configure_logging(LogSettings.model_validate(overrides.get("log", settings.log.model_dump())))
    if plan.playground:
        playground = await open_playground(stack, port, page_banner(settings, plan))
        for bot in bots:
            await _seat(playground, bot)
        address = f"{playground.origin}/"
        overrides["discord"] = {
            "api": playground.api_base,
            "token": playground.token,
            "owners": (str(ADA),),
        }
    if plan.embedded_model:
        overrides["engine"] = await open_model(stack, settings.engine)
        overrides["context"] = toy_context(settings.context)
    return _Around(overrides=overrides, page=address)


def page_banner(settings: Settings, plan: Plan) -> str:
    """What the page says of itself: above all, whether what is written leaves this machine."""
    if plan.embedded_model:
        return page.TOY_BANNER
    engine = settings.engine
    return f"{page.LOCAL_BANNER} What you write goes to the model {engine.provider}/{engine.model}."


def quieter(log: LogSettings) -> Mapping[str, object]:
    """The log beside the playground, where it is not all there is to see, unless a level is set."""
    level = log.level if "level" in log.model_fields_set else LogLevel.WARNING
    return {"format": log.format, "level": level}


async def open_playground(stack: AsyncExitStack, port: int, banner: str) -> Playground:
    """Open the playground at the port asked for; at the usual one, or any, if none was.

    Raises:
        PortTaken: the port that was asked for is not to be had.
    """

    def attach(app: web.Application, playground: Playground) -> None:
        page.attach(app, playground, banner=banner)

    if port:
        try:
            return await stack.enter_async_context(Playground(port=port, extend=(attach,)))
        except OSError as error:
            raise PortTaken(port) from error
    try:
        return await stack.enter_async_context(Playground(port=DEFAULT_PORT, extend=(attach,)))
    except OSError:  # another playground has it
        return await stack.enter_async_context(Playground(extend=(attach,)))


async def _seat(playground: Playground, bot: Bot) -> None:
    """Let a further bot into the playground, by its own token, which goes nowhere else."""
    people = [user for user in playground.world.users.values() if not user.bot]
    token = bot.token.get_secret_value()
    made = playground.add_bot(bot.imp.capitalize(), guilds=(ORCHARD, HARBOUR), token=token)
    for person in people:
        await playground.open_dm(person, made.user)


def introduction(settings: Settings, home: Path, plan: Plan, page_address: str) -> str:
    """Say what is there and how to stop it."""
    engine = settings.engine
    model = f"{engine.provider}/{engine.model}"
    if plan.embedded_model:
        model = f"{engine.model}, on this machine; it is tiny, so its answers are toys"
    rows = [("Model", model), ("Home", str(home))]
    title = "Inglenook goes to Discord."
    if plan.playground:
        title = "Inglenook's playground: a local Discord with the real bot in it."
        rows.insert(0, ("Open", page_address))
        rows.insert(1, ("You are", "Ada, the owner; on the page you can also be Bo, Cy or Dee"))
    lines = ["", title, "", *(f"  {name:<8} {value}" for name, value in rows), ""]
    if plan.playground:
        local = " Nothing leaves this machine." if plan.embedded_model else ""
        lines.append(f"To put the bot on Discord: python3 -m bot init.{local}")
    elif not settings.discord.owners:
        lines.append(_NO_OWNERS.format(home=home))
    lines.append("Stop with Ctrl-C.")
    return "\n".join(lines)


async def _greet(ready: asyncio.Event, settings: Settings, page_address: str) -> None:
    """Say when the imp is there, and show the page to whoever sits at this machine."""
    await ready.wait()
    _say(f"{settings.discord.imp.capitalize()} is awake.")
    if page_address and _has_screen():
        await asyncio.to_thread(webbrowser.open, page_address)


def _has_screen() -> bool:
    """Whether a browser would open in a window, and not inside this terminal."""
    if not sys.stdout.isatty():
        return False
    return sys.platform == "darwin" or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _complain_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _complain(line: str, *, code: int = 1) -> int:
    _complain_line(line)
    return code
