"""Finding the notes of a message, of a turn and of a channel."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from compiler.audience import MemoryScope
from compiler.request import MessageId, Role, RunScope, TurnId
from sessions.memory.results import NoteState, NotFound
from sessions.memory.rules import SourceMessage
from sessions.store.consent import ConsentLevel
from sessions.store.summaries import SummaryStore
from support.memory_world import (
    ADA,
    BO,
    CY,
    EMBER,
    HARBOUR,
    WORKSHOP,
    by_hand,
    by_model,
    dm,
    group,
    kept,
    memory_in,
    thread,
)


async def test_the_notes_of_a_turn_are_given_to_the_host_once(tmp_path: Path) -> None:
    """Issue "Writing and forgetting": what a turn kept is shown under its reply."""
    async with memory_in(tmp_path) as memory:
        service = memory.service
        for text in ("Bo likes tea", "Bo likes cake"):
            await service.remember(by_model(group(), turn=5), text, explicit=False)
        await service.remember(by_model(group(), turn=6), "Bo likes jam", explicit=False)
        await service.remember(by_hand(group()), "Bo likes rain", explicit=True)
        written = await service.written_in(TurnId("discord:message:5"))
        assert [each.text for each in written.notes] == ["Bo likes tea", "Bo likes cake"]
        assert {each.state for each in written.notes} == {NoteState.WAITING}
        again = await service.written_in(TurnId("discord:message:5"))
        assert again.notes == ()


async def test_a_note_forgotten_in_its_own_turn_is_not_shown(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        ctx = by_model(dm(), turn=5)
        note = kept(await memory.service.remember(ctx, "Bo likes tea", explicit=False)).note
        await memory.service.forget(by_hand(dm()), note.short_id)
        assert (await memory.service.written_in(TurnId("discord:message:5"))).notes == ()


async def test_the_notes_of_a_message_are_found_by_their_person_alone(tmp_path: Path) -> None:
    """P02: an answer for Bo is none for Cy, and none for the owner as a person."""
    async with memory_in(tmp_path) as memory:
        service, message, turn = memory.service, MessageId("discord:9"), TurnId("discord:message:5")
        source = SourceMessage(message_id=message, author_id=BO)
        await service.remember(by_hand(dm()), "Bo likes tea", explicit=True, source=source)
        await service.remember(by_model(dm(), turn=5), "Bo likes jam", explicit=False)
        found = await service.of_message(by_hand(dm()), message_id=message, turn_id=turn)
        assert {each.text for each in found.notes} == {"Bo likes tea", "Bo likes jam"}
        only = await service.of_message(by_hand(dm()), message_id=message)
        assert [each.text for each in only.notes] == ["Bo likes tea"]
        for stranger in (dm(CY), group(ADA, role=Role.OWNER)):
            foreign = await service.of_message(by_hand(stranger), message_id=message, turn_id=turn)
            assert foreign.notes == ()
        assert (await service.of_message(by_hand(dm()))).notes == ()


async def test_a_channel_s_own_notes_are_listed_where_they_belong(tmp_path: Path) -> None:
    """In a guild the channel's notes are shown as such; notes about people are not among them."""
    async with memory_in(tmp_path) as memory:
        service = memory.service
        for about_channel, text in ((True, "We meet on Friday"), (False, "Bo brings cake")):
            await service.remember(
                by_hand(group()), text, explicit=True, about_channel=about_channel
            )
        for scope in (group(CY), thread(CY)):
            here = await service.list_here(by_hand(scope))
            assert [each.text for each in here.notes] == ["We meet on Friday"]
        for scope in (dm(), group(channel=WORKSHOP), group(guild=HARBOUR)):
            assert (await service.list_here(by_hand(scope))).notes == ()


