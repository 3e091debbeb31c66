"""What a box holds, and the command lines that make it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.boxes.plan import (
    CHANNEL,
    COMPILED,
    MODEL_SOCKET,
    NODE_BIN,
    PI_MODULES,
    SESSION,
    UID_RANGE,
    WORKSPACE,
    BoxPlan,
    Bubblewrap,
    Mount,
    bubblewrap_argv,
    command_prefix,
    docker_argv,
    inside,
    plan_pi,
    port_of,
    uid_of,
)
from sessions.boxes.settings import BoxSettings
from sessions.pi.process import PiInstall, PiSpec

RUN = Path("/home/ada/inglenook/runs/2026-11-29-23-16-35-abcd")
SPEC = PiSpec(
    install=PiInstall(
        node=Path("/venv/node/bin/node"),
        cli=Path("/venv/pi/node_modules/@earendil-works/pi/dist/bundle/cli.js"),
    ),
    model="p/m",
    session_id="key",
    session_dir=RUN / "session",
    workspace=RUN / "workspace",
    config_dir=Path("/home/ada/inglenook/engine"),
    system_prompt_file=RUN / "system.md",
    preamble_file=RUN / "preamble.md",
    extensions=(Path("/venv/sessions/pi/extension.mjs"),),
    compile_cache=Path("/home/ada/inglenook/engine/boxed-1.6.0"),
    env={"INGLENOOK_MODEL_KEY": "gateway-secret"},
)
PROGRAMS = Bubblewrap(
    program=Path("/venv/bwrap"),
    parts=(Mount(source=Path("/venv/bwrap"), target="/opt/bwrap/bwrap"),),
    inner="/opt/bwrap/bwrap",
)
FILES = {"/config/models.json": b"{}", "/opt/prompt/system.md": b"Ember."}


def plan(spec: PiSpec = SPEC, *, socket: Path | None = Path("/run/gw/model.sock")) -> BoxPlan:
    return plan_pi(spec, family="f", settings=BoxSettings(), files=FILES, model_socket=socket)


def argv(made: BoxPlan, *, uid: int | None = None, proc: bool = True) -> tuple[str, ...]:
    descriptors = {file.target: 10 + n for n, file in enumerate(made.files)}
    programs = replace(PROGRAMS, proc=proc)
    return bubblewrap_argv(made, programs, descriptors=descriptors, uid=uid, filter_descriptor=9)


def pairs(line: Sequence[str], option: str) -> list[tuple[str, str]]:
    """All uses of an option with two values."""
    return [(line[n + 1], line[n + 2]) for n, word in enumerate(line) if word == option]


def test_paths_inside_name_no_run_and_no_host() -> None:
    """Reference, section 7: all conversations see the same paths, so they share a prefix."""
    words = " ".join([*plan().command, *plan().environment.values()])
    for path in (RUN, RUN.parent.parent, Path("/venv")):
        assert str(path) not in words
    seen = inside(SPEC)
    assert (str(seen.session_dir), str(seen.workspace)) == (SESSION, WORKSPACE)
    assert str(seen.install.node) == f"{NODE_BIN}/node"
    assert str(seen.install.cli).startswith(PI_MODULES + "/@earendil-works")
    assert str(seen.compile_cache) == COMPILED


def test_the_time_zone_is_said_and_not_searched() -> None:
    """Issue 2, benchmark (c): without one Node looks into each file of them before it is up."""
    assert plan().environment["TZ"] == "UTC"


def test_two_runs_differ_in_what_is_mounted_alone() -> None:
    """Equal flags and environment; only the run's two directories are its own."""
    other = RUN.with_name("other")
    two = plan(replace(SPEC, session_dir=other / "session", workspace=other / "workspace"))
    assert two.command == plan().command
    assert two.environment == plan().environment
    changed = set(two.mounts) ^ set(plan().mounts)
    assert {mount.target for mount in changed} == {SESSION, WORKSPACE}


def test_only_the_runs_two_directories_are_writable() -> None:
    """Issue "Box": read-only code, own writable workspace and session directory."""
    line = argv(plan())
    assert pairs(line, "--bind") == [
        (str(RUN / "session"), SESSION),
        (str(RUN / "workspace"), WORKSPACE),
    ]


def test_nothing_of_the_home_is_bound_but_the_run_and_the_cache() -> None:
    """CC "State and mount isolation": other runs, memory, channels, gates, queue, traces."""
    home = RUN.parent.parent
    bound = {Path(source) for source, _ in pairs(argv(plan()), "--ro-bind")}
    bound |= {Path(source) for source, _ in pairs(argv(plan()), "--bind")}
    within = {path for path in bound if path.is_relative_to(home)}
    assert within == {RUN / "session", RUN / "workspace", home / "engine" / "boxed-1.6.0"}


def test_the_channels_files_are_shown_only_when_granted() -> None:
    """CC: an explicit read-only mount of the current channel."""
    assert CHANNEL not in argv(plan())
    granted = replace(SPEC, channel_files=Path("/home/ada/inglenook/channels/1/files"))
    assert ("/home/ada/inglenook/channels/1/files", CHANNEL) in pairs(
        argv(plan(granted)), "--ro-bind"
    )


