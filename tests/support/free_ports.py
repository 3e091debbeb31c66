"""Ports for programs that must be told theirs before they open it."""

from __future__ import annotations

import os
import random
import re
import socket
from typing import Final

FIRST: Final = 10_000
"""Above what services are usually found at."""
SHARE: Final = 1_000
"""How many a test process has to itself."""
SHARES: Final = 20
"""All lie below what Linux hands out by itself, to whoever connects: from 32,768 on."""
_given: set[int] = set()


def free_port() -> int:
    """Give a port that nobody listens at, and that no other test is given meanwhile.

    A port that the system chose and that was let go may be anybody's a moment later.
    """
    worker = re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", ""))
    first = FIRST + int(worker or os.getpid()) % SHARES * SHARE
    ports = [port for port in range(first, first + SHARE) if port not in _given]
    for port in random.sample(ports, len(ports)):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                continue
        _given.add(port)
        return port
    raise AssertionError("no port is free")
