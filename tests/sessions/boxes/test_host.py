"""The box of one host: what is told, where the socket is, what is kept."""

from __future__ import annotations

import os
import socket as socket_module
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from bot.bootstrap import find_bwrap
from sessions.box import BoxReport, probe
from sessions.boxes.host import HostBox, open_box, serves
from sessions.boxes.settings import BoxKind, BoxMode, BoxSettings
from sessions.boxes.warm import warm_cache
from sessions.clock import SystemClock
from sessions.limits import EngineSettings
from sessions.model_gateway import ModelGateway
from support.pi_world import INSTALL, LIMITS

pytestmark = pytest.mark.slow


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return [each.name for each in folder.iterdir()]


async def opened(settings: BoxSettings, home: Path, program: Path | None) -> HostBox:
    async with (
        ModelGateway(environment={}, clock=SystemClock()) as gateway,
        open_box(
            settings,
            program=program,
            home=home,
            install=INSTALL,
            version="1.6.0",
            limits=LIMITS,
            gateway=gateway,
        ) as host,
    ):
        if host.confined is not None:
            socket = host.confined.box._model_socket  # type: ignore[attr-defined]
            assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
            assert socket.is_socket()
            assert len(str(socket)) < 100
        return host


async def test_a_machine_without_bubblewrap_has_no_box(tmp_path: Path) -> None:
    """Issue "Box": the bot runs on, without a box and so without its tools."""
    host = await opened(BoxSettings(), tmp_path, None)
    assert host.confined is None
    assert not host.report.tools_allowed


async def test_off_is_the_owners_word(tmp_path: Path) -> None:
    """Issue "Box": unboxed only by ``mode = "off"``."""
    host = await opened(BoxSettings(mode=BoxMode.OFF), tmp_path, find_bwrap())
    assert host.confined is None
    assert host.report.tools_allowed


@pytest.mark.parametrize(
    ("engine", "served"),
    [
        (EngineSettings(), True),  # the embedded model, before it has started and has an address
        (EngineSettings(provider="openai", key_env="OPENAI_API_KEY"), True),
        (EngineSettings(provider="openai"), False),  # the key is pi's own, and no box may see it
    ],
)
def test_a_box_is_for_engines_whose_traffic_is_seen(
    engine: EngineSettings, *, served: bool
) -> None:
    """Issue "Box": what ``doctor`` tells of the tools is what a start will give."""
    report = BoxReport(mode=BoxMode.ON, kind=BoxKind.BUBBLEWRAP, works=True)
    assert serves(report, engine) is served
    assert not serves(replace(report, works=False), engine)


async def test_a_box_ends_with_its_host(tmp_path: Path) -> None:
    """The socket is gone when the host has ended; one that a killed host left is no obstacle."""
    (tmp_path / "engine").mkdir(mode=0o700)
    with socket_module.socket(socket_module.AF_UNIX) as left:
        left.bind(str(tmp_path / "engine" / "model.sock"))
    host = await opened(BoxSettings(), tmp_path, find_bwrap())
    if not host.report.works:
        pytest.skip(f"no box on this machine: {host.report.fault}")
    assert host.confined is not None
    assert host.confined.name == "bubblewrap"
    socket = host.confined.box._model_socket  # type: ignore[attr-defined]
    assert not socket.exists()


async def test_a_long_home_has_its_socket_elsewhere(tmp_path: Path) -> None:
    """A socket's path has at most 107 bytes, and the home is the owner's to choose."""
    home = tmp_path / ("a" * 100)
    host = await opened(BoxSettings(), home, find_bwrap())
    if host.confined is not None:
        socket = host.confined.box._model_socket  # type: ignore[attr-defined]
        assert not socket.is_relative_to(home)
        assert not names(socket.parent.parent).count(socket.parent.name)


async def test_code_is_compiled_once_and_readable_to_all(tmp_path: Path) -> None:
    """Reference, section 7: the cache is warmed inside and read-only after."""
    settings = BoxSettings()
    report, box = probe(settings, find_bwrap(), tmp_path)
    if box is None:
        pytest.skip(f"no box on this machine: {report.fault}")
    cache = tmp_path / "cache"
    assert await warm_cache(box, INSTALL, cache, settings=settings, limits=LIMITS)
    files = [each for each in cache.rglob("*") if each.is_file()]
    assert len(files) > 20
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o644 for each in files)
    assert {each.stat().st_uid for each in files} == {os.geteuid()}
    changed = [each.stat().st_mtime_ns for each in files]
    assert await warm_cache(box, INSTALL, cache, settings=settings, limits=LIMITS)
    assert [each.stat().st_mtime_ns for each in files] == changed
    assert names(tmp_path) == ["cache"]


async def test_a_cache_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    """A tenth of a second longer is no reason not to start."""
    settings = BoxSettings()
    report, box = probe(settings, find_bwrap(), tmp_path)
    if box is None:
        pytest.skip(f"no box on this machine: {report.fault}")
    missing = replace(INSTALL, cli=tmp_path / "node_modules" / "a" / "b" / "c" / "cli.js")
    cache = tmp_path / "cache"
    assert not await warm_cache(box, missing, cache, settings=settings, limits=LIMITS)
    assert names(tmp_path) == []
