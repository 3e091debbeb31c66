"""The box of Docker's: with a client that tells what it was asked, and with an engine if any."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import sessions.boxes.docker
from sessions.boxes.docker import DockerBox, probe_docker
from sessions.boxes.settings import BoxKind, BoxSettings
from sessions.pi.errors import PiStartFailed
from sessions.pi.process import PiProcess
from support.pi_world import LIMITS, engine_for, spec_for

SETTINGS = BoxSettings(kind=BoxKind.DOCKER, image=os.environ.get("INGLENOOK_TEST_IMAGE", "debian"))


def client(folder: Path, script: str) -> Path:
    """A client of Docker's that does as told."""
    made = folder / "docker"
    made.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    made.chmod(0o755)
    return made


def test_a_run_is_started_in_a_container_of_its_own(tmp_path: Path) -> None:
    """The same inside as with the other kind; files lie beside the run, read-only."""
    spec = spec_for(tmp_path, engine_for("http://127.0.0.1:9/v1"))
    for directory in (spec.session_dir, spec.workspace):
        directory.mkdir()
    box = DockerBox(Path("/docker"), SETTINGS, tmp_path)
    one, two = box.confine(spec, family="f"), box.confine(spec, family="f")
    assert one.argv[:2] == ("/docker", "run")
    assert one.argv[one.argv.index("--name") + 1] != two.argv[two.argv.index("--name") + 1]
    kept = tmp_path / "runs" / "run" / "box"
    prompt = kept / "opt" / "prompt" / "system.md"
    assert prompt.read_bytes() == spec.system_prompt_file.read_bytes()
    assert stat.S_IMODE(prompt.stat().st_mode) == 0o444
    assert f"type=bind,src={prompt},dst=/opt/prompt/system.md,readonly" in one.argv
    assert (kept / "opt" / "ext" / "forwarder.mjs").is_file()
    assert Path(one.env["DOCKER_CONFIG"]).is_relative_to(kept), "nobody else's, nor in /tmp"
    assert "DOCKER_CONFIG" not in one.argv
    assert {name: one.env[name] for name in ("HOME", "PI_CODING_AGENT_DIR")} == {
        "HOME": "/tmp",  # noqa: S108  (inside the box)
        "PI_CODING_AGENT_DIR": "/config",
    }


@dataclass(slots=True)
class Engine:
    """What a client of Docker's asks for, at an engine that makes no container."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    wanted: dict[str, Any] = field(default_factory=dict)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.method, request.path))
        if request.path.endswith("/_ping"):
            return web.Response(text="OK", headers={"Api-Version": "1.41", "Ostype": "linux"})
        if request.path.endswith("/containers/json"):
            self.asked.append(("FILTERS", request.query["filters"]))
            return web.json_response([{"Id": "0123456789ab" + "0" * 52}])
        if request.path.endswith("/containers/create"):
            self.wanted = await request.json()
        return web.json_response({"message": "no container here"}, status=400)


@asynccontextmanager
async def engine(place: Path) -> AsyncIterator[Engine]:
    made, app = Engine(), web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.UnixSite(runner, str(place / "engine.sock")).start()
    try:
        yield made
    finally:
        await runner.cleanup()


DOCKER = shutil.which("docker")


@pytest.mark.skipif(DOCKER is None, reason="no client of Docker's here")
async def test_an_engine_is_asked_for_a_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Box": the same walls, as the real client understands our command line.

    A path with a comma is one path; nothing of the host's environment or the owner's settings for
    all containers goes along.
    """
    home = tmp_path / 'a,readonly "home"'
    home.mkdir()
    settings = tmp_path / ".docker"
    settings.mkdir()
    (settings / "config.json").write_text(
        json.dumps({"proxies": {"default": {"httpProxy": "http://ada:secret@proxy"}}})
    )
    monkeypatch.setenv("DOCKER_CONFIG", str(settings))
    monkeypatch.setenv("DISCORD_TOKEN", "secret")
    spec = replace(
        spec_for(home, engine_for("http://127.0.0.1:9/v1")),
        channel_files=home / "shown",
    )
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{short}/engine.sock")
        async with engine(Path(short)) as asked:
            limits = replace(LIMITS, shutdown_seconds=20)
            boxed = replace(spec, box=DockerBox(Path(DOCKER or ""), SETTINGS, home))
            said: list[bytes] = []
            ended = asyncio.Event()
            async with PiProcess(boxed, limits, on_stdout=said.append, on_end=ended.set) as process:
                await asyncio.wait_for(ended.wait(), 120)
                assert "no container here" in process.stderr_tail
    wanted, walls = asked.wanted, asked.wanted["HostConfig"]
    assert (wanted["Image"], wanted["User"].split(":")[0] != "0") == (SETTINGS.image, True)
    assert (wanted["Tty"], wanted["OpenStdin"], wanted["StdinOnce"]) == (False, True, True)
    assert wanted["WorkingDir"] == "/workspace"
    names = {each.partition("=")[0] for each in wanted["Env"]}
    assert {"PATH", "HOME", "PI_OFFLINE"} <= names
    assert not {"DOCKER_HOST", "DOCKER_CONFIG", "DISCORD_TOKEN"} & names
    assert "secret" not in json.dumps(wanted)
    assert (walls["NetworkMode"], walls["IpcMode"]) == ("none", "none")
    assert (walls["ReadonlyRootfs"], walls["Privileged"]) == (True, False)
    assert (walls["CapDrop"], walls["CapAdd"]) == (["ALL"], None)
    assert walls["SecurityOpt"] == ["no-new-privileges"]
    assert (walls["PidsLimit"], walls["AutoRemove"], walls["Init"]) == (128, True, True)
    assert walls["Memory"] == walls["MemorySwap"] == SETTINGS.memory_mb * 1024**2
    bounds = {each["Name"]: each["Hard"] for each in walls["Ulimits"]}
    assert bounds == {"nofile": 1024, "core": 0, "fsize": SETTINGS.file_mb * 1024**2}
    assert set(walls["Tmpfs"]) == {"/tmp", "/config"}  # noqa: S108  (inside the box)
    assert all("exec,nosuid,nodev,size=" in each for each in walls["Tmpfs"].values())
    assert walls["Binds"] is None
    assert {each["Type"] for each in walls["Mounts"]} == {"bind"}
    writable = {
        each["Target"]: each["Source"] for each in walls["Mounts"] if not each.get("ReadOnly")
    }
    assert writable == {"/workspace": str(spec.workspace), "/session": str(spec.session_dir)}
    shown = {each["Target"]: each["Source"] for each in walls["Mounts"]}
    assert shown["/channel"] == str(home / "shown")
    assert asked.asked[-1][0] == "DELETE"
    assert "/containers/inglenook-run-" in asked.asked[-1][1]


