"""The world's own rules, without sockets."""

from __future__ import annotations

import pytest

from bot.playground.entities import ChannelKind, Event
from bot.playground.errors import ApiError
from bot.playground.ids import ADA, BO, CY, DEE, DIRECT, EMBER, HARBOUR, HEARTH, KINDLING, ORCHARD
from bot.playground.world.state import default_world


def test_default_world_is_as_documented() -> None:
    """Ids are stable; Bo is in both guilds, Cy and Dee in one."""
    world = default_world()
    assert world.bot.id == EMBER
    assert set(world.guild(ORCHARD).members) == {ADA, BO, CY, DEE, EMBER}
    assert set(world.guild(HARBOUR).members) == {ADA, BO, EMBER}
    assert {world.dm(EMBER, person).id for person in DIRECT} == set(DIRECT.values())
    assert world.channel(KINDLING).parent_id == HEARTH
    assert [c.name for c in world.channels_of(ORCHARD)] == ["hearth", "workshop"]


def test_a_dm_is_one_whoever_opens_it() -> None:
    """The same two people have one conversation."""
    world = default_world()
    assert world.dm(BO, CY) is world.dm(CY, BO)
    assert {c.id for c in world.dms_of(CY)} == {DIRECT[CY], world.dm(BO, CY).id}


@pytest.mark.parametrize(
    ("look", "code"),
    [("user", 10013), ("guild", 10004), ("channel", 10003)],
)
def test_unknown_ids_are_refused(look: str, code: int) -> None:
    """Each kind of look-up has Discord's own code."""
    with pytest.raises(ApiError) as refused:
        getattr(default_world(), look)(42)
    assert refused.value.code == code


def test_private_threads_are_seen_by_members_only() -> None:
    """A moderator sees them too."""
    world = default_world()
    thread = world.add_thread(HEARTH, "quiet", BO, kind=ChannelKind.PRIVATE_THREAD)
    assert world.sees(thread, BO)
    assert world.sees(thread, ADA)
    assert not world.sees(thread, CY)
    assert not world.sees(thread, EMBER)


def test_threads_hang_on_guild_channels_only() -> None:
    """No thread in a DM, none in a thread."""
    world = default_world()
    for parent in (DIRECT[BO], KINDLING):
        with pytest.raises(ApiError) as refused:
            world.add_thread(parent, "x", BO)
        assert refused.value.code == 50024


def test_changes_are_told() -> None:
    """Members, roles, channels and threads each have their event."""
    heard: list[Event] = []
    world = default_world()
    world.emit = heard.append
    world.update_member(ORCHARD, BO, nick="B.")
    world.remove_member(ORCHARD, DEE)
    world.add_role(ORCHARD, "cooks")
    channel = world.add_channel(ORCHARD, "attic")
    world.update_channel(channel, name="loft", topic="Up.")
    thread = world.add_thread(channel, "box", BO)
    world.update_channel(thread, archived=True)
    world.delete_channel(channel)
    assert [e.name for e in heard] == [
        "GUILD_MEMBER_UPDATE",
        "GUILD_MEMBER_REMOVE",
        "GUILD_ROLE_CREATE",
        "CHANNEL_CREATE",
        "CHANNEL_UPDATE",
        "THREAD_CREATE",
        "THREAD_UPDATE",
        "CHANNEL_DELETE",
    ]
    assert heard[5].data["newly_created"] is True
    assert thread.id not in world.channels
