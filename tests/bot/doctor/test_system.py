"""Python, Node, pi, bubblewrap, disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.doctor import system
from bot.doctor.results import Verdict
from bot.doctor.system import (
    check_system,
    find_install,
    judge_box,
    judge_disk,
    judge_node,
    judge_python,
    try_box,
)
from sessions.box import BoxReport
from sessions.boxes.settings import BoxKind, BoxMode, BoxSettings
from sessions.pi.process import PiInstall
from support.pi_world import INSTALL


@pytest.mark.parametrize(
    ("version", "verdict"),
    [((3, 11, 0), Verdict.OK), ((3, 13, 1), Verdict.OK), ((3, 10, 9), Verdict.FAIL)],
)
def test_python(version: tuple[int, ...], verdict: Verdict) -> None:
    assert judge_python(version).verdict is verdict


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("v24.19.0\n", Verdict.OK),
        ("v22.19.0", Verdict.OK),
        ("v22.18.9", Verdict.FAIL),
        ("v20.1.0", Verdict.FAIL),
        ("", Verdict.FAIL),
        ("command not found", Verdict.FAIL),
    ],
)
def test_node(said: str, verdict: Verdict) -> None:
    """pi 1.6.0 needs Node 22.19; a wrong Node is named before it fails in a riddle."""
    check = judge_node(said)
    assert check.verdict is verdict
    assert bool(check.advice) is (verdict is Verdict.FAIL)


@pytest.mark.parametrize(
    ("free", "verdict"),
    [(10**10, Verdict.OK), (10**8, Verdict.WARN), (10**6, Verdict.FAIL)],
)
def test_disk(free: int, verdict: Verdict) -> None:
    assert judge_disk(free).verdict is verdict


async def test_this_machine_passes(tmp_path: Path) -> None:
    install = find_install()
    assert install is not None
    checks = {
        check.name: check for check in await check_system(tmp_path / "not" / "there", install)
    }
    assert list(checks) == ["Python", "Node", "pi", "Box", "Disk"]
    assert checks["pi"].summary == "1.6.0"
    assert all(checks[name].verdict is Verdict.OK for name in ("Python", "Node", "pi"))


async def test_a_missing_installation_says_how_to_repair_it(tmp_path: Path) -> None:
    checks = {check.name: check for check in await check_system(tmp_path, None)}
    assert checks["pi"].verdict is Verdict.FAIL
    assert "setup --repair" in checks["pi"].advice


async def test_a_node_that_does_not_start_and_a_pi_that_is_none(tmp_path: Path) -> None:
    broken = PiInstall(node=tmp_path / "node", cli=tmp_path / "a" / "b" / "cli.js")
    checks = {check.name: check for check in await check_system(tmp_path, broken)}
    assert checks["Node"].verdict is Verdict.FAIL
    assert checks["pi"].verdict is Verdict.FAIL


async def test_another_pi_is_named(tmp_path: Path) -> None:
    cli = tmp_path / "pi" / "dist" / "bundle" / "cli.js"
    cli.parent.mkdir(parents=True)
    (tmp_path / "pi" / "package.json").write_text('{"version": "1.5.9"}')
    other = PiInstall(node=INSTALL.node, cli=cli)
    checks = {check.name: check for check in await check_system(tmp_path, other)}
    assert checks["pi"].summary == "1.5.9 is installed, 1.6.0 is needed"


async def test_a_node_that_hangs_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "PROBE_SECONDS", 0.2)
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    node.chmod(0o700)
    checks = await check_system(tmp_path, PiInstall(node=node, cli=INSTALL.cli))
    assert checks[1].summary == "does not start"


WORKING = BoxReport(mode=BoxMode.ON, kind=BoxKind.BUBBLEWRAP, works=True, filtered=True)


@pytest.mark.parametrize(
    ("report", "verdict", "words"),
    [
        (WORKING, Verdict.OK, "works"),
        (replace(WORKING, filtered=False), Verdict.WARN, "filter"),
        (replace(WORKING, works=False, fault="no namespaces"), Verdict.WARN, "no namespaces"),
        (replace(WORKING, works=False, mode=BoxMode.OFF), Verdict.WARN, "switched off"),
    ],
)
def test_the_box(report: BoxReport, verdict: Verdict, words: str) -> None:
    """Issue "Box": doctor says when the imp has no tools, and when they are not shut in."""
    check = judge_box(report)
    assert check.verdict is verdict
    assert words in check.summary


async def test_the_box_is_tried_as_the_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.bootstrap.find_bwrap", lambda: None)
    checks = {check.name: check for check in await check_system(tmp_path, None)}
    assert "not installed" in checks["Box"].summary
    box = await try_box(tmp_path, BoxSettings(mode=BoxMode.OFF))
    off = await check_system(tmp_path, None, box)
    assert "switched off" in {check.name: check for check in off}["Box"].summary
