"""Further cases of the fault log's kinds: what else people, Discord and the network do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, CY, EMBER, HARBOUR, HEARTH, HELPERS, PIER
from bot.playground.scripted_model import Answer, Hang, ScriptedModel
from bot.playground.server import Playground
from bot.playground.world.payloads import guild_create
from support.app_world import AppWorld, running
from support.session_world import eventually

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ME = f"<@{EMBER}>"
KIT = "466378653216014359"


async def answer_to(pg: Playground, asked: Message) -> Message:
    return await pg.wait_for_message(
        asked.channel_id, lambda message: message.reply_to == asked.id, after=asked
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """What outlives a bot."""

    pg: Playground
    model: ScriptedModel
    home: Path

    async def answered(self, asked: Message) -> Message:
        return await answer_to(self.pg, asked)


@pytest_asyncio.fixture(loop_scope="module")
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with Playground() as pg, ScriptedModel() as model:
        yield Stage(pg, model, tmp_path / "home")


async def fence(app: AppWorld) -> None:
    """Wait until all that was said so far has been read."""
    await app.ask(ADA, PIER, f"{ME} fence")


async def test_turns_follow_the_ids_though_the_events_do_not(app: AppWorld) -> None:
    """P05, P25: two messages wait whose events came the other way round."""
    gate = asyncio.Event()
    app.model.script(Answer(chunks=("first",), before=gate))
    first = await app.pg.say(CY, HEARTH, f"{ME} first")
    await app.model.wait_for_requests(1)
    app.pg.faults.swallow("MESSAGE_CREATE", times=2)
    one = await app.pg.say(BO, HEARTH, f"{ME} one")
    two = await app.pg.say(BO, HEARTH, f"{ME} two")
    for late in (two, one):
        app.pg.redeliver(late)
    await fence(app)
    gate.set()
    await answer_to(app.pg, two)
    mine = [m.reply_to for m in app.pg.messages(HEARTH) if m.author_id == EMBER]
    assert mine == [first.id, one.id, two.id]


async def test_a_proxy_s_words_cut_off_nobody_else(app: AppWorld) -> None:
    """Issue "The turn", ``busy = "interrupt"``: a person's next message cuts off his own
    turn; of words in a proxy's mouth it may not be known whose they are."""
    settings = f'[allow]\nproxies = ["{KIT}"]\n[talk]\nbusy = "interrupt"'
    with app.owner_sets(settings):
        gate = asyncio.Event()
        app.model.script(Answer(chunks=("For Bo.",), before=gate))
        asked = await app.pg.say(BO, HEARTH, f"{ME} first")
        await app.model.wait_for_requests(1)
        author = {"id": "77", "username": "Robin", "discriminator": "0000", "avatar": None}
        hook = {"webhook_id": "77", "application_id": KIT, "author": author | {"bot": True}}
        copy = await app.pg.say(CY, HEARTH, f"{ME} something else", extra=hook)
        await fence(app)
        gate.set()
        assert (await answer_to(app.pg, asked)).content == "For Bo."
        assert "something else" in (await answer_to(app.pg, copy)).content


async def test_stop_needs_no_name_where_everything_is_answered(app: AppWorld) -> None:
    """Issue "The turn": in a channel of ``mode = "all"`` nobody calls the imp by its name; the word
    stops one's own turn there, and is a word like others when nothing of one's own runs."""
    with app.owner_sets(f'[channels."{HEARTH}"]\nmode = "all"'):
        app.model.script(Hang(), Answer.of("Stop what?"))
        asked = await app.pg.say(BO, HEARTH, "think")
        await app.model.wait_for_requests(1)
        other = await app.pg.say(CY, HEARTH, "stop")
        stopped = await app.pg.say(BO, HEARTH, "stop")
        assert "stopped" in (await answer_to(app.pg, asked)).content
        assert "Stopped" in (await answer_to(app.pg, stopped)).content
        assert (await answer_to(app.pg, other)).content == "Stop what?"


async def test_who_may_speak_by_a_role_is_not_forgotten_over_a_rate_limit(stage: Stage) -> None:
    """P05's kind: a missed message names a mere user; asking for his roles meets a 429."""
    settings = {"allow": {"roles": [str(HELPERS)]}, "channels": {"default": {"enabled": False}}}
    async with running(stage.home, stage.pg, stage.model, settings) as app:
        await app.ask(CY, HEARTH, f"{ME} zero")
    missed = [await stage.pg.say(CY, HEARTH, f"{ME} {word}") for word in ("one", "two")]
    stage.pg.faults.rate_limit("GET", "/guilds/{guild_id}/members/{user_id}", retry_after=60.0)
    async with running(stage.home, stage.pg, stage.model, settings):
        for message in missed:
            await stage.answered(message)
        mine = [m.reply_to for m in stage.pg.messages(HEARTH) if m.author_id == EMBER]
        assert mine[1:] == [message.id for message in missed]


POLL: dict[str, object] = {
    "question": {"text": "?"},
    "answers": [],
    "expiry": None,
    "layout_type": 9,
}
"""Of a form that the library gives the whole message up for."""


