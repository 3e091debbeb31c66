"""The commands, inside the environment; each module is imported only when its command runs.

``bot.__main__`` makes the environment and hands the arguments over to ``main``, which has them read
by ``shell.arguments``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from bot.shell.arguments import build_parser
from config.homedir import find_home

USAGE_EXIT: Final = 2
INTERRUPTED_EXIT: Final = 130


def main(argv: Sequence[str]) -> int:
    """Run one command; return its exit code: 0 well, 1 failed, 2 a wrong call."""
    arguments = list(argv)
    if arguments[:1] in (["bench"], ["drill"]):
        # Their options are their own; nothing but themselves is imported for them.
        own = cast("Callable[[list[str]], int]", import_module(f"bot.{arguments[0]}").main)
        return own(arguments[1:])
    parser = build_parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:  # argparse has told why
        return stop.code if isinstance(stop.code, int) else USAGE_EXIT
    command: str | None = getattr(options, "command", None)
    if command is None:
        parser.print_help()
        return USAGE_EXIT
    try:
        return COMMANDS[command](options)
    except KeyboardInterrupt:
        return INTERRUPTED_EXIT
    except BrokenPipeError:  # a reader such as head has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _home(options: argparse.Namespace) -> Path:
    return find_home(options.home, os.environ)


def _run(options: argparse.Namespace) -> int:
    from bot.shell import run_command  # noqa: PLC0415  (heavy)

    choices = run_command.Choices(
        headless=options.headless, port=options.port, browser=not options.no_browser
    )
    return run_command.main(_home(options), choices)


def _init(options: argparse.Namespace) -> int:
    from bot.shell import init_command  # noqa: PLC0415  (heavy)

    return init_command.main(_home(options), options)


def _doctor(options: argparse.Namespace) -> int:
    from bot.shell import doctor_command  # noqa: PLC0415  (heavy)

    return doctor_command.main(_home(options), as_json=options.json, with_drill=options.drill)


def _runs(options: argparse.Namespace) -> int:
    from bot.shell import runs_command  # noqa: PLC0415  (needs the database)

    return runs_command.main(_home(options), options)


def _gates(options: argparse.Namespace) -> int:
    from bot.shell import gates_command  # noqa: PLC0415  (needs the database)

    return gates_command.main(_home(options), options)


def _ask(options: argparse.Namespace) -> int:
    from bot.shell import ask_command  # noqa: PLC0415  (heavy)

    text = sys.stdin.read() if options.text == "-" else options.text
    question = ask_command.Question(text=text, imp=options.imp, channel=options.channel or "")
    return ask_command.main(_home(options), question)


def _task(options: argparse.Namespace) -> int:
    from bot.shell import task_command  # noqa: PLC0415  (needs the database)

    return task_command.main(_home(options), options)


def _backup(options: argparse.Namespace) -> int:
    from bot.home import backup  # noqa: PLC0415  (needs the database)

    return backup.main_backup(_home(options), options.file, keys=options.keys)


def _restore(options: argparse.Namespace) -> int:
    from bot.home import backup  # noqa: PLC0415  (needs the database)

    return backup.main_restore(options.file, _home(options))


def _export(options: argparse.Namespace) -> int:
    from bot.shell import export_command  # noqa: PLC0415  (needs the database)

    return export_command.main(_home(options), user=options.user, target=options.file)


def _prune(options: argparse.Namespace) -> int:
    from bot.shell import prune_command  # noqa: PLC0415  (needs the database)

    return prune_command.main(_home(options), dry_run=options.dry_run, as_json=options.json)


def _upgrade(options: argparse.Namespace) -> int:
    from bot.home import upgrade  # noqa: PLC0415  (needs the database)

    return upgrade.main(_home(options), check=options.check)


COMMANDS: Final[Mapping[str, Callable[[argparse.Namespace], int]]] = {
    "run": _run,
    "init": _init,
    "doctor": _doctor,
    "runs": _runs,
    "gates": _gates,
    "ask": _ask,
    "task": _task,
    "backup": _backup,
    "restore": _restore,
    "export": _export,
    "prune": _prune,
    "upgrade": _upgrade,
}
"""By the parser's ``command``; those with options of their own are taken before it."""
