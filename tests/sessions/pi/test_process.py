"""One process from spawn to the last descendant's end (P23)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from sessions.limits import SessionLimits
from sessions.pi.errors import PiStartFailed
from sessions.pi.family import (
    FAMILY_VARIABLE,
    FamilyRecord,
    end_leftover,
    members,
    read_record,
)
from sessions.pi.process import PiInstall, PiProcess, PiSpec, argv_of, environment_of
from support.pi_world import LIMITS, fake_spec

SHORT = replace(LIMITS, shutdown_seconds=0.5)
"""What must pass in full before it is killed, and time enough for the end of what was."""


class Watched:
    """A process and what its callbacks were told."""

    def __init__(self, spec: PiSpec, limits: SessionLimits = LIMITS) -> None:
        self.stdout = b""
        self.news = asyncio.Event()
        self.ended = asyncio.Event()
        self.process = PiProcess(spec, limits, on_stdout=self._take, on_end=self.ended.set)

    def _take(self, chunk: bytes) -> None:
        self.stdout += chunk
        self.news.set()

    async def until_it_answers(self) -> None:
        self.process.write(b'{"id":"c1","type":"get_state"}\n')
        async with asyncio.timeout(120):
            await self.news.wait()


def living(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def spec(tmp_path: Path) -> PiSpec:
    return PiSpec(
        install=PiInstall(node=Path("/opt/node/bin/node"), cli=Path("/opt/pi/cli.js")),
        model="inglenook-test/m1",
        session_id="key",
        session_dir=tmp_path / "session",
        workspace=tmp_path / "workspace",
        config_dir=tmp_path / "engine",
        system_prompt_file=tmp_path / "system.md",
        preamble_file=tmp_path / "preamble.md",
        extensions=(Path("/b.mjs"), Path("/a.mjs")),
        env={"KEY": "secret", "PATH": "/evil"},
    )


def test_the_command_line_discovers_nothing_and_has_no_tools(tmp_path: Path) -> None:
    argv = argv_of(spec(tmp_path))
    assert argv[:2] == ["/opt/node/bin/node", "/opt/pi/cli.js"]
    for flag in ("--offline", "--no-approve", "-ne", "-ns", "-np", "-nc", "--no-themes", "-nt"):
        assert flag in argv
    pairs = dict(pairwise(argv))
    assert pairs["--mode"] == "rpc"
    assert pairs["--model"] == "inglenook-test/m1"
    assert pairs["--thinking"] == "off"
    assert pairs["--session-id"] == "key"
    assert pairs["--session-dir"] == str(tmp_path / "session")
    assert pairs["--system-prompt"] == str(tmp_path / "preamble.md")
    assert pairs["--append-system-prompt"] == str(tmp_path / "system.md")


def test_extensions_are_sorted(tmp_path: Path) -> None:
    """CC "Integration changes": extension paths are sorted."""
    assert argv_of(spec(tmp_path))[-4:] == ["-e", "/a.mjs", "-e", "/b.mjs"]


def test_pis_own_preamble_stays_when_none_is_given(tmp_path: Path) -> None:
    assert "--system-prompt" not in argv_of(replace(spec(tmp_path), preamble_file=None))


def test_the_environment_is_written_from_nothing(tmp_path: Path) -> None:
    """Nothing of the host's environment leaks in; what is passed on cannot override ours."""
    os.environ["INGLENOOK_TEST_LEAK"] = "1"
    try:
        environment = environment_of(spec(tmp_path), family="f")
    finally:
        del os.environ["INGLENOOK_TEST_LEAK"]
    assert environment == {
        "KEY": "secret",
        "PATH": "/opt/node/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(tmp_path / "workspace"),
        "LANG": "C.UTF-8",
        "PI_CODING_AGENT_DIR": str(tmp_path / "engine"),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "PI_SKIP_VERSION_CHECK": "1",
        FAMILY_VARIABLE: "f",
    }


async def test_it_ends_when_stdin_closes(tmp_path: Path) -> None:
    watched = Watched(fake_spec(tmp_path))
    async with watched.process as process:
        await watched.until_it_answers()
        pid = process.pid
        assert living(pid)
        assert process.record.create_time > 0
        assert os.getsid(pid) == pid  # Ctrl-C in the host's terminal does not reach it
    assert process.exit_code == 0
    assert not living(pid)
    assert watched.ended.is_set()


