"""Two bots with a token each in one process, over real sockets, as ``run`` starts them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from bot.playground.applications.bots import Application
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, EMBER, HEARTH, ORCHARD, WORKSHOP
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from config.homedir import ensure_home, write_private
from support.app_world import ANSWER_SECONDS
from support.free_ports import free_port
from support.playground_bot import unhurried
from support.run_process import SECONDS, ended, line_of, rest_of, run_process

SCRIBE = "You are the scribe."


def org(pg: Playground, model: ScriptedModel, ports: tuple[int, int]) -> str:
    return f"""\
[discord]
api = "{pg.api_base}"
owners = ["{ADA}"]
[discord.bots.scribe]
token_env = "SCRIBE_TOKEN"
imp = "scribe"
metrics_port = {ports[1]}
[engine]
provider = "test"
model = "scripted"
url = "{model.url}"
context_window = 1000000
[inspector]
port = 0
[metrics]
enabled = true
port = {ports[0]}
[warm_up]
dm = false
[box]
mode = "off"
"""


async def answered(pg: Playground, channel: int, text: str) -> Message:
    """Say something as Bo, and give the answer to it."""
    asked = await pg.say(BO, channel, text)
    return await pg.wait_for_message(
        channel, lambda message: message.reply_to == asked.id, after=asked, timeout=ANSWER_SECONDS
    )


async def enabled(pg: Playground, channel: int, bot: Application) -> None:
    """Enable a channel for a bot, once its commands are known."""
    await pg.until(lambda: bot.registry.listed(None) or None, timeout=SECONDS)
    said = await pg.slash(ADA, channel, "channel enable", bot=bot.user, timeout=SECONDS)
    assert said.error is None


async def turns_of(port: int, count: int) -> bool:
    """Read in a bot's figures that it took so many turns, and no more."""
    async with aiohttp.ClientSession() as http, asyncio.timeout(SECONDS):
        while True:  # the last of them may be written down behind its answer
            async with http.get(f"http://127.0.0.1:{port}/metrics") as page:
                lines = (await page.text()).splitlines()
            found = [line for line in lines if line.startswith("inglenook_turns_total{")]
            told = sum(float(line.rpartition(" ")[2]) for line in found)
            if told >= count:
                return told == count


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """One home with two bots, and both of its sides."""

    home: Path
    pg: Playground
    model: ScriptedModel
    scribe: Application
    ports: tuple[int, int]

    def environ(self, scribe_token: str) -> dict[str, str]:
        return {
            "INGLENOOK_HOME": str(self.home),
            "DISCORD_TOKEN": self.pg.token,
            "SCRIBE_TOKEN": scribe_token,
        }


async def both_at_work(house: House) -> None:
    """Run both, each in its own channel."""
    pg, scribe, model = house.pg, house.scribe, house.model
    async with run_process(house.environ(scribe.token), "--headless") as process:
        said = [*await line_of(process, "is awake."), *await line_of(process, "is awake.")]
        assert {"Ember is awake.", "[scribe] Scribe is awake."} <= set(said)
        await enabled(pg, HEARTH, pg.bots.first)
        await enabled(pg, WORKSHOP, scribe)

        async with asyncio.TaskGroup() as group:  # both at once
            one = group.create_task(answered(pg, HEARTH, f"<@{EMBER}> who are you?"))
            other = group.create_task(answered(pg, WORKSHOP, f"<@{scribe.user.id}> who are you?"))
        assert (one.result().author_id, other.result().author_id) == (EMBER, scribe.user.id)
        by_scribe = [SCRIBE in request.system_text for request in model.requests]
        assert sorted(by_scribe) == [False, True]

        # A channel of the other one's is no channel of its own.
        ignored = await pg.say(BO, HEARTH, f"<@{scribe.user.id}> and here?")
        last = await answered(pg, WORKSHOP, f"<@{scribe.user.id}> still there?")
        assert last.author_id == scribe.user.id
        assert not [m for m in pg.messages(HEARTH) if m.reply_to == ignored.id]
        assert len(model.requests) == 3

        # Each has its own runs and figures; nobody counts the other's.
        runs = (house.home / "runs", house.home / "bots" / "scribe" / "runs")
        assert [len(list(folder.iterdir())) for folder in runs] == [1, 1]
        assert await turns_of(house.ports[0], 1)
        assert await turns_of(house.ports[1], 2)
        assert await ended(process) == 0, await rest_of(process.stderr)


async def test_each_answers_in_its_own_channel_and_one_token_for_two_is_refused(
    tmp_path: Path,
) -> None:
    """Issue "Set up": several imps, a token each; one for both is refused before anything runs."""
    ports = (free_port(), free_port())
    ensure_home(tmp_path)
    (tmp_path / "imps" / "scribe").mkdir()
    (tmp_path / "imps" / "scribe" / "identity.md").write_text(SCRIBE)
    async with Playground() as pg, ScriptedModel() as model:
        scribe = pg.add_bot("Scribe", guilds=[ORCHARD])
        write_private(tmp_path / "org.toml", org(pg, model, ports).encode())
        house = House(home=tmp_path, pg=pg, model=model, scribe=scribe, ports=ports)
        with unhurried(pg):
            await both_at_work(house)

        logged_in = len(pg.gateway.identifies)
        refused = run_process(house.environ(pg.token), "--headless")
        async with refused as process, asyncio.timeout(SECONDS):
            assert await process.wait() == 1
            why = await rest_of(process.stderr)
        assert "both would answer the same message" in why
        assert pg.token not in why
        assert len(pg.gateway.identifies) == logged_in
