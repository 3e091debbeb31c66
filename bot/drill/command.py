"""The command line of the drill."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bot.drill.account import Account
from bot.drill.world import Drill
from bot.help_texts import DRILL


def main(argv: Sequence[str]) -> int:
    """Run the drill that was asked for and print its account."""
    options = _parser().parse_args(argv)
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    _say(f"seed {seed}")
    if options.keep:
        folder = Path(options.keep)
        folder.mkdir(parents=True, exist_ok=True)
        account = _run(folder, options, seed)
    else:
        with tempfile.TemporaryDirectory(prefix="inglenook-drill-") as made:
            account = _run(Path(made), options, seed)
    for name, figure in account.figures().items():
        print(f"{name:>15}  {figure}")  # noqa: T201  (the command's output)
    for name, marks in (
        ("lost", account.open()),
        ("doubled", account.doubled()),
        ("untraced", account.untraced),
    ):
        if marks:
            print(f"{name}: {', '.join(marks[:20])}")  # noqa: T201
    return 0 if account.holds else 1


def _run(folder: Path, options: argparse.Namespace, seed: int) -> Account:
    drill = Drill(folder, kills=options.kills, seed=seed, channels=options.channels, tell=_say)
    return asyncio.run(_until_enough(drill))


async def _until_enough(drill: Drill) -> Account:
    """Run; Ctrl-C ends the killing, and what was done until then is counted."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, drill.enough.set)
    return await drill.run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m bot drill",
        description=DRILL,
    )
    parser.add_argument("--kills", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="default: drawn")
    parser.add_argument("--channels", type=int, default=8, metavar="N", help="default: 8")
    parser.add_argument("--keep", metavar="DIR", help="keep home and log there, to look at")
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201  (progress, for people)
