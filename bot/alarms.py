"""Alarms for the owner by direct message: what must not wait until somebody reads the log.

A run alarms once; the log has each occurrence. An owner who takes no direct messages misses the
message and not the alarm: log and ``/runs show`` have it as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

import discord
import structlog

from bot.logs import describe
from bot.sending import FAILURES
from config.settings import Settings
from sessions.limits import EngineSettings
from sessions.wire.ledger import WireProblem

_log = structlog.get_logger(__name__)
_WAITING: Final = 20
"""Alarms that may wait to be sent; more of them say nothing new."""
_REMEMBERED: Final = 1_000
SEND_SECONDS: Final = 20.0


_Text: TypeAlias = Callable[[Settings], str]
"""Written when it is sent, by the settings of that moment."""


class OwnerAlarms:
    """Takes alarms at once and sends them from a task of its own (``run``)."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[_Text] = asyncio.Queue(_WAITING)
        self._told: dict[str, None] = {}

    def mismatch(self, *, run_id: str, turn_id: str, problems: tuple[WireProblem, ...]) -> None:
        """Take the alarm of a model call that was not what was compiled."""
        del turn_id  # the run's page names it
        self._take(run_id, lambda _: mismatch_text(run_id, problems))

    def undelivered(self, *, channel_id: str, run_id: str | None, reason: str) -> None:
        """Take the alarm of an answer that could not be posted, once for a place and reason."""
        self._take(f"{channel_id} {reason}", lambda _: undelivered_text(channel_id, run_id, reason))

    def blank(self, channel_id: str) -> None:
        """Take the alarm of a message without its content, once for this start."""
        self._take("blank", lambda _: blank_text(channel_id))

    def no_threads(self, channel_id: str) -> None:
        """Take the alarm of a channel where threads are wanted and not allowed."""
        self._take(f"threads {channel_id}", lambda _: no_threads_text(channel_id))

    def key_refused(self, run_id: str | None) -> None:
        """Take the alarm of a provider that does not accept the key, once a day."""
        today = datetime.now(UTC).date()
        self._take(f"key {today}", lambda settings: key_refused_text(settings.engine, run_id))

    def disk(self, warning: str) -> None:
        """Take the warning of a disk or a home that fills up, once a day."""
        today = datetime.now(UTC).date()
        self._take(f"disk {today}", lambda _: f"⚠️ {warning}")

    def unsound(self, run_ids: Sequence[str]) -> None:
        """Take the alarm of traces that had to be pruned and do not verify."""
        self._take(f"unsound {run_ids[0]}", lambda _: unsound_text(run_ids))

    def _take(self, key: str, text: _Text) -> None:
        if key in self._told or self._waiting.full():
            return
        self._told[key] = None
        if len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]
        self._waiting.put_nowait(text)

    async def run(self, client: discord.Client, settings: Callable[[], Settings]) -> None:
        """Send alarms as they come, by a client that is logged in, until cancelled."""
        while True:
            text = await self._waiting.get()
            current = settings()
            for owner in current.discord.owners if current.discord.alarms else ():
                await _send(client, int(owner), text(current))


async def _send(client: discord.Client, owner: int, text: str) -> None:
    try:
        async with asyncio.timeout(SEND_SECONDS):
            user = await client.fetch_user(owner)
            await user.send(text, allowed_mentions=discord.AllowedMentions.none())
    except FAILURES as error:
        _log.warning("alarm.unsent", **describe(error))


def mismatch_text(run_id: str, problems: tuple[WireProblem, ...]) -> str:
    """Tell a mismatch in words, with codes and the run's id and nothing of the conversation."""
    codes = ", ".join(problem.value for problem in problems)
    return (
        "⚠️ My engine sent my model something other than what I had compiled "
        f"(`{codes}`). Look closer with `/runs show run:{run_id}`."
    )


def undelivered_text(channel_id: str, run_id: str | None, reason: str) -> str:
    """Tell of an answer that is not in its channel, with ids and Discord's code alone."""
    place = f"<#{channel_id.rpartition(':')[2]}>"
    run = f" of run `{run_id}`" if run_id else ""
    return (
        f"⚠️ I could not post an answer{run} in {place} (`{reason}`), and gave it up. "
        "It was posted nowhere else."
    )


def blank_text(channel_id: str) -> str:
    """Tell what a message without its content means, and where the switch is."""
    return (
        f"⚠️ A message in <#{channel_id.rpartition(':')[2]}> reached me without its content, so I "
        'did not answer it. Switch on "Message Content Intent" in the Developer Portal (Bot > '
        "Privileged Gateway Intents) and start me again."
    )


def no_threads_text(channel_id: str) -> str:
    """Tell which permission is missing where."""
    return (
        f"⚠️ I am to open threads in <#{channel_id.rpartition(':')[2]}> and may not, so I answer in "
        'the channel. Give me "Create Public Threads" and "Send Messages in Threads" there, or '
        "switch it off with `/channel threads`."
    )


def key_refused_text(engine: EngineSettings, run_id: str | None) -> str:
    """Tell of a refused key by the name of its variable, never by the key."""
    where = f"Look at `{engine.key_env}` in `.env`" if engine.key_env else "Set `[engine] key_env`"
    run = f" (run `{run_id}`)" if run_id else ""
    return (
        f"⚠️ `{engine.provider}` does not accept the key of my model{run}. {where}; the next "
        "start of the bot reads it."
    )


def unsound_text(run_ids: Sequence[str]) -> str:
    """Tell of traces that are kept because something is wrong with them."""
    count = f"{len(run_ids)} traces" if len(run_ids) > 1 else "one trace"
    return (
        f"⚠️ I was to prune {count} and did not: the lines are not as they were written, or the "
        f"files cannot be deleted. Look closer with `runs verify {run_ids[0]}` in the shell."
    )
