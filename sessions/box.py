"""The box that pi and its tools run in: found out once, then made anew for each process.

    find_bubblewrap --> Bubblewrap --probe--> BoxReport
    BubblewrapBox.confine(PiSpec) --> Spawn

``probe`` starts a box of the very form that pi gets and looks whether its walls stand. Where they
do not, there is no box, and the imp gets no tool that needs one.

Everything here blocks; a host calls it in a thread.

Spec: CC "State and mount isolation", acceptance test 18; the engine's reference, section 7.
"""

from __future__ import annotations

import copy
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sessions.boxes.filter import filter_program
from sessions.boxes.plan import (
    BWRAP_HOME,
    CONFIG,
    EXTENSIONS,
    PROMPTS,
    BoxPlan,
    Bubblewrap,
    Mount,
    System,
    bubblewrap_argv,
    command_prefix,
    plan_pi,
    uid_of,
)
from sessions.boxes.settings import BoxKind, BoxMode, BoxSettings
from sessions.boxes.trial import try_out
from sessions.pi.errors import PiStartFailed
from sessions.pi.process import PiSpec, Spawn

FORWARDER: Final = Path(__file__).with_name("pi") / "forwarder.mjs"
_SYSTEM_PATH: Final = "/usr/bin:/usr/sbin:/bin:/sbin"
_ROOT_LINKS: Final = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
_SHARED: Final = ("/usr", "/nix/store", "/etc/alternatives", "/etc/ld.so.cache")
"""Public parts of a system. Of ``/etc`` only what programs need to be found at all."""
_WALLS: Final = """\
set -e
test "$(id -u)" = 1000
test ! -e {home}
echo kept > /workspace/probe
! echo lost 2>/dev/null > /usr/probe
test "$(ls /sys/class/net 2>/dev/null | grep -cv '^lo$')" = 0
"""
"""What a shell in a box must find: its own user, no home, one writable place, no network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxReport:
    """What this machine allows."""

    mode: BoxMode
    kind: BoxKind
    works: bool
    fault: str = ""
    """Why not, in the words of the program that refused; for the owner only."""
    changes_user: bool = False
    """Whether the host is the superuser, and each run's box another user."""
    proc: bool = True
    filtered: bool = False
    """Whether system calls are filtered: known for x86-64 and 64-bit ARM."""

    @property
    def tools_allowed(self) -> bool:
        """Whether the imp may have file and shell tools at all."""
        return self.works or self.mode is BoxMode.OFF

    @property
    def name(self) -> str:
        """Name what tools run in, as part of an engine's fingerprint."""
        return self.kind.value if self.works else self.mode.value


def find_bubblewrap(program: Path | None) -> Bubblewrap:
    """Find the programs that make a box.

    Args:
        program: bwrap, a wheel's or the system's; None where there is none.

    Raises:
        PiStartFailed: one is missing.
    """
    if program is None:
        raise PiStartFailed("bubblewrap is not installed")
    parts, inner = _inner_of(program)
    return Bubblewrap(
        program=program,
        parts=parts,
        inner=inner,
        prlimit=_system_program("prlimit"),
        setpriv=_system_program("setpriv") if os.geteuid() == 0 else "",
        system=_system(),
    )


def _inner_of(program: Path) -> tuple[tuple[Mount, ...], str]:
    """Say how bwrap is started inside the outer wall: a wheel's brings a library beside it."""
    place = program.resolve()
    if place.is_relative_to("/usr"):
        return (), str(place)
    package = place.parent.parent
    beside = package.with_name(package.name + ".libs")
    if not beside.is_dir():
        inner = f"{BWRAP_HOME}/bwrap"
        return (Mount(source=place, target=inner),), inner
    mounts = tuple(
        Mount(source=each, target=f"{BWRAP_HOME}/{each.name}") for each in (package, beside)
    )
    return mounts, f"{BWRAP_HOME}/{place.relative_to(package.parent)}"


