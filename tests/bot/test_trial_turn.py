"""A turn that leaves nothing behind."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest

from bot.playground.scripted_model import Answer, Hang, ScriptedModel
from bot.trial_turn import Trial, try_turn
from sessions.inbound import OutcomeKind
from support.pi_world import INSTALL, LIMITS, engine_for

TRIAL = Trial(preamble="You are a voice.", system="Keep it short.", prompt="Hello.", seconds=30)


async def test_the_three_texts_reach_the_model_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in nobody's history: its folder is gone when it has ended."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with ScriptedModel() as model:
        model.script(Answer.of("Hi."))
        outcome = await try_turn(TRIAL, engine_for(model.url), INSTALL, {}, LIMITS)
    assert (outcome.kind, outcome.text) == (OutcomeKind.REPLIED, "Hi.")
    (request,) = model.requests
    assert request.system_text.startswith("You are a voice.")
    assert "Keep it short." in request.system_text
    assert request.last_user_text == "Hello."
    assert await asyncio.to_thread(lambda: list(tmp_path.iterdir())) == []


async def test_it_takes_no_longer_than_it_may() -> None:
    async with ScriptedModel() as model:
        model.script(Hang(chunks=("a",)))
        trial = Trial(preamble="p", system="s", prompt="Hello.", seconds=0.1)
        outcome = await try_turn(trial, engine_for(model.url), INSTALL, {}, LIMITS)
    assert outcome.kind is OutcomeKind.CUT_OFF
