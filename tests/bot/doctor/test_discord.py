"""Token, intents and owners, asked of the local Discord."""

from __future__ import annotations

import asyncio

import pytest

from bot.doctor import discord
from bot.doctor.discord import (
    MESSAGE_CONTENT,
    MESSAGE_CONTENT_LIMITED,
    Answer,
    check_discord,
    judge_intents,
    judge_owners,
    judge_token,
)
from bot.doctor.results import Verdict
from bot.playground.server import Playground
from config.settings import Settings
from support.free_ports import free_port

CONTENT_INTENT = 1 << 15


def _settings(api: str, token: str, owners: tuple[str, ...] = ("1",)) -> Settings:
    return Settings.model_validate({"discord": {"api": api, "token": token, "owners": owners}})


async def test_all_well_on_a_real_socket() -> None:
    async with Playground() as pg:
        checks = await check_discord(_settings(f"{pg.api_base}/", pg.token))
    assert {check.name: check.verdict for check in checks} == {
        "Discord token": Verdict.OK,
        "Message content": Verdict.OK,
        "Owners": Verdict.OK,
    }


async def test_a_wrong_token_is_named_and_not_shown() -> None:
    """P19: doctor says it before the start; the token is never printed."""
    async with Playground() as pg:
        checks = await check_discord(_settings(pg.api_base, "CANARY"))
    assert checks[0].verdict is Verdict.FAIL
    assert checks[0].summary == "is not valid"
    assert "DISCORD_TOKEN" in checks[0].advice
    assert "CANARY" not in str(checks)
    assert "Message content" not in {check.name for check in checks}


async def test_a_switched_off_intent_names_the_switch() -> None:
    """P19: 4014 would end the start; here is the very switch."""
    async with Playground() as pg:
        pg.intents_allowed &= ~CONTENT_INTENT
        checks = await check_discord(_settings(pg.api_base, pg.token))
    assert checks[1].verdict is Verdict.FAIL
    assert '"Message Content Intent"' in checks[1].advice


async def test_discord_out_of_reach() -> None:
    checks = await check_discord(_settings(f"http://127.0.0.1:{free_port()}", "t"))
    assert checks[0].verdict is Verdict.FAIL
    assert "does not answer" in checks[0].summary


async def test_discord_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discord, "DISCORD_SECONDS", 0.3)
    never = asyncio.Event()
    async with Playground() as pg:
        pg.faults.hold(never, "GET", "/users/@me", times=5)
        checks = await check_discord(_settings(pg.api_base, pg.token))
        never.set()
    assert checks[0].summary == "could not be checked: Discord does not answer"


async def test_without_a_token_the_playground_is_meant() -> None:
    [check] = await check_discord(Settings())
    assert check.verdict is Verdict.OK
    assert "playground" in check.summary


@pytest.mark.parametrize(
    ("status", "verdict"), [(200, Verdict.OK), (401, Verdict.FAIL), (503, Verdict.FAIL)]
)
def test_answers_about_the_token(status: int, verdict: Verdict) -> None:
    assert judge_token(Answer(status=status, body={"username": "Ember"})).verdict is verdict


def test_what_is_not_discord_is_not_taken_for_it() -> None:
    """A page that answers 200 to everything, at a mistaken address, proves no token."""
    check = judge_token(Answer(status=200, body={}))
    assert check.verdict is Verdict.FAIL
    assert "not Discord" in check.summary


@pytest.mark.parametrize(
    ("flags", "verdict"),
    [
        (MESSAGE_CONTENT, Verdict.OK),
        (MESSAGE_CONTENT_LIMITED, Verdict.OK),
        (0, Verdict.FAIL),
        (None, Verdict.WARN),
    ],
)
def test_flags_of_the_application(flags: int | None, verdict: Verdict) -> None:
    assert judge_intents(Answer(status=200, body={"flags": flags})).verdict is verdict


def test_a_refused_question_is_a_remark() -> None:
    assert judge_intents(Answer(status=500, body={"flags": 0})).verdict is Verdict.WARN


def test_owners() -> None:
    assert judge_owners(("1", "2")).summary == "2 owners"
    assert judge_owners(()).verdict is Verdict.FAIL
