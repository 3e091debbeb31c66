"""The model: one tiny turn, through the real pi, with the real settings.

The turn runs in a temporary folder, so it is in nobody's history. Its cost is a few tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final

from bot import bootstrap
from bot.doctor.results import Check, fail, ok, warn
from bot.playground.embedded_model import EmbeddedModel, EmbeddedModelError
from bot.trial_turn import Trial, try_turn
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.limits import EMBEDDED, EngineSettings, SessionLimits
from sessions.pi.errors import PiError
from sessions.pi.process import PiInstall
from sessions.wire.upstream import upstream_of

TURN_SECONDS: Final = 60.0
"""A small model on a busy machine may need most of it."""
_NAME: Final = "Model"
_TRIAL: Final = Trial(
    preamble="You are a helpful voice.\n",
    system="This is a check of the line. Keep your answer short.",
    prompt="Please answer with the word OK.",
    seconds=TURN_SECONDS,
)


async def check_model(
    engine: EngineSettings,
    install: PiInstall | None,
    environ: Mapping[str, str],
    limits: SessionLimits,
) -> Check:
    """Ask the model for one word."""
    if install is None:
        return warn(_NAME, "not tried without pi", "Mend pi first.")
    if engine.key_env and not environ.get(engine.key_env):
        return fail(
            _NAME,
            f"the variable {engine.key_env} is empty",
            f"Put {engine.key_env}=... into the home's .env.",
        )
    try:
        async with AsyncExitStack() as stack:
            reachable = await _reachable(engine, stack)
            outcome = await try_turn(_TRIAL, reachable, install, environ, limits)
    except (EmbeddedModelError, PiError) as error:
        return fail(_NAME, f"{_label(engine)} did not start", error.safe_message)
    except bootstrap.NotInstalledError as error:
        return fail(_NAME, "the embedded model is not installed", str(error))
    return judge_turn(engine, outcome)


def judge_turn(engine: EngineSettings, outcome: TurnOutcome) -> Check:
    """Judge how the turn ended."""
    if outcome.kind in {OutcomeKind.REPLIED, OutcomeKind.SILENT}:
        if not engine.is_embedded and upstream_of(engine) is None:
            return warn(
                _NAME,
                f"{_label(engine)} answers, but pi asks it past the host",
                "Nothing is proven at the wire, no limit holds beforehand, and pi has no box. "
                "Name its url and api, or the variable of its key in key_env.",
            )
        toy = " (toy answers)" if engine.provider == EMBEDDED else ""
        return ok(_NAME, f"{_label(engine)} answers{toy}")
    return fail(
        _NAME,
        f"{_label(engine)} does not answer ({outcome.error_code or outcome.kind})",
        f"{outcome.safe_message} Check the section [engine] of org.toml.",
    )


def _label(engine: EngineSettings) -> str:
    return f"{engine.provider}/{engine.model}"


async def _reachable(engine: EngineSettings, stack: AsyncExitStack) -> EngineSettings:
    """Start the embedded model where that is the one."""
    if not engine.is_embedded:
        return engine
    path = await asyncio.to_thread(bootstrap.find_model)
    model = await stack.enter_async_context(
        EmbeddedModel(path, library_dir=bootstrap.libgomp_dir())
    )
    return replace(engine, url=model.url, model=model.name)
