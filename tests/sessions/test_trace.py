"""Appending: durable, owner-only, chained; a failure delivers nothing and breaks nothing."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.budget import ContextBudgets
from compiler.compile import compile_start
from compiler.request import RunId, TurnId
from sessions import trace
from sessions.trace import TraceUnwritable, TraceWriter
from sessions.traces.events import CompiledEvent, GapEvent, chain_root, encode_event, line_hash
from sessions.traces.proof import verify
from sessions.traces.reader import read_trace
from sessions.traces.writing import Occasion, compiled_event, ended_event
from support.compiler_factories import RUN, compiled_turn, snapshot, start_request

AT = datetime(2026, 11, 29, 23, 16, 35, tzinfo=UTC)


def start() -> CompiledEvent:
    context = compile_start(start_request(), snapshot(), ContextBudgets())
    return compiled_event(context, Occasion(at=AT))


def turn(writer: TraceWriter, number: int = 1) -> CompiledEvent:
    occasion = Occasion(at=AT, turn_id=TurnId(f"discord:message:{number}"), extends=writer.start)
    return compiled_event(compiled_turn(), occasion)


async def written(run_dir: Path, turns: int = 2) -> Path:
    """A closed trace of a start and some turns."""
    writer = await TraceWriter.create(run_dir, RUN)
    await writer.append(start())
    for number in range(turns):
        await writer.append(turn(writer, number))
    writer.close()
    return run_dir / "context.jsonl"


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """A disk that is full: writing beyond ``size`` bytes of a file fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_each_line_names_the_one_before_and_the_first_names_the_run(tmp_path: Path) -> None:
    path = await written(tmp_path / RUN)
    lines = path.read_bytes().split(b"\n")[:-1]
    events = [traced.event for traced in read_trace(path)]
    assert [event.seq for event in events] == [0, 1, 2]
    assert [event.prev_sha256 for event in events] == [
        chain_root(RUN),
        line_hash(lines[0]),
        line_hash(lines[1]),
    ]


async def test_append_gives_number_and_hash_of_its_line(tmp_path: Path) -> None:
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    assert (writer.head, writer.start, writer.events) == (None, None, 0)
    first = await writer.append(start())
    second = await writer.append(turn(writer))
    writer.close()
    lines = (tmp_path / RUN / "context.jsonl").read_bytes().split(b"\n")
    assert (first.seq, first.sha256) == (0, line_hash(lines[0]))
    assert (second.seq, second.sha256) == (1, line_hash(lines[1]))
    assert (writer.head, writer.start, writer.events) == (second, first, 2)


async def test_file_and_directory_are_the_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    """CC "Trace and owner interface": owner-only permissions, from creation."""
    before = os.umask(0)
    try:
        writer = await TraceWriter.create(tmp_path / "runs" / RUN, RUN)
        writer.close()
    finally:
        os.umask(before)
    run_dir = tmp_path / "runs" / RUN
    assert run_dir.stat().st_mode & 0o777 == 0o700
    assert run_dir.parent.stat().st_mode & 0o777 == 0o700
    assert (run_dir / "context.jsonl").stat().st_mode & 0o777 == 0o600


async def test_append_returns_when_the_line_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CC "Failure behavior": a trace must be durable before its input is sent."""
    synced: list[int] = []
    real = trace._sync_data
    path = tmp_path / RUN / "context.jsonl"

    def sync(descriptor: int) -> None:
        synced.append(path.stat().st_size)
        real(descriptor)

    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    monkeypatch.setattr(trace, "_sync_data", sync)
    await writer.append(start())
    writer.close()
    assert synced == [path.stat().st_size]


async def test_several_events_are_chained_and_synced_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The account of a turn's end is one wait for the disk, however many calls it had."""
    synced: list[int] = []
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    await writer.append(start())
    path = tmp_path / RUN / "context.jsonl"
    monkeypatch.setattr(trace, "_sync_data", lambda _: synced.append(path.stat().st_size))
    await writer.append_all([turn(writer), turn(writer)])
    await writer.append_all([])
    writer.close()
    assert synced == [path.stat().st_size]
    assert verify(path).ok
    assert writer.events == 3
    assert writer.head is not None
    assert writer.head.sha256 == line_hash(path.read_bytes().split(b"\n")[-2])


