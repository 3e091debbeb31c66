"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bot import heap
from bot.bench.crowd import crowd
from bot.bench.cycles import start_and_end
from bot.bench.figures import Figure, as_json, show
from bot.bench.governed import governed_calls
from bot.bench.notes import LARGE, SMALL, selecting
from bot.bench.pure import ELIGIBLE, all_pure
from bot.bench.turns import cold_starts, idle_memory, warm_turns
from bot.bench.wire import CACHE_TURNS, cached_share, gateway_latency
from bot.bench.year import YEAR_TURNS, year
from bot.help_texts import BENCH
from bot.logs import configure_logging
from config.settings import LogLevel, LogSettings

CROWD_ROUNDS = 8
CYCLES = 200
_PARTS = ("turns", "cold", "memory", "pure", "notes", "wire", "governed", "cycles", "crowd", "year")


def main(argv: Sequence[str]) -> int:
    """Measure what was asked for and print it."""
    options = _parser().parse_args(argv)
    chosen = options.only or list(_PARTS)
    few = options.quick
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as folder:
        home = Path(folder)
        if "turns" in chosen:
            _tell("warm turns")
            turns = options.turns or (30 if few else 300)
            figures += asyncio.run(warm_turns(home / "turns", turns=turns))
        if "cold" in chosen:
            _tell("cold starts")
            figures += asyncio.run(cold_starts(home / "cold", starts=3 if few else 15))
        if "memory" in chosen:
            _tell("idle conversations")
            count = 5 if few else 100
            figures += asyncio.run(idle_memory(home / "memory", conversations=count))
        if "pure" in chosen:
            _tell("compiling, house rules, recall")
            with heap.settled():
                figures += all_pure(rounds=20, late_turn=20) if few else all_pure(rounds=300)
        if "notes" in chosen:
            _tell("selection of notes, the store filled first")
            figures += asyncio.run(
                selecting(
                    home / "notes",
                    small=SMALL // 50 if few else SMALL,
                    large=LARGE // 50 if few else LARGE,
                    eligible=ELIGIBLE // 10 if few else ELIGIBLE,
                    rounds=20 if few else 300,
                )
            )
        if "wire" in chosen:
            _tell("the model gateway and the cache")
            figures += asyncio.run(gateway_latency(rounds=30 if few else 300))
            figures += asyncio.run(cached_share(home / "wire", turns=2 if few else CACHE_TURNS))
        if "governed" in chosen:
            _tell("calls of pi's own tools, judged and not")
            rounds = 3 if few else 150
            figures += asyncio.run(governed_calls(home / "governed", rounds=rounds))
        if "crowd" in chosen:
            _tell("many conversations at once")
            figures += asyncio.run(
                crowd(
                    home / "crowd",
                    conversations=10 if few else options.crowd,
                    rounds=2 if few else CROWD_ROUNDS,
                )
            )
        figures += _cycles(home, few=few) if "cycles" in chosen else []
        figures += _year(home, options) if "year" in chosen else []
    if options.json:
        print(as_json(figures))  # noqa: T201  (the command's output)
    else:
        show(figures)
    return 0


def _cycles(home: Path, *, few: bool) -> list[Figure]:
    _tell("sessions that come and go")
    return asyncio.run(start_and_end(home / "cycles", cycles=4 if few else CYCLES))


def _year(home: Path, options: argparse.Namespace) -> list[Figure]:
    _tell("a year of turns, filled in first")
    few = options.quick
    configure_logging(LogSettings(level=LogLevel.WARNING))  # standard output is for the figures
    turns = options.year or (YEAR_TURNS // 500 if few else YEAR_TURNS)
    return asyncio.run(year(home / "year", turns=turns, rounds=2 if few else 30))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m bot bench",
        description=BENCH,
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it works")
    parser.add_argument("--turns", type=int, default=0, metavar="N", help="warm turns to measure")
    parser.add_argument("--crowd", type=int, default=200, metavar="N", help="conversations at once")
    parser.add_argument(
        "--year", type=int, default=0, metavar="N", help="turns of the year (default: 1,000,000)"
    )
    parser.add_argument(
        "--only", action="append", choices=_PARTS, help="one part; may be given several times"
    )
    return parser


def _tell(what: str) -> None:
    print(f"measuring {what} ...", file=sys.stderr)  # noqa: T201  (progress, for people)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
