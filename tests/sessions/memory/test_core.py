"""What all of memory asks: who reads the reply, whose ids can be named, how a note stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compiler.records import RecordStatus, TrustClass
from compiler.request import Role
from sessions.memory.core import bare_view, state_of
from sessions.memory.results import NoteState
from sessions.store.consent import ConsentLevel, Purpose
from support.memory_world import ADA, BO, EMBER, by_hand, by_model, dm, group, kept, memory_in


async def test_reach_is_one_s_own_and_the_turn_s(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        core = memory.service._core
        assert (await core.reach(by_hand(dm()))).user_id == BO
        assert (await core.reach(by_hand(dm()))).bindings is None
        in_turn = await core.reach(by_model(group()))
        assert in_turn.user_id == BO
        assert in_turn.bindings is not None
        assert {each.scope.value for each in in_turn.bindings} == {"imp", "channel"}
        assert (await core.reach(by_hand(group(ADA, role=Role.OWNER)))).user_id is None
        assert (await core.reach(by_model(group(ADA, role=Role.OWNER)))).user_id == ADA
        nobody = await core.reach(by_hand(replace(dm(), user_id=None)))
        assert nobody.user_id is not None


async def test_an_audience_is_private_unless_both_agree(tmp_path: Path) -> None:
    async with memory_in(tmp_path, shared_context=lambda _: True) as memory:
        core = memory.service._core
        assert not (await core.audience(EMBER, group(), 0)).shares_private
        await memory.service.set_consent(by_hand(group()), ConsentLevel.ON, purpose=Purpose.SHARE)
        assert (await core.audience(EMBER, group(), 0)).shares_private
        assert not (await core.audience(EMBER, dm(), 0)).shares_private


@pytest.mark.parametrize(
    ("status", "trust", "expires_ms", "state"),
    [
        (RecordStatus.ACTIVE, TrustClass.INFERRED, None, NoteState.INFERRED),
        (RecordStatus.ACTIVE, TrustClass.EXPLICIT, None, NoteState.CONFIRMED),
        (RecordStatus.ACTIVE, TrustClass.EXPLICIT, 100, NoteState.EXPIRED),
        (RecordStatus.ACTIVE, TrustClass.EXPLICIT, 101, NoteState.CONFIRMED),
        (RecordStatus.PENDING, TrustClass.INFERRED, None, NoteState.WAITING),
        (RecordStatus.RETRACTED, TrustClass.EXPLICIT, None, NoteState.WITHDRAWN),
        (RecordStatus.SUPERSEDED, TrustClass.EXPLICIT, None, NoteState.REPLACED),
        (RecordStatus.EXPIRED, TrustClass.EXPLICIT, None, NoteState.EXPIRED),
        (RecordStatus.TOMBSTONED, TrustClass.EXPLICIT, None, NoteState.FORGOTTEN),
    ],
)
async def test_how_a_note_stands(
    tmp_path: Path,
    status: RecordStatus,
    trust: TrustClass,
    expires_ms: int | None,
    state: NoteState,
) -> None:
    async with memory_in(tmp_path) as memory:
        await memory.service.remember(by_hand(dm()), "tea", explicit=True)
        (stored,) = await memory.service._core.store.of_person(BO)
        row = replace(stored.row, status=status, trust=trust, expires_ms=expires_ms)
        assert state_of(row, 100) is state
        assert bare_view(row).text == ""


async def test_rates_are_kept_for_each_person(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        core = memory.service._core
        allowed = [core.may_change(by_hand(dm())) for _ in range(25)]
        assert allowed == [True] * 20 + [False] * 5
        assert core.may_change(by_hand(dm(ADA)))
        memory.clock.advance(60)
        assert core.may_change(by_hand(dm()))


async def test_fingerprints_ignore_case_and_form(tmp_path: Path) -> None:
    """A forgotten text is recognised in another spelling of the same letters."""
    async with memory_in(tmp_path) as memory:
        core = memory.service._core
        kept(await memory.service.remember(by_hand(dm()), "Caf\u00e9", explicit=True))
        (stored,) = await core.store.of_person(BO)
        (note,) = (await core.store.open([stored])).notes
        same = replace(note, text="CAFE\u0301")
        assert core.fingerprint(same) == core.fingerprint(note)
        assert core.fingerprint(replace(note, text="tea")) != core.fingerprint(note)
