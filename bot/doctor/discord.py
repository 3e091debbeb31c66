"""What Discord says of the token and the intents. One look, no connection to the gateway."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Final

import aiohttp

from bot.doctor.results import Check, fail, ok, warn
from config.settings import Settings

DISCORD_SECONDS: Final = 10.0
MESSAGE_CONTENT: Final = 1 << 18
"""Application flag: the content intent was granted by Discord (bots in 100 servers and more)."""
MESSAGE_CONTENT_LIMITED: Final = 1 << 19
"""Application flag: the content intent is switched on (smaller bots)."""
_PORTAL: Final = "in Discord's developer portal, page Bot"
_INTO_ENV: Final = "put the new one as DISCORD_TOKEN into .env"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Discord's answer to one question; ``status`` 0 means that none came."""

    status: int
    body: dict[str, object]


async def check_discord(settings: Settings) -> tuple[Check, ...]:
    """Check token, intents and owners."""
    token = settings.discord.token.get_secret_value()
    if not token:
        return (ok("Discord", "no token, so run opens the playground"),)
    me, application = await _ask_both(settings.discord.api.rstrip("/"), token)
    checks = [judge_token(me)]
    if me.status == 200:  # noqa: PLR2004  (HTTP)
        checks.append(judge_intents(application))
    checks.append(judge_owners(settings.discord.owners))
    return tuple(checks)


def judge_token(me: Answer, *, remedy: str = _INTO_ENV) -> Check:
    """Judge the answer to ``GET /users/@me``; ``remedy`` says where a new token goes."""
    match me.status:
        case 200 if "username" in me.body:
            return ok("Discord token", f"is that of {me.body['username']}")
        case 200:
            return fail(
                "Discord token",
                "could not be checked: what answers is not Discord",
                "Check discord.api in org.toml.",
            )
        case 0:
            return fail(
                "Discord token",
                "could not be checked: Discord does not answer",
                "Check the network, and discord.api in org.toml if you set it.",
            )
        case 401:
            return fail(
                "Discord token",
                "is not valid",
                f"Reset it {_PORTAL}, and {remedy}.",
            )
        case status:
            return fail(
                "Discord token",
                f"could not be checked: Discord answers {status}",
                "Try again in a while; if it stays so, check discord.api in org.toml.",
            )


def judge_intents(application: Answer) -> Check:
    """Judge the flags in the answer to ``GET /applications/@me``."""
    flags = application.body.get("flags")
    if application.status != 200 or not isinstance(flags, int):  # noqa: PLR2004  (HTTP)
        return warn(
            "Message content", "could not be checked", "Try again; the bot itself says it too."
        )
    if flags & MESSAGE_CONTENT:
        return ok("Message content", "intent granted")
    if flags & MESSAGE_CONTENT_LIMITED:
        return ok("Message content", "intent switched on")
    return fail(
        "Message content",
        "intent is switched off",
        f'Switch on "Message Content Intent" {_PORTAL}.',
    )


def judge_owners(owners: tuple[str, ...]) -> Check:
    """Without an owner nobody can use the commands or write to the imp."""
    if owners:
        count = "one owner" if len(owners) == 1 else f"{len(owners)} owners"
        return ok("Owners", count)
    return fail(
        "Owners",
        "none: nobody could use the commands",
        "Put your Discord user id into owners in org.toml, section [discord].",
    )


async def _ask_both(api: str, token: str) -> tuple[Answer, Answer]:
    timeout = aiohttp.ClientTimeout(total=DISCORD_SECONDS)
    headers = {"Authorization": f"Bot {token}"}
    async with aiohttp.ClientSession(timeout=timeout, headers=headers, trust_env=True) as http:
        me = await _ask(http, f"{api}/users/@me")
        return me, await _ask(http, f"{api}/applications/@me")


async def _ask(http: aiohttp.ClientSession, address: str) -> Answer:
    try:
        async with asyncio.timeout(DISCORD_SECONDS), http.get(address) as response:
            text = await response.text(errors="replace")
    except (aiohttp.ClientError, TimeoutError, OSError):
        return Answer(status=0, body={})
    try:
        body = json.loads(text)
    except ValueError:
        body = {}
    return Answer(status=response.status, body=body if isinstance(body, dict) else {})
