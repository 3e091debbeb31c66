"""Approved calls act on the workspace that their conversation has by then, and on no other."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from compiler.request import ChannelId, ImpName, RunId, TurnId
from sessions import workspaces
from sessions.boxes.plan import uid_of
from sessions.clock import timestamp
from sessions.gates import SHELL, EffectKind, Gate, GateId, GateOrigin, GateRules, file_gate
from sessions.inbound import OutcomeKind
from sessions.registry import Registry
from sessions.store.warm import WarmRow, keep
from sessions.view import SessionState
from sessions.workspaces import Workspaces, adopt, inherit, leave
from support.session_world import (
    ADA,
    EMBER,
    HEARTH,
    World,
    ask,
    eventually,
    only_run,
    scope_of,
    session_world,
    start_failure,
)

IDLE_SECONDS = 300.0


def gate(run_id: str, channel: str = HEARTH) -> Gate:
    return file_gate(
        GateId("g-1"),
        GateOrigin(
            imp=EMBER,
            channel_id=ChannelId(channel),
            is_dm=False,
            requester=ADA,
            run_id=RunId(run_id),
            turn_id=TurnId("discord:message:1"),
        ),
        tool="write",
        arguments={"path": "a", "content": "b"},
        effect=EffectKind.REPEATABLE,
        intent="write a file",
        rationale="",
        now_ms=0,
        rules=GateRules(),
    )


@dataclass(slots=True)
class Kept:
    world: World
    workspaces: Workspaces

    async def claim(self, run_id: str, *, idle_seconds: float) -> None:
        at = self.world.clock.utc_now() - timedelta(seconds=idle_seconds)
        row = WarmRow(
            imp=EMBER,
            channel_id=HEARTH,
            run_id=RunId(run_id),
            route_key="key",
            engine_sha256="hash",
            last_active_at=timestamp(at),
        )
        await self.world.database.write(lambda db: keep(db, row))


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    async with session_world(tmp_path) as world:
        warm = world.parts.warm
        made = Workspaces(
            tmp_path,
            tmp_path / "runs",
            warm,
            clock=world.clock,
            idle_seconds=IDLE_SECONDS,
        )
        yield Kept(world=world, workspaces=made)


def adopted(home: Path, name: str, channel: str = HEARTH, imp: str = EMBER) -> Path:
    run_dir = home / "runs" / name
    run_dir.mkdir(parents=True)
    adopt(home, ImpName(imp), ChannelId(channel), run_dir)
    return run_dir / "workspace"


async def test_a_living_session_s_workspace_is_used_and_not_handed_on(
    tmp_path: Path, kept: Kept
) -> None:
    """Also where another session than the one that asked is at hand by now."""
    await kept.claim("run-2", idle_seconds=IDLE_SECONDS)
    assert await kept.workspaces.run_of(gate("run-1")) == tmp_path / "runs" / "run-2"
    assert not adopted(tmp_path, "run-3").exists()


async def test_an_ended_session_s_workspace_is_handed_to_the_next_of_its_conversation(
    tmp_path: Path, kept: Kept
) -> None:
    """The next session is told of the outcome and finds what was done; nobody else does."""
    run_dir = await kept.workspaces.run_of(gate("run-1"))
    assert run_dir == tmp_path / "runs" / "run-1"
    (run_dir / "workspace" / "a").write_text("b")
    (run_dir / "workspace" / "link").symlink_to("/nowhere")
    assert not adopted(tmp_path, "run-2", "discord:999").exists()
    assert not adopted(tmp_path, "run-3", imp="dusk").exists()
    mine = adopted(tmp_path, "run-4")
    assert (mine / "a").read_text() == "b"
    assert (mine / "link").is_symlink()
    assert not (run_dir / "workspace").exists()
    assert not adopted(tmp_path, "run-5").exists(), "handed on once"


async def test_a_session_that_will_not_be_taken_up_again_counts_as_ended(
    tmp_path: Path, kept: Kept
) -> None:
    await kept.claim("run-2", idle_seconds=IDLE_SECONDS + 1)
    await kept.workspaces.run_of(gate("run-1"))
    (tmp_path / "runs" / "run-2" / "workspace" / "a").write_text("b")
    assert (adopted(tmp_path, "run-3") / "a").exists()


async def test_a_marker_of_anything_else_hands_nothing_on(tmp_path: Path, kept: Kept) -> None:
    """It names a run's directory and leads nowhere else."""
    await kept.workspaces.run_of(gate("run-1"))
    (marker,) = (each for each in (tmp_path / "handover").rglob("*") if each.is_file())
    (tmp_path / "workspace").mkdir()
    for number, name in enumerate(("", ".", "..", "../runs/run-1", "run-9"), start=2):
        marker.write_text(name)
        assert not adopted(tmp_path, f"run-{number}").exists()
    assert (tmp_path / "workspace").exists()


