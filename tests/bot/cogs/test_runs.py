"""``/runs`` and "Why this answer?", through real discord.py against the playground."""

from __future__ import annotations

import asyncio
import hashlib
import io
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.client import InglenookBot
from bot.cogs.runs import Runs, choice_label
from bot.permissions import OWNERS_ONLY
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, CY, DIRECT, HEARTH
from bot.playground.messages.drafts import Draft
from bot.playground.pointing import pointed_at
from bot.playground.server import Playground
from bot.runs.book import RunBook, open_book
from compiler.request import ChannelId, MessageId, RunId, TurnId, UserId
from config.load import LiveConfig
from support.compiler_factories import dm_scope, group_scope
from support.playground_bot import PATIENCE_SECONDS, unhurried
from support.recorded_runs import CANARY, RUN, Said, change_line, record_run, store_of
from support.run_rows import remember_reply, run_row

MANY = RunId("2026-11-30-08-00-00-efgh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Ada, at her keyboard."""

    pg: Playground
    home: Path

    async def runs(self, command: str, **options: object) -> list[Message]:
        """Use a command; its answer must be deferred and for Ada alone."""
        result = await self.pg.slash(ADA, HEARTH, f"runs {command}", options=options)
        assert result.error is None
        assert result.deferred
        assert result.ephemeral
        assert all(message.only_for == ADA for message in result.messages)
        return list(result.messages)


@asynccontextmanager
async def _bot(home: Path, pg: Playground, book: RunBook) -> AsyncIterator[InglenookBot]:
    overrides = {"discord": {"owners": [str(ADA)], "api": pg.api_base}}
    live = LiveConfig(home, environ={}, overrides=overrides)

    async def set_up(bot: InglenookBot) -> None:
        await bot.add_cog(Runs(bot, book=book))
        await bot.tree.sync()

    with pointed_at(pg), unhurried(pg):
        bot = InglenookBot(live, setup=set_up)
        bot._connection.guild_ready_timeout = 0.05  # the playground's servers come at once
        async with bot, asyncio.TaskGroup() as tasks:
            tasks.create_task(bot.start(pg.token))
            async with asyncio.timeout(PATIENCE_SECONDS):
                await bot.connected.wait()
            try:
                yield bot
            finally:
                await bot.close()


@pytest.fixture
async def owner(tmp_path: Path) -> AsyncIterator[Owner]:
    scope = dm_scope(channel=f"discord:{DIRECT[ADA]}")
    await record_run(tmp_path, scope=scope)
    many = [Said(text=f"t{number}", number=number) for number in range(1, 13)]
    await record_run(tmp_path, many, run_id=MANY, scope=scope)
    async with Playground() as pg, open_book(tmp_path) as book, _bot(tmp_path, pg, book):
        yield Owner(pg=pg, home=tmp_path)


async def test_list(owner: Owner) -> None:
    [message] = await owner.runs("list")
    assert message.content.startswith("```\nRUN ")
    assert f"{RUN} direct message" in message.content


async def test_a_direct_message_has_the_name_of_its_person(owner: Owner) -> None:
    """Issue 8 "See": people know conversations by names, once somebody has written there."""
    run_id = RunId("2026-12-01-08-00-00-mnop")
    await record_run(owner.home, run_id=run_id, scope=dm_scope(channel=f"discord:{DIRECT[BO]}"))
    await owner.pg.say(BO, DIRECT[BO], "hello")  # it reaches the bot before the commands do
    [message] = await owner.runs("list")
    assert f"{run_id} DM with Bo" in message.content
    [message] = await owner.runs("show", run=run_id)
    told = message.content + "".join(
        file.data.decode("utf-8", "replace") for file in message.attachments
    )
    assert f"dm {DIRECT[BO]}, DM with Bo" in told


async def test_list_leaves_out_what_was_warmed_up_in_vain(owner: Owner) -> None:
    """A run without a turn crowds no list, and is there when all are asked for."""
    idle = RunId("2026-12-01-08-00-00-ijkl")
    await record_run(owner.home, (), run_id=idle)
    [message] = await owner.runs("list")
    assert idle not in message.content
    [message] = await owner.runs("list", all=True)
    assert idle in message.content


async def test_show_has_no_content_and_comes_as_a_file_when_long(owner: Owner) -> None:
    """CC: never private content by default; a message holds 2000 characters."""
    [message] = await owner.runs("show", run=RUN)
    assert len(message.content) <= 2000
    [picture, file] = message.attachments
    told = file.data.decode()
    assert picture.data.startswith(b"\x89PNG")
    assert (picture.description or "").startswith(f"Turn 2 of run {RUN}.")
    assert "TURN 2 " in told
    assert "runtime-policy" in told
    assert CANARY not in told + message.content
    assert f"Run     {RUN}" in message.content


async def test_show_of_a_small_run_is_a_message(owner: Owner) -> None:
    scope = group_scope(channel=f"discord:{HEARTH}")
    await record_run(owner.home, (), run_id=RunId("2026-12-01-08-00-00-ijkl"), scope=scope)
    [message] = await owner.runs("show", run="ijkl")
    assert f"Where   group {HEARTH}, #hearth" in message.content
    [picture] = message.attachments
    assert picture.filename.endswith(".png")
    assert "SYSTEM PROMPT" in message.content


async def test_context_gives_exact_files(owner: Owner) -> None:
    """CC acceptance 16: exact system and input, byte for byte."""
    [message] = await owner.runs("context", run=RUN, turn=1)
    assert [file.filename for file in message.attachments] == ["system.md", "input-turn-1.txt"]
    for file in message.attachments:
        assert hashlib.sha256(file.data).hexdigest()[:16] in message.content
    assert f"{CANARY} one" in message.attachments[1].data.decode()
    assert CANARY not in message.content


async def test_context_all_of_a_long_run_is_an_archive(owner: Owner) -> None:
    [message] = await owner.runs("context", run=MANY, all=True)
    [file] = message.attachments
    assert file.filename == f"{MANY}.zip"
    with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
        assert len(archive.namelist()) == 13


async def test_context_all_of_a_short_run_is_files(owner: Owner) -> None:
    [message] = await owner.runs("context", run=RUN, all=True)
    assert len(message.attachments) == 3


async def test_a_forged_trace_gives_nothing(owner: Owner) -> None:
    change_line(owner.home, RUN, 2, CANARY, "FORGED-TEXT")
    [message] = await owner.runs("context", run=RUN)
    assert message.attachments == []
    assert "cannot be relied upon" in message.content


async def test_a_cut_off_trace_gives_nothing(owner: Owner) -> None:
    path = owner.home / "runs" / RUN / "context.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    [message] = await owner.runs("context", run=RUN)
    assert message.attachments == []
    assert "does not verify" in message.content


async def test_diff(owner: Owner) -> None:
    [message] = await owner.runs("diff", run=RUN, turn=2)
    assert "System prompt: the same" in message.content
    assert CANARY not in message.content


async def test_a_turn_that_there_is_not_is_one_friendly_line(owner: Owner) -> None:
    """What was typed wrong is theirs to put right: no incident, and not the whole run."""
    for command in ("show", "diff", "context", "receipt"):
        [message] = await owner.runs(command, run=RUN, turn=9)
        assert message.content == "There is no turn 9; this run has 2."


async def test_an_unknown_run_is_one_friendly_line(owner: Owner) -> None:
    [message] = await owner.runs("show", run="nope")
    assert message.content.startswith("There is no such run.")


async def test_without_a_run_the_latest_of_this_conversation_is_meant(owner: Owner) -> None:
    """README "Look at an answer": `/runs show` alone; a run that answered nothing yet is not it."""
    [message] = await owner.runs("diff")
    assert message.content == "I have answered nothing here yet. `/runs list` shows all runs."
    here = group_scope(channel=f"discord:{HEARTH}")
    run, empty = RunId("2026-12-01-08-00-00-mnop"), RunId("2026-12-01-09-00-00-qrst")
    await record_run(owner.home, run_id=run, scope=here)
    await record_run(owner.home, (), run_id=empty, scope=here)
    [message] = await owner.runs("receipt")
    assert run in message.content
    [message] = await owner.runs("list")
    assert f"{run} #hearth " in message.content


async def test_completion_offers_runs_without_content(owner: Owner) -> None:
    choices = await owner.pg.autocomplete(ADA, HEARTH, "runs show", "run", "")
    assert [choice["value"] for choice in choices] == [MANY, RUN]
    assert choices[1]["name"] == "2026-11-29 23:16 · direct message · 2 turns · abcd"
    typed = await owner.pg.autocomplete(ADA, HEARTH, "runs context", "run", "abcd")
    assert [choice["value"] for choice in typed] == [RUN]


async def test_the_commands_are_hidden_from_others_and_refused(owner: Owner) -> None:
    """P02, P03: owner by id; a guessed command gives the same line for every run."""
    names = {command.name for command in owner.pg.commands_for(BO, HEARTH)}
    assert "runs" not in names
    for run in (RUN, "nope"):
        result = await owner.pg.slash(BO, HEARTH, "runs show", force=True, options={"run": run})
        assert result.ephemeral
        assert result.text == OWNERS_ONLY
    assert await owner.pg.autocomplete(BO, HEARTH, "runs show", "run", "", force=True) == ()


async def _reply(owner: Owner) -> Message:
    """A message of the bot's that answers turn 2."""
    asked = await owner.pg.say(ADA, HEARTH, "hello")
    channel = owner.pg.world.channel(asked.channel_id)
    answer = owner.pg.talk.send(owner.pg.world.bot.id, channel, Draft(content="hello back"))
    async with store_of(owner.home) as store:
        await remember_reply(
            store, MessageId(f"discord:{answer.id}"), RUN, TurnId("discord:message:9002")
        )
    return answer


async def test_why_this_answer_opens_the_run_at_its_turn(owner: Owner) -> None:
    answer = await _reply(owner)
    result = await owner.pg.context_menu(ADA, answer, "Why this answer?")
    assert result.ephemeral
    told = result.text + "".join(
        file.data.decode("utf-8", "replace")
        for message in result.messages
        for file in message.attachments
    )
    assert "TURN 2 " in told
    assert "TURN 1 " not in told
    assert CANARY not in told


async def test_why_this_answer_knows_its_own_answers_only(owner: Owner) -> None:
    said = await owner.pg.say(BO, HEARTH, "not the imp's")
    result = await owner.pg.context_menu(ADA, said, "Why this answer?")
    assert "I know of no run behind this message" in result.text
    refused = await owner.pg.context_menu(BO, said, "Why this answer?", force=True)
    assert refused.text == OWNERS_ONLY


@pytest.mark.parametrize(
    ("channel", "is_dm", "label"),
    [
        ("discord:5", False, "2026-11-29 23:16 · #hearth · 1 turn · abcd"),
        ("discord:6", False, "2026-11-29 23:16 · channel 6 · 1 turn · abcd"),
        ("discord:7", True, "2026-11-29 23:16 · direct message · 1 turn · abcd"),
        ("discord:8", True, "2026-11-29 23:16 · DM with Bo · 1 turn · abcd"),
        (None, False, "2026-11-29 23:16 · no channel · 1 turn · abcd"),
    ],
)
def test_labels_of_choices(channel: str | None, is_dm: bool, label: str) -> None:  # noqa: FBT001
    place = None if channel is None else ChannelId(channel)
    began = "2026-11-29T23:16:35.123Z"
    row = run_row(RUN, channel_id=place, is_dm=is_dm, started_at=began, turns=1)
    names = {"discord:5": "#hearth", "discord:8": "DM with Bo"}
    assert choice_label(row, lambda channel: names.get(channel, "")) == label


async def test_receipt(owner: Owner) -> None:
    """TR: counts and codes; no content, no ids."""
    [message] = await owner.runs("receipt", run=RUN, turn=1)
    assert "What was used" in message.content
    assert "recent dialogue" in message.content
    assert CANARY not in message.content


async def test_anybody_can_ask_what_was_used_for_his_own_answer(owner: Owner) -> None:
    """Issue "Receipt": kinds and counts for the asker; of others' answers nothing, in one form.

    Of notes that some person withholds or had forgotten, only the owner is told.
    """
    run_id = RunId("2026-11-30-09-00-00-wxyz")
    scope = dm_scope(channel=f"discord:{DIRECT[ADA]}", user=UserId(f"discord:{BO}"))
    turns = [Said(text="t", number=1)]
    withheld = ("consent", "tombstoned", "duplicate")
    await record_run(owner.home, turns, run_id=run_id, scope=scope, withheld=withheld)
    answer = await owner.pg.say(ADA, HEARTH, "an answer to Bo")
    async with store_of(owner.home) as store:
        turn = TurnId("discord:message:9001")
        await remember_reply(store, MessageId(f"discord:{answer.id}"), run_id, turn)
    told = await owner.pg.context_menu(BO, answer, "What was used?")
    assert told.ephemeral
    assert "What was used" in told.text
    assert "recent dialogue" in told.text
    assert CANARY not in told.text
    [own] = await owner.runs("receipt", run=run_id, turn=1)
    for reason in withheld:
        assert reason in own.content
        assert (reason in told.text) is (reason == "duplicate")
    nothing = await owner.pg.say(BO, HEARTH, "no answer")
    refused = {
        (await owner.pg.context_menu(who, said, "What was used?")).text
        for who, said in ((ADA, answer), (BO, nothing), (CY, answer))
    }
    assert refused == {"I can tell you that of my answers to your own messages."}
