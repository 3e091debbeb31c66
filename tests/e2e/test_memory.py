"""Memory on the running bot: real discord.py, real pi, a model that calls the tools.

What a prompt holds is read from the raw bodies of the model's requests; a canary counts as leaked
wherever in them it stands.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.memory import texts
from bot.memory.desk import SIGN
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, CY, DEE, DIRECT, EMBER, HEARTH, KINDLING, PIER
from bot.playground.model_wire import ToolCall
from bot.playground.people.invoking import InteractionResult
from bot.playground.scripted_model import Answer, ModelRequest, ScriptedModel
from bot.playground.server import Playground
from sessions.memory.results import NotFound
from support.app_world import READY_SECONDS, AppWorld, running

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
SETTINGS: Mapping[str, Any] = {"allow": {"users": [str(BO), str(CY)]}}
SHARES = {"enabled": True, "shared_context": True}
FORGED = ("*", "%", "../", "m-zzzzzzzz", str(ADA))
NOTE_ID = re.compile(r"m-[a-z0-9]{8}")


@asynccontextmanager
async def bot_on(
    home: Path, pg: Playground, model: ScriptedModel, settings: Mapping[str, Any] = SETTINGS
) -> AsyncIterator[AppWorld]:
    async with running(home, pg, model, settings) as world:
        yield world


@pytest.fixture
async def outside() -> AsyncIterator[tuple[Playground, ScriptedModel]]:
    async with Playground() as pg, ScriptedModel() as model:
        yield pg, model


@pytest.fixture
async def app(tmp_path: Path, outside: tuple[Playground, ScriptedModel]) -> AsyncIterator[AppWorld]:
    async with bot_on(tmp_path / "home", *outside) as world:
        yield world


@contextmanager
def bodies(app: AppWorld) -> Iterator[list[str]]:
    """Collect the raw bodies of all that the model is asked in a block."""
    found: list[str] = []
    begin = len(app.model.requests)
    yield found
    found += [request.raw.decode() for request in app.model.requests[begin:]]


def last_request(app: AppWorld) -> ModelRequest:
    return app.model.requests[-1]


async def told(app: AppWorld, user: int, channel: int, text: str, **arguments: object) -> Message:
    """Say something of which the model makes a note; give the answer."""
    call = ToolCall(name="remember", arguments={"text": text, **arguments})
    app.model.script(Answer.call(call), Answer.of("I made a note."))
    mark = "" if channel in DIRECT.values() else f"{ME} "
    _, answer = await app.ask(user, channel, f"{mark}please remember: {text}")
    return answer


async def use(
    app: AppWorld, user: int, channel: int, command: str, /, **options: object
) -> InteractionResult:
    """Use a ``/memory`` command; its answer is for the person alone."""
    async with asyncio.timeout(READY_SECONDS):
        await app.commands.wait()
    result = await app.pg.slash(
        user, channel, f"memory {command}", options=options, timeout=READY_SECONDS
    )
    assert result.error is None
    assert result.ephemeral
    assert all(message.only_for == user for message in result.messages)
    return result


async def tool_says(app: AppWorld, user: int, channel: int, tool: str, **arguments: object) -> str:
    """Let the model call a tool while it answers somebody; give what the host told it."""
    app.model.script(Answer.call(ToolCall(name=tool, arguments=arguments)), Answer.of("Done."))
    mark = "" if channel in DIRECT.values() else f"{ME} "
    await app.ask(user, channel, f"{mark}go on")
    return next(m.text for m in reversed(last_request(app).messages) if m.role == "tool")


async def note_ids(app: AppWorld, user: int) -> list[str]:
    return NOTE_ID.findall((await use(app, user, DIRECT[user], "list")).text)


def button(message: Message, word: str) -> str:
    (found,) = (
        part["custom_id"]
        for row in message.components
        for part in row["components"]
        if part["custom_id"].startswith(f"memory:{word}:")
    )
    return str(found)


async def back_up(app: AppWorld, copy: Path) -> None:
    """Copy the database of a bot that runs, and has noted all that it posted."""
    await app.noted()
    with (
        closing(sqlite3.connect(app.home / "inglenook.db")) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)


def holding(home: Path, word: bytes) -> list[Path]:
    """The files of a home that hold a word, databases included; traces are the owner's own."""
    files = (each for each in sorted(home.rglob("*")) if each.is_file())
    return [each for each in files if word in each.read_bytes()]


