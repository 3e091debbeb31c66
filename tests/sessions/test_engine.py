"""How pi is started for a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sessions.boxes.plan import SECONDS_VARIABLE
from sessions.engine import (
    EXTENSION,
    GatewayAccess,
    Launch,
    PiEngine,
    fingerprint,
    installed_version,
)
from sessions.limits import EngineSettings, SessionLimits
from sessions.pi.errors import PiStartFailed
from sessions.pi.process import PiInstall
from sessions.sources import engine_identity

SETTINGS = EngineSettings(provider="p", model="m", url="http://127.0.0.1:5000/v1")


def engine(home: Path, environment: dict[str, str] | None = None) -> PiEngine:
    return PiEngine(
        PiInstall(node=home / "node", cli=home / "pi" / "dist" / "bundle" / "cli.js"),
        version="1.6.0",
        config_dir=home / "engine",
        limits=SessionLimits(),
        environment=environment or {},
    )


def launch(home: Path, **changes: object) -> Launch:
    run_dir = home / "runs" / "r1"
    made = Launch(run_dir=run_dir, route_key="key", settings=SETTINGS, resume=False)
    return replace(made, **changes)  # type: ignore[arg-type]  # names are checked by replace


def test_everything_of_a_run_lies_in_its_directory(tmp_path: Path) -> None:
    """Own session directory, own working directory, both prompts as absolute files."""
    spec = engine(tmp_path).spec(launch(tmp_path))
    run_dir = tmp_path / "runs" / "r1"
    assert (spec.session_dir, spec.workspace) == (run_dir / "session", run_dir / "workspace")
    assert spec.system_prompt_file == run_dir / "system.md"
    assert spec.preamble_file == run_dir / "preamble.md"
    assert spec.session_id == "key"
    assert spec.extensions == (EXTENSION,)
    assert EXTENSION.is_file()


def test_a_resumed_run_is_started_with_the_same_flags(tmp_path: Path) -> None:
    """Reference, section 4: equal flags and paths, equal prefix."""
    made = engine(tmp_path)
    assert made.spec(launch(tmp_path)) == made.spec(launch(tmp_path, resume=True))


def test_pis_own_preamble_can_be_kept(tmp_path: Path) -> None:
    """``engine.preamble = "pi"``."""
    settings = replace(SETTINGS, preamble="pi")
    assert engine(tmp_path).spec(launch(tmp_path, settings=settings)).preamble_file is None


def test_only_the_key_is_passed_on(tmp_path: Path) -> None:
    """Nothing else of the host's environment reaches pi.

    Least of all what says that it is in a box, where all processes around it are a command's.
    """
    settings = replace(SETTINGS, key_env="MODEL_KEY")
    made = engine(tmp_path, {"MODEL_KEY": "k", "DISCORD_TOKEN": "t", SECONDS_VARIABLE: "60"})
    assert made.spec(launch(tmp_path, settings=settings)).env == {"MODEL_KEY": "k"}
    assert made.version == "1.6.0"


async def test_a_missing_node_is_a_failed_start(tmp_path: Path) -> None:
    """Issue "Bad input": no process, a clear error."""
    (tmp_path / "runs" / "r1").mkdir(parents=True)
    with pytest.raises(PiStartFailed):
        async with engine(tmp_path).spawn(launch(tmp_path, resume=True)):
            pass


def test_the_version_is_read_from_the_package(tmp_path: Path) -> None:
    """And a place without pi is said to be one."""
    install = PiInstall(node=tmp_path / "node", cli=tmp_path / "pi" / "dist" / "bundle" / "cli.js")
    with pytest.raises(PiStartFailed):
        installed_version(install)
    (tmp_path / "pi").mkdir()
    (tmp_path / "pi" / "package.json").write_text(json.dumps({"version": "1.6.0"}))
    assert installed_version(install) == "1.6.0"


@pytest.mark.parametrize("change", [{"model": "n"}, {"thinking": "low"}, {"preamble": "pi"}])
def test_a_changed_engine_has_another_fingerprint(change: dict[str, str]) -> None:
    """What would change the prefix or the answers ends a claim to be resumed."""
    changed = replace(SETTINGS, **change)  # type: ignore[arg-type]  # strings only
    same = fingerprint(SETTINGS, engine_identity(SETTINGS, version="1.6.0"))
    assert same == fingerprint(SETTINGS, engine_identity(SETTINGS, version="1.6.0"))
    assert same != fingerprint(changed, engine_identity(changed, version="1.6.0"))
    assert same != fingerprint(SETTINGS, engine_identity(SETTINGS, version="1.6.1"))


def test_the_embedded_model_is_the_same_at_any_port() -> None:
    """Issue "Sessions": a restart of the bot resumes what was warm, in the playground as well."""
    here, there = (
        replace(SETTINGS, provider="embedded", url=f"http://127.0.0.1:{port}/v1")
        for port in (40001, 40002)
    )
    identity = engine_identity(here, version="1.6.0")
    assert fingerprint(here, identity) == fingerprint(there, identity)
    moved = replace(SETTINGS, url="http://127.0.0.1:40001/v1")
    assert fingerprint(SETTINGS, identity) != fingerprint(moved, identity)


def test_behind_a_gateway_pi_has_a_secret_and_no_key(tmp_path: Path) -> None:
    """Issue "The wire": neither key, nor proxies, nor certificates; the flags stay the same."""
    settings = replace(SETTINGS, key_env="MODEL_KEY")
    made = engine(tmp_path, {"MODEL_KEY": "k", "HTTPS_PROXY": "http://proxy:1"})
    access = GatewayAccess(address="http://127.0.0.1:9/v1", secret="dummy")  # noqa: S106
    with_gateway = made.spec(launch(tmp_path, settings=settings, gateway=access))
    assert with_gateway.env == {"INGLENOOK_MODEL_KEY": "dummy"}
    assert replace(with_gateway, env={}) == replace(
        made.spec(launch(tmp_path, settings=settings)), env={}
    )
    assert "dummy" not in repr(access)