async def test_a_stubborn_process_is_killed_in_bounded_time(tmp_path: Path) -> None:
    """Stdin closed and SIGTERM ignored: SIGKILL, after two short waits."""
    watched = Watched(fake_spec(tmp_path, "stubborn"), SHORT)
    async with asyncio.timeout(120), watched.process as process:
        await watched.until_it_answers()
    assert process.exit_code == -signal.SIGKILL


async def test_descendants_in_sessions_of_their_own_end_too(tmp_path: Path) -> None:
    watched = Watched(fake_spec(tmp_path, "family"))
    async with watched.process as process:
        await watched.until_it_answers()
        (child,) = psutil.Process(process.pid).children()
        assert os.getsid(child.pid) == child.pid
    assert not living(child.pid)


async def test_descendants_end_also_when_the_process_crashed(tmp_path: Path) -> None:
    """Their parent is gone, so only their mark tells whose they were."""
    watched = Watched(fake_spec(tmp_path, "family"))
    async with watched.process as process:
        await watched.until_it_answers()
        (child,) = psutil.Process(process.pid).children()
        process.kill()
        async with asyncio.timeout(120):
            await watched.ended.wait()
        assert process.exit_code == -signal.SIGKILL
        assert living(child.pid)
    assert not living(child.pid)


async def test_a_cancelled_end_still_ends_the_process(tmp_path: Path) -> None:
    """Shutdown cancels: the process is killed and collected before the cancellation goes on."""
    watched = Watched(fake_spec(tmp_path, "stubborn"))
    async with watched.process as process:
        await watched.until_it_answers()
        pid = process.pid
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await process.end()
        assert process.exit_code == -signal.SIGKILL
        assert not living(pid)


async def test_the_end_is_told_once_with_all_output_read(tmp_path: Path) -> None:
    watched = Watched(fake_spec(tmp_path, "exit"))
    async with watched.process as process:
        process.write(b'{"id":"c1","type":"prompt","message":"x"}\n')
        async with asyncio.timeout(120):
            await watched.ended.wait()
        assert process.exit_code == 7
        assert watched.stdout.endswith(b'{"type": "agent_start"}\n')
        process.write(b"into the void\n")


async def test_stderr_is_drained_and_its_end_kept(tmp_path: Path) -> None:
    watched = Watched(fake_spec(tmp_path, "chatty"))
    async with watched.process as process:
        await watched.until_it_answers()
    assert process.stderr_tail.endswith("xthe end")
    assert len(process.stderr_tail) <= 8_000


async def test_a_missing_node_is_a_start_failure(tmp_path: Path) -> None:
    spec = fake_spec(tmp_path)
    broken = replace(spec, install=replace(spec.install, node=tmp_path / "no-node"))
    with pytest.raises(PiStartFailed) as caught:
        async with Watched(broken).process:
            pass
    assert str(tmp_path) not in caught.value.safe_message
    assert caught.value.facts["reason"] == "cannot run Node: FileNotFoundError"


async def test_a_record_that_cannot_be_kept_ends_the_process_again(tmp_path: Path) -> None:
    """Without it a killed host's leftover could not be found."""
    spec = replace(fake_spec(tmp_path), record_file=tmp_path / "missing" / "pi.pid")
    watched = Watched(spec)
    with pytest.raises(PiStartFailed) as caught:
        await watched.process.__aenter__()
    assert caught.value.facts["reason"] == "cannot write its record: FileNotFoundError"
    assert watched.ended.is_set()
    assert not living(watched.process.pid)


async def test_a_process_that_never_started_has_no_record(tmp_path: Path) -> None:
    process = Watched(fake_spec(tmp_path)).process
    await process.end()
    process.write(b"into the void")
    process.kill()
    with pytest.raises(RuntimeError):
        process.record  # noqa: B018 - the reading is what raises


