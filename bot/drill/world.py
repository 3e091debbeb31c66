"""The drill itself: people who write without end, and a bot that dies at random moments.

The moments are of three kinds, drawn with the seed: some time after the start, the instant in
which the model is asked, and the instant in which an answer is posted, before the bot can know
of it. What the machine makes of them differs from run to run; the seed names the draw.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import psutil

from bot.drill.account import MARK, Account, is_traced, mark_in
from bot.drill.victim import victim
from bot.playground.entities import Channel, Event
from bot.playground.ids import ADA, BO, CY, EMBER, ORCHARD
from bot.playground.scripted_model import Answer, ModelRequest, ScriptedModel, Step
from bot.playground.server import Playground
from config.homedir import ensure_home

CONNECT_SECONDS: Final = 120.0
FINISH_SECONDS: Final = 400.0
"""How long the last start may take to answer all that is owed."""
MAX_OPEN: Final = 2
"""Messages of one channel that wait at once: more are turned away, which is another promise."""
_HOME = """\
[channels.default]
enabled = true
[warm_up]
dm = false
trusted = false
[sessions]
start_seconds = 120
[talk]
stop_button_seconds = 0
[log]
format = "json"
"""
"""What comes is an answer or the word of an interruption, on a slow machine too."""


class Drill:
    """One drill; ``run`` gives the account."""

    def __init__(
        self,
        folder: Path,
        *,
        kills: int,
        seed: int,
        channels: int = 8,
        tell: Callable[[str], None] = lambda _: None,
        variables: Mapping[str, str] | None = None,
        prepare: Callable[[Path], None] | None = None,
    ) -> None:
        """Plan a drill.

        Args:
            folder: where home and log are kept.
            kills: how often.
            seed: names the draw of moments.
            channels: how many people write in.
            tell: hears how far it is.
            variables: settings of the bot's environment, besides those that lead it here.
            prepare: makes the home, with settings of somebody's own.
        """
        self._home = folder / "home"
        self._log = folder / "bot.log"
        self._kills = kills
        self._channels = channels
        self._tell = tell
        self._variables = dict(variables or {})
        self._prepare = prepare or _plain_home
        self._chance = random.Random(seed)  # noqa: S311  (a drill that can be named, no secret)
        self._account = Account()
        self._marks: dict[int, str] = {}
        """The mark of each message that was written, by its id."""
        self._open: dict[int, set[str]] = {}
        self.enough = asyncio.Event()
        """Set to kill no further and go on to the account."""
        self._asked = asyncio.Event()
        self._posted = asyncio.Event()
        self._changed = asyncio.Event()

    async def run(self) -> Account:
        """Kill as often as was said, then let one bot finish, and count."""
        await asyncio.to_thread(self._prepare, self._home)
        async with (
            Playground() as pg,
            ScriptedModel(default=self._answer) as model,
        ):
            end = pg.subscribe(self._happened)
            places = [pg.world.add_channel(ORCHARD, f"drill-{n}") for n in range(self._channels)]
            variables = {
                **self._variables,
                "DISCORD_TOKEN": pg.token,
                "INGLENOOK_DISCORD__API": pg.api_base,
                "INGLENOOK_DISCORD__OWNERS": str(ADA),
                "INGLENOOK_ENGINE__PROVIDER": "drill",
                "INGLENOOK_ENGINE__MODEL": model.name,
                "INGLENOOK_ENGINE__URL": model.url,
                "INGLENOOK_ENGINE__CONTEXT_WINDOW": "1000000",
            }
            # The first start only makes the home: what was said before it is nobody's debt.
            async with victim(self._home, variables, self._log):
                await self._until_connected(pg)
            async with asyncio.TaskGroup() as tasks:
                people = tasks.create_task(self._people(pg, places), name="people")
                for number in range(self._kills):
                    if self.enough.is_set():
                        break
                    await self._kill_one(pg, variables)
                    self._tell(f"kill {number + 1} of {self._kills}")
                people.cancel()
            async with victim(self._home, variables, self._log):
                await self._until_connected(pg)
                await self._until_answered()
            end()
        self._account.left_over = await asyncio.to_thread(_processes_of, self._home)
        return self._account

    async def _kill_one(self, pg: Playground, variables: dict[str, str]) -> None:
        async with victim(self._home, variables, self._log) as process:
            kind = self._chance.choice(("start", "time", "time", "asked", "posted", "posted"))
            patience = self._chance.uniform(0.2, 2.5)
            if kind != "start":
                await self._until_connected(pg)
            moments = {"asked": self._asked, "posted": self._posted}
            moment = moments.get(kind)
            if moment is not None:
                moment.clear()
                patience = 10.0
            await _wait(moment or asyncio.Event(), patience)
            if process.returncode is None:
                process.kill()
                self._account.kills += 1
            await process.wait()
        await pg.until(lambda: None if pg.connected.is_set() else True)

    async def _people(self, pg: Playground, places: list[Channel]) -> None:
        number = 0
        while True:
            await _wait(asyncio.Event(), self._chance.uniform(0.02, 0.3))
            place = self._chance.choice(places)
            if len(self._open.setdefault(place.id, set())) >= MAX_OPEN:
                continue
            number += 1
            mark = f"{MARK}{number:06d}"
            self._open[place.id].add(mark)
            self._account.sent.append(mark)
            asked = await pg.say(self._chance.choice((BO, CY)), place, f"<@{EMBER}> {mark}")
            self._marks[asked.id] = mark

    async def _answer(self, request: ModelRequest) -> Step:
        """Look for the trace of what was asked, then answer after a random while."""
        mark = mark_in(request.last_user_text)
        self._account.asked[mark] = self._account.asked.get(mark, 0) + 1
        if not await asyncio.to_thread(self._is_traced, mark):
            self._account.untraced.append(mark)
        self._asked.set()
        await _wait(asyncio.Event(), self._chance.uniform(0.0, 0.4))
        return Answer.of(f"done {mark}")

    def _is_traced(self, mark: str) -> bool:
        for path in sorted(self._home.glob("runs/*/context.jsonl"), reverse=True):
            with path.open(encoding="ascii", errors="replace") as lines:
                if is_traced(lines, mark):
                    return True
        return False

    def _happened(self, event: Event) -> None:
        message = event.message
        if event.name != "MESSAGE_CREATE" or message is None or message.author_id != EMBER:
            return
        mark = self._marks.get(message.reply_to or 0) or mark_in(message.content)
        self._account.answers.setdefault(mark, []).append(message.content)
        self._open.get(message.channel_id, set()).discard(mark)
        self._posted.set()
        self._changed.set()

    async def _until_connected(self, pg: Playground) -> None:
        async with asyncio.timeout(CONNECT_SECONDS):
            await pg.connected.wait()

    async def _until_answered(self) -> None:
        try:
            async with asyncio.timeout(FINISH_SECONDS):
                while self._account.open():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return  # the account tells what is lost
        # What comes twice comes soon after: the last start has posted all that it owes by then.
        await _wait(asyncio.Event(), 2.0)


def _processes_of(home: Path) -> int:
    """Count the processes that work in a home: none of its hosts is there any more (P23)."""
    wanted = str(home)
    return sum(
        any(wanted in word for word in process.info["cmdline"] or ())
        for process in psutil.process_iter(["cmdline"])
        if process.pid != os.getpid()
    )


def _plain_home(home: Path) -> None:
    ensure_home(home)
    (home / "org.toml").write_text(_HOME)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, at most so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
