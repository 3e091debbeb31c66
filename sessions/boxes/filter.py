"""The filter of system calls in a box: what namespaces do not hold, refused by the kernel. Pure.

Some kinds of sockets know no network namespace (those between a virtual machine and its host, for
one), some calls make sockets or read memory past all checks, and some have no business in a box
at all. Everything else passes. The filter is a program of the kernel's classic packet filter,
``struct sock_filter`` after ``struct sock_filter``, for bubblewrap's ``--seccomp``.

A refused call fails with EPERM, or with ENOSYS where programs ask whether the kernel has it.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_ERRNO: Final = 0x00050000
_NUMBER_AT: Final = 0  # struct seccomp_data: nr, arch, instruction_pointer, args[6]
_MACHINE_AT: Final = 4
_FIRST_ARGUMENT_AT: Final = 16
_X32_BIT: Final = 0x40000000
"""Calls of the third form of x86-64 have numbers from here on, and would pass unseen."""
FAMILIES: Final = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)
"""Kinds of sockets that obey the network namespace; 16 is AF_NETLINK."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Numbers of one architecture, as the kernel's headers give them. Little-endian only."""

    audit: int
    socket: int
    refused: tuple[int, ...]
    """add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, process_vm_readv,
    process_vm_writev, kexec_load, kexec_file_load, open_by_handle_at, init_module,
    finit_module, delete_module, quotactl, acct, swapon, reboot, mount, umount2, pivot_root,
    setns, unshare, move_mount, open_tree, fsopen, mount_setattr, ptrace, pidfd_getfd: of the last
    two the one holds pi still or speaks for it, the other takes its open files."""
    unknown: tuple[int, ...]
    """io_uring_setup, io_uring_enter, io_uring_register, and shmget, semget, msgget, whose memory
    belongs to no process that could be asked for it: programs then do without."""


MACHINES: Final = MappingProxyType(
    {
        "x86_64": Machine(
            audit=0xC000003E,
            socket=41,
            refused=(
                *(248, 249, 250, 321, 298, 323, 310, 311, 246, 320, 304, 175, 313, 176, 179),
                *(163, 167, 169, 165, 166, 155, 308, 272, 429, 428, 430, 442, 101, 438),
            ),
            unknown=(425, 426, 427, 29, 64, 68),
        ),
        "aarch64": Machine(
            audit=0xC00000B7,
            socket=198,
            refused=(
                *(217, 218, 219, 280, 241, 282, 270, 271, 104, 294, 265, 105, 273, 106, 60),
                *(89, 224, 142, 40, 39, 41, 268, 97, 429, 428, 430, 442, 117, 438),
            ),
            unknown=(425, 426, 427, 194, 190, 186),
        ),
    }
)


def filter_program(machine: str) -> bytes | None:
    """Write the filter for a machine, named as ``uname -m`` does; None for one unknown here."""
    numbers = MACHINES.get(machine)
    if numbers is None or sys.byteorder != "little":
        return None
    return b"".join(
        struct.pack("<HBBI", code, when_true, when_false, value)
        for code, when_true, when_false, value in _instructions(numbers)
    )


def _instructions(numbers: Machine) -> list[tuple[int, int, int, int]]:
    """Write (code, jump if true, jump if false, value); jumps count instructions ahead."""
    program = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 1, 0, numbers.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _X32_BIT),
        _refuse(errno.ENOSYS),
    ]
    for call in numbers.unknown:
        program += [(_EQUAL, 0, 1, call), _refuse(errno.ENOSYS)]
    for call in numbers.refused:
        program += [(_EQUAL, 0, 1, call), _refuse(errno.EPERM)]
    program += [
        (_EQUAL, 1, 0, numbers.socket),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
    ]
    for family in FAMILIES:
        program += [(_EQUAL, 0, 1, int(family)), (_RETURN, 0, 0, _ALLOW)]
    return [*program, _refuse(errno.EAFNOSUPPORT)]


def _refuse(number: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERRNO | number)
