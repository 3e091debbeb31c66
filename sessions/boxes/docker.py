"""The box by a second way: a container of Docker's, for machines whose kernel refuses the first.

What it holds is the same plan (``sessions.boxes.plan``) at the same paths. What is handed over as
content there lies here in files beside the run, for the engine can only bind what has a name.

Everything here blocks; a host calls it in a thread.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from sessions.box import BoxReport, plan_of
from sessions.boxes.plan import BoxPlan, Mount, docker_argv, uid_of
from sessions.boxes.settings import BoxSettings
from sessions.boxes.trial import try_out
from sessions.pi.errors import PiStartFailed
from sessions.pi.process import SYSTEM_PATH, PiSpec, Spawn

FILES_DIR: Final = "box"
_LABEL: Final = "inglenook.home"
_WALLS: Final = """\
set -e
test "$(id -u)" != 0
test ! -e {home}
test "$(ls /sys/class/net 2>/dev/null | grep -cv '^lo$')" = 0
! echo lost 2>/dev/null > /usr/probe
echo kept > /workspace/probe
"""
"""What a shell in a container must find: no superuser, no home, no network, one writable place."""
_ENGINE: Final = ("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")


class DockerBox:
    """Makes boxes of Docker; a ``sessions.pi.process.Confinement``."""

    def __init__(
        self, docker: Path, settings: BoxSettings, home: Path, *, model_socket: Path | None = None
    ) -> None:
        """Take what all boxes have in common.

        Args:
            docker: Docker's client.
            settings: limits, and the image.
            home: what no box may see; its containers are known by it.
            model_socket: where the host's model gateway listens.
        """
        self._docker = docker
        self._settings = settings
        self._home = home.resolve()
        self._label = f"{_LABEL}={hashlib.sha256(str(self._home).encode()).hexdigest()[:16]}"
        self._model_socket = model_socket

    def confine(self, spec: PiSpec, *, family: str) -> Spawn:
        """Start pi in a container of its run; see ``Confinement``."""
        run_dir = spec.session_dir.parent
        try:
            plan = plan_of(
                spec, family=family, settings=self._settings, model_socket=self._model_socket
            )
            # What runs beside a run's own pi must not take its files away.
            name = FILES_DIR if spec.script is None else f"{FILES_DIR}-aside"
            own = (spec.session_dir, spec.workspace)
            return self._spawn(plan, run_dir, own=own, files_dir=run_dir / name)
        except OSError as error:
            raise PiStartFailed(f"cannot be shut in: {type(error).__name__}") from error

    def _spawn(
        self,
        plan: BoxPlan,
        run_dir: Path,
        *,
        own: tuple[Path, ...],
        files_dir: Path | None = None,
    ) -> Spawn:
        uid, gid = os.geteuid(), os.getegid()
        if uid == 0:
            uid = gid = uid_of(run_dir.name)
            for directory in own:
                os.chown(directory, uid, gid, follow_symlinks=False)
        files_dir = files_dir or run_dir / FILES_DIR
        _write_files(plan, files_dir)
        name = f"inglenook-{run_dir.name}-{secrets.token_hex(4)}"
        argv = docker_argv(
            plan,
            docker=self._docker,
            name=name,
            label=self._label,
            files_dir=files_dir,
            uid=uid,
            gid=gid,
        )
        return Spawn(
            argv=argv,
            cwd=run_dir,
            env={**plan.environment, **_clients_own(files_dir)},
            undo=(str(self._docker), "rm", "--force", name),
        )

    def trial(self, *, patience_seconds: float) -> str:
        """Start a shell in a container; give what is wrong, empty if nothing is."""
        with tempfile.TemporaryDirectory(prefix="inglenook-") as made:
            place = Path(made)
            workspace = place / "workspace"
            workspace.mkdir(mode=0o700)
            plan = BoxPlan(
                command=("/bin/bash", "-c", _WALLS.format(home=shlex.quote(str(self._home)))),
                environment={"PATH": SYSTEM_PATH},
                mounts=(Mount(source=workspace, target="/workspace", writable=True),),
                files=(),
                scratch=(),
                settings=self._settings,
            )
            fault = try_out(self._spawn(plan, place, own=(workspace,)), patience_seconds)
            if not fault and not (workspace / "probe").exists():
                return "the engine does not see this machine's files"
            return fault

    def end_leftovers(self, *, patience_seconds: float) -> None:
        """End the containers of a host of this home that is gone; nobody else's, and none of ours.

        Whoever asks holds the home, so no other host has any.
        """
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            wanted = ("--all", "--quiet", "--filter", f"label={self._label}")
            found = self._ask("ps", *wanted, patience_seconds=patience_seconds).split()
            if found:
                self._ask("rm", "--force", *found, patience_seconds=patience_seconds)

    def _ask(self, *words: str, patience_seconds: float) -> str:
        return subprocess.run(  # noqa: S603  (our own command line)
            (str(self._docker), *words),
            env={"PATH": SYSTEM_PATH, **_clients_own(self._home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience_seconds,
            check=True,
        ).stdout.decode("ascii", "replace")


def probe_docker(
    settings: BoxSettings, home: Path, *, model_socket: Path | None = None
) -> tuple[BoxReport, DockerBox | None]:
    """Find out whether there is an engine that runs the image; give the box if so.

    What an earlier host left running is ended.
    """
    report = BoxReport(
        mode=settings.mode,
        kind=settings.kind,
        works=False,
        changes_user=os.geteuid() == 0,
        filtered=True,  # by the engine's own profile
    )
    found = shutil.which("docker", path=SYSTEM_PATH)
    if found is None:
        return replace(report, fault="Docker is not installed"), None
    box = DockerBox(Path(found), settings, home, model_socket=model_socket)
    fault = box.trial(patience_seconds=settings.probe_seconds)
    if fault:
        return replace(report, fault=fault), None
    box.end_leftovers(patience_seconds=settings.probe_seconds)
    return replace(report, works=True), box


def _clients_own(files_dir: Path) -> dict[str, str]:
    """Say where the client finds its engine. None of it goes inside: there each name is listed.

    Its settings are not the owner's, which may hold a proxy and its password for every container,
    nor anybody's in the ``/tmp`` that is home inside: there are none.
    """
    found = {name: os.environ[name] for name in _ENGINE if name in os.environ}
    return {**found, "DOCKER_CONFIG": str(files_dir / "no-settings")}


def _write_files(plan: BoxPlan, files_dir: Path) -> None:
    """Put the plan's files where the engine can bind them; the run's directory is private."""
    shutil.rmtree(files_dir, ignore_errors=True)
    for file in plan.files:
        place = files_dir / file.target.lstrip("/")
        place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        place.write_bytes(file.content)
        place.chmod(0o444)
