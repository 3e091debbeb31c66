"""The sign and the buttons under an answer, and who may press them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.memory import texts
from bot.memory.desk import SIGN
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, HEARTH
from bot.playground.server import Playground
from support.memory_bot import MemoryBot, memory_bot


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[MemoryBot]:
    async with Playground() as pg, memory_bot(tmp_path / "home", pg) as running:
        yield running


def signs(message: Message) -> list[str]:
    return [emoji for emoji, who in message.reactions.items() if EMBER in who]


async def test_a_kept_note_has_a_sign_and_one_click_forgets_it(app: MemoryBot) -> None:
    """Issue: in a DM kept at once as inferred, a small reaction, a one-click Forget."""
    asked, [note] = await app.noted(BO, DIRECT[BO], "Bo likes rain")
    assert signs(asked) == [SIGN]
    reply = await app.last(DIRECT[BO])
    clicked = await app.pg.click(BO, reply, app.button(reply, "forget"))
    assert clicked.ephemeral
    assert clicked.text.startswith(f"Forgotten: `{note.short_id}`.")
    await app.pg.until(lambda: reply.components == [] or None)
    assert (await app.chosen_by(BO, DIRECT[BO], "rain")) == []


async def test_the_buttons_work_after_a_restart(tmp_path: Path) -> None:
    """Brief: fixed ids; nothing of a button is kept in the process."""
    async with Playground() as pg:
        async with memory_bot(tmp_path, pg) as app:
            await app.noted(BO, DIRECT[BO], "Bo likes rain")
            reply = await app.last(DIRECT[BO])
            _, [waiting] = await app.noted(BO, HEARTH, "Bo likes cake")
            question = await app.last(HEARTH)
        async with memory_bot(tmp_path, pg) as app:
            clicked = await pg.click(BO, reply, app.button(reply, "forget"))
            assert clicked.text.startswith("Forgotten")
            clicked = await pg.click(BO, question, app.button(question, "keep"))
            assert f"Remembered: `{waiting.short_id}`" in clicked.text


async def test_a_channel_note_waits_for_the_click_of_its_person(app: MemoryBot) -> None:
    """Issue: in a channel a note about a person waits for that person's click; its text is his."""
    asked, [note] = await app.noted(BO, HEARTH, "Bo likes CANARY rain")
    assert signs(asked) == []
    question = await app.last(HEARTH)
    assert question.reply_to == asked.id
    assert question.pinged == ()
    assert f"<@{BO}>" in question.content
    assert "CANARY" not in question.content
    for stranger in (CY, ADA):
        for word in ("keep", "no", "look"):
            clicked = await app.pg.click(stranger, question, app.button(question, word))
            assert (clicked.text, clicked.ephemeral) == (texts.NOT_YOURS, True)
    looked = await app.pg.click(BO, question, app.button(question, "look"))
    assert "> Bo likes CANARY rain" in looked.text
    assert looked.ephemeral
    assert await app.chosen_by(BO, HEARTH, "rain") == []
    clicked = await app.pg.click(BO, question, app.button(question, "keep"))
    assert f"`{note.short_id}`" in clicked.text
    await app.pg.until(lambda: question.content == texts.KEPT_BY_CLICK or None)
    assert question.components == []
    assert await app.chosen_by(CY, HEARTH, "rain") == ["Bo likes CANARY rain"]


async def test_no_means_gone(app: MemoryBot) -> None:
    await app.noted(BO, HEARTH, "Bo likes CANARY rain")
    question = await app.last(HEARTH)
    button = app.button(question, "no")
    clicked = await app.pg.click(BO, question, button)
    assert clicked.text.startswith("Forgotten")
    await app.pg.until(lambda: question.content == texts.REFUSED_BY_CLICK or None)
    assert await app.memory.service.statuses() == {"tombstoned": 1}


async def test_each_click_is_answered_and_decides_once(app: MemoryBot) -> None:
    """Brief: each click answered once; a click too late is told so and changes nothing."""
    _, [note] = await app.noted(BO, HEARTH, "Bo likes rain")
    question = await app.last(HEARTH)
    ids = {word: app.button(question, word) for word in ("keep", "no")}
    components = [dict(row) for row in question.components]
    first = await app.pg.click(BO, question, ids["keep"])
    assert len(first.messages) == 1
    await app.pg.until(lambda: question.components == [] or None)
    question.components = components  # as a client shows it that has not heard of the change
    for word in ("keep", "no"):
        late = await app.pg.click(BO, question, ids[word])
        assert late.text == texts.ALREADY_DECIDED
    assert note.short_id in (await app.use(BO, HEARTH, "list")).text


async def test_a_stranger_s_click_on_forget_forgets_nothing(app: MemoryBot) -> None:
    """A note that was kept by a person's consent stands; only he can undo it there."""
    await app.use(BO, HEARTH, "consent", level="on")
    await app.noted(BO, HEARTH, "Bo likes rain")
    reply = next(m for m in reversed(app.pg.messages(HEARTH)) if m.content == "Noted.")
    clicked = await app.pg.click(CY, reply, app.button(reply, "forget"))
    assert clicked.text == texts.NOTHING_HERE
    assert reply.components
    assert await app.chosen_by(CY, HEARTH, "rain") == ["Bo likes rain"]


async def test_forget_all_is_for_the_one_who_asked(app: MemoryBot) -> None:
    """A forged id of somebody else's button is refused."""
    await app.use(BO, DIRECT[BO], "remember", text="Bo likes rain")
    asked = await app.use(CY, DIRECT[CY], "forget", note="all")
    message = asked.messages[0]
    message.components[0]["components"][0]["custom_id"] = f"memory:all:{BO}"
    clicked = await app.pg.click(CY, message, f"memory:all:{BO}")
    assert clicked.text == texts.NOT_YOURS
    assert "rain" in (await app.use(BO, DIRECT[BO], "list")).text


async def test_a_turn_without_notes_shows_nothing(app: MemoryBot) -> None:
    assert app.desk.buttons_under("discord:message:1", ()) is None  # type: ignore[arg-type]
    asked = await app.pg.say(BO, DIRECT[BO], "hello")
    target = app.bot.get_partial_messageable(DIRECT[BO]).get_partial_message(asked.id)
    await app.desk.show(target, ())
    assert signs(asked) == []
    assert [m.author_id for m in app.pg.messages(DIRECT[BO])] == [BO]
