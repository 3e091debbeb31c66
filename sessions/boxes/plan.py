"""What a box holds, as a value, and the command lines that make it. Pure.

    PiSpec --boxed--> the same process as it sees itself inside, at fixed paths
    BoxPlan --bubblewrap_argv / docker_argv--> a command line

Paths inside never name a run, a channel or the host, so that all conversations see the same ones:

    /workspace  /session    of this run, writable
    /config     /tmp        memory, gone with the box
    /opt        /usr        code and prompts, read-only
    /channel                files of the current channel, read-only, where they were granted
    /run/model.sock         the one way out: to the host's model gateway

For the superuser the box has two walls. A directory below a private one cannot be bound by another
user, and a box whose user is the superuser outside would read every file that is bound. So an outer
bubblewrap binds what the plan names and nothing else, the user is changed for good, and an inner
one then makes the namespaces as for everybody.

Spec: CC "State and mount isolation"; the engine's reference, section 7.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from sessions.boxes.settings import BoxSettings
from sessions.pi.process import PiInstall, PiSpec, argv_of, environment_of

WORKSPACE: Final = "/workspace"
SESSION: Final = "/session"
CONFIG: Final = "/config"
SCRATCH: Final = "/tmp"  # noqa: S108  (inside the box, where it is a memory of its own)
CHANNEL: Final = "/channel"
MODEL_SOCKET: Final = "/run/model.sock"
SOCKET_VARIABLE: Final = "INGLENOOK_MODEL_SOCKET"
PORT_VARIABLE: Final = "INGLENOOK_MODEL_PORT"
SECONDS_VARIABLE: Final = "INGLENOOK_COMMAND_SECONDS"
NODE_BIN: Final = "/opt/node/bin"
PI_MODULES: Final = "/opt/pi/node_modules"
EXTENSIONS: Final = "/opt/ext"
PROMPTS: Final = "/opt/prompt"
COMPILED: Final = "/opt/compiled"
BWRAP_HOME: Final = "/opt/bwrap"
USER: Final = "imp"
USER_ID: Final = 1000
"""Who the processes are inside; outside they are the host's user or one of ``UID_RANGE``."""
UID_RANGE: Final = range(61184, 65520)
"""Ids that systemd sets aside for services without a user of their own; also there where only the
first 65536 ids exist. Limits on processes count for an id, so each run has its own."""
_CONFIG_BYTES: Final = 8 * 1024**2
MB: Final = 1024**2
_PASSWD: Final = f"{USER}:x:{USER_ID}:{USER_ID}::{WORKSPACE}:/bin/bash\n".encode()
_GROUP: Final = f"{USER}:x:{USER_ID}:\n".encode()
_PORT: Final = re.compile(r"http://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A directory, file or socket of the host and where it stands inside."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A read-only file inside, handed over by its content: no mode of the host's is in its way."""

    target: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """A writable directory in memory."""

    target: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """The host's own programs and libraries, as far as a box shares them."""

    directories: tuple[str, ...] = ("/usr",)
    """Bound read-only where they are."""
    links: tuple[tuple[str, str], ...] = (
        ("usr/bin", "/bin"),
        ("usr/lib", "/lib"),
        ("usr/lib64", "/lib64"),
        ("usr/sbin", "/sbin"),
    )
    """Where a link points, and where it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxPlan:
    """One box: a command and everything it may see."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    mounts: tuple[Mount, ...]
    files: tuple[DataFile, ...]
    scratch: tuple[Scratch, ...]
    settings: BoxSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap:
    """The programs that make a box. Those of the system lie below ``/usr``, so also inside."""

    program: Path
    """bwrap, outside."""
    parts: tuple[Mount, ...] = ()
    """What the inner bwrap of the superuser needs to be started, below ``BWRAP_HOME``."""
    inner: str = ""
    """Its path there."""
    prlimit: str = "/usr/bin/prlimit"
    setpriv: str = "/usr/bin/setpriv"
    system: System = System()
    proc: bool = True
    """Whether a fresh ``/proc`` can be mounted; some nests of containers refuse it."""


def uid_of(name: str) -> int:
    """Choose the user of a run's box, always the same one, by the run's name."""
    digest = hashlib.sha256(name.encode()).digest()
    return UID_RANGE[int.from_bytes(digest[:8]) % len(UID_RANGE)]


def inside(spec: PiSpec) -> PiSpec:
    """Give the process as it sees itself in the box; its paths are not the host's."""
    preamble = spec.preamble_file
    return replace(
        spec,
        install=PiInstall(
            node=Path(NODE_BIN) / spec.install.node.name,
            cli=Path(PI_MODULES) / spec.install.cli.relative_to(modules_of(spec.install)),
        ),
        session_dir=Path(SESSION),
        workspace=Path(WORKSPACE),
        config_dir=Path(CONFIG),
        system_prompt_file=Path(PROMPTS) / spec.system_prompt_file.name,
        preamble_file=Path(PROMPTS) / preamble.name if preamble else None,
        extensions=tuple(Path(EXTENSIONS) / each.name for each in spec.extensions),
        script=Path(EXTENSIONS) / spec.script.name if spec.script else None,
        compile_cache=Path(COMPILED) if spec.compile_cache else None,
        box=None,
    )


def modules_of(install: PiInstall) -> Path:
    """Find the directory of packages that pi's command line lies in."""
    for parent in reversed(install.cli.parents):
        if parent.name == "node_modules":
            return parent
    return install.cli.parents[2]


def plan_pi(
    spec: PiSpec,
    *,
    family: str,
    settings: BoxSettings,
    files: Mapping[str, bytes],
    model_socket: Path | None,
) -> BoxPlan:
    """Say what pi's box holds.

    Args:
        spec: the process as the host sees it.
        family: the mark of its processes.
        settings: limits.
        files: read-only files by their path inside: prompts, extensions, configuration.
        model_socket: the gateway's; None leaves the box without any way out.
    """
    within = inside(spec)
    mounts = [
        Mount(source=spec.install.node.parent, target=NODE_BIN),
        Mount(source=modules_of(spec.install), target=PI_MODULES),
        Mount(source=spec.workspace, target=WORKSPACE, writable=True),
        Mount(source=spec.session_dir, target=SESSION, writable=True),
    ]
    if spec.compile_cache is not None:
        mounts.append(Mount(source=spec.compile_cache, target=COMPILED))
    if spec.channel_files is not None:
        mounts.append(Mount(source=spec.channel_files, target=CHANNEL))
    environment = {
        **environment_of(within, family=family),
        "PATH": f"{NODE_BIN}:/usr/bin:/bin",
        "HOME": SCRATCH,
        "TMPDIR": SCRATCH,
        # Left to find out, Node reads every file of the system's time zones, at each start.
        "TZ": "UTC",
    }
    if model_socket is not None:
        mounts.append(Mount(source=model_socket, target=MODEL_SOCKET))
        environment[SOCKET_VARIABLE] = MODEL_SOCKET
    given = {"/etc/passwd": _PASSWD, "/etc/group": _GROUP, **files}
    return BoxPlan(
        command=tuple(argv_of(within)),
        environment=environment,
        mounts=tuple(sorted(mounts, key=lambda mount: mount.target)),
        files=tuple(DataFile(target=path, content=given[path]) for path in sorted(given)),
        scratch=(
            Scratch(target=SCRATCH, size_bytes=settings.scratch_mb * MB),
            Scratch(target=CONFIG, size_bytes=_CONFIG_BYTES),
        ),
        settings=settings,
    )


def bubblewrap_argv(
    plan: BoxPlan,
    bubblewrap: Bubblewrap,
    *,
    descriptors: Mapping[str, int],
    uid: int | None = None,
    filter_descriptor: int | None = None,
) -> tuple[str, ...]:
    """Write the command line of a bubblewrap box.

    Args:
        plan: what it holds.
        bubblewrap: the programs.
        descriptors: of each data file, by its path inside; open, at their beginning.
        uid: for the superuser only: whom to become first.
        filter_descriptor: of the filter of system calls.
    """
    if uid is None:
        inner = _inner(plan, bubblewrap, descriptors, filter_descriptor)
        return (str(bubblewrap.program), *inner, *_limited(plan, bubblewrap))
    staged = replace(plan, mounts=tuple(replace(m, source=Path(m.target)) for m in plan.mounts))
    return (
        str(bubblewrap.program),
        *_outer(plan, bubblewrap, descriptors),
        *_dropped(bubblewrap, uid),
        bubblewrap.inner,
        *_inner(staged, bubblewrap, {}, filter_descriptor),
        *_limited(plan, bubblewrap),
    )


def _outer(plan: BoxPlan, bubblewrap: Bubblewrap, descriptors: Mapping[str, int]) -> Iterator[str]:
    """Bind as the superuser, and make no namespaces but those of mounts and of processes.

    The host's ``/proc`` must be whole here for the inner wall to be given one of its own. Its first
    process is the superuser's and dies with the host: with it the kernel ends all the others, who
    cannot be told so by a signal from somebody else's process.
    """
    mounts = (*plan.mounts, *bubblewrap.parts)
    yield from ("--unshare-pid", "--die-with-parent")
    yield from _directories(plan, bubblewrap, mounts)
    yield from _system(bubblewrap.system)
    yield from ("--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc")
    for file in plan.files:
        yield from ("--perms", "0444", "--file", str(descriptors[file.target]), file.target)
    yield from _binds(mounts)
    yield from ("--remount-ro", "/", "--")


def _dropped(bubblewrap: Bubblewrap, uid: int) -> Iterator[str]:
    yield from (bubblewrap.setpriv, f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
    yield from ("--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--")


def _inner(
    plan: BoxPlan,
    bubblewrap: Bubblewrap,
    descriptors: Mapping[str, int],
    filter_descriptor: int | None,
) -> Iterator[str]:
    yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent")
    yield from ("--new-session", "--cap-drop", "ALL", "--hostname", USER)
    yield from ("--uid", str(USER_ID), "--gid", str(USER_ID))
    yield from _directories(plan, bubblewrap, plan.mounts)
    yield from _system(bubblewrap.system)
    if bubblewrap.proc:
        yield from ("--proc", "/proc")
    # Its own tmpfs has no bound on its size, so nothing may be written there.
    yield from ("--dev", "/dev", "--remount-ro", "/dev")
    for room in plan.scratch:
        yield from ("--perms", "0700", "--size", str(room.size_bytes), "--tmpfs", room.target)
    for file in plan.files:
        if file.target in descriptors:
            descriptor = str(descriptors[file.target])
            yield from ("--perms", "0444", "--ro-bind-data", descriptor, file.target)
        else:
            yield from ("--ro-bind", file.target, file.target)
    yield from _binds(plan.mounts)
    if filter_descriptor is not None:
        yield from ("--seccomp", str(filter_descriptor))
    yield from ("--remount-ro", "/", "--chdir", WORKSPACE, "--")


def _system(system: System) -> Iterator[str]:
    for directory in system.directories:
        yield from ("--ro-bind", directory, directory)
    for points_to, stands_at in system.links:
        yield from ("--symlink", points_to, stands_at)


def _directories(plan: BoxPlan, bubblewrap: Bubblewrap, mounts: tuple[Mount, ...]) -> Iterator[str]:
    """Make the directories above all targets readable; left alone they would be private."""
    targets = {mount.target for mount in mounts} | {file.target for file in plan.files}
    targets.update(bubblewrap.system.directories)
    above = {str(parent) for target in targets for parent in PurePosixPath(target).parents}
    above.update(room.target for room in plan.scratch)
    above.add(SCRATCH)  # bubblewrap itself needs one
    for directory in sorted(above - {"/"}):
        yield from ("--perms", "0755", "--dir", directory)


def _binds(mounts: tuple[Mount, ...]) -> Iterator[str]:
    for mount in mounts:
        yield from ("--bind" if mount.writable else "--ro-bind", str(mount.source), mount.target)


def _limited(plan: BoxPlan, bubblewrap: Bubblewrap) -> Iterator[str]:
    """Set the limits within the box: there a count of processes is the box's own."""
    settings = plan.settings
    yield bubblewrap.prlimit
    yield f"--nproc={settings.processes}"
    yield f"--nofile={settings.open_files}"
    yield f"--as={settings.address_space_mb * MB}"
    yield f"--fsize={settings.file_mb * MB}"
    yield from ("--core=0", "--memlock=0", "--msgqueue=0", "--")
    yield from plan.command


def docker_argv(
    plan: BoxPlan,
    *,
    docker: Path,
    name: str,
    label: str,
    files_dir: Path,
    uid: int,
    gid: int,
) -> tuple[str, ...]:
    """Write the command line of a Docker box with the same inside.

    Args:
        plan: what it holds.
        docker: Docker's client.
        name: of the container.
        label: of all containers of a home.
        files_dir: where each data file lies at its path inside.
        uid: user of the processes.
        gid: their group.
    """
    settings = plan.settings
    argv = [str(docker), "run", "--rm", "--interactive", "--init", "--name", name, "--label", label]
    argv += ["--network", "none", "--read-only", "--cap-drop", "ALL", "--hostname", USER]
    argv += ["--security-opt", "no-new-privileges", "--user", f"{uid}:{gid}", "--ipc", "none"]
    argv += ["--pids-limit", str(settings.processes), "--memory", f"{settings.memory_mb}m"]
    argv += ["--memory-swap", f"{settings.memory_mb}m", "--log-driver", "none", "--pull", "never"]
    argv += ["--ulimit", f"nofile={settings.open_files}", "--ulimit", "core=0"]
    argv += ["--ulimit", f"fsize={settings.file_mb * MB}"]
    for room in plan.scratch:
        size = f"size={room.size_bytes},uid={uid},gid={gid},mode=0700"
        option = f"{room.target}:rw,exec,nosuid,nodev,{size}"
        argv += ["--tmpfs", option]
    kept = tuple(
        Mount(source=files_dir / file.target.lstrip("/"), target=file.target) for file in plan.files
    )
    for mount in (*plan.mounts, *kept):
        read_only = "" if mount.writable else ",readonly"
        source = _csv_field(f"src={mount.source}")
        argv += ["--mount", f"type=bind,{source},dst={mount.target}{read_only}"]
    for variable in sorted(plan.environment):
        argv += ["--env", variable]  # the value is taken from the client's own environment
    argv += ["--workdir", WORKSPACE, "--entrypoint", plan.command[0], settings.image]
    return (*argv, *plan.command[1:])


def _csv_field(text: str) -> str:
    """Write a field as the client reads it: a comma in a path must not begin another option."""
    return '"' + text.replace('"', '""') + '"' if set(text) & {",", '"', "\n", "\r"} else text


def command_prefix(settings: BoxSettings) -> str:
    """Write what bash does before each command: bind it closer than pi itself."""
    return f"ulimit -t {settings.cpu_seconds}; ulimit -v {settings.command_address_space_mb * 1024}"


def port_of(address: str) -> int | None:
    """Find the port of the gateway in the address that pi was told."""
    found = _PORT.match(address)
    return int(found[1]) if found else None
