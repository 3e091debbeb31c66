"""One tiny turn through the real pi."""

from __future__ import annotations

import pytest

from bot.doctor.model import check_model, judge_turn
from bot.doctor.results import Verdict
from bot.playground.scripted_model import Answer, HttpError, ScriptedModel
from compiler.request import RunId, TurnId
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.limits import EngineSettings
from support.free_ports import free_port
from support.pi_world import INSTALL, LIMITS, engine_for


async def test_a_model_that_answers() -> None:
    async with ScriptedModel() as model:
        model.script(Answer.of("OK"))
        check = await check_model(engine_for(model.url), INSTALL, {}, LIMITS)
        assert check.verdict is Verdict.OK
        assert check.summary == "test/m1 answers"
        assert len(model.requests) == 1


async def test_a_refused_key_is_told_once_without_the_provider_s_words() -> None:
    async with ScriptedModel() as model:
        model.script(HttpError(status=401, body='{"error": {"message": "CANARY key"}}'))
        engine = engine_for(model.url, key_env="MODEL_KEY", retries=2)
        check = await check_model(engine, INSTALL, {"MODEL_KEY": "sk-CANARY"}, LIMITS)
        assert len(model.requests) == 1
    assert check.verdict is Verdict.FAIL
    assert "CANARY" not in str(check)
    assert "[engine]" in check.advice


async def test_a_failing_provider_is_asked_once() -> None:
    """A check says what is now; it does not wait for better times."""
    async with ScriptedModel() as model:
        model.script(HttpError(status=503), Answer.of("OK"))
        check = await check_model(engine_for(model.url, retries=2), INSTALL, {}, LIMITS)
        assert len(model.requests) == 1
    assert check.verdict is Verdict.FAIL


async def test_a_model_out_of_reach() -> None:
    engine = engine_for(f"http://127.0.0.1:{free_port()}/v1")
    check = await check_model(engine, INSTALL, {}, LIMITS)
    assert check.verdict is Verdict.FAIL
    assert "does not answer" in check.summary


async def test_a_provider_that_pi_does_not_know() -> None:
    engine = EngineSettings(provider="nobody", model="nothing")
    check = await check_model(engine, INSTALL, {}, LIMITS)
    assert check.verdict is Verdict.FAIL
    assert "did not start" in check.summary


async def test_an_empty_key_is_named_before_anything_starts() -> None:
    engine = EngineSettings(provider="openai", model="m", key_env="MODEL_KEY")
    check = await check_model(engine, INSTALL, {}, LIMITS)
    assert check.summary == "the variable MODEL_KEY is empty"
    assert ".env" in check.advice


async def test_without_pi_nothing_is_tried() -> None:
    assert (await check_model(EngineSettings(), None, {}, LIMITS)).verdict is Verdict.WARN


@pytest.mark.slow
async def test_the_embedded_model_answers() -> None:
    check = await check_model(EngineSettings(), INSTALL, {}, LIMITS)
    assert check.verdict is Verdict.OK, check
    assert "toy answers" in check.summary


def test_a_silent_model_is_still_there() -> None:
    outcome = TurnOutcome(kind=OutcomeKind.SILENT, run_id=RunId("doctor"), turn_id=TurnId("doctor"))
    assert judge_turn(EngineSettings(url="http://x"), outcome).verdict is Verdict.OK


def test_a_provider_that_is_asked_past_the_host_is_warned_of() -> None:
    """Issue "The wire": traffic runs through the gateway, or the owner is told."""
    outcome = TurnOutcome(
        kind=OutcomeKind.REPLIED, run_id=RunId("doctor"), turn_id=TurnId("doctor")
    )
    assert (
        judge_turn(EngineSettings(provider="google", key_env="K"), outcome).verdict is Verdict.WARN
    )
    followed = EngineSettings(provider="openai", key_env="K")
    assert judge_turn(followed, outcome).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("engine", "embedded"),
    [
        (EngineSettings(), True),
        (EngineSettings(url="http://x/v1"), False),
        (EngineSettings(provider="openai"), False),
    ],
)
def test_when_the_embedded_model_is_meant(engine: EngineSettings, embedded: bool) -> None:  # noqa: FBT001
    assert engine.is_embedded is embedded