async def test_a_question_beside_something_odd_is_answered(stage: Stage) -> None:
    """P12, P05: live, and by whoever catches up."""
    poll = POLL
    async with running(stage.home, stage.pg, stage.model):
        asked = await stage.pg.say(BO, HEARTH, f"{ME} live", extra={"poll": poll})
        await stage.answered(asked)
        assert "(something here cannot be read: poll)" in stage.model.requests[-1].last_user_text
    missed = await stage.pg.say(BO, HEARTH, f"{ME} missed", extra={"poll": poll})
    async with running(stage.home, stage.pg, stage.model):
        await stage.answered(missed)
        assert "(something here cannot be read: poll)" in stage.model.requests[-1].last_user_text


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_to_something_odd_is_known_to_be_posted(
    stage: Stage, *, stream: bool
) -> None:
    """P12, P06: Discord gives the odd message back with ours, in one attempt and in the clicks."""
    settings = {"talk": {"stream": stream}}
    async with running(stage.home, stage.pg, stage.model, settings) as app:
        with capture_logs() as logs:
            asked = await stage.pg.say(BO, HEARTH, f"{ME} live", extra={"poll": POLL})
            answer = await stage.answered(asked)
            await eventually(lambda: "turn.delivered" in {each["event"] for each in logs})
        assert "delivery.waits" not in {each["event"] for each in logs}
        async with asyncio.timeout(120):
            await app.commands.wait()
        why = await app.pg.context_menu(ADA, answer, "Why this answer?")
        assert "Where   group" in why.text
        noted = await app.pg.context_menu(BO, asked, "Remember this")
        assert "live" in noted.text


async def test_an_answer_that_could_not_be_written_down_is_known_for_one(stage: Stage) -> None:
    """P24, P06: locked for longer than our patience while the ledger is written: the answer stands
    all the same, once, and the next start neither repeats it nor calls it interrupted."""
    async with running(stage.home, stage.pg, stage.model) as app:
        gate = asyncio.Event()
        stage.model.script(Answer(chunks=("The answer.",), before=gate))
        asked = await stage.pg.say(BO, HEARTH, f"{ME} hello")
        await stage.model.wait_for_requests(1)
        with capture_logs() as logs:
            async with app.locked():
                gate.set()
                assert (await stage.answered(asked)).content == "The answer."
                wanted = {"turn.unrecorded", "delivery.unrecorded", "turn.delivered"}
                await eventually(lambda: wanted <= {each["event"] for each in logs})
    stage.pg.talk._nonces.clear()
    for _ in range(2):
        async with running(stage.home, stage.pg, stage.model) as app:
            await app.ask(CY, HEARTH, f"{ME} next")
    assert [m.reply_to for m in stage.pg.messages(HEARTH)].count(asked.id) == 1
    assert "The answer." in stage.model.requests[1].last_user_text, "it is history"


async def test_what_could_not_be_written_down_is_read_again(stage: Stage) -> None:
    """P24, P05: a cursor moves only behind what is kept. What was overheard is history after all;
    who was told that he gets no answer is known to have asked, and gets none."""
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.ask(CY, HEARTH, f"{ME} zero")
        async with app.locked():
            await stage.pg.say(BO, HEARTH, "the kettle is blue")
            asked = await stage.pg.say(BO, HEARTH, f"{ME} which colour?")
            assert "cannot be reached" in (await stage.answered(asked)).content
        await app.ask(CY, HEARTH, f"{ME} next")
        await app.slash(ADA, HEARTH, "sessions reset")
        await app.ask(CY, HEARTH, f"{ME} later")
        history = stage.model.requests[-1].last_user_text
        assert history.index("the kettle is blue") < history.index("which colour?")
        assert [m.reply_to for m in stage.pg.messages(HEARTH)].count(asked.id) == 1


async def test_a_server_that_comes_late_is_caught_up_too(stage: Stage) -> None:
    """P05: it is not there at READY, during an outage of Discord's, and nobody speaks there."""
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.ask(BO, PIER, f"{ME} zero")
    missed = await stage.pg.say(BO, PIER, f"{ME} missed")
    harbour = stage.pg.world.guilds.pop(HARBOUR)
    async with running(stage.home, stage.pg, stage.model) as app:
        await app.ask(ADA, HEARTH, f"{ME} hello")
        stage.pg.world.guilds[HARBOUR] = harbour
        stage.pg.inject("GUILD_CREATE", guild_create(stage.pg.world, harbour))
        await stage.answered(missed)


async def test_a_rule_set_while_the_bot_stops_is_a_rule(stage: Stage) -> None:
    """Issue "House rules", P06: said while the last turn runs out; it holds from then on, and the
    next start answers it as what it was."""
    async with running(stage.home, stage.pg, stage.model) as app:
        gate = asyncio.Event()
        stage.model.script(Answer(chunks=("The last.",), before=gate))
        asked = await stage.pg.say(CY, HEARTH, f"{ME} hello")
        await stage.model.wait_for_requests(1)
        with capture_logs() as logs:
            app.stop.set()
            await eventually(lambda: "app.stopping" in {each["event"] for each in logs})
            rule = await stage.pg.say(ADA, HEARTH, f"{ME} prohibit docker")
            await eventually(lambda: "rules.ruled" in {each["event"] for each in logs})
        gate.set()
        assert (await stage.answered(asked)).content == "The last."
    async with running(stage.home, stage.pg, stage.model) as app:
        await stage.answered(rule)
        assert '"docker":"prohibit"' in stage.model.requests[-1].last_user_text
        assert "docker" in (await app.slash(ADA, HEARTH, "state show")).text
    assert [m.reply_to for m in stage.pg.messages(HEARTH)].count(rule.id) == 1
