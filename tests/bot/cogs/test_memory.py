"""``/memory`` as people use it, through real discord.py against the playground."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.memory.texts import NOTHING, NOTHING_LOST
from bot.permissions import OWNERS_ONLY
from bot.playground.ids import ADA, BO, CY, DEE, DIRECT, HEARTH, WORKSHOP
from bot.playground.server import Playground
from sessions.memory.results import NotFound
from sessions.store.memory import Reach
from support.memory_bot import MemoryBot, memory_bot

NOTE_ID = re.compile(r"m-[a-z0-9]{8}")
UNKNOWN = NotFound().sentence


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[MemoryBot]:
    async with Playground() as pg, memory_bot(tmp_path / "home", pg) as running:
        yield running


async def kept_id(app: MemoryBot, user: int, channel: int, text: str, **options: object) -> str:
    result = await app.use(user, channel, "remember", text=text, **options)
    (found,) = NOTE_ID.findall(result.text)
    return str(found)


async def test_a_person_s_notes_are_kept_listed_searched_and_shown(app: MemoryBot) -> None:
    """Issue "Writing and forgetting": one's own records, ephemeral, in DM and guild."""
    note = await kept_id(app, BO, DIRECT[BO], "my boat is blue", pin=True, days=30)
    listed = (await app.use(BO, DIRECT[BO], "list")).text
    assert "**About you** (1)" in listed
    assert f"`{note}` my boat is blue · confirmed, in our direct messages, pinned" in listed
    assert (await app.use(BO, HEARTH, "list")).text == listed
    assert note in (await app.use(BO, DIRECT[BO], "search", words="boat")).text
    shown = (await app.use(BO, DIRECT[BO], "show", note=note)).text
    assert "> my boat is blue" in shown
    assert "until" in shown


async def test_foreign_unknown_and_forged_ids_get_the_same_answer(app: MemoryBot) -> None:
    """P02: nothing of Bo's for Cy, existing or not; forget refused; no count betrays."""
    note = await kept_id(app, BO, DIRECT[BO], "CANARY-02")
    before = (await app.use(CY, DIRECT[CY], "list")).text
    assert before.startswith(NOTHING)
    for command, more in (
        ("show", {}),
        ("confirm", {}),
        ("correct", {"text": "mine now"}),
        ("pin", {}),
        ("forget", {}),
    ):
        answers = {
            (await app.use(CY, channel, command, note=forged, **more)).text
            for channel in (DIRECT[CY], HEARTH)
            for forged in (note, "m-zzzzzzzz", "*", "%", "../", str(BO))
        }
        assert answers == {UNKNOWN}, command
    exported = await app.use(CY, DIRECT[CY], "export")
    (file,) = exported.messages[0].attachments
    assert json.loads(file.data)["notes"] == []
    assert (await app.use(CY, DIRECT[CY], "search", words="CANARY-02")).text.startswith(
        "I remember"
    )
    assert (await app.use(CY, DIRECT[CY], "list")).text == before
    choices = await app.pg.autocomplete(CY, DIRECT[CY], "memory show", "note", "")
    assert choices == ()
    assert note in (await app.use(BO, DIRECT[BO], "list")).text


async def test_taking_the_owner_s_name_changes_nothing(app: MemoryBot) -> None:
    """P03: Dee calls herself Ada; authority is by user id."""
    note = await kept_id(app, ADA, DIRECT[ADA], "the key is under the mat")
    dee = app.pg.world.user(DEE)
    for name in ("Ada", "A\u200bda", "\u0410da"):
        dee.username = dee.global_name = name
        assert (await app.use(DEE, HEARTH, "forget", note=note)).text == UNKNOWN
        refused = await app.pg.slash(DEE, HEARTH, "memory inspect")
        assert (refused.text, refused.ephemeral) == (OWNERS_ONLY, True)
    assert note in (await app.use(ADA, DIRECT[ADA], "list")).text


async def test_the_owner_looks_at_anybody_s_notes_ephemerally(app: MemoryBot) -> None:
    """P02: Ada's inspection shows it to her alone; as a person she has none of it."""
    note = await kept_id(app, BO, DIRECT[BO], "my boat is blue")
    told = (await app.use(ADA, HEARTH, "inspect", user=BO)).text
    assert f"`{note}` my boat is blue · about <@{BO}>, confirmed" in told
    assert (await app.use(ADA, HEARTH, "inspect", user=CY)).text == "There are no notes."
    assert (await app.use(ADA, HEARTH, "list")).text.startswith(NOTHING)
    assert (await app.use(ADA, HEARTH, "confirm", note=note)).text == UNKNOWN
    assert "Forgotten" in (await app.use(ADA, HEARTH, "forget", note=note)).text


