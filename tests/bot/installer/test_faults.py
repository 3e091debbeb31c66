"""A failed installer's words become one sentence that says what to do."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.installer import faults

PIP_OFFLINE = (
    "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError("
    "\"HTTPSConnection(host='index.example', port=443): Failed to establish a new connection: "
    "[Errno -3] Temporary failure in name resolution\")': /simple/aiohttp/\n"
    "ERROR: Could not find a version that satisfies the requirement aiohttp==3.14.5\n"
    "ERROR: No matching distribution found for aiohttp==3.14.5"
)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("OSError: [Errno 28] No space left on device", faults.DISK_FULL),
        ("npm error code ENOSPC", faults.DISK_FULL),
        ("OSError: [Errno 122] Disk quota exceeded", faults.DISK_FULL),
        (PIP_OFFLINE, faults.OFFLINE),
        ("npm error code ENOTFOUND\nnpm error network request failed", faults.OFFLINE),
        ("npm error code EAI_AGAIN", faults.OFFLINE),
        ("npm error connect ECONNREFUSED 127.0.0.1:9", faults.OFFLINE),
        ("ReadTimeoutError: Read timed out.", faults.OFFLINE),
        ("HTTPError: 503 Server Error: Service Unavailable", faults.OFFLINE),
        ("ssl.SSLCertVerificationError: CERTIFICATE_VERIFY_FAILED", faults.CERTIFICATE),
        ("npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY", faults.CERTIFICATE),
        ("npm error code E401", faults.REFUSED),
        ("ERROR: 403 Client Error: Forbidden for url", faults.REFUSED),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE", faults.WRONG_HASH),
        ("npm error code EINTEGRITY", faults.WRONG_HASH),
        ("PermissionError: [Errno 13] Permission denied: '/x'", faults.NO_PERMISSION),
        ("OSError: [Errno 30] Read-only file system", faults.NO_PERMISSION),
        ("/x/python: No module named pip", faults.BROKEN_PIP),
        ("The repository is not a trusted or secure host and is ignored", faults.UNTRUSTED),
    ],
)
def test_known_failure(output: str, line: str) -> None:
    """Each known way to fail has its own sentence."""
    assert faults.explain(output, exit_code=1, python="3.11 on linux x86_64") == line


def test_full_disk_comes_before_what_follows_from_it() -> None:
    """A download that fails for want of space is a full disk, not a bad network."""
    output = "connection reset\nOSError: [Errno 28] No space left on device"
    assert faults.explain(output, exit_code=1, python="") == faults.DISK_FULL


def test_missing_build_names_package_and_python() -> None:
    """A package without a wheel for this Python is named, with the Python."""
    said = faults.explain(
        "ERROR: No matching distribution found for xllamacpp==1",
        exit_code=1,
        python="3.15 on linux riscv64",
    )
    assert "xllamacpp" in said
    assert "3.15 on linux riscv64" in said


def test_killed_installer() -> None:
    """Signal 9 without any word is most often the kernel, out of memory."""
    assert faults.explain("", exit_code=-9, python="") == faults.OUT_OF_MEMORY


def test_unknown_failure_shows_the_end_without_addresses() -> None:
    """What nobody foresaw is shown as it is, but never where a registry is."""
    output = "\n".join([*map(str, range(50)), "odd thing at https://me:pw@index.example/simple/x"])
    said = faults.explain(output, exit_code=7, python="")
    assert "exit code 7" in said
    assert "odd thing at (address)" in said
    assert "index.example" not in said
    assert len(said.splitlines()) == faults.MAX_SHOWN_LINES + 1


@pytest.mark.parametrize(
    "text",
    [
        "HTTPSConnectionPool(host='index.example', port=443)",
        "getaddrinfo ENOTFOUND index.example",
        "connect ECONNREFUSED index.example:443",
        "see git+https://index.example/x.git",
    ],
)
def test_host_names_are_scrubbed(text: str) -> None:
    """Addresses also stand in messages without a scheme."""
    assert "index.example" not in faults.scrub(text)


@given(st.text())
def test_explanation_never_holds_an_address(noise: str) -> None:
    """Whatever surrounds an address, it does not come through."""
    output = f"{noise} https://index.example/simple"
    assert "index.example" not in faults.explain(output, exit_code=1, python="3.11")


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (errno.ENOSPC, faults.DISK_FULL),
        (errno.EACCES, faults.NO_PERMISSION),
        (errno.EROFS, faults.NO_PERMISSION),
    ],
)
def test_os_error(number: int, line: str) -> None:
    """A file operation that fails names the file."""
    said = faults.explain_os_error(OSError(number, "x", "/home/ada/.venv"), doing="Set-up")
    assert said.startswith(line)
    assert "/home/ada/.venv" in said


def test_other_os_error() -> None:
    """An error that nobody foresaw keeps the system's words."""
    said = faults.explain_os_error(OSError(errno.EIO, "Input/output error"), doing="Set-up")
    assert said == "Set-up failed: Input/output error"
