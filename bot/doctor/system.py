"""What the bot stands on: Python, Node, pi, the box, room on the disk."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Final

from bot import bootstrap
from bot.doctor.results import Check, fail, ok, warn
from sessions.box import BoxReport
from sessions.boxes.choice import find_box
from sessions.boxes.settings import BoxMode, BoxSettings
from sessions.engine import installed_version
from sessions.pi.errors import PiStartFailed
from sessions.pi.process import PiInstall

PYTHON_NEEDED: Final = (3, 11)
NODE_NEEDED: Final = (22, 19)
PI_NEEDED: Final = "1.6.0"
PROBE_SECONDS: Final = 10.0
"""Node answers in a tenth of a second; a cold disk may take a few."""
LOW_DISK_BYTES: Final = 500 * 1024**2
NO_DISK_BYTES: Final = 50 * 1024**2
_REPAIR: Final = "Run: python3 -m bot setup --repair"


def judge_python(version: tuple[int, ...]) -> Check:
    """Check the version of Python."""
    text = ".".join(map(str, version[:3]))
    if version[:2] < PYTHON_NEEDED:
        return fail("Python", f"{text} is too old", "Install Python 3.11 or newer.")
    return ok("Python", text)


def judge_node(said: str) -> Check:
    """Check what ``node --version`` said, ``v24.19.0``."""
    match = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)", said.strip())
    if match is None:
        return fail("Node", "does not start", _REPAIR)
    text = said.strip().removeprefix("v")
    if (int(match[1]), int(match[2])) < NODE_NEEDED:
        needed = ".".join(map(str, NODE_NEEDED))
        return fail("Node", f"{text} is too old, pi needs {needed}", _REPAIR)
    return ok("Node", text)


def judge_disk(free_bytes: int) -> Check:
    """Check the room left for traces and the database."""
    text = f"{free_bytes / 1024**3:.1f} GB free"
    if free_bytes < NO_DISK_BYTES:
        return fail(
            "Disk", text, "Make room: without a written trace nothing is sent to the model."
        )
    if free_bytes < LOW_DISK_BYTES:
        return warn("Disk", text, "Make room soon.")
    return ok("Disk", text)


def find_install() -> PiInstall | None:
    """Find Node and pi; None when one is missing."""
    try:
        files = bootstrap.find_pi()
    except bootstrap.NotInstalledError:
        return None
    return PiInstall(node=files.node, cli=files.cli)


async def try_box(home: Path, settings: BoxSettings | None) -> BoxReport:
    """Find out what a box can do here; without settings, its defaults are tried."""
    report, _ = await asyncio.to_thread(
        find_box, settings or BoxSettings(), bootstrap.find_bwrap(), home
    )
    return report


async def check_system(
    home: Path, install: PiInstall | None, box: BoxReport | None = None
) -> tuple[Check, ...]:
    """Check everything of this module; ``box`` is what was found out about it, if it was."""
    return (
        judge_python(sys.version_info[:3]),
        *await _check_engine(install),
        judge_box(box or await try_box(home, None)),
        judge_disk(await asyncio.to_thread(_free_bytes, home)),
    )


async def _check_engine(install: PiInstall | None) -> tuple[Check, ...]:
    if install is None:
        return (fail("pi", "Node or pi is not installed", _REPAIR),)
    return judge_node(await _ask_version(install.node)), await _check_pi(install)


async def _check_pi(install: PiInstall) -> Check:
    try:
        version = await asyncio.to_thread(installed_version, install)
    except PiStartFailed:
        return fail("pi", "is not installed", _REPAIR)
    if version != PI_NEEDED:
        return fail("pi", f"{version} is installed, {PI_NEEDED} is needed", _REPAIR)
    return ok("pi", version)


async def _ask_version(program: Path) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.defpath},
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return ""
    return said.decode("utf-8", "replace")


def judge_box(report: BoxReport) -> Check:
    """Check what pi and its tools run in."""
    if report.mode is BoxMode.OFF:
        return warn(
            "Box",
            "is switched off: tools see all that you see",
            'Set [box] mode = "on" unless you mean it.',
        )
    if not report.works:
        return warn(
            "Box",
            f"does not work here ({report.fault or 'no reason given'})",
            "The imp talks, but has no file and shell tools. It needs Linux with user namespaces, "
            "bash and util-linux.",
        )
    if not report.filtered:
        return warn(
            "Box",
            "works, without a filter of system calls",
            "Nothing to do: the filter is known for x86-64 and 64-bit ARM.",
        )
    return ok("Box", "works")


def _free_bytes(home: Path) -> int:
    place = home
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free