async def test_forgetting_gives_a_proof_without_the_text(app: MemoryBot) -> None:
    """Issue: forget answers with a cleanup proof; the note is shown as forgotten afterwards."""
    note = await kept_id(app, BO, DIRECT[BO], "CANARY-26 tea")
    result = await app.use(BO, DIRECT[BO], "forget", note=note)
    assert result.text.startswith(f"Forgotten: `{note}`.")
    (file,) = result.messages[0].attachments
    (proof,) = json.loads(file.data)
    assert proof["status"] == "completed"
    assert len(proof["record_hashes"]) == 1
    assert b"CANARY" not in file.data
    again = await app.use(BO, DIRECT[BO], "forget", note=note)
    assert re.fullmatch(rf"{note} was forgotten on \d{{4}}-\d\d-\d\d\.", again.text)
    listed = (await app.use(BO, DIRECT[BO], "list", ended=True)).text
    assert re.search(rf"`{note}` forgotten on \d{{4}}-\d\d-\d\d", listed)
    assert "CANARY" not in listed


async def test_forgetting_all_asks_first(app: MemoryBot) -> None:
    """Issue: ``/memory forget all`` for a person leaving, by a button, once."""
    for text in ("my boat is blue", "I like rain"):
        await kept_id(app, BO, DIRECT[BO], text)
    await kept_id(app, CY, DIRECT[CY], "I like sun")
    asked = await app.use(BO, DIRECT[BO], "forget", note="All")
    left = await app.pg.click(BO, asked.messages[0], app.button(asked.messages[0], "none"))
    assert left.updated
    assert "boat" in (await app.use(BO, DIRECT[BO], "list")).text
    asked = await app.use(BO, DIRECT[BO], "forget", note="all")
    message = asked.messages[0]
    await app.pg.click(BO, message, app.button(message, "all"))
    await app.pg.until(lambda: message.content.startswith("Forgotten") or None)
    assert message.components == []
    assert (await app.use(BO, DIRECT[BO], "list")).text.startswith(NOTHING)
    assert "sun" in (await app.use(CY, DIRECT[CY], "list")).text


async def test_an_owner_gives_up_what_cannot_be_opened(app: MemoryBot) -> None:
    """Issue "Bad input", a damaged key store: a way out, after a question, for an owner alone."""
    lost = await kept_id(app, BO, DIRECT[BO], "my boat is blue")
    kept = await kept_id(app, CY, DIRECT[CY], "I like sun")
    stored = await app.memory.service._core.store.find(lost, Reach(user_id=None))
    assert stored is not None
    await app.memory.vault.discard(stored.row.record_id)
    assert "cannot be opened" in (await app.use(ADA, HEARTH, "inspect")).text
    assert (await app.use(BO, DIRECT[BO], "forget", note="lost")).text == UNKNOWN
    asked = (await app.use(ADA, HEARTH, "forget", note="lost")).messages[0]
    await app.pg.click(ADA, asked, app.button(asked, "lost"))
    await app.pg.until(lambda: asked.content.startswith("Given up: 1 ") or None)
    told = (await app.use(ADA, HEARTH, "inspect")).text
    assert kept in told
    assert "cannot be opened" not in told
    asked = (await app.use(ADA, HEARTH, "forget", note="Lost")).messages[0]
    await app.pg.click(ADA, asked, app.button(asked, "lost"))
    await app.pg.until(lambda: asked.content == NOTHING_LOST or None)


async def test_a_correction_replaces_and_shows_the_chain(app: MemoryBot) -> None:
    """P26: only "Friday" is used, the chain is visible to its owner."""
    old = await kept_id(app, BO, DIRECT[BO], "we sail on Tuesday")
    result = await app.use(BO, DIRECT[BO], "correct", note=old, text="we sail on Friday")
    new = next(each for each in NOTE_ID.findall(result.text) if each != old)
    assert "Tuesday" not in (await app.use(BO, DIRECT[BO], "list")).text
    shown = (await app.use(BO, DIRECT[BO], "show", note=new)).text
    assert f"`{old}` we sail on Tuesday · replaced by `{new}`" in shown
    assert f"`{new}` we sail on Friday · confirmed" in shown