def _system_program(name: str) -> str:
    found = shutil.which(name, path=_SYSTEM_PATH)
    place = Path(found).resolve() if found else None
    if place is None or not place.is_relative_to("/usr"):
        raise PiStartFailed(f"the program {name} is not installed")
    return str(place)


def _system() -> System:
    links: list[tuple[str, str]] = []
    directories = [each for each in _SHARED if Path(each).exists()]
    for name in _ROOT_LINKS:
        place = Path("/") / name
        if place.is_symlink():
            links.append((str(place.readlink()).lstrip("/"), str(place)))
        elif place.is_dir():
            directories.append(str(place))
    return System(directories=tuple(directories), links=tuple(links))


class BubblewrapBox:
    """Makes boxes of bubblewrap; a ``sessions.pi.process.Confinement``."""

    def __init__(
        self, bubblewrap: Bubblewrap, settings: BoxSettings, *, model_socket: Path | None = None
    ) -> None:
        """Take what all boxes have in common.

        Args:
            bubblewrap: the programs.
            settings: limits.
            model_socket: where the host's model gateway listens.
        """
        self._bubblewrap = bubblewrap
        self._settings = settings
        self._model_socket = model_socket
        self._cache_writable = False
        self._filter = filter_program(platform.machine())

    def confine(self, spec: PiSpec, *, family: str) -> Spawn:
        """Start pi in a box of its run; see ``Confinement``."""
        uid = _new_user(spec.session_dir.parent.name)
        try:
            plan = plan_of(
                spec, family=family, settings=self._settings, model_socket=self._model_socket
            )
            own = [spec.session_dir, spec.workspace]
            if self._cache_writable and spec.compile_cache is not None:
                own.append(spec.compile_cache)
                plan = replace(plan, mounts=tuple(_opened(plan.mounts, spec.compile_cache)))
            if uid is not None:
                for directory in own:
                    os.chown(directory, uid, uid, follow_symlinks=False)
                if spec.channel_files is not None:
                    _let_read(spec.channel_files)
            return self._spawn(plan, uid, cwd=spec.session_dir.parent)
        except OSError as error:
            raise PiStartFailed(f"cannot be shut in: {type(error).__name__}") from error

    def _spawn(self, plan: BoxPlan, uid: int | None, *, cwd: Path) -> Spawn:
        descriptors: dict[str, int] = {}
        filtering = None
        try:
            for file in plan.files:
                descriptors[file.target] = _in_memory(file.content)
            if self._filter is not None:
                filtering = _in_memory(self._filter)
        except OSError:
            _close(descriptors.values())
            raise
        argv = bubblewrap_argv(
            plan, self._bubblewrap, descriptors=descriptors, uid=uid, filter_descriptor=filtering
        )
        every = [*descriptors.values(), *([] if filtering is None else [filtering])]
        if uid is None:
            argv, hidden = _hidden(argv)
            every.append(hidden)
        return Spawn(argv=argv, cwd=cwd, env=dict(plan.environment), descriptors=tuple(every))

    def trial(self, home: Path, *, patience_seconds: float) -> str:
        """Start a shell in a box and look around; give what is wrong, empty if nothing is."""
        with tempfile.TemporaryDirectory(prefix="inglenook-") as made:
            place = Path(made)
            mounts = []
            uid = _new_user(place.name)
            for name in ("workspace", "session"):
                (place / name).mkdir(mode=0o700)
                mounts.append(Mount(source=place / name, target=f"/{name}", writable=True))
                if uid is not None:
                    os.chown(place / name, uid, uid)
            script = _WALLS.format(home=_quoted(home.resolve()))
            plan = BoxPlan(
                command=("/bin/bash", "-c", script),
                environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
                mounts=tuple(mounts),
                files=(),
                scratch=(),
                settings=self._settings,
            )
            return try_out(self._spawn(plan, uid, cwd=place), patience_seconds)

    @property
    def filtered(self) -> bool:
        """Whether system calls are filtered."""
        return self._filter is not None

    def warming(self, model_socket: Path) -> BubblewrapBox:
        """Give a box like this one in which the cache of compiled code is written."""
        made = copy.copy(self)
        made._model_socket = model_socket  # noqa: SLF001  (our own copy)
        made._cache_writable = True  # noqa: SLF001
        return made


