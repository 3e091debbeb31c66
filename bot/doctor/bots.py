"""Bots with a token of their own: whether each has one, and whether Discord knows it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from bot.doctor.discord import check_discord
from bot.doctor.results import Check, fail
from config.bots import find_bots
from config.settings import Settings


async def check_bots(settings: Settings, variables: Mapping[str, str]) -> tuple[Check, ...]:
    """Check each further bot; nothing where there is none."""
    bots, problems = find_bots(settings, variables)
    checks = [
        fail("Bots", f"{problem.key} {problem.message}", problem.hint) for problem in problems
    ]
    asked = await asyncio.gather(
        *(check_discord(_with_token(settings, bot.token.get_secret_value())) for bot in bots)
    )
    for bot, found in zip(bots, asked, strict=True):
        checks += [
            replace(check, name=f"{check.name} ({bot.name})")
            for check in found
            if check.name != "Owners"
        ]
    return tuple(checks)


def _with_token(settings: Settings, token: str) -> Settings:
    discord = {**settings.discord.model_dump(), "token": token}
    return Settings.model_validate({"discord": discord})
