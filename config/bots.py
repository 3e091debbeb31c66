"""``[discord.bots.<name>]``: bots with a token of their own, beside the one of ``DISCORD_TOKEN``.

Each has a folder ``bots/<name>`` in the home, with its own database, runs and channels, and shares
``org.toml``, ``.env`` and ``imps/``. Two bots with one token would both answer every message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from config.homedir import DIR_MODE, EMPTY_DIRS
from config.layers import ORG_FILE, TOKEN_VARIABLE
from config.problems import Problem
from config.rules.engine import VARIABLE
from config.settings import Settings

BOTS_DIR: Final = "bots"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """One further bot; ``imp`` answers where no channel names another."""

    name: str
    imp: str
    token: SecretStr
    metrics_port: int = 0
    """For its figures; 0 where it serves none."""

    def overrides(self, shared: Settings) -> dict[str, dict[str, object]]:
        """What its settings differ in: whose token, which imp, where its page and figures are."""
        metrics: dict[str, object] = {"enabled": False}
        if self.metrics_port and shared.metrics.enabled:
            metrics = {"port": self.metrics_port}
        return {
            "discord": {"token": self.token.get_secret_value(), "imp": self.imp},
            # The owner knows the port of the first bot's page, and may have led it to his machine.
            "inspector": {"port": 0},
            "metrics": metrics,
        }


def find_bots(
    settings: Settings, variables: Mapping[str, str]
) -> tuple[tuple[Bot, ...], tuple[Problem, ...]]:
    """Give the further bots, and what keeps one from being started. Never shows a token."""
    found: list[Bot] = []
    problems: list[Problem] = []
    owners = {settings.discord.token.get_secret_value(): f"the bot of {TOKEN_VARIABLE}"}
    for name, bot in settings.discord.bots.items():
        token = variables.get(bot.token_env, "").strip()
        if not VARIABLE.fullmatch(bot.token_env):
            problems.append(
                _problem(name, "must be the name of a variable, not the token itself", _EXAMPLE)
            )
        elif not token:
            message = f"names {bot.token_env}, which is empty"
            problems.append(_problem(name, message, f"Put {bot.token_env}=... into .env."))
        elif token in owners:
            message = f"holds the token of {owners[token]}: both would answer the same message"
            problems.append(_problem(name, message, _SHARED_ADVICE))
        else:
            owners[token] = f"[discord.bots.{name}]"
            found.append(
                Bot(
                    name=name,
                    imp=bot.imp,
                    token=SecretStr(token),
                    metrics_port=bot.metrics_port,
                )
            )
    return tuple(found), tuple(problems)


_EXAMPLE: Final = 'For example token_env = "SCRIBE_TOKEN", with the token in .env.'
_SHARED_ADVICE: Final = (
    "Make a second application for it; or let one bot have several imps, by imp in [channels]."
)


def _problem(name: str, message: str, hint: str) -> Problem:
    key = f"discord.bots.{name}.token_env"
    return Problem(file=ORG_FILE, line=None, key=key, message=message, hint=hint)


def make_place(home: Path, bot: Bot) -> Path:
    """Make the folder of a bot in the home. Blocks for a moment.

    Raises:
        OSError: it cannot be made.
    """
    place = home / BOTS_DIR / bot.name
    for folder in (place.parent, place, *(place / name for name in EMPTY_DIRS)):
        folder.mkdir(mode=DIR_MODE, exist_ok=True)
    return place
