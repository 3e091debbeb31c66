"""Let the embedded model read its system prompt before the first message comes.

It reads a hundred tokens a second on a slow machine, and the system prompt holds a thousand. What
it has read once stays in its cache, and all direct messages of an imp begin with the same bytes.
Only the owner's identity and our own texts are in it: nobody's words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import structlog

from bot import ingress
from bot.logs import describe
from bot.playground.ids import ADA, DIRECT
from bot.trial_turn import Trial, try_turn
from compiler.compile import compile_start
from compiler.errors import SafeError
from compiler.request import ChannelId, ImpName, Place, Role, RunId, RunScope, UserId
from compiler.templates import ENGINE_PREAMBLE
from config.load import LiveConfig
from sessions.engine import installed_version
from sessions.pi.process import PiInstall
from sessions.sources import Sources, engine_identity
from sessions.start import start_request

SECONDS: Final = 120.0
_PROMPT: Final = "Hello."
_log = structlog.get_logger(__name__)


async def read_ahead(live: LiveConfig, install: PiInstall) -> None:
    """Have the prompt of the owner's direct message read; a failure is logged and harms nothing."""
    settings = live.current
    try:
        outcome = await try_turn(
            Trial(
                preamble=ENGINE_PREAMBLE,
                system=await _system_prompt(live, install),
                prompt=_PROMPT,
                seconds=SECONDS,
            ),
            replace(settings.engine, max_tokens=1),
            install,
            {},
            settings.sessions,
        )
    except SafeError as error:
        _log.warning("model.not_read_ahead", code=str(error.code))
    except OSError as error:
        _log.warning("model.not_read_ahead", **describe(error))
    else:
        _log.info("model.read_ahead", input_tokens=outcome.usage.input_tokens)


async def _system_prompt(live: LiveConfig, install: PiInstall) -> str:
    imp = ImpName(live.current.discord.imp)
    scope = RunScope(
        provider=ingress.PROVIDER,
        place=Place.DM,
        channel_id=ChannelId(ingress.prefixed(DIRECT[ADA])),
        user_id=UserId(ingress.prefixed(ADA)),
        role=Role.OWNER,
    )
    identity = engine_identity(live.current.engine, version=installed_version(install))
    snapshot = await Sources(live.home).read_start(imp, scope, identity)
    request = start_request(RunId("read-ahead"), imp, scope)
    return compile_start(request, snapshot, live.budgets(imp)).system.prompt
