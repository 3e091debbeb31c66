"""Who may know a record: the table of all cases, and ten thousand random turns."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

from compiler.audience import (
    Audience,
    Binding,
    Exclusion,
    MemoryScope,
    audience_of,
    may_know,
    readable_bindings,
)
from compiler.request import ChannelId, GuildId, ImpName, Place, RunScope, UserId

EMBER, MOSS = ImpName("ember"), ImpName("moss")
ORCHARD, HARBOUR = GuildId("discord:1"), GuildId("discord:2")
HEARTH, WORKSHOP, DOCK = ChannelId("discord:10"), ChannelId("discord:11"), ChannelId("discord:20")
BO_DM, CY_DM = ChannelId("discord:30"), ChannelId("discord:31")
BO, CY = UserId("discord:100"), UserId("discord:101")

IMP_NOTE = Binding(imp=EMBER, scope=MemoryScope.IMP)
HEARTH_NOTE = Binding(imp=EMBER, scope=MemoryScope.CHANNEL, guild_id=ORCHARD, channel_id=HEARTH)
BO_DM_NOTE = Binding(imp=EMBER, scope=MemoryScope.CHANNEL, channel_id=BO_DM)
BO_NOTE = Binding(imp=EMBER, scope=MemoryScope.USER, user_id=BO)

IMP_TASK = Audience(imp=EMBER, place=Place.NONE)
HEARTH_TASK = Audience(imp=EMBER, place=Place.NONE, guild_id=ORCHARD, channel_id=HEARTH)
BO_IN_DM = Audience(imp=EMBER, place=Place.DM, channel_id=BO_DM, user_id=BO)
CY_IN_DM = Audience(imp=EMBER, place=Place.DM, channel_id=CY_DM, user_id=CY)
BO_IN_HEARTH = Audience(
    imp=EMBER, place=Place.GROUP, guild_id=ORCHARD, channel_id=HEARTH, user_id=BO
)
BO_SHARING = Audience(
    imp=EMBER,
    place=Place.GROUP,
    guild_id=ORCHARD,
    channel_id=HEARTH,
    user_id=BO,
    shares_private=True,
)
CY_SHARING = Audience(
    imp=EMBER,
    place=Place.GROUP,
    guild_id=ORCHARD,
    channel_id=HEARTH,
    user_id=CY,
    shares_private=True,
)
BO_IN_THREAD = Audience(
    imp=EMBER, place=Place.THREAD, guild_id=ORCHARD, channel_id=HEARTH, user_id=BO
)
BO_IN_DOCK = Audience(imp=EMBER, place=Place.GROUP, guild_id=HARBOUR, channel_id=DOCK, user_id=BO)
MOSS_IN_HEARTH = Audience(
    imp=MOSS, place=Place.GROUP, guild_id=ORCHARD, channel_id=HEARTH, user_id=BO
)
FORGED_GUILD = Audience(
    imp=EMBER, place=Place.GROUP, guild_id=HARBOUR, channel_id=HEARTH, user_id=BO
)
SHARED_PLACES = (Place.GROUP, Place.THREAD, Place.PRIVATE_THREAD)
OK, SCOPE, AUDIENCE = None, Exclusion.SCOPE, Exclusion.AUDIENCE

# CC "Memory": imp-only task, channel task, DM turn, group turn; columns are the four notes.
TABLE = [
    (IMP_TASK, (OK, SCOPE, SCOPE, SCOPE)),
    (HEARTH_TASK, (OK, OK, SCOPE, SCOPE)),
    (BO_IN_DM, (OK, SCOPE, OK, OK)),
    (CY_IN_DM, (OK, SCOPE, SCOPE, SCOPE)),
    (BO_IN_HEARTH, (OK, OK, SCOPE, AUDIENCE)),
    (BO_SHARING, (OK, OK, SCOPE, OK)),
    (CY_SHARING, (OK, OK, SCOPE, SCOPE)),
    (BO_IN_THREAD, (OK, OK, SCOPE, AUDIENCE)),
    (BO_IN_DOCK, (OK, SCOPE, SCOPE, AUDIENCE)),
    (MOSS_IN_HEARTH, (SCOPE, SCOPE, SCOPE, SCOPE)),
    (FORGED_GUILD, (OK, SCOPE, SCOPE, AUDIENCE)),
]


@pytest.mark.parametrize(("audience", "row"), TABLE)
def test_the_table(audience: Audience, row: tuple[Exclusion | None, ...]) -> None:
    """Every kind of turn against every kind of note."""
    notes = (IMP_NOTE, HEARTH_NOTE, BO_DM_NOTE, BO_NOTE)
    assert tuple(may_know(note, audience) for note in notes) == row


def test_a_task_of_a_person_reads_nothing_private() -> None:
    """A queued task has no reader of its own; what it says goes to a channel."""
    task = Audience(imp=EMBER, place=Place.NONE, channel_id=BO_DM, user_id=BO)
    assert may_know(BO_NOTE, task) is Exclusion.AUDIENCE


@pytest.mark.parametrize(
    ("policy", "consent", "reads"),
    [(False, False, False), (True, False, False), (False, True, False), (True, True, True)],
)
def test_sharing_needs_the_owner_and_the_person(
    *, policy: bool, consent: bool, reads: bool
) -> None:
    """Either alone is not enough."""
    scope = RunScope(
        provider="discord",
        place=Place.GROUP,
        channel_id=HEARTH,
        guild_id=ORCHARD,
        user_id=BO,
    )
    audience = audience_of(EMBER, scope, shared_context=policy, consented=consent)
    assert (may_know(BO_NOTE, audience) is None) is reads


def test_a_turn_of_no_channel_reads_no_channel_s_notes() -> None:
    """CC 2: what names no channel is not the same as what names none by mistake."""
    nowhere = audience_of(EMBER, RunScope(provider="shell", place=Place.NONE))
    assert readable_bindings(nowhere) == (Binding(imp=EMBER, scope=MemoryScope.IMP),)
    unbound = Binding(imp=EMBER, scope=MemoryScope.CHANNEL)
    assert may_know(unbound, nowhere) is Exclusion.SCOPE
    nobody = Binding(imp=EMBER, scope=MemoryScope.USER)
    dm = Audience(imp=EMBER, place=Place.DM, channel_id=BO_DM)
    assert may_know(nobody, dm) is Exclusion.SCOPE


def test_a_thread_shares_its_parents_notes() -> None:
    """A thread belongs to its parent's channel scope."""
    scope = RunScope(
        provider="discord",
        place=Place.THREAD,
        channel_id=ChannelId("discord:99"),
        parent_channel_id=HEARTH,
        guild_id=ORCHARD,
        user_id=BO,
    )
    assert may_know(HEARTH_NOTE, audience_of(EMBER, scope)) is None


