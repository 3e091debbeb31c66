"""A failed step's output -> one plain sentence that says what to do.

pip and npm have no machine-readable account of a failure, so their words are matched. The
order matters: a full disk also shows up as a failed download, and an unreachable index also
as "no matching distribution"; the cause comes before its consequence.

Registry addresses stand in that output; ``scrub`` takes them out of whatever is shown.
"""

from __future__ import annotations

import errno
import re
from typing import NamedTuple

MAX_SHOWN_LINES = 6
"""How much of an unknown failure's output is worth a person's screen."""


class SetupFailedError(Exception):
    """A set-up that cannot go on; ``line`` is one sentence for the person at the screen."""

    def __init__(self, line: str) -> None:
        super().__init__(line)
        self.line = line


class Fault(NamedTuple):
    """One kind of failure: how it shows, and what to say."""

    signs: re.Pattern[str]
    line: str


def _signs(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


DISK_FULL = "The disk is full. Free some space (a set-up needs about 1 GB) and start again."
OFFLINE = (
    "The package registry cannot be reached. Check the network (and the proxy, if there is one) "
    "and start again; what is already installed is kept."
)
CERTIFICATE = (
    "The package registry's certificate is not trusted here. Name your CA file in pip's and "
    "npm's configuration (pip config set global.cert FILE; npm config set cafile FILE)."
)
REFUSED = (
    "The package registry refuses access. Check the name and password in pip's and npm's "
    "configuration."
)
WRONG_HASH = (
    "A downloaded package is not the pinned one (its hash differs), so nothing of it was "
    "installed. Start again; if it stays, the registry or a cache in between alters packages."
)
NO_PERMISSION = "No permission to write there. Start as the user that owns this folder."
OUT_OF_MEMORY = "The installer was killed, most likely for want of memory. Start again."
BROKEN_PIP = "pip in the environment is damaged. Delete the .venv folder and start again."

UNTRUSTED = (
    "pip's configuration names an index without TLS, which pip does not use unless it is also "
    "set as trusted-host."
)
MISSING = (
    "No build of {name} for Python {python} was found. Either the package registry cannot be "
    "reached, or it has none: CPython 3.11 to 3.13 on 64-bit Linux is what is tried."
)
"""pip says the same for both when it was told not to retry."""

FAULTS = (
    Fault(
        _signs(
            r"no space left on device",
            r"disk quota exceeded",
            r"\b(?:ENOSPC|EDQUOT)\b",
        ),
        DISK_FULL,
    ),
    Fault(
        _signs(r"do not match the hashes", r"hash mismatch", r"\bEINTEGRITY\b"),
        WRONG_HASH,
    ),
    Fault(
        _signs(
            r"certificate[ _]verify[ _]failed",
            r"could not find a suitable tls ca",
            r"UNABLE_TO_(?:GET|VERIFY)",
            r"SELF_SIGNED_CERT|CERT_HAS_EXPIRED",
        ),
        CERTIFICATE,
    ),
    Fault(
        _signs(r"\bE40[13]\b", r"\b40[13] client error", r"\b407\b.{0,40}proxy"),
        REFUSED,
    ),
    Fault(
        _signs(
            r"name resolution|name or service not known|nodename nor servname|getaddrinfo",
            r"failed to establish a new connection|max retries exceeded|no route to host",
            r"network is unreachable|connection refused|connection (?:was )?reset",
            r"(?:connect|read) ?time(?:d ?)?out|remote end closed connection",
            r"proxyerror|cannot connect to proxy|\b50[234] server error",
            r"\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT)\b",
            r"\b(?:ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b",
        ),
        OFFLINE,
    ),
    Fault(
        _signs(
            r"permission denied",
            r"read-only file system",
            r"\b(?:EACCES|EPERM|EROFS)\b",
        ),
        NO_PERMISSION,
    ),
    Fault(_signs(r"is not a trusted or secure host"), UNTRUSTED),
    Fault(_signs(r"no module named '?pip"), BROKEN_PIP),
)

MISSING_WHEEL = re.compile(r"no matching distribution found for ([A-Za-z0-9._-]+)", re.IGNORECASE)
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
HOST = re.compile(r"(\bhost=|\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED) )(?:'[^']*'|\S+)")
KILLED = -9


def explain(output: str, *, exit_code: int, python: str) -> str:
    """Return one plain sentence for a failed installer.

    Args:
        output: everything that the installer wrote, stdout and stderr together.
        exit_code: its exit code; negative is a signal.
        python: the version and machine, such as "3.11 on linux x86_64".
    """
    line = known(output)
    if line:
        return line
    missing = MISSING_WHEEL.search(output)
    if missing:
        return MISSING.format(name=missing[1], python=python)
    if exit_code == KILLED:
        return OUT_OF_MEMORY
    return f"The installer failed with exit code {exit_code}; its last words:\n{last_words(output)}"


def known(output: str) -> str:
    """Return the sentence of a failure that its output tells, or an empty string."""
    return next((fault.line for fault in FAULTS if fault.signs.search(output)), "")


def explain_os_error(error: OSError, *, doing: str) -> str:
    """Return one plain sentence for a failed file operation."""
    where = f" ({error.filename})" if error.filename else ""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"{DISK_FULL}{where}"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"{NO_PERMISSION}{where}"
        case _:
            return f"{doing} failed: {error.strerror or type(error).__name__}{where}"


def last_words(output: str) -> str:
    """Return the last lines that say something, without addresses."""
    lines = [line.rstrip() for line in scrub(output).splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-MAX_SHOWN_LINES:])


def scrub(text: str) -> str:
    """Replace addresses and host names of registries."""
    return HOST.sub(r"\1(host)", ADDRESS.sub("(address)", text))
