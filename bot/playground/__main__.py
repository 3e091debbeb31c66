"""A playground alone, for any bot that can be told where Discord is."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from typing import TYPE_CHECKING

from bot.playground import page
from bot.playground.server import Playground

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_PORT = 4000


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m bot.playground", description=__doc__)
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 takes a free one")
    parser.add_argument("--token", help="the bot's token; a random one unless given")
    parser.add_argument(
        "--realistic-limits", action="store_true", help="rate limits like Discord's"
    )
    return parser.parse_args(argv)


async def serve(
    options: argparse.Namespace, *, started: asyncio.Event, stop: asyncio.Event
) -> None:
    """Run a playground until told to stop; ``started`` is set when it listens."""
    pg = Playground(port=options.port, token=options.token, extend=[page.attach])
    if options.realistic_limits:
        pg.faults.realistic_limits()
    async with pg:
        lines = (
            f"Chat page   {pg.origin}/",
            f"REST API    {pg.api_base}",
            f"Gateway     {pg.gateway_address}",
            f"Bot token   {pg.token}",
        )
        print(*lines, sep="\n", flush=True)  # noqa: T201 - what a person came for
        started.set()
        await stop.wait()


async def main(argv: Sequence[str] | None = None) -> int:
    """Serve until Ctrl-C."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # no signal handlers on Windows' loops
            loop.add_signal_handler(number, stop.set)
    try:
        await serve(parse(argv), started=asyncio.Event(), stop=stop)
    except OSError as exc:
        print(f"The playground cannot start: {exc.strerror}.", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
