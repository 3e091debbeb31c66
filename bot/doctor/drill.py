"""``doctor --drill``: this project's own faults, on the owner's settings, against the playground.

The bot runs as it is set up, in a home of its own that is thrown away: the owner's ``org.toml`` and
imps, but a local Discord and a scripted model, so that nothing is asked, paid or posted outside.
What could keep a scenario from beginning is set aside: the first channel is enabled, answers are
posted there and not held, and a fault that passes is tried again after a moment and not a second.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from bot.app import Wiring, serve
from bot.doctor.results import Check, fail, ok
from bot.drill.world import Drill
from bot.errors import SOMETHING_BROKE
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH
from bot.playground.pointing import pointed_at
from bot.playground.scripted_model import Answer, Drop, Hang, HttpError, ModelRequest, ScriptedModel
from bot.playground.server import Playground
from compiler.errors import SafeError
from config.homedir import ensure_home, write_private
from config.layers import HOME_VARIABLE, ORG_FILE, PREFIX
from config.load import LiveConfig
from sessions.engine import PID_FILE
from sessions.pi.family import end_family, read_record
from sessions.pi.process import PiInstall

READY_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 60.0
KILLS: Final = 3
_ECHO_CHARS: Final = 600
_ADVICE: Final = (
    "Try it again when the machine is quiet. If it stays so, look at what you set in org.toml "
    "against its default, and report it with the line above."
)


class Broken(Exception):
    """A scenario did not end as it must; the text says how."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """The running bot and both of its sides."""

    home: Path
    pg: Playground
    model: ScriptedModel
    live: LiveConfig

    async def ask(self, text: str) -> Message:
        """Say something to the imp and wait for its answer."""
        return await self.answer_to(await self.say(text))

    async def say(self, text: str) -> Message:
        """Say something to the imp."""
        return await self.pg.say(BO, HEARTH, f"<@{EMBER}> {text}")

    async def answer_to(self, asked: Message) -> Message:
        """Wait for the answer to a message."""
        return await self.pg.wait_for_message(
            HEARTH,
            lambda message: message.reply_to == asked.id,
            after=asked,
            timeout=ANSWER_SECONDS,
        )

    def answers_to(self, asked: Message) -> int:
        """Count the answers to a message."""
        return sum(message.reply_to == asked.id for message in self.pg.messages(HEARTH))


Scenario = Callable[[Stage], Awaitable[None]]


def _must(holds: object, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)


async def _answers(stage: Stage) -> None:
    answer = await stage.ask("plain")
    _must("plain" in answer.content, "the answer was another")


async def _refuses(stage: Stage) -> None:
    stage.model.script(HttpError(status=400))
    told = await stage.ask("refused")
    _must("(run `" in told.content, "the person was not told the run")
    _must("refused and then" in (await stage.ask("refused and then")).content, "nothing after it")


async def _overloaded(stage: Stage) -> None:
    if stage.live.current.engine.retries:
        stage.model.script(HttpError(status=503))
    _must("busy" in (await stage.ask("busy")).content, "it was not tried again")


async def _cut_off(stage: Stage) -> None:
    stage.model.script(*[Drop()] * (1 + stage.live.current.engine.retries))
    told = await stage.ask("cut")
    _must(bool(told.content) and SOMETHING_BROKE not in told.content, "the fault was not known")


async def _engine_dies(stage: Stage) -> None:
    before = len(stage.model.requests)
    stage.model.script(Hang())
    asked = await stage.say("die")
    await stage.model.wait_for_requests(before + 1, within=ANSWER_SECONDS)
    await asyncio.to_thread(_end_engines, stage.home)
    _must("run `" in (await stage.answer_to(asked)).content, "the person was not told the run")
    _must("alive" in (await stage.ask("alive")).content, "no new process came")


def _end_engines(home: Path) -> None:
    for file in home.glob(f"runs/*/{PID_FILE}"):
        record = read_record(file)
        if record is not None:
            end_family(record, 0.0)


async def _posted_twice(stage: Stage) -> None:
    stage.pg.faults.fail(status=500, after=True)
    asked = await stage.say("once")
    await stage.answer_to(asked)
    await stage.ask("fence")
    _must(stage.answers_to(asked) == 1, "an answer stood there twice")


async def _rate_limited(stage: Stage) -> None:
    stage.pg.faults.rate_limit(retry_after=0.2)
    _must("slow" in (await stage.ask("slow")).content, "the answer was another")


async def _said_again(stage: Stage) -> None:
    asked = await stage.say("again")
    await stage.answer_to(asked)
    stage.pg.redeliver(asked)
    await stage.ask("fence")
    _must(stage.answers_to(asked) == 1, "a message was answered twice")


async def _closed_channel(stage: Stage) -> None:
    stage.pg.faults.fail(status=403, code=50013)
    asked = await stage.say("closed")
    owner = await stage.pg.wait_for_message(DIRECT[ADA], after=asked, timeout=ANSWER_SECONDS)
    _must("closed" not in owner.content, "the answer went somewhere else")
    _must(stage.answers_to(asked) == 0, "the answer was posted")


async def _connection_lost(stage: Stage) -> None:
    stage.pg.gateway.drop()
    _must("back" in (await stage.ask("back")).content, "the answer was another")


async def _broken_edit(stage: Stage) -> None:
    path = stage.home / ORG_FILE
    text = path.read_bytes()
    write_private(path, b"[discord\n")
    reload = await asyncio.to_thread(stage.live.reload)
    _must(not reload.applied and bool(reload.problems), "a broken edit was taken")
    _must("still" in (await stage.ask("still")).content, "the last good settings did not stay")
    write_private(path, text)
    await asyncio.to_thread(stage.live.reload)


SCENARIOS: Final[Mapping[str, tuple[str, Scenario]]] = {
    "Answer": ("a mention is answered", _answers),
    "Model refuses": ("told with the run; the next is answered", _refuses),
    "Model overloaded": ("asked again, and answered", _overloaded),
    "Model cuts off": ("told in one plain sentence", _cut_off),
    "pi dies": ("told at once; the next gets a new process", _engine_dies),
    "Post unconfirmed": ("stands there once", _posted_twice),
    "Rate limit": ("waited out", _rate_limited),
    "Event repeated": ("answered once", _said_again),
    "Channel closed": ("you are told; the answer goes nowhere else", _closed_channel),
    "Connection lost": ("what is said then is answered", _connection_lost),
    "Broken settings": ("refused; the last good ones stay", _broken_edit),
}
"""What is tried, by name: what must hold, and how it is brought about."""


async def drill(
    live: LiveConfig,
    install: PiInstall,
    *,
    kills: int = KILLS,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Check, ...]:
    """Play all scenarios; ``tell`` hears the name of each before it begins."""
    checks: list[Check] = []
    with tempfile.TemporaryDirectory(prefix="inglenook-drill-") as folder:
        home = Path(folder) / "home"
        await asyncio.to_thread(copy_home, live.home, home)
        try:
            async with _stage(home, live, install) as stage:
                for name, (promise, scenario) in SCENARIOS.items():
                    tell(name)
                    checks.append(await _play(name, promise, scenario, stage))
        except (SafeError, TimeoutError, OSError) as error:
            why = error.safe_message if isinstance(error, SafeError) else "it did not come up"
            checks.append(fail("Drill", f"could not go on: {why}", _ADVICE))
        if kills:
            tell("Killed")
            checks.append(await _killed(Path(folder), live, kills))
    return tuple(checks)


async def _play(name: str, promise: str, scenario: Scenario, stage: Stage) -> Check:
    began = time.monotonic()
    try:
        await scenario(stage)
    except Broken as broken:
        return fail(name, f"{broken} (must be: {promise})", _ADVICE)
    except (TimeoutError, AssertionError):
        return fail(name, f"nothing came in time (must be: {promise})", _ADVICE)
    finally:
        stage.pg.faults.clear()
    return ok(name, f"{promise} ({time.monotonic() - began:.1f} s)")


async def _killed(folder: Path, live: LiveConfig, kills: int) -> Check:
    """Kill the bot at random moments, as ``python3 -m bot drill`` does."""
    promise = f"killed {kills} times under load: nothing lost, doubled or untraced"
    killing = Drill(
        folder / "killed",
        kills=kills,
        seed=1,
        channels=4,
        variables={
            **_variables(live),
            f"{PREFIX}CHANNELS__DEFAULT__ENABLED": "true",
            f"{PREFIX}CHANNELS__DEFAULT__REPLIES": "post",
            f"{PREFIX}CHANNELS__DEFAULT__THREADS": "off",
        },
        prepare=lambda home: copy_home(live.home, home, overlays=False),
    )
    try:
        account = await killing.run()
    except (TimeoutError, OSError):
        return fail("Killed", f"it did not come up again (must be: {promise})", _ADVICE)
    if account.holds:
        return ok("Killed", f"{promise} ({account.figures()['messages']} messages)")
    return fail("Killed", f"{dict(account.figures())} (must be: {promise})", _ADVICE)


def copy_home(source: Path, target: Path, *, overlays: bool = True) -> None:
    """Make a home with the owner's settings and imps, without secrets and without history."""
    ensure_home(target)
    if (source / ORG_FILE).is_file():
        shutil.copyfile(source / ORG_FILE, target / ORG_FILE)
    if (source / "imps").is_dir():
        left = shutil.ignore_patterns() if overlays else shutil.ignore_patterns("imp.toml")
        shutil.copytree(source / "imps", target / "imps", dirs_exist_ok=True, ignore=left)


