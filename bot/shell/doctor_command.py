"""``doctor`` in the shell."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path

import structlog
from rich.console import Console

from bot.doctor import Check, Report, examine, render_json, render_table
from bot.doctor.drill import drill
from bot.doctor.results import fail
from bot.doctor.system import find_install
from config.load import LiveConfig
from config.problems import ConfigError


def main(home: Path, *, as_json: bool, with_drill: bool = False) -> int:
    """Check everything, print the findings, and return 0 when nothing failed, else 1."""
    # The findings are the output; what the parts log on their way is not.
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
    )
    logging.disable(logging.CRITICAL)
    try:
        report = asyncio.run(_drill(home) if with_drill else examine(home, os.environ))
    finally:
        logging.disable(logging.NOTSET)
    if as_json:
        sys.stdout.write(render_json(report) + "\n")
    else:
        Console(highlight=False).print(render_table(report))
    return report.exit_code


async def _drill(home: Path) -> Report:
    """Play the project's own faults on the settings of a home."""
    try:
        live = await asyncio.to_thread(LiveConfig, home, environ=os.environ)
    except ConfigError as error:
        return Report(checks=(_refused(str(error), "Mend the settings first."),))
    install = await asyncio.to_thread(find_install)
    if install is None:
        advice = "Run: python3 -m bot setup --repair"
        return Report(checks=(_refused("Node or pi is not installed", advice),))
    return Report(checks=await drill(live, install, tell=_say))


def _refused(why: str, advice: str) -> Check:
    return fail("Drill", f"cannot begin: {why}", advice)


def _say(name: str) -> None:
    sys.stderr.write(f"{name} ...\n")
    sys.stderr.flush()
