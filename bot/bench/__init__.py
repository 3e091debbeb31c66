"""``python3 -m bot bench``: measure what the project promises, on this machine.

``far_end``   Discord and the model provider, in a process of their own
``host``      the bot in this process, with a stop-watch around its engine
``turns``     warm turns, cold starts, warm-up, idle conversations (real pi, real sockets)
``cycles``    sessions that come and go, and what is left of them
``crowd``     many conversations at once, over ``still_engine``, which costs next to nothing
``pure``      compiling, directives, recall (no I/O)
``governed``  calls of pi's own tools, with the host's word and without
``notes``     selection of notes with 100,000 and 1,000,000 records in the store
``year``      lists, runs and figures over 1,000,000 turns, as pages and commands read them
``wire``      what the gateway to the model costs, and what a provider's cache keeps
``figures``   medians, 95th percentiles, the table and the JSON   ``command``  its command line

Times cross processes by the system's monotonic clock, which Linux shares between them.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; exit code 0 when it ran, whatever the figures."""
    from bot.bench.command import main as run  # noqa: PLC0415  (a package has no logic)

    return run(argv)
