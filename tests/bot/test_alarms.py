"""Alarms reach the owner once a run, and never hold anything up."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from unittest.mock import create_autospec

import discord

from bot.alarms import OwnerAlarms, key_refused_text, mismatch_text
from config.settings import DiscordSettings, Settings
from sessions.limits import EngineSettings
from sessions.wire.ledger import WireProblem

PROBLEMS = (WireProblem.SYSTEM_ALTERED, WireProblem.PREFIX_BROKEN)


class Mailbox:
    """A client whose users take messages, or do not."""

    def __init__(self, *, closed: frozenset[int] = frozenset()) -> None:
        self.got: list[tuple[int, str]] = []
        self.arrived = asyncio.Event()
        self.client = create_autospec(discord.Client, instance=True)
        self.client.fetch_user.side_effect = self._user
        self._closed = closed

    async def _user(self, user_id: int) -> discord.User:
        user = create_autospec(discord.User, instance=True)

        async def send(text: str, **_: object) -> None:
            if user_id in self._closed:
                raise discord.Forbidden(SimpleNamespace(status=403, reason="closed"), "closed")  # type: ignore[arg-type]  # what of a response is read
            self.got.append((user_id, text))
            self.arrived.set()

        user.send.side_effect = send
        return user  # type: ignore[no-any-return]  # a specced double


async def send_all(alarms: OwnerAlarms, mailbox: Mailbox, settings: Settings) -> None:
    """Let the alarms' task work until nothing waits."""
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(alarms.run(mailbox.client, lambda: settings))
        while not alarms._waiting.empty():  # noqa: ASYNC110 - its end has no event
            await asyncio.sleep(0)
        for _ in range(50):
            await asyncio.sleep(0)
        running.cancel()


def settings_of(*owners: str, alarms: bool = True) -> Settings:
    return Settings(discord=DiscordSettings(owners=owners, alarms=alarms))


async def test_every_owner_is_told_once_a_run() -> None:
    mailbox, alarms = Mailbox(), OwnerAlarms()
    for turn in ("1", "2"):
        alarms.mismatch(run_id="run-a", turn_id=turn, problems=PROBLEMS)
    alarms.mismatch(run_id="run-b", turn_id="3", problems=PROBLEMS)
    await send_all(alarms, mailbox, settings_of("7", "8"))
    assert [user for user, _ in mailbox.got] == [7, 8, 7, 8]
    assert mailbox.got[0][1] == mismatch_text("run-a", PROBLEMS)


async def test_an_owner_who_takes_no_messages_stops_nobody() -> None:
    mailbox, alarms = Mailbox(closed=frozenset({7})), OwnerAlarms()
    alarms.mismatch(run_id="run-a", turn_id="1", problems=PROBLEMS)
    await send_all(alarms, mailbox, settings_of("7", "8"))
    assert [user for user, _ in mailbox.got] == [8]


async def test_alarms_can_be_switched_off() -> None:
    mailbox, alarms = Mailbox(), OwnerAlarms()
    alarms.mismatch(run_id="run-a", turn_id="1", problems=PROBLEMS)
    await send_all(alarms, mailbox, settings_of("7", alarms=False))
    assert mailbox.got == []


async def test_many_alarms_are_bounded() -> None:
    """Taking one never waits, however many come."""
    mailbox, alarms = Mailbox(), OwnerAlarms()
    for number in range(2_000):
        alarms.mismatch(run_id=f"run-{number}", turn_id="", problems=PROBLEMS)
    await send_all(alarms, mailbox, settings_of("7"))
    assert len(mailbox.got) == 20


def test_the_words_hold_codes_and_the_run_only() -> None:
    text = mismatch_text("2026-11-29-23-16-35-abcd", PROBLEMS)
    assert "`system-altered, prefix-broken`" in text
    assert "/runs show run:2026-11-29-23-16-35-abcd" in text
    assert len(text) < 300


async def test_a_refused_key_is_told_once_by_the_name_of_its_variable() -> None:
    """The owner hears which variable to look at, and of many failing turns only once."""
    mailbox, alarms = Mailbox(), OwnerAlarms()
    for run in ("run-a", "run-b"):
        alarms.key_refused(run)
    settings = Settings(
        discord=DiscordSettings(owners=("1",)),
        engine=EngineSettings(provider="openai", key_env="OPENAI_API_KEY"),
    )
    await send_all(alarms, mailbox, settings)
    ((owner, text),) = mailbox.got
    assert owner == 1
    assert "`OPENAI_API_KEY`" in text
    assert "run-a" in text
    assert "key_env" in key_refused_text(EngineSettings(), None)