async def test_a_guess_is_confirmed_pinned_and_offered_while_typing(app: MemoryBot) -> None:
    _, [guess] = await app.noted(BO, DIRECT[BO], "Bo likes rain")
    (choice,) = await app.pg.autocomplete(BO, DIRECT[BO], "memory confirm", "note", "rain")
    assert choice == {"name": f"{guess.short_id} · Bo likes rain", "value": guess.short_id}
    told = (await app.use(BO, DIRECT[BO], "confirm", note=guess.short_id)).text
    new = next(each for each in NOTE_ID.findall(told) if each != guess.short_id)
    assert (await app.use(BO, DIRECT[BO], "pin", note=new)).text == f"`{new}` is pinned."
    off = await app.use(BO, DIRECT[BO], "pin", note=new, on=False)
    assert off.text == f"`{new}` is no longer pinned."
    assert f"`{new}` Bo likes rain · confirmed" in (await app.use(BO, DIRECT[BO], "list")).text


async def test_a_channel_s_notes_are_listed_as_such(app: MemoryBot) -> None:
    """Brief: in a guild the channel's own notes may be listed; notes about people are not."""
    note = await kept_id(app, BO, HEARTH, "we meet on Friday", about="this channel")
    await kept_id(app, BO, HEARTH, "Bo brings cake")
    listed = (await app.use(CY, HEARTH, "list")).text
    assert listed.startswith(NOTHING)
    assert f"**About this channel** (1)\n`{note}` we meet on Friday" in listed
    assert "cake" not in listed
    for where in (WORKSHOP, DIRECT[CY]):
        assert "Friday" not in (await app.use(CY, where, "list")).text


async def test_consent_is_said_for_a_place_and_ends_by_itself(app: MemoryBot) -> None:
    """Issue: per user and scope, off, ask, on, with expiry."""
    assert "without asking" not in (await app.use(BO, HEARTH, "consent")).text
    assert "I ask you before" in (await app.use(BO, HEARTH, "consent")).text
    off = (await app.use(BO, HEARTH, "consent", level="off", days=7)).text
    assert off.startswith("In this channel I keep no notes about you and use none. This ends by")
    refused = await app.use(BO, HEARTH, "remember", text="Bo likes rain")
    assert "switched remembering off" in refused.text
    assert "I keep notes about you" in (await app.use(BO, DIRECT[BO], "consent")).text
    shared = await app.use(BO, HEARTH, "consent", purpose="share", level="on")
    assert "may be used in this channel" in shared.text
    assert "there alone" in (await app.use(BO, WORKSHOP, "consent", purpose="share")).text


async def test_only_an_owner_writes_what_counts_everywhere(app: MemoryBot) -> None:
    """Table "Writing memory": imp scope by the owner's command alone."""
    refused = await app.use(BO, HEARTH, "remember", text="tea for all", everywhere=True)
    assert refused.text == "Only the owner can do that."
    told = (await app.use(ADA, HEARTH, "remember", text="tea for all", everywhere=True)).text
    assert told.endswith("It is used everywhere.")


async def test_secrets_and_strangers_are_refused(app: MemoryBot) -> None:
    """Table "Writing memory": secrets; and whom the imp does not answer, it keeps nothing for."""
    secret = await app.use(BO, DIRECT[BO], "remember", text="my card is 4111 1111 1111 1111")
    assert "I do not keep secrets" in secret.text
    stranger = await app.use(DEE, DIRECT[DEE], "remember", text="Dee likes rain")
    assert stranger.text == "I have no conversation with you here."
    assert (await app.use(DEE, DIRECT[DEE], "list")).text.startswith(NOTHING)


async def test_a_note_s_text_is_shown_as_text(app: MemoryBot) -> None:
    """No note pings, links or hides: marks are escaped, direction overrides left out."""
    await kept_id(app, BO, DIRECT[BO], "@everyone **bold** [x](http://a.example) \u202egpj.exe")
    listed = (await app.use(BO, DIRECT[BO], "list")).text
    assert "@everyone" not in listed
    assert "\\*\\*bold\\*\\*" in listed
    assert "\u202e" not in listed


async def test_a_long_list_is_a_file(app: MemoryBot) -> None:
    """A message holds 2,000 characters; nothing is left out silently."""
    for number in range(15):
        await kept_id(app, BO, DIRECT[BO], f"number {number} " + "of many words " * 12)
    result = await app.use(BO, DIRECT[BO], "list")
    (file,) = result.messages[0].attachments
    assert file.data.decode().count("· confirmed") == 15