def probe(
    settings: BoxSettings, program: Path | None, home: Path, *, model_socket: Path | None = None
) -> tuple[BoxReport, BubblewrapBox | None]:
    """Find out what this machine allows, and give the box of bubblewrap if it works.

    Args:
        settings: the owner's.
        program: bwrap, if there is one.
        home: what no box may see.
        model_socket: where the model gateway will listen.
    """
    report = BoxReport(
        mode=settings.mode,
        kind=settings.kind,
        works=False,
        changes_user=os.geteuid() == 0,
    )
    try:
        bubblewrap = find_bubblewrap(program)
    except PiStartFailed as error:
        return replace(report, fault=str(error.facts.get("reason", error))), None
    fault = ""
    for proc in (True, False):
        chosen = replace(bubblewrap, proc=proc)
        box = BubblewrapBox(chosen, settings, model_socket=model_socket)
        said = box.trial(home, patience_seconds=settings.probe_seconds)
        if not said:
            return replace(report, works=True, proc=proc, filtered=box.filtered), box
        fault = fault or said
    return replace(report, fault=fault), None


def _opened(mounts: Iterable[Mount], source: Path) -> Iterable[Mount]:
    for mount in mounts:
        yield replace(mount, writable=mount.writable or mount.source == source)


def _let_read(folder: Path) -> None:
    """Let the box's user read a folder that he is shown; others stand before the home's door."""
    for root, _, names in os.walk(folder):
        Path(root).chmod(Path(root).stat().st_mode | 0o055)
        for place in (Path(root, name) for name in names):
            if place.is_file() and not place.is_symlink():
                place.chmod(place.stat().st_mode | 0o044)


def _new_user(name: str) -> int | None:
    return uid_of(name) if os.geteuid() == 0 else None


def plan_of(
    spec: PiSpec, *, family: str, settings: BoxSettings, model_socket: Path | None
) -> BoxPlan:
    """Say what a process's box holds; the way to the model is pi's alone. Reads its files."""
    if spec.script is not None:
        files = {f"{EXTENSIONS}/{spec.script.name}": spec.script.read_bytes()}
        return plan_pi(spec, family=family, settings=settings, files=files, model_socket=None)
    return plan_pi(
        replace(spec, extensions=(*spec.extensions, FORWARDER)),
        family=family,
        settings=settings,
        files=files_of(spec, settings),
        model_socket=model_socket,
    )


def files_of(spec: PiSpec, settings: BoxSettings) -> dict[str, bytes]:
    """Read what pi is to find inside, as files without a mode or owner of the host's."""
    prompts = [spec.system_prompt_file]
    if spec.preamble_file is not None:
        prompts.append(spec.preamble_file)
    config = json.loads((spec.config_dir / "settings.json").read_bytes())
    config["shellCommandPrefix"] = command_prefix(settings)
    return {
        **{f"{PROMPTS}/{each.name}": each.read_bytes() for each in prompts},
        **{
            f"{EXTENSIONS}/{each.name}": each.read_bytes() for each in (*spec.extensions, FORWARDER)
        },
        f"{CONFIG}/models.json": (spec.config_dir / "models.json").read_bytes(),
        f"{CONFIG}/settings.json": json.dumps(config).encode(),
    }


def _in_memory(content: bytes) -> int:
    """Open a descriptor that reads ``content``; it has no name that anybody could open."""
    descriptor = os.memfd_create("inglenook")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as stream:
            stream.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _hidden(argv: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """Hand over the options by a descriptor: ``ps`` inside would show the host's paths in them.

    The superuser's inner wall names none.
    """
    end = argv.index("--")
    options = "".join(f"{word}\0" for word in argv[1:end])
    descriptor = _in_memory(os.fsencode(options))
    return (argv[0], "--args", str(descriptor), *argv[end:]), descriptor


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"