def test_handing_over_reaches_nothing_outside_however_things_are_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that still runs exchanges a folder for a link in the midst of it."""
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    for folder in (workspace / "a" / "b", outside / "b"):
        folder.mkdir(parents=True)
    (outside / "b" / "precious").touch()
    (workspace / "a" / "b" / "own").touch()
    hidden = {path.stat().st_ino for path in (outside, *outside.rglob("*"))}
    changed: set[int] = set()

    def chown(place: int | str, *_: int, dir_fd: int | None = None, **__: bool) -> None:
        found = os.fstat(place) if isinstance(place, int) else os.lstat(place, dir_fd=dir_fd)
        changed.add(found.st_ino)
        if place == "b" or str(place).endswith("/b"):
            (workspace / "a").rename(workspace / "moved")
            (workspace / "a").symlink_to(outside)

    monkeypatch.setattr(os, "chown", chown)
    own = {path.stat().st_ino for path in (workspace, *workspace.rglob("*"))}
    workspaces._change_hands(workspace, 61_200)
    assert not changed & hidden
    assert changed == own


async def test_the_next_session_starts_in_it(tmp_path: Path, kept: Kept) -> None:
    world = kept.world
    async with world.registry() as registry:
        await ask(registry, 1)
        first = only_run(registry)
        await _ended(world, registry)
        run_dir = await kept.workspaces.run_of(gate(first))
        (run_dir / "workspace" / "a").write_text("b")
        await ask(registry, 2)
        second = only_run(registry)
        assert second != first
        assert (tmp_path / "runs" / second / "workspace" / "a").read_text() == "b"


@pytest.mark.parametrize("useless", ["never came up", "nobody asked", "cannot be written"])
async def test_a_session_that_answered_nothing_leaves_it_to_the_next(
    tmp_path: Path, kept: Kept, useless: str
) -> None:
    """Issue 5: after an approval the conversation finds what was done, also where the very next
    session is not the one that is asked."""
    world = kept.world
    async with world.registry() as registry:
        await ask(registry, 1)
        first = only_run(registry)
        await _ended(world, registry)
        run_dir = await kept.workspaces.run_of(gate(first))
        (run_dir / "workspace" / "a").write_text("b")
        match useless:
            case "never came up":
                world.engine.start_error = start_failure()
                assert (await ask(registry, 2)).kind is OutcomeKind.FAILED
                world.engine.start_error = None
            case "nobody asked":
                registry.warm(EMBER, scope_of())
                await eventually(lambda: bool(registry.views()))
                await _ended(world, registry)
            case _:
                stop = "CREATE TRIGGER stop BEFORE UPDATE OF route_key ON runs BEGIN SELECT {}; END"
                broken = stop.format("RAISE(ABORT, 'full')")
                await world.database.write(lambda db: db.execute(broken))
                assert (await ask(registry, 2)).kind is OutcomeKind.FAILED
                await world.database.write(lambda db: db.execute("DROP TRIGGER stop"))
        await ask(registry, 3)
        third = only_run(registry)
    assert (tmp_path / "runs" / third / "workspace" / "a").read_text() == "b"


async def test_what_is_left_yields_to_what_was_done_since(tmp_path: Path, kept: Kept) -> None:
    """Two workspaces were set aside: the one of the later approval is the conversation's."""
    await kept.workspaces.run_of(gate("run-1"))
    given = adopted(tmp_path, "run-2").parent
    later = await kept.workspaces.run_of(gate("run-3"))
    (later / "workspace" / "a").write_text("b")
    leave(tmp_path, EMBER, HEARTH, given)
    assert (adopted(tmp_path, "run-4") / "a").read_text() == "b"
    leave(tmp_path, EMBER, HEARTH, given)
    assert adopted(tmp_path, "run-5").exists()


async def _ended(world: World, registry: Registry) -> None:
    await eventually(lambda: registry.views()[0].state is SessionState.IDLE)
    world.clock.advance(world.parts.limits.idle_seconds + 1)
    await eventually(lambda: registry.views() == ())


async def test_what_the_shell_asked_for_is_done_where_it_was_asked(
    tmp_path: Path, kept: Kept
) -> None:
    """The task's own workspace, whatever session is at hand; who hears of it inherits it."""
    await kept.claim("run-2", idle_seconds=0)
    asked = gate("run-1")
    shell = replace(asked, origin=replace(asked.origin, requester=SHELL))
    alone = replace(shell, origin=replace(shell.origin, channel_id=None))
    for each in (shell, alone):
        assert await kept.workspaces.run_of(each) == tmp_path / "runs" / "run-1"
    assert not adopted(tmp_path, "run-3").exists(), "no session is given it"
    (tmp_path / "runs" / "run-1" / "workspace" / "a").write_text("b")
    (tmp_path / "runs" / "run-4").mkdir()
    assert inherit(tmp_path / "runs" / "run-1", tmp_path / "runs" / "run-4")
    handed_on = tmp_path / "runs" / "run-4" / "workspace" / "a"
    assert handed_on.read_text() == "b"
    owner = uid_of("run-4") if os.geteuid() == 0 else os.geteuid()
    assert handed_on.stat().st_uid == owner, "the box of each run has a user of its own"
    assert not inherit(tmp_path / "runs" / "run-1", tmp_path / "runs" / "run-4")
