"""What a run has on disk beside its trace: its directory, and the prompts that its process reads.

Functions here block; call them in a thread where a loop runs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from compiler.compile import CompiledSystem
from compiler.request import RunId
from compiler.templates import ENGINE_PREAMBLE
from sessions.engine import PREAMBLE_FILE, SYSTEM_FILE
from sessions.errors import SessionErrorCode, SessionStartFailed
from sessions.limits import EngineSettings

RUNS_DIR: Final = "runs"


def run_dir(home: Path, run_id: RunId) -> Path:
    """Where a run has its files."""
    return home / RUNS_DIR / run_id


def has_runs(home: Path) -> bool:
    """Tell whether there ever was a run in a home, as far as it is kept."""
    directory = home / RUNS_DIR
    return directory.is_dir() and any(directory.iterdir())


def make_run_dir(directory: Path) -> None:
    """Make the directory of a run, owner-only.

    Raises:
        OSError: it cannot be made, or is there already (``FileExistsError``).
    """
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.mkdir(mode=0o700)


def write_prompts(directory: Path, system: CompiledSystem, settings: EngineSettings) -> None:
    """Put the prompts where the process reads them, owner-only.

    Raises:
        SessionStartFailed: they cannot be written.
    """
    _write_private(directory / SYSTEM_FILE, system.prompt)
    if settings.preamble == "inglenook":
        _write_private(directory / PREAMBLE_FILE, ENGINE_PREAMBLE)


def _write_private(file: Path, text: str) -> None:
    """Put a file in place, owner-only and whole."""
    draft = file.with_name(f"{file.name}.new")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode("utf-8"))
        draft.replace(file)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SessionStartFailed(SessionErrorCode.START_FAILED, reason=reason) from error