async def test_of_several_events_none_is_there_when_one_has_no_room(tmp_path: Path) -> None:
    """CC 13, structure: half an account would name calls of a turn that never ended."""
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    await writer.append(start())
    path, head = tmp_path / RUN / "context.jsonl", writer.head
    before = path.read_bytes()
    one = len(encode_event(turn(writer)))
    with file_size_limit(len(before) + one + 500), pytest.raises(TraceUnwritable):
        await writer.append_all([turn(writer), turn(writer)])
    assert path.read_bytes() == before
    assert writer.head == head
    await writer.append_all([turn(writer), turn(writer)])
    writer.close()
    assert verify(path).ok


async def test_a_run_is_traced_once(tmp_path: Path) -> None:
    """A second run of the same id would mix two conversations in one file."""
    (await TraceWriter.create(tmp_path / RUN, RUN)).close()
    with pytest.raises(TraceUnwritable) as caught:
        await TraceWriter.create(tmp_path / RUN, RUN)
    assert caught.value.facts["errno_name"] == "EEXIST"


async def test_a_directory_that_cannot_be_made_is_an_error_without_its_path(
    tmp_path: Path,
) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(TraceUnwritable) as caught:
        await TraceWriter.create(tmp_path / "runs" / RUN, RUN)
    assert str(tmp_path) not in f"{caught.value.safe_message} {dict(caught.value.facts)}"


async def test_a_link_is_not_followed(tmp_path: Path) -> None:
    path = await written(tmp_path / RUN)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TraceUnwritable) as caught:
        await TraceWriter.reopen(tmp_path / RUN, RUN, at=AT)
    assert caught.value.facts["errno_name"] == "ELOOP"


async def test_a_full_disk_delivers_nothing_and_leaves_the_file_whole(tmp_path: Path) -> None:
    """CC 13, structure: the append fails; once there is room the same writer goes on."""
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    await writer.append(start())
    path = tmp_path / RUN / "context.jsonl"
    before = path.read_bytes()
    with file_size_limit(len(before) + 100), pytest.raises(TraceUnwritable) as caught:
        await writer.append(turn(writer))
    assert caught.value.facts["errno"] == errno.EFBIG
    assert path.read_bytes() == before
    await writer.append(turn(writer))
    writer.close()
    assert verify(path).ok
    assert writer.events == 2


async def test_after_a_failed_sync_nothing_more_is_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    await writer.append(start())
    head = writer.head
    with monkeypatch.context() as patch:
        patch.setattr(trace, "_sync_data", fail)
        with pytest.raises(TraceUnwritable):
            await writer.append(turn(writer))
    with pytest.raises(TraceUnwritable):
        await writer.append(turn(writer))
    assert writer.head == head
    writer.close()


async def test_after_a_failed_roll_back_nothing_more_is_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    await writer.append(start())
    size = (tmp_path / RUN / "context.jsonl").stat().st_size
    with monkeypatch.context() as patch, file_size_limit(size + 100):
        patch.setattr(os, "ftruncate", fail)
        with pytest.raises(TraceUnwritable):
            await writer.append(turn(writer))
    with pytest.raises(TraceUnwritable):
        await writer.append(turn(writer))
    writer.close()
    again = await TraceWriter.reopen(tmp_path / RUN, RUN, at=AT)
    assert again.events == 2  # the start, and the gap where the half line stood
    again.close()


async def test_a_torn_end_that_cannot_be_set_aside_is_left_as_it_is(tmp_path: Path) -> None:
    path = await written(tmp_path / RUN)
    with path.open("ab") as stream:
        stream.write(b"{" * 10)
    before = path.read_bytes()
    with file_size_limit(4), pytest.raises(TraceUnwritable):
        await TraceWriter.reopen(tmp_path / RUN, RUN, at=AT)
    assert path.read_bytes() == before


async def test_a_closed_trace_takes_nothing(tmp_path: Path) -> None:
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    writer.close()
    writer.close()
    with pytest.raises(TraceUnwritable):
        await writer.append(start())