@pytest.mark.skipif(DOCKER is None, reason="no client of Docker's here")
async def test_what_a_killed_host_left_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P23: containers of this home, known by their label, and of no other."""
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{short}/engine.sock")
        async with engine(Path(short)) as asked:
            for home in (tmp_path, tmp_path / "other"):
                box = DockerBox(Path(DOCKER or ""), SETTINGS, home)
                await asyncio.to_thread(box.end_leftovers, patience_seconds=30)
    filters = [json.loads(text)["label"] for kind, text in asked.asked if kind == "FILTERS"]
    assert len({next(iter(each)) for each in filters}) == 2
    ended = [path for method, path in asked.asked if method == "DELETE"]
    assert [path.rpartition("/")[2] for path in ended] == ["0123456789ab"] * 2


def test_the_trial_looks_for_walls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue "Box": a probe; a client that runs what it is given shows what is looked at."""
    client(tmp_path, 'while [ "$1" != debian ]; do shift; done; shift; exec /bin/bash "$@"')
    monkeypatch.setattr(sessions.boxes.docker, "SYSTEM_PATH", f"{tmp_path}:/usr/bin:/bin")
    report, box = probe_docker(replace(SETTINGS, image="debian"), tmp_path)
    assert (report.works, box) == (False, None), "it ran on the host itself"


def test_what_cannot_be_shut_in_is_not_started(tmp_path: Path) -> None:
    """No fallback: without its files there is no box and no process."""
    spec = spec_for(tmp_path, engine_for("http://127.0.0.1:9/v1"))
    lost = replace(spec, system_prompt_file=tmp_path / "lost.md")
    with pytest.raises(PiStartFailed):
        DockerBox(Path("/docker"), SETTINGS, tmp_path).confine(lost, family="f")


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("echo no engine >&2; exit 1", "no engine"),
        ("exit 125", "exit 125"),
        ("exit 0", "the engine does not see this machine's files"),
    ],
)
def test_a_client_without_an_engine_is_no_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, fault: str
) -> None:
    """The trial believes what happened."""
    client(tmp_path, script)
    monkeypatch.setattr(sessions.boxes.docker, "SYSTEM_PATH", f"{tmp_path}:/usr/bin:/bin")
    report, box = probe_docker(SETTINGS, tmp_path)
    assert (report.works, report.fault, box) == (False, fault, None)


def test_a_real_engine_runs_the_trial(tmp_path: Path) -> None:
    """Where an engine and an image are at hand, the container starts and writes its workspace."""
    report, _ = probe_docker(SETTINGS, tmp_path)
    if not report.works:
        pytest.skip(f"no engine that runs the image {SETTINGS.image}: {report.fault}")
    assert report.name == "docker"
