"""Approved calls of the engine's own tools, carried out by the host in a box of their own.

The call is the frozen one, byte for byte, and what runs it is the engine's own code
(``pi/act.mjs``), in a box like that of the conversation's session: its workspace, its channel's
files where they are granted, the same limits, and no way to any model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from sessions.boxes.plan import WORKSPACE, command_prefix
from sessions.boxes.settings import BoxSettings
from sessions.boxes.watch import watching
from sessions.engine import WORKSPACE_DIR, Confined
from sessions.gate_execution import ActionFailed
from sessions.gates import Gate
from sessions.limits import SessionLimits
from sessions.pi.errors import PiError
from sessions.pi.process import PiInstall, PiProcess, PiSpec
from sessions.tools.table import BUILTIN_NAMES
from sessions.workspaces import Workspaces

_log = structlog.get_logger(__name__)
SCRIPT: Final = Path(__file__).parents[1] / "pi" / "act.mjs"
ASIDE_DIR: Final = "aside"
"""Stands for a session's directory, which the call has no business with."""
START_SECONDS: Final = 30.0
"""Beside the command's own time: a box and Node, on a busy machine."""
_MOST_BYTES: Final = 1_000_000


class BoxActionErrorCode(StrEnum):
    """How an approved call ended badly."""

    NO_BOX = "action_no_box"
    REFUSED = "action_refused"
    LOST = "action_lost"


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    done: bool
    text: str


@dataclass(slots=True)
class _Said:
    """What the script says, up to its end."""

    text: bytearray
    ended: asyncio.Event

    def take(self, chunk: bytes) -> None:
        if len(self.text) < _MOST_BYTES:
            self.text += chunk


@dataclass(slots=True)
class _Watched:
    """The script's process, as whoever looks after its box sees it."""

    process: PiProcess

    def kill(self) -> None:
        self.process.kill()


class BoxActions:
    """Carries out gates of the engine's own tools."""

    def __init__(
        self,
        install: PiInstall,
        *,
        confined: Confined | None,
        unconfined: bool,
        limits: SessionLimits,
        workspaces: Workspaces,
        channel_files: Callable[[Gate], Path | None],
    ) -> None:
        """Take the collaborators.

        Args:
            install: Node and pi.
            confined: the box; None where there is none.
            unconfined: whether the owner lets tools run without one.
            limits: bounds of a process's end.
            workspaces: where calls are carried out.
            channel_files: which files of a gate's channel its box shows.
        """
        self._install = install
        self._confined = confined
        self._unconfined = unconfined
        self._limits = limits
        self._workspaces = workspaces
        self._channel_files = channel_files

    @property
    def seconds(self) -> float:
        """Longest duration of one call."""
        return self._settings.command_seconds + START_SECONDS

    @property
    def _settings(self) -> BoxSettings:
        return self._confined.settings if self._confined else BoxSettings()

    async def execute(self, gate: Gate) -> str:
        """Carry out a gate's call; give what the tool says.

        Raises:
            ActionFailed: there is no box, the tool refuses, or it came to no end.
        """
        if gate.tool not in BUILTIN_NAMES or (self._confined is None and not self._unconfined):
            raise ActionFailed(BoxActionErrorCode.NO_BOX)
        try:
            run_dir = await self._workspaces.run_of(gate)
            answer = await self._run(gate, self._spec(gate, run_dir))
        except (PiError, OSError) as error:
            _log.warning("gate.box_failed", gate_id=gate.gate_id, error=type(error).__name__)
            raise ActionFailed(BoxActionErrorCode.NO_BOX) from error
        if not answer.done:
            raise ActionFailed(BoxActionErrorCode.REFUSED, answer.text)
        return answer.text

    def _spec(self, gate: Gate, run_dir: Path) -> PiSpec:
        confined = self._confined
        return PiSpec(
            install=self._install,
            model="",
            session_id=gate.gate_id,
            session_dir=run_dir / ASIDE_DIR,
            workspace=run_dir / WORKSPACE_DIR,
            config_dir=run_dir / ASIDE_DIR,
            system_prompt_file=SCRIPT,
            extensions=(SCRIPT,),
            compile_cache=confined.compile_cache if confined else None,
            box=confined.box if confined else None,
            channel_files=self._channel_files(gate),
            script=SCRIPT,
        )

    async def _run(self, gate: Gate, spec: PiSpec) -> _Answer:
        said = _Said(text=bytearray(), ended=asyncio.Event())
        async with PiProcess(
            spec, self._limits, on_stdout=said.take, on_end=said.ended.set
        ) as process:
            cwd = WORKSPACE if spec.box else str(spec.workspace)
            process.write(request_of(gate, self._settings, cwd=cwd))
            if spec.box is None:
                await said.ended.wait()
            else:
                own = (spec.session_dir, spec.workspace)
                run = spec.session_dir.parent
                async with watching(_Watched(process), self._settings, own, run=run):
                    await said.ended.wait()
        return _answer_of(said.text)


def request_of(gate: Gate, settings: BoxSettings, *, cwd: str) -> bytes:
    """Write what the script is told: the frozen call, whose command ends in time."""
    arguments = json.loads(gate.payload)
    if gate.tool == "bash":
        cap, asked = settings.command_seconds, arguments.get("timeout")
        wanted = asked if isinstance(asked, int | float) and asked > 0 else cap
        arguments["timeout"] = min(wanted, cap)
    request = {
        "tool": gate.tool,
        "arguments": arguments,
        "cwd": cwd,
        "prefix": command_prefix(settings),
    }
    return json.dumps(request).encode() + b"\n"


def _answer_of(said: bytes | bytearray) -> _Answer:
    """Read the script's one line.

    Raises:
        ActionFailed: it was ended before it said anything.
    """
    try:
        return _Answer.model_validate_json(bytes(said))
    except ValidationError as error:
        raise ActionFailed(BoxActionErrorCode.LOST) from error