async def test_an_event_of_another_run_is_refused(tmp_path: Path) -> None:
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    with pytest.raises(TraceUnwritable):
        await writer.append(ended_event(RunId("another"), at=AT, reason="idle"))
    writer.close()


async def test_appends_at_the_same_time_make_one_chain(tmp_path: Path) -> None:
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    await writer.append(start())
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(writer.append(turn(writer, number)))
    writer.close()
    report = verify(tmp_path / RUN / "context.jsonl", head=writer.head)
    assert (report.ok, report.events) == (True, 21)


async def test_a_cancelled_append_leaves_a_whole_chain(tmp_path: Path) -> None:
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    await writer.append(start())
    for number in range(10):
        try:
            async with asyncio.timeout(0):
                await writer.append(turn(writer, number))
        except TimeoutError:
            pass
    await writer.append(ended_event(RUN, at=AT, reason="idle"))
    writer.close()
    assert verify(tmp_path / RUN / "context.jsonl", head=writer.head).ok


async def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    """Two hosts over one home must not weave two chains into one file."""
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    await writer.append(start())
    with pytest.raises(TraceUnwritable):
        await TraceWriter.reopen(tmp_path / RUN, RUN, at=AT)
    writer.close()
    again = await TraceWriter.reopen(tmp_path / RUN, RUN, at=AT)
    again.close()


async def test_a_reopened_trace_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = await written(tmp_path / RUN)
    writer = await TraceWriter.reopen(tmp_path / RUN, RUN, at=AT)
    assert writer.events == 3
    assert writer.start is not None
    assert writer.start.seq == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert writer.inputs == {line["input_prompt_sha256"] for line in lines[1:]}
    await writer.append(turn(writer, 9))
    writer.close()
    assert verify(path, head=writer.head).ok
    assert verify(path).events == 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    cut=st.integers(min_value=1), fill=st.sampled_from([b"", b"\x00" * 64, b"\x00" * 64 + b"\n"])
)
async def test_a_torn_last_line_is_set_aside_and_named(
    tmp_path_factory: pytest.TempPathFactory, cut: int, fill: bytes
) -> None:
    """A crash in an append: nothing of that line was delivered, and the gap shows."""
    run_dir = tmp_path_factory.mktemp("torn") / RUN
    path = await written(run_dir, turns=1)
    first, second, _ = path.read_bytes().split(b"\n")
    torn = second[: cut % len(second)] + fill
    path.write_bytes(first + b"\n" + torn)
    writer = await TraceWriter.reopen(run_dir, RUN, at=AT)
    await writer.append(turn(writer, 2))
    writer.close()
    events = [traced.event for traced in read_trace(path)]
    if not torn:
        assert len(events) == 2
        return
    gap = events[1]
    assert isinstance(gap, GapEvent)
    assert (gap.file, gap.torn_bytes) == ("context.torn-1", len(torn))
    aside = run_dir / gap.file
    assert aside.read_bytes() == torn
    assert aside.stat().st_mode & 0o777 == 0o600
    assert verify(path, head=writer.head).ok


async def test_each_torn_end_has_a_file_of_its_own(tmp_path: Path) -> None:
    path = await written(tmp_path / RUN)
    for _ in range(2):
        with path.open("ab") as stream:
            stream.write(b"{")
        (await TraceWriter.reopen(tmp_path / RUN, RUN, at=AT)).close()
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "context.jsonl",
        "context.torn-1",
        "context.torn-2",
    ]
    assert verify(path).ok


@pytest.mark.parametrize("damage", ["middle", "order", "run", "missing"])
async def test_damage_elsewhere_is_not_gone_on_with(tmp_path: Path, damage: str) -> None:
    """Only a torn end is an accident of writing; anything else is left for the owner to see."""
    path = await written(tmp_path / RUN)
    run_id = RUN
    lines = path.read_bytes().splitlines(keepends=True)
    match damage:
        case "middle":
            path.write_bytes(lines[0] + b"{}\n" + lines[2])
        case "order":
            path.write_bytes(lines[0] + lines[2] + lines[1])
        case "run":
            run_id = RunId("another")
        case _:
            path.unlink()
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(TraceUnwritable):
        await TraceWriter.reopen(tmp_path / RUN, run_id, at=AT)
    assert (path.read_bytes() if path.exists() else None) == before
