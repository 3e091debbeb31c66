"""Run all checks of ``doctor``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from bot.doctor.bots import check_bots
from bot.doctor.discord import check_discord
from bot.doctor.grants import judge_grants
from bot.doctor.home import (
    check_database,
    check_imps,
    check_keys,
    check_meaning,
    check_permissions,
    check_telemetry,
    judge_settings,
)
from bot.doctor.model import check_model
from bot.doctor.results import Check, Report, warn
from bot.doctor.system import check_system, find_install, try_box
from bot.doctor.tasks import check_tasks
from bot.doctor.tools import judge_tools
from config.load import LiveConfig
from config.problems import ConfigError, Problem
from sessions.boxes.host import serves
from sessions.limits import SessionLimits


async def examine(
    home: Path, environ: Mapping[str, str], *, live: LiveConfig | None = None
) -> Report:
    """Check everything.

    Args:
        home: the home, which need not exist yet.
        environ: the process's environment.
        live: the settings of a running bot; without it they are read from the home.
    """
    problems: tuple[Problem, ...] = ()
    if live is None:
        try:
            live = await asyncio.to_thread(LiveConfig, home, environ=environ)
        except ConfigError as error:
            problems = error.problems
    else:
        problems = live.problems
    install = await asyncio.to_thread(find_install)
    box = await try_box(home, live.current.box if live else None)
    checks = [
        *await check_system(home, install, box),
        await asyncio.to_thread(check_permissions, home),
        judge_settings(problems),
    ]
    patience = live.current.sessions if live else SessionLimits()
    checks.append(await check_database(home, patience_seconds=patience.store_seconds))
    checks += await check_keys(home, patience_seconds=patience.store_seconds)
    if live is None:
        checks.append(_unchecked())
        return Report(checks=tuple(checks))
    settings = live.current
    checks.append(judge_tools(settings, boxed=serves(box, settings.engine)))
    checks.append(judge_grants(live.grants))
    checks.append(await asyncio.to_thread(check_tasks, settings.tasks))
    checks += await asyncio.to_thread(check_meaning, settings.memory)
    checks += await asyncio.to_thread(check_telemetry, settings.telemetry)
    checks += await asyncio.to_thread(check_imps, live.shared, settings, live.channel_overlays)
    discord, further, model = await asyncio.gather(
        check_discord(settings),
        check_bots(settings, live.variables),
        check_model(settings.engine, install, live.variables, settings.sessions),
    )
    return Report(checks=(*checks, *discord, *further, model))


def _unchecked() -> Check:
    return warn(
        "The rest", "imps, Discord and the model were not checked", "Mend the settings first."
    )