def test_every_namespace_is_new_and_nothing_can_be_gained() -> None:
    """Issue "Box": own namespaces, no network, no capabilities, ends with the host."""
    line = argv(plan())
    for word in ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"):
        assert word in line
    assert "--share-net" not in line
    assert line[line.index("--cap-drop") + 1] == "ALL"
    assert "--new-session" in line
    assert line[line.index("--seccomp") + 1] == "9"


def test_secrets_and_environment_are_in_no_command_line() -> None:
    """Reference, section 7: ``ps`` inside shows the arguments."""
    assert "gateway-secret" not in " ".join(argv(plan()))
    assert "gateway-secret" not in " ".join(argv(plan(), uid=61200))
    assert "gateway-secret" not in repr(plan())


def test_without_a_socket_there_is_no_way_out() -> None:
    """A box is closed unless it is given a way."""
    made = plan(socket=None)
    assert MODEL_SOCKET not in argv(made)
    assert MODEL_SOCKET not in made.environment.values()


def test_limits_are_set_inside() -> None:
    """Issue "Box", limits: processes, memory, files, size."""
    line = argv(plan())
    after = line[line.index("/usr/bin/prlimit") :]
    for limit in ("--nproc=128", "--nofile=1024", "--core=0", f"--fsize={256 * 1024**2}"):
        assert limit in after
    assert after[after.index("--") + 1 :] == plan().command


def test_a_command_is_bound_closer_than_pi() -> None:
    """Limits on processor time and memory hold for what a command starts."""
    made = command_prefix(BoxSettings(cpu_seconds=7, command_address_space_mb=3000))
    assert made == "ulimit -t 7; ulimit -v 3072000"


def test_the_superuser_becomes_another_before_the_inner_wall() -> None:
    """Issue "Box": as root it drops the uid first."""
    line = argv(plan(), uid=61200)
    outer, rest = line[: line.index("/usr/bin/setpriv")], line[line.index("/usr/bin/setpriv") :]
    assert {"--reuid=61200", "--regid=61200", "--clear-groups", "--no-new-privs"} <= set(rest)
    assert rest.index("--unshare-all") > rest.index("--no-new-privs")
    assert "--unshare-all" not in outer
    assert {"--unshare-pid", "--die-with-parent"} <= set(outer)
    assert (str(RUN / "workspace"), WORKSPACE) in pairs(outer, "--bind")
    assert (WORKSPACE, WORKSPACE) in pairs(rest, "--bind")
    assert not [source for source, _ in pairs(rest, "--bind") if source.startswith("/home")]


def test_proc_is_left_out_where_it_is_refused() -> None:
    """Issue "Box": a probe tells what the machine allows."""
    assert pairs(argv(plan()), "--proc")
    assert not pairs(argv(plan(), proc=False), "--proc")


@given(st.text(min_size=1))
def test_a_runs_user_is_always_the_same_and_in_range(name: str) -> None:
    """A resumed run finds its files its own."""
    assert uid_of(name) == uid_of(name)
    assert uid_of(name) in UID_RANGE


@pytest.mark.parametrize(
    ("address", "port"),
    [
        ("http://127.0.0.1:41234/v1", 41234),
        ("http://127.0.0.1:1", 1),
        ("https://api.example.com/v1", None),
        ("", None),
    ],
)
def test_the_gateways_port(address: str, port: int | None) -> None:
    """The forwarder listens at the very address that pi was told."""
    assert port_of(address) == port


def test_a_docker_box_has_the_same_inside() -> None:
    """Issue "Box": Docker as a second box by the same interface."""
    made = replace(plan(), settings=BoxSettings(image="imp:1", memory_mb=512, processes=99))
    line = docker_argv(
        made,
        docker=Path("/usr/bin/docker"),
        name="inglenook-1",
        label="inglenook.home=1",
        files_dir=Path("/box/files"),
        uid=1000,
        gid=1000,
    )
    text = " ".join(line)
    assert line[:2] == ("/usr/bin/docker", "run")
    assert "--network none" in text
    assert "--read-only" in line
    assert "--cap-drop ALL" in text
    assert "no-new-privileges" in text
    assert "--pids-limit 99" in text
    assert "--memory 512m --memory-swap 512m" in text
    assert f"--ulimit nofile={made.settings.open_files}" in text
    assert f"--ulimit fsize={made.settings.file_mb * 1024**2}" in text
    assert "--user 1000:1000 --ipc none" in text
    assert "--pull never" in text  # what runs is what the owner has put there
    assert text.count("nosuid,nodev") == len(made.scratch)
    assert f"type=bind,src={RUN / 'workspace'},dst=/workspace" in line
    assert f"type=bind,src={RUN / 'session'},dst=/session" in line
    writable = [word for word in line if word.startswith("type=bind") and "readonly" not in word]
    assert len(writable) == 2
    image = line.index("imp:1")
    assert line[image + 1 :] == made.command[1:]
    assert "gateway-secret" not in text
    assert "INGLENOOK_MODEL_KEY" in line
