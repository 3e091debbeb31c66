""" "Remember this" and "Forget this"."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.cogs.memory_menus import FORGET, REMEMBER
from bot.memory import texts
from bot.playground.entities import Upload
from bot.playground.ids import ADA, BO, CY, DEE, DIRECT, EMBER, HEARTH
from bot.playground.messages.drafts import Draft
from bot.playground.server import Playground
from compiler.request import MessageId, RunId, TurnId
from support.memory_bot import MemoryBot, memory_bot
from support.run_rows import remember_reply


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[MemoryBot]:
    async with Playground() as pg, memory_bot(tmp_path / "home", pg) as running:
        yield running


async def test_one_s_own_message_becomes_one_s_own_note_and_goes_again(app: MemoryBot) -> None:
    """Table "Writing memory": a person's menu makes it explicit."""
    said = await app.pg.say(BO, DIRECT[BO], "my boat is blue")
    kept = await app.pg.context_menu(BO, said, REMEMBER)
    assert kept.ephemeral
    assert kept.text.startswith("Remembered:")
    again = await app.pg.context_menu(BO, said, REMEMBER)
    assert again.text.startswith("I knew that already:")
    assert "confirmed" in (await app.use(BO, DIRECT[BO], "list")).text
    gone = await app.pg.context_menu(BO, said, FORGET)
    assert gone.text.startswith("Forgotten")
    assert (await app.use(BO, DIRECT[BO], "list")).text.startswith(texts.NOTHING)
    assert (await app.pg.context_menu(BO, said, FORGET)).text == texts.NOTHING_HERE


async def test_somebody_else_s_message_waits_for_him(app: MemoryBot) -> None:
    """Nobody makes anything explicit about somebody else: Cy is asked, Bo's word is not enough."""
    said = await app.pg.say(CY, HEARTH, "I sail on CANARY Fridays")
    told = await app.pg.context_menu(BO, said, REMEMBER)
    assert f"waits for <@{CY}> to agree" in told.text
    question = await app.pg.wait_for_message(HEARTH, lambda m: m.author_id == EMBER, after=said)
    assert question.reply_to == said.id
    assert "CANARY" not in question.content
    assert await app.chosen_by(CY, HEARTH, "sail") == []
    assert (await app.pg.context_menu(BO, said, FORGET)).text == texts.NOTHING_HERE
    await app.pg.click(CY, question, app.button(question, "keep"))
    assert await app.chosen_by(BO, HEARTH, "sail") == ["I sail on CANARY Fridays"]
    assert (await app.pg.context_menu(CY, said, FORGET)).text.startswith("Forgotten")


async def test_what_a_bot_wrote_is_not_remembered(app: MemoryBot) -> None:
    """Table "Writing memory": refused, untrusted source; the imp's own words too."""
    said = await app.pg.say(BO, HEARTH, "trust me", extra={"webhook_id": "77"})
    for message in (
        said,
        app.pg.talk.send(EMBER, app.pg.world.channel(HEARTH), Draft(content="I am")),
    ):
        told = await app.pg.context_menu(BO, message, REMEMBER)
        assert told.text == "I do not remember what another bot wrote."


async def test_an_answer_of_the_imp_leads_to_the_notes_of_its_turn(app: MemoryBot) -> None:
    """Brief: "Forget this" on the imp's own reply finds the notes that it wrote."""
    asked, [note] = await app.noted(BO, DIRECT[BO], "Bo likes rain")
    reply = await app.last(DIRECT[BO])
    await remember_reply(
        app.memory.runs,
        MessageId(f"discord:{reply.id}"),
        RunId("2026-11-29-23-16-35-abcd"),
        TurnId(f"discord:message:{asked.id}"),
    )
    assert note.short_id in (await app.pg.context_menu(BO, reply, FORGET)).text
    assert await app.chosen_by(BO, DIRECT[BO], "rain") == []


async def test_a_message_leads_to_the_notes_that_the_imp_made_of_it(app: MemoryBot) -> None:
    asked, [note] = await app.noted(BO, DIRECT[BO], "Bo likes rain")
    assert note.short_id in (await app.pg.context_menu(BO, asked, FORGET)).text


async def test_a_stranger_s_message_is_not_kept(app: MemoryBot) -> None:
    """Whom the imp does not answer, it keeps nothing for."""
    said = await app.pg.say(DEE, DIRECT[DEE], "I am the owner")
    told = await app.pg.context_menu(DEE, said, REMEMBER)
    assert told.text == "I have no conversation with you here."
    assert await app.memory.service.statuses() == {}


async def test_a_message_without_words_is_nothing_to_remember(app: MemoryBot) -> None:
    picture = Upload(filename="boat.png", data=b"a boat")
    said = await app.pg.say(ADA, DIRECT[ADA], "", attachments=[picture])
    told = await app.pg.context_menu(ADA, said, REMEMBER)
    assert told.text == "There is nothing to remember in that."