def memory_in(request: ModelRequest) -> str:
    """The memory block of a turn's input; empty where it has none."""
    blocks = [json.loads(line) for line in request.last_user_text.splitlines()]
    return "".join(json.dumps(block) for block in blocks if block["block"] == "memory")


async def test_p01_what_was_told_in_private_is_not_known_in_a_channel(
    tmp_path: Path,
    outside: tuple[Playground, ScriptedModel],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """P01, CC 3, CC 4: no canary in any #hearth prompt, also not for Ada herself, also not after
    a restart; it is there in her DM; the owner is told "audience", without the text.
    """
    home = tmp_path / "home"
    for round_number in range(2):
        async with bot_on(home, *outside) as app:
            if not round_number:
                await told(app, ADA, DIRECT[ADA], "Ada's birthday is CANARY-01")
            for person in (CY, ADA):
                for place in (HEARTH, KINDLING):
                    with bodies(app) as found:
                        await app.ask(person, place, f"{ME} when is Ada's birthday?")
                    assert found
                    assert "CANARY-01" not in "".join(found)
            _, answer = await app.ask(ADA, DIRECT[ADA], "when is my birthday?")
            assert "CANARY-01" in last_request(app).last_user_text
            assert "CANARY-01" in answer.content  # the scripted model repeats its prompt
            preview = await app.pg.slash(
                ADA,
                HEARTH,
                "context preview",
                options={"as": ADA, "in": HEARTH, "message": "when is Ada's birthday?"},
            )
            (note,) = await note_ids(app, ADA)
            assert f"**audience** (private, and others read here): `{note}`" in preview.text
            assert "CANARY" not in preview.text
    pg = outside[0]
    posted = "".join(m.content for place in (HEARTH, KINDLING) for m in pg.messages(place))
    assert "CANARY" not in posted
    assert "CANARY" not in capsys.readouterr().out
    traces = [each.read_text() for each in home.glob("runs/*/context.jsonl")]
    for trace in (each for each in traces if f"discord:{HEARTH}" in each):
        assert "CANARY" not in trace
        assert '"audience"' in trace or f'"discord:{CY}"' in trace


async def test_p02_nobody_has_anything_of_somebody_else(
    app: AppWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """P02: nothing of Bo's for Cy, by tools, commands and forged ids; the same answers for what
    exists and what does not; Ada's inspection is hers alone.
    """
    await told(app, BO, DIRECT[BO], "Bo keeps CANARY-02 in the shed")
    (note,) = await note_ids(app, BO)
    with bodies(app) as found:
        await app.ask(CY, DIRECT[CY], "what do you know about Bo?")
        recalled = await tool_says(app, CY, DIRECT[CY], "recall", query="CANARY-02 shed Bo")
        forgets = {await tool_says(app, CY, DIRECT[CY], "forget", id=i) for i in (note, *FORGED)}
        corrects = {
            await tool_says(app, CY, DIRECT[CY], "correct", id=i, text="mine")
            for i in (note, *FORGED)
        }
    assert "in the shed" not in "".join(found)
    assert recalled == await tool_says(app, CY, DIRECT[CY], "recall", query="nothing at all")
    assert len(forgets) == len(corrects) == 1
    for command in ("show", "forget", "confirm"):
        answers = {
            (await use(app, CY, DIRECT[CY], command, note=each)).text for each in (note, *FORGED)
        }
        assert answers == {NotFound().sentence}
    assert (await use(app, CY, DIRECT[CY], "list")).text.startswith(texts.NOTHING)
    exported = await use(app, CY, DIRECT[CY], "export")
    assert b"CANARY" not in exported.messages[0].attachments[0].data
    assert "CANARY-02" in (await use(app, ADA, HEARTH, "inspect", user=BO)).text
    assert await note_ids(app, BO) == [note]
    assert "CANARY" not in capsys.readouterr().out


async def test_p26_what_is_forgotten_stays_forgotten(
    tmp_path: Path, outside: tuple[Playground, ScriptedModel]
) -> None:
    """P26: by paraphrase, by word, in the warm session from before, after a restart and with an
    old backup; the tombstone keeps who and when, no content.
    """
    home, copy = tmp_path / "home", tmp_path / "backup.db"
    async with bot_on(home, *outside) as app:
        await told(app, BO, DIRECT[BO], "Bo hides the CANARY-26 behind the clock")
        await app.ask(BO, DIRECT[BO], "where is it?")
        assert "CANARY-26" in last_request(app).last_user_text
    shutil.copy(home / "inglenook.db", copy)
    async with bot_on(home, *outside) as app:
        await app.ask(BO, DIRECT[BO], "where is it now?")  # a warm session that holds it
        assert "CANARY-26" in last_request(app).raw.decode()
        (note,) = await note_ids(app, BO)
        await app.noted()  # of a turn that is being recorded, a rest may have to follow later
        result = await use(app, BO, DIRECT[BO], "forget", note=note)
        (proof,) = json.loads(result.messages[0].attachments[0].data)
        assert (proof["status"], proof["errors"]) == ("completed", [])
        assert proof["sessions_ended"] == 1
        assert proof["history_copies"] >= 1
        await _asked_everywhere(app)
        listed = (await use(app, BO, DIRECT[BO], "list", ended=True)).text
        assert f"`{note}` forgotten on 20" in listed
        assert "CANARY" not in listed
    assert {each.name for each in holding(home, b"CANARY-26")} == {"context.jsonl"}
    async with bot_on(home, *outside) as app:
        await _asked_everywhere(app)
    for left in home.glob("inglenook.db*"):
        left.unlink()
    shutil.copy(copy, home / "inglenook.db")
    async with bot_on(home, *outside) as app:
        await _asked_everywhere(app)
        assert "CANARY" not in (await use(app, BO, DIRECT[BO], "list", ended=True)).text
    assert {each.name for each in holding(home, b"CANARY-26")} == {"context.jsonl"}


async def _asked_everywhere(app: AppWorld) -> None:
    with bodies(app) as found:
        await app.ask(BO, DIRECT[BO], "what do you know of the clock?")
        await app.ask(BO, DIRECT[BO], "behind the clock")
        recalled = await tool_says(app, BO, DIRECT[BO], "recall", query="clock hides behind")
    assert "CANARY-26" not in "".join(found)
    assert "CANARY" not in recalled


async def test_p26_only_the_corrected_fact_is_used(app: AppWorld) -> None:
    """P26: "Tuesday" corrected to "Friday"; the chain is visible to its owner."""
    await told(app, BO, DIRECT[BO], "The market is on Tuesday")
    (old,) = await note_ids(app, BO)
    said = await tool_says(app, BO, DIRECT[BO], "correct", id=old, text="The market is on Friday")
    new = next(each for each in NOTE_ID.findall(said) if each != old)
    await app.slash(ADA, HEARTH, "sessions reset", channel=str(DIRECT[BO]))
    await app.ask(BO, DIRECT[BO], "which day?")
    assert "Friday" in memory_in(last_request(app))
    assert "Tuesday" not in memory_in(last_request(app))
    shown = (await use(app, BO, DIRECT[BO], "show", note=new)).text
    assert f"`{old}` The market is on Tuesday · replaced by `{new}`" in shown


async def test_cc14_a_new_note_is_known_in_the_next_turn_of_a_warm_session(app: AppWorld) -> None:
    """CC 14: a warm session sees it on its next turn; no earlier byte changes."""
    await app.ask(BO, DIRECT[BO], "good morning")
    await told(app, BO, DIRECT[BO], "Bo likes CANARY-14 tea")
    before = last_request(app)
    await app.ask(BO, DIRECT[BO], "what do I like?")
    after = last_request(app)
    assert after.system_text == before.system_text
    assert after.body["tools"] == before.body["tools"]
    sent = before.body["messages"]
    assert after.body["messages"][: len(sent)] == sent
    assert "CANARY-14" in memory_in(after)
    assert memory_in(app.model.requests[1]) == ""


async def test_cc6_notes_shrink_one_by_one_and_the_same_way(
    tmp_path: Path, outside: tuple[Playground, ScriptedModel]
) -> None:
    """CC 6: memory shrinks deterministically under pressure; identity and message never do."""
    settings = {**SETTINGS, "context": {"memory_max_chars": 900}}
    async with bot_on(tmp_path / "home", *outside, settings) as app:
        for number in range(6):
            await use(app, BO, DIRECT[BO], "remember", text=f"tea number {number} " + "leaf " * 50)
        options = {"as": BO, "message": "tea"}
        looks = [
            await app.pg.slash(ADA, DIRECT[ADA], "context preview", options=options)
            for _ in range(2)
        ]
    first, second = (
        [file.data for message in look.messages for file in message.attachments] for look in looks
    )
    assert first == second
    system, written = (data.decode() for data in first)
    kept = written.count("tea number")
    assert 0 < kept < 6
    assert looks[0].text.count("tea number") == kept
    assert "memory: **budget**" in looks[0].text
    assert (tmp_path / "home/imps/ember/identity.md").read_text().strip()[:200] in system


async def test_a_dm_of_two_servers_uses_the_memory_of_neither(app: AppWorld) -> None:
    """watchthelight/pawtropolis-tech#164: Bo is in Orchard and Harbour; nothing crosses."""
    await told(app, BO, HEARTH, "The orchard gate code is CANARY-OR", about="channel")
    await told(app, BO, PIER, "The harbour gate code is CANARY-HA", about="channel")
    for channel, mark, seen in (
        (HEARTH, f"{ME} ", {"CANARY-OR"}),
        (PIER, f"{ME} ", {"CANARY-HA"}),
        (DIRECT[BO], "", set[str]()),
    ):
        await app.slash(ADA, HEARTH, "sessions reset", channel=str(channel))
        await app.ask(BO, channel, f"{mark}what is the gate code?")
        assert set(re.findall("CANARY-[A-Z]+", memory_in(last_request(app)))) == seen


async def test_p03_taking_adas_name_forgets_nothing(app: AppWorld) -> None:
    """P03: Dee under the owner's name; authority is by user id."""
    await told(app, ADA, DIRECT[ADA], "Ada keeps the spare key at Cy's")
    (note,) = await note_ids(app, ADA)
    dee = app.pg.world.user(DEE)
    dee.username = dee.global_name = "Ada"
    app.pg.world.guilds[app.pg.world.channel(HEARTH).guild_id or 0].members[DEE].nick = "Ada"
    assert (await use(app, DEE, HEARTH, "forget", note=note)).text == NotFound().sentence
    said = await tool_says(app, DEE, HEARTH, "forget", id=note)
    assert said == await tool_says(app, DEE, HEARTH, "forget", id="m-zzzzzzzz")
    assert await note_ids(app, ADA) == [note]


async def test_a_note_made_in_a_dm_has_a_sign_and_goes_by_one_click(
    tmp_path: Path, outside: tuple[Playground, ScriptedModel]
) -> None:
    """Issue: kept at once as inferred, a small reaction, a one-click Forget that outlives a
    restart.
    """
    home = tmp_path / "home"
    async with bot_on(home, *outside) as app:
        answer = await told(app, BO, DIRECT[BO], "Bo likes CANARY-B tea")
        asked = app.pg.messages(DIRECT[BO])[-2]
        await app.pg.until(lambda: asked.reactions.get(SIGN))
        assert "inferred" in (await use(app, BO, DIRECT[BO], "list")).text
    async with bot_on(home, *outside) as app:
        clicked = await app.pg.click(BO, answer, button(answer, "forget"), timeout=READY_SECONDS)
        assert clicked.text.startswith("Forgotten")
        await app.pg.until(lambda: answer.components == [] or None)
        with bodies(app) as found:
            await app.ask(BO, DIRECT[BO], "what do I like?")
        assert "CANARY-B" not in "".join(found)


async def test_a_note_about_a_person_in_a_channel_waits_for_his_click(app: AppWorld) -> None:
    """Issue: consent "ask" in a channel; others' clicks are refused ephemerally."""
    answer = await told(app, BO, HEARTH, "Bo brings CANARY-C cake")
    question = await app.pg.wait_for_message(
        HEARTH, lambda message: f"<@{BO}>, may I?" in message.content, after=answer
    )
    assert "CANARY" not in question.content
    await app.slash(ADA, HEARTH, "sessions reset")
    await app.ask(CY, HEARTH, f"{ME} who brings what?")
    assert memory_in(last_request(app)) == ""
    refused = await app.pg.click(CY, question, button(question, "keep"))
    assert (refused.text, refused.ephemeral) == (texts.NOT_YOURS, True)
    await app.pg.click(BO, question, button(question, "keep"))
    await app.ask(CY, HEARTH, f"{ME} and who brings cake?")
    assert "CANARY-C" in memory_in(last_request(app))


async def test_what_is_kept_in_a_private_thread_stays_there(app: AppWorld) -> None:
    """Fewer read it than its channel, so neither its channel nor another thread knows of it."""
    inside = await app.pg.create_thread(BO, HEARTH, "a surprise", private=True)
    await app.pg.bring_in(BO, inside, EMBER)
    outside = await app.pg.create_thread(BO, HEARTH, "for everybody")
    await use(app, BO, inside.id, "remember", text="The cake has CANARY-T in it")
    knows: list[bool] = []
    for place in (inside.id, HEARTH, outside.id):
        await app.ask(BO, place, f"{ME} what is in the cake?")
        knows.append("CANARY-T" in memory_in(last_request(app)))
    assert knows == [True, False, False]
    assert "CANARY-T" not in (await use(app, CY, HEARTH, "list")).text
    assert "CANARY-T" not in (await use(app, CY, HEARTH, "search", words="cake")).text


async def test_private_notes_are_shared_only_by_policy_and_consent_together(
    tmp_path: Path, outside: tuple[Playground, ScriptedModel]
) -> None:
    """CC "Memory": the owner's policy and the person's own consent, both for this channel."""
    shared = {**SETTINGS, "channels": {"default": {"enabled": True}, str(HEARTH): SHARES}}
    async with bot_on(tmp_path / "home", *outside, shared) as app:
        await use(app, BO, DIRECT[BO], "remember", text="Bo likes CANARY-S tea")
        seen: list[bool] = []
        for level in ("off", "on", "off"):
            await use(app, BO, HEARTH, "consent", purpose="share", level=level)
            for person, place in ((BO, HEARTH), (CY, HEARTH), (BO, PIER)):
                if any(seen):  # a warm session may hold it by now
                    await app.slash(ADA, HEARTH, "sessions reset", channel=str(place))
                await app.ask(person, place, f"{ME} tea?")
                seen.append("CANARY-S" in memory_in(last_request(app)))
    assert seen == [False, False, False, True, False, False, False, False, False]


async def test_forget_this_on_an_answer_finds_the_notes_of_its_turn(app: AppWorld) -> None:
    """Brief: "Forget this" on the imp's own reply finds the notes that it wrote."""
    answer = await told(app, BO, DIRECT[BO], "Bo likes CANARY-F tea")
    await told(app, BO, DIRECT[BO], "Bo has a blue boat")
    result = await app.pg.context_menu(BO, answer, "Forget this", timeout=READY_SECONDS)
    assert result.text.startswith("Forgotten")
    listed = (await use(app, BO, DIRECT[BO], "list")).text
    assert "CANARY-F" not in listed
    assert "blue boat" in listed


async def test_the_walk_of_a_new_user(
    tmp_path: Path, outside: tuple[Playground, ScriptedModel]
) -> None:
    """Issue "Done when": Ada tells in a DM, asks in a channel, previews as Cy, forgets, restarts,
    restores an old backup.
    """
    home, copy = tmp_path / "home", tmp_path / "backup.db"
    async with bot_on(home, *outside) as app:
        await told(app, ADA, DIRECT[ADA], "Ada's tea is CANARY-W")
        await back_up(app, copy)
        await app.ask(ADA, DIRECT[ADA], "which tea?")
        assert "CANARY-W" in last_request(app).last_user_text
        with bodies(app) as found:
            await app.ask(ADA, HEARTH, f"{ME} which tea is mine?")
        assert "CANARY-W" not in "".join(found)
        options = {"as": CY, "in": HEARTH}
        preview = await app.pg.slash(ADA, HEARTH, "context preview", options=options)
        assert "CANARY-W" not in preview.text
        assert "audience" not in preview.text
        (note,) = await note_ids(app, ADA)
        forgotten = await use(app, ADA, DIRECT[ADA], "forget", note=note)
        assert forgotten.text.startswith(f"Forgotten: `{note}`")
    for restored in (False, True):
        if restored:
            for left in home.glob("inglenook.db*"):
                left.unlink()
            shutil.copy(copy, home / "inglenook.db")
        async with bot_on(home, *outside) as app:
            with bodies(app) as found:
                await app.ask(ADA, DIRECT[ADA], "which tea do I drink?")
            assert "CANARY-W" not in "".join(found)
            assert await note_ids(app, ADA) == []