def test_a_private_thread_is_a_circle_of_its_own() -> None:
    """Fewer read it than its channel, so what is kept in either is not known in the other."""
    scope = RunScope(
        provider="discord",
        place=Place.PRIVATE_THREAD,
        channel_id=ChannelId("discord:99"),
        parent_channel_id=HEARTH,
        guild_id=ORCHARD,
        user_id=BO,
    )
    there = audience_of(EMBER, scope)
    kept_there = replace(HEARTH_NOTE, channel_id=ChannelId("discord:99"))
    assert may_know(kept_there, there) is None
    assert may_know(kept_there, BO_IN_HEARTH) is Exclusion.SCOPE
    assert may_know(HEARTH_NOTE, there) is Exclusion.SCOPE
    assert scope.home_channel_id == HEARTH  # its purpose is still its channel's


def _oracle(note: Binding, turn: Audience) -> bool:
    """The rule said the other way round: who is in the room, and is each entitled."""
    if note.imp != turn.imp:
        return False
    if note.scope is MemoryScope.IMP:
        return True
    if note.scope is MemoryScope.CHANNEL:
        return (note.guild_id, note.channel_id) == (turn.guild_id, turn.channel_id)
    alone = turn.place is Place.DM
    agreed = turn.place not in {Place.DM, Place.NONE} and turn.shares_private
    return note.user_id == turn.user_id and (alone or agreed)


def test_ten_thousand_random_turns() -> None:
    """No record outside its audience, over many people, channels, guilds and policies."""
    chance = random.Random(20_261_129)  # noqa: S311 - reproducible, not secret
    imps = [EMBER, MOSS]
    rooms = [(None, BO_DM), (None, CY_DM), (ORCHARD, HEARTH), (ORCHARD, WORKSHOP), (HARBOUR, DOCK)]
    people = [UserId(f"discord:{100 + n}") for n in range(6)]
    notes = [
        *(Binding(imp=imp, scope=MemoryScope.IMP) for imp in imps),
        *(
            Binding(imp=imp, scope=MemoryScope.CHANNEL, guild_id=guild, channel_id=channel)
            for imp, (guild, channel) in product(imps, rooms)
        ),
        *(
            Binding(imp=imp, scope=MemoryScope.USER, user_id=user)
            for imp, user in product(imps, people)
        ),
    ]
    for _ in range(10_000):
        guild, channel = chance.choice(rooms)
        turn = Audience(
            imp=chance.choice(imps),
            place=Place.DM if guild is None else chance.choice(SHARED_PLACES),
            guild_id=guild,
            channel_id=channel,
            user_id=chance.choice(people),
            shares_private=chance.random() < 0.3,
        )
        allowed = {note for note in notes if may_know(note, turn) is None}
        assert allowed == {note for note in notes if _oracle(note, turn)}
        assert allowed == set(readable_bindings(turn))