def _variables(live: LiveConfig) -> dict[str, str]:
    """The owner's settings that stand in variables; no secret is one of them."""
    return {
        name: value
        for name, value in live.variables.items()
        if name.startswith(PREFIX) and name != HOME_VARIABLE
    }


def overrides(live: LiveConfig, pg: Playground, model: ScriptedModel) -> dict[str, object]:
    """What leads the owner's bot to the local Discord and the scripted model."""
    engine = asdict(
        replace(
            live.current.engine,
            provider="drill",
            model=model.name,
            url=model.url,
            api="openai-completions",
            key_env="",
            unobserved=False,
            images=False,
            tokenizer="estimate",
            context_window=1_000_000,
            retry_base_seconds=0.01,
        )
    )
    return {
        "discord": {"api": pg.api_base, "token": pg.token, "owners": [str(ADA)]},
        "engine": engine,
        "imps": {imp: {"engine": engine} for imp in live.current.imps},
        "channels": {"default": {"enabled": True, "replies": "post", "threads": "off"}},
        "talk": {"stream": False, "stop_button_seconds": 0},  # whole answers alone
        "inspector": {"enabled": False},
        "metrics": {"enabled": False},
    }


def _end_of(request: ModelRequest) -> Answer:
    """Answer with the end of the input, where the message stands."""
    return Answer.of(request.last_user_text[-_ECHO_CHARS:])


@asynccontextmanager
async def _stage(home: Path, live: LiveConfig, install: PiInstall) -> AsyncIterator[Stage]:
    async with Playground() as pg, ScriptedModel(default=_end_of) as model:
        led = await asyncio.to_thread(
            LiveConfig, home, environ=_variables(live), overrides=overrides(live, pg, model)
        )
        stop, said = asyncio.Event(), list[str]()
        wiring = Wiring(say=said.append, set_up_logging=False)
        with pointed_at(pg):
            async with asyncio.TaskGroup() as tasks:
                served = tasks.create_task(
                    serve(led, home, install=install, stop=stop, wiring=wiring)
                )
                try:
                    async with asyncio.timeout(READY_SECONDS):
                        await _either(wiring.ready, served)
                    if served.done():
                        raise OSError("; ".join(said))
                    yield Stage(home=home, pg=pg, model=model, live=led)
                finally:
                    stop.set()


async def _either(ready: asyncio.Event, served: asyncio.Task[int]) -> None:
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(ready.wait())
        await asyncio.wait({waiting, served}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
