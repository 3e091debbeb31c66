"""The filter of system calls, run as the kernel would."""

from __future__ import annotations

import errno
import platform
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.boxes.filter import FAMILIES, MACHINES, filter_program
from support.boxed_world import boxed_world

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
MACHINE = pytest.mark.parametrize("machine", sorted(MACHINES))


def judge(program: bytes, number: int, *, audit: int, argument: int = 0) -> int:
    """Run the program over one call, as the kernel's interpreter does."""
    data = struct.pack("<IIQ6Q", number, audit, 0, argument, 0, 0, 0, 0, 0)
    steps = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    at = loaded = 0
    while True:
        code, when_true, when_false, value = steps[at]
        at += 1
        if code == 0x20:
            loaded = struct.unpack_from("<I", data, value)[0]
        elif code == 0x06:
            return int(value)
        else:
            holds = loaded == value if code == 0x15 else loaded >= value
            at += when_true if holds else when_false


def judged(machine: str, number: int, argument: int = 0) -> int:
    program = filter_program(machine)
    assert program is not None
    return judge(program, number, audit=MACHINES[machine].audit, argument=argument)


@MACHINE
def test_refused_calls_fail(machine: str) -> None:
    """What has no business in a box is refused, each by the number of its machine."""
    for number in MACHINES[machine].refused:
        assert judged(machine, number) == ERRNO | errno.EPERM
    for number in MACHINES[machine].unknown:
        assert judged(machine, number) == ERRNO | errno.ENOSYS


@MACHINE
@given(family=st.integers(min_value=0, max_value=2**32 - 1))
def test_sockets_obey_a_namespace_or_are_none(machine: str, family: int) -> None:
    """A family that knows no network namespace would lead out of the box."""
    expected = ALLOW if family in FAMILIES else ERRNO | errno.EAFNOSUPPORT
    assert judged(machine, MACHINES[machine].socket, family) == expected


@MACHINE
@given(number=st.integers(min_value=0, max_value=500), argument=st.integers(0, 2**32 - 1))
def test_everything_else_passes(machine: str, number: int, argument: int) -> None:
    """The filter is no list of what is known to be used."""
    numbers = MACHINES[machine]
    if number not in (*numbers.refused, *numbers.unknown, numbers.socket):
        assert judged(machine, number, argument) == ALLOW


@MACHINE
def test_other_forms_of_calling_are_closed(machine: str) -> None:
    """Another architecture's numbers mean other calls; so do those of x32."""
    program = filter_program(machine)
    assert program is not None
    assert judge(program, 1, audit=0x40000003) == KILL
    assert judge(program, 0x40000029, audit=MACHINES[machine].audit) == ERRNO | errno.ENOSYS


def test_a_machine_unknown_here_has_no_filter() -> None:
    """A wrong filter would be worse than none; the report says so."""
    assert filter_program("riscv64") is None


@MACHINE
def test_tables_name_as_many_calls_as_they_describe(machine: str) -> None:
    """One number for each name, none twice."""
    numbers = MACHINES[machine]
    assert len(set(numbers.refused)) == len(numbers.refused) == 29
    assert len(set(numbers.unknown)) == len(numbers.unknown) == 6


PYTHON = "/usr/bin/python3"
CALLS = {
    "io_uring_setup": (425, "ENOSYS"),
    "shmget": (29, "ENOSYS"),
    "keyctl": (250, "EPERM"),
    "add_key": (248, "EPERM"),
    "userfaultfd": (323, "EPERM"),
    "bpf": (321, "EPERM"),
    "perf_event_open": (298, "EPERM"),
    "process_vm_readv": (310, "EPERM"),
    "open_by_handle_at": (304, "EPERM"),
    "unshare": (272, "EPERM"),
    "setns": (308, "EPERM"),
    "mount": (165, "EPERM"),
    "ptrace": (101, "EPERM"),
    "pidfd_getfd": (438, "EPERM"),
}
"""Of x86-64; with arguments of zero a call that were let through would say something else."""


@pytest.mark.skipif(not Path(PYTHON).exists(), reason="no program here to do it with")
@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are another machine's")
async def test_the_kernel_refuses_what_no_namespace_holds(tmp_path: Path) -> None:
    """Escapes: io_uring, keys, other processes' memory, handles of files, typing for a terminal."""
    script = (
        "import ctypes, errno, fcntl\n"
        "call = ctypes.CDLL(None, use_errno=True).syscall\n"
        f"for number, _ in {list(CALLS.values())}:\n"
        "    call(*map(ctypes.c_long, (number, 0, 0, 0, 0, 0, 0)))\n"
        "    print(errno.errorcode[ctypes.get_errno()])\n"
        "try: fcntl.ioctl(0, 0x5412, b'x')\n"
        "except OSError as error: print(errno.errorcode[error.errno])\n"
    )
    async with boxed_world(tmp_path) as world, world.real.registry() as registry:
        if not world.report.filtered:
            pytest.skip("no filter on this machine")
        told = await world.shell(registry, f'{PYTHON} -c "{script}"')
    *calls, typing = told.split()
    assert dict(zip(CALLS, calls, strict=True)) == {name: code for name, (_, code) in CALLS.items()}
    assert typing == "ENOTTY"