async def test_the_imp_s_own_notes_are_no_channel_s(tmp_path: Path) -> None:
    """What an owner wrote for everywhere is used in a channel, and not listed as the channel's."""
    async with memory_in(tmp_path) as memory:
        owner = by_hand(group(ADA, role=Role.OWNER))
        kept(
            await memory.service.remember(
                owner, "Ember likes soot", explicit=True, scope=MemoryScope.IMP
            )
        )
        assert await memory.chosen(group(), "soot") == ["Ember likes soot"]
        assert (await memory.service.list_here(by_hand(group()))).notes == ()


async def test_only_what_lives_is_found_and_all_that_was_is_listed(tmp_path: Path) -> None:
    """TR tables 5: shown to its person as the chain, and as "forgotten on DATE"."""
    async with memory_in(tmp_path) as memory:
        service, hand = memory.service, by_hand(dm(message=1))
        old = kept(await service.remember(hand, "Tea on Tuesday", explicit=True)).note
        new = kept(await service.correct(hand, old.short_id, "Tea on Friday")).note
        gone = kept(await service.remember(hand, "Tea with jam", explicit=True)).note
        await service.forget(by_hand(dm()), gone.short_id)
        found = await service.search_own(by_hand(dm()), "tea")
        assert [each.text for each in found.notes] == ["Tea on Friday"]
        message = MessageId("discord:1")
        made = await service.of_message(by_hand(dm()), message_id=message)
        assert [each.text for each in made.notes] == ["Tea on Friday"]
        listed = {each.short_id: each for each in (await service.list_own(by_hand(dm()))).notes}
        states = {short_id: each.state for short_id, each in listed.items()}
        assert states == {
            old.short_id: NoteState.REPLACED,
            new.short_id: NoteState.CONFIRMED,
            gone.short_id: NoteState.FORGOTTEN,
        }
        assert (listed[gone.short_id].text, listed[gone.short_id].forgotten_on) == (
            "",
            "2026-11-29",
        )


async def test_an_owner_consents_for_nobody(tmp_path: Path) -> None:
    """CC: nobody makes anything explicit about somebody else, an owner neither."""
    async with memory_in(tmp_path) as memory:
        service, owner = memory.service, by_hand(group(ADA, role=Role.OWNER))
        note = kept(await service.remember(by_model(group()), "Bo likes tea", explicit=False)).note
        assert await service.keep(owner, note.short_id) == NotFound()
        assert await service.confirm(owner, note.short_id) == NotFound()
        assert await service.correct(owner, note.short_id, "Bo hates tea") == NotFound()
        assert await service.pin(owner, note.short_id) == NotFound()
        shown = await service.show(owner, note.short_id)
        assert not isinstance(shown, NotFound)
        assert shown.state is NoteState.WAITING


async def test_what_was_derived_may_be_given_where_all_of_its_notes_may(tmp_path: Path) -> None:
    """Issue "Summaries": out of reach by audience, by time, by consent, by what replaced it."""
    async with memory_in(tmp_path) as memory:
        service, soon = memory.service, memory.clock.utc_now() + timedelta(hours=1)
        here = kept(await service.remember(by_hand(group()), "Bo likes tea", explicit=True)).note
        own = kept(
            await service.remember(by_hand(dm()), "Bo likes jam", explicit=True, expires=soon)
        ).note
        summaries = SummaryStore(memory.database)
        ids = [await summaries.record_id_of(each.short_id) for each in (here, own)]

        async def known(scope: RunScope) -> tuple[bool, ...]:
            return tuple([await service.may_be_given(EMBER, scope, (each,)) for each in ids])

        assert await service.may_be_given(EMBER, group(), ())
        assert await known(group()) == await known(thread()) == (True, False)
        assert await known(dm()) == (False, True)
        assert await known(dm(CY)) == (False, False)
        assert not await service.may_be_given(EMBER, group(), ids)
        memory.later(hours=2)
        assert await known(dm()) == (False, False)
        await service.set_consent(by_hand(group()), ConsentLevel.OFF)
        assert await known(group()) == (False, False)
        await service.set_consent(by_hand(group()), ConsentLevel.ON)
        await service.correct(by_hand(group()), here.short_id, "Bo likes coffee")
        assert await known(group()) == (False, False)
