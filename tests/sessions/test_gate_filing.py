"""Filing: the same is filed once, and what waits in one conversation is bounded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.request import ChannelId, RunId, TurnId, UserId
from sessions import gate_filing
from sessions.gate_filing import PlainFiler, Proposal
from sessions.gates import EffectKind, GateId, GateOrigin, GateState
from sessions.store.database import open_database
from sessions.store.gates import GateStore
from support.session_world import ADA, BOUND_SECONDS, EMBER, HEARTH, ManualClock

PROPOSAL = Proposal(
    origin=GateOrigin(
        imp=EMBER,
        channel_id=HEARTH,
        is_dm=False,
        requester=ADA,
        run_id=RunId("run-1"),
        turn_id=TurnId("discord:message:1"),
    ),
    tool="bash",
    arguments={"command": "make tea"},
    effect=EffectKind.ONCE,
    intent="run a command",
    rationale="",
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[GateStore]:
    clock = ManualClock()
    async with open_database(
        tmp_path / "db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:
        yield GateStore(database)


async def filed(filer: PlainFiler, proposal: Proposal = PROPOSAL) -> GateId | None:
    gate = await filer.file(proposal)
    return None if gate is None else gate.gate_id


async def test_the_same_is_filed_once_while_it_waits(store: GateStore) -> None:
    """A model that asks again, also at the same time, files nothing twice; others' are others."""
    clock = ManualClock()
    filer = PlainFiler(store, clock=clock)
    ids = set(await asyncio.gather(*(filed(filer) for _ in range(5))))
    (first,) = ids
    assert first is not None
    gate = await store.get(first)
    assert gate is not None
    assert (gate.state, gate.intact) == (GateState.PENDING, True)
    for other in (
        replace(PROPOSAL, arguments={"command": "make cocoa"}),
        replace(PROPOSAL, tool="write"),
        replace(PROPOSAL, origin=replace(PROPOSAL.origin, requester=UserId("discord:8"))),
        replace(PROPOSAL, origin=replace(PROPOSAL.origin, channel_id=ChannelId("discord:9"))),
    ):
        found = await filed(filer, other)
        assert found not in ids
        ids.add(found)
    clock.advance(24 * 3600)
    assert await filed(filer) not in ids, "an expired one stands for nothing"


async def test_what_waits_in_one_conversation_is_bounded(
    store: GateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_filing, "MAX_WAITING", 2)
    filer = PlainFiler(store, clock=ManualClock())
    proposals = [replace(PROPOSAL, arguments={"command": f"{number}"}) for number in range(3)]
    ids = [await filed(filer, each) for each in proposals]
    assert [each is None for each in ids] == [False, False, True]
    elsewhere = replace(PROPOSAL.origin, channel_id=ChannelId("discord:9"))
    assert await filed(filer, replace(proposals[2], origin=elsewhere)) is not None
    assert await filed(filer, proposals[0]) == ids[0], "the full house still knows its own"


async def test_what_waits_for_one_person_is_bounded_in_all_conversations(
    store: GateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten channels and their threads bury no owner in cards; what others ask is still asked."""
    monkeypatch.setattr(gate_filing, "MAX_OF_PERSON", 2)
    clock = ManualClock()
    filer = PlainFiler(store, clock=clock)
    places = [replace(PROPOSAL.origin, channel_id=ChannelId(f"discord:{n}")) for n in range(3)]
    proposals = [replace(PROPOSAL, origin=place) for place in places]
    ids = [await filed(filer, each) for each in proposals]
    assert [each is None for each in ids] == [False, False, True]
    other = replace(places[2], requester=UserId("discord:8"))
    assert await filed(filer, replace(PROPOSAL, origin=other)) is not None
    assert await filed(filer, proposals[0]) == ids[0]
    clock.advance(2 * 24 * 3600)
    assert await filed(filer, proposals[2]) is not None, "what has expired waits for nobody"


async def test_arguments_without_a_canonical_form_are_not_filed(store: GateStore) -> None:
    with pytest.raises(ValueError, match="canonical"):
        await filed(
            PlainFiler(store, clock=ManualClock()),
            replace(PROPOSAL, arguments={"command": "\ud83d"}),
        )
