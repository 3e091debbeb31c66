"""Trusted scope, as every other module reads it."""

from __future__ import annotations

from compiler.request import Place
from support.compiler_factories import HEARTH, dm_scope, group_scope, no_scope, thread_scope


def test_a_thread_shares_its_parents_home() -> None:
    """Purpose and memory of a thread are those of its parent (CC ``RunContext``)."""
    assert thread_scope().home_channel_id == HEARTH
    assert thread_scope().channel_id != HEARTH


def test_a_channel_is_its_own_home() -> None:
    assert group_scope().home_channel_id == HEARTH
    assert no_scope().home_channel_id is None


def test_only_a_direct_message_is_one() -> None:
    assert dm_scope().is_dm
    assert [group_scope().is_dm, thread_scope().is_dm, no_scope().is_dm] == [False] * 3
    assert dm_scope().place is Place.DM