async def test_files_of_the_run_are_the_owners_alone(tmp_path: Path) -> None:
    spec = fake_spec(tmp_path)
    watched = Watched(spec)
    async with watched.process as process:
        await watched.until_it_answers()
        assert spec.record_file is not None
        record = json.loads(spec.record_file.read_text())
        assert record["pid"] == process.pid
        assert record["create_time"] == process.record.create_time
        assert spec.record_file.stat().st_mode & 0o777 == 0o600
        for directory in (spec.session_dir, spec.workspace):
            assert directory.stat().st_mode & 0o777 == 0o700
    assert not spec.record_file.exists()


def test_leftovers_of_a_killed_host_are_ended_by_id_and_start_time(tmp_path: Path) -> None:
    left = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        record = {
            "pid": left.pid,
            "create_time": psutil.Process(left.pid).create_time(),
            "family": "f",
        }
        file = tmp_path / "pi.pid"
        file.write_text(json.dumps(record))
        assert end_leftover(file)
        assert left.wait(30) == -signal.SIGTERM
        assert not file.exists()
    finally:
        left.kill()
        left.wait()
        assert left.stdin is not None
        left.stdin.close()


def test_a_reused_id_is_left_alone(tmp_path: Path) -> None:
    """P23: the pid now belongs to another process, which started at another time."""
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        record = {
            "pid": stranger.pid,
            "create_time": psutil.Process(stranger.pid).create_time() - 3600,
            "family": "f",
        }
        file = tmp_path / "pi.pid"
        file.write_text(json.dumps(record))
        assert not end_leftover(file)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
        assert stranger.stdin is not None
        stranger.stdin.close()


HOST = """
import asyncio, sys
sys.path[:0] = {path!r}
from pathlib import Path
from support.pi_world import LIMITS, fake_spec
from sessions.pi.client import PiClient

async def main():
    async with PiClient(fake_spec(Path({home!r}), {habits!r}), LIMITS) as client:
        await client.start()
        print("ready", flush=True)
        await client.ended()

asyncio.run(main())
"""


@pytest.mark.parametrize("habits", ["", "stubborn family"])
def test_nothing_outlives_a_killed_host(tmp_path: Path, habits: str) -> None:
    """P23: a plain pi ends with its stdin; what does not is ended by its record."""
    code = HOST.format(path=sys.path, home=str(tmp_path), habits=habits)
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], stdout=subprocess.PIPE
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"ready\n"
        record_file = tmp_path / "run" / "pi.pid"
        record = read_record(record_file)
        assert record is not None
        host.kill()
    if not habits:
        _, alive = psutil.wait_procs(running(record), timeout=120)
        assert alive == []
    assert end_leftover(record_file, patience_seconds=0.2) is bool(habits)
    _, alive = psutil.wait_procs(running(record), timeout=120)
    assert alive == []


def running(record: FamilyRecord) -> list[psutil.Process]:
    return [each for each in members(record) if each.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("content", ["", "{}", "null", '{"pid":"x","create_time":1,"family":""}'])
def test_an_unreadable_record_ends_nothing(tmp_path: Path, content: str) -> None:
    file = tmp_path / "pi.pid"
    file.write_text(content)
    assert not end_leftover(file)
    assert not end_leftover(file)


async def test_many_cycles_leave_no_descriptors_and_no_zombies(tmp_path: Path) -> None:
    """P23: start and end, again and again, and nothing piles up. A shell costs little."""
    me = psutil.Process()
    shell = tmp_path / "shell"
    shell.write_text("#!/bin/sh\nexec cat >/dev/null\n")
    shell.chmod(0o700)

    async def cycle(place: int) -> None:
        home = tmp_path / str(place)
        home.mkdir(exist_ok=True)
        spec = fake_spec(home)
        spec = replace(spec, install=replace(spec.install, node=shell))
        async with Watched(spec).process:
            pass

    await cycle(0)
    before = me.num_fds()
    for _ in range(50):
        async with asyncio.TaskGroup() as group:
            for place in range(4):  # two hundred in all
                group.create_task(cycle(place))
    assert me.num_fds() <= before  # what others left may be collected meanwhile
    assert [child for child in me.children() if child.status() == psutil.STATUS_ZOMBIE] == []
