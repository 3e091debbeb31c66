"""One turn of the real pi that belongs to nobody: in a temporary folder, in no run and no history.

Nothing that a person wrote may go through it. The doctor tries the model with it, and the
playground lets the embedded model read its system prompt ahead of the first message.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from compiler.hashing import sha256_text
from compiler.request import ImpName, RunId, TurnId
from sessions.allowance import Spender
from sessions.clock import SystemClock
from sessions.engine import PREAMBLE_FILE, SYSTEM_FILE, GatewayAccess, Launch, PiEngine
from sessions.exchange import TurnExchange
from sessions.inbound import TurnOutcome
from sessions.limits import EngineSettings, SessionLimits
from sessions.model_gateway import ModelGateway
from sessions.pi.process import PiInstall
from sessions.traces.events import TraceMark
from sessions.wire.ledger import ExpectedTurn

_RUN: Final = RunId("trial")
_TURN: Final = TurnId("trial")
_MARK: Final = TraceMark(seq=0, sha256="0" * 64)
"""There is no trace: the folder is gone afterwards."""
_NOBODY: Final = Spender(imp=ImpName("trial"), user_id=None, channel_id=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is said in it. All three texts are the host's own."""

    preamble: str
    system: str
    prompt: str
    seconds: float
    """Longest duration; the owner's own limit holds where it is shorter."""


async def try_turn(
    trial: Trial,
    engine: EngineSettings,
    install: PiInstall,
    environ: Mapping[str, str],
    limits: SessionLimits,
) -> TurnOutcome:
    """Run one turn.

    Raises:
        PiError: pi does not start.
    """
    bounded = replace(limits, turn_seconds=min(limits.turn_seconds, trial.seconds))
    with tempfile.TemporaryDirectory(prefix="inglenook-trial-") as folder:
        run_dir = Path(folder) / "run"
        await asyncio.to_thread(_prepare, run_dir, trial)
        pi = PiEngine(
            install,
            version="",
            config_dir=Path(folder) / "engine",
            limits=bounded,
            environment=environ,
        )
        launch = Launch(
            run_dir=run_dir,
            route_key="inglenook-trial",
            settings=replace(engine, retries=0),
            resume=False,
        )
        async with _by_gateway(launch, trial, environ) as asking, pi.spawn(asking) as client:
            await client.start()
            exchange = TurnExchange(client, bounded, run_id=_RUN, turn_id=_TURN)
            return (await exchange.run(trial.prompt)).outcome


@asynccontextmanager
async def _by_gateway(
    launch: Launch, trial: Trial, environ: Mapping[str, str]
) -> AsyncIterator[Launch]:
    """Let pi ask as it does in a conversation: through the host, without the key."""
    async with (
        ModelGateway(environment=environ, clock=SystemClock()) as gateway,
        gateway.open(
            launch.settings,
            run_id=_RUN,
            system_prompt=trial.system,
            spender=_NOBODY,
            inputs={sha256_text(trial.prompt)},
        ) as endpoint,
    ):
        if endpoint is None:
            yield launch
            return
        endpoint.begin_turn(ExpectedTurn(turn_id=_TURN, mark=_MARK, text=trial.prompt), _NOBODY)
        access = GatewayAccess(address=gateway.address_of(endpoint), secret=endpoint.secret)
        yield replace(launch, gateway=access)


def _prepare(run_dir: Path, trial: Trial) -> None:
    run_dir.mkdir()
    (run_dir.parent / "engine").mkdir()
    (run_dir / SYSTEM_FILE).write_text(trial.system, encoding="utf-8")
    (run_dir / PREAMBLE_FILE).write_text(trial.preamble, encoding="utf-8")
