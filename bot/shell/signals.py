"""The signals that end the bot in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Let SIGTERM and SIGINT end the bot in order; a second one ends the process at once."""
    loop = asyncio.get_running_loop()

    def begin_to_stop(number: int) -> None:
        stop.set()
        loop.remove_signal_handler(number)
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, begin_to_stop, number)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
