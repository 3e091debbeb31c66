"""What can be typed: all commands and their options, in one parser.

``command`` of what was parsed names the command, ``action`` what it is to do, where it has several.
"""

from __future__ import annotations

import argparse
from typing import Final

from bot.help_texts import (
    COMMANDS,
    DESCRIPTION,
    EPILOG,
    GATES_ACTIONS,
    INIT_OPTIONS,
    RUNS_ACTIONS,
    TASK_ACTIONS,
)
from config.homedir import find_checkout
from config.settings import parse_snowflake

_PROGRAM: Final = "python3 -m bot" if find_checkout() else "inglenook"


def build_parser() -> argparse.ArgumentParser:
    """Describe all commands and options."""
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_init(commands)
    _add_run(commands)
    _add_doctor(commands)
    _add_runs(commands)
    _add_gates(commands)
    _add_ask(commands)
    _add_task(commands)
    _add_backup(commands)
    for name in ("setup", "bench", "drill", "test"):
        # These are taken before this parser sees them; they are here to be told of.
        commands.add_parser(name, help=COMMANDS[name][0])
    return parser


_Commands = argparse._SubParsersAction  # noqa: SLF001  (argparse has no public name for it)


def _add(
    commands: _Commands[argparse.ArgumentParser], name: str, words: tuple[str, str]
) -> argparse.ArgumentParser:
    """Add a command, or an action of one, that looks at a home."""
    parser = _add_bare(commands, name, words)
    parser.add_argument(
        "--home", metavar="DIR", help="the home (default: INGLENOOK_HOME, or home/)"
    )
    return parser


def _add_bare(
    commands: _Commands[argparse.ArgumentParser], name: str, words: tuple[str, str]
) -> argparse.ArgumentParser:
    short, long = words
    return commands.add_parser(
        name,
        help=short,
        description=long,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_run(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "run", COMMANDS["run"])
    parser.add_argument(
        "--headless",
        action="store_true",
        help="the bot alone, without local Discord and page; needs a token",
    )
    parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="the chat page's port (default: 4300)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="do not open the chat page in a browser"
    )
    parser.set_defaults(command="run")


def _add_init(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "init", COMMANDS["init"])
    parser.add_argument("--non-interactive", action="store_true", help="ask nothing")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there unasked")
    parser.add_argument("--no-test", action="store_true", help="no word of the model, no message")
    for name, metavar, words in INIT_OPTIONS:
        parser.add_argument(name, default="", metavar=metavar, help=words)
    kinds = ("companion", "helper", "host")
    parser.add_argument("--character", choices=kinds, default="", help="what the imp is like")
    parser.add_argument("--mode", choices=("mention", "all"), default="", help="what it answers")
    parser.set_defaults(command="init")


def _add_doctor(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "doctor", COMMANDS["doctor"])
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--drill", action="store_true", help="play faults on your settings, against the playground"
    )
    parser.set_defaults(command="doctor")


def _add_runs(commands: _Commands[argparse.ArgumentParser]) -> None:
    runs = _add_bare(commands, "runs", COMMANDS["runs"])
    actions = runs.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, words in RUNS_ACTIONS.items():
        parser = _add(actions, name, words)
        parser.add_argument("--json", action="store_true", help="for programs; keys stay")
        parser.set_defaults(command="runs", action=name)
        if name in {"ls", "cache"}:
            parser.add_argument("--limit", type=_count, default=20, metavar="N", help="at most N")
            parser.add_argument(
                "--channel", type=_snowflake, metavar="ID", help="of this channel only"
            )
        if name == "ls":
            parser.add_argument(
                "--all", action="store_true", help="also those that took no turn, as warm-ups"
            )
            continue
        if name == "cache":
            parser.add_argument("run", nargs="?", metavar="RUN", help="of this run only")
            continue
        parser.add_argument("run", metavar="RUN", help='id, unique beginning or end, or "latest"')
        if name == "replay":
            parser.add_argument(
                "--against",
                action="append",
                default=[],
                metavar="KEY=VALUE",
                help="a setting of [context] or [engine]; may be given again",
            )
        if name in {"context", "diff", "show", "receipt", "replay"}:
            parser.add_argument(
                "turn", nargs="?", type=_count, metavar="TURN", help="a turn's number, from 1"
            )
        if name == "context":
            parser.add_argument("--all", action="store_true", help="every turn of the run")


def _add_gates(commands: _Commands[argparse.ArgumentParser]) -> None:
    gates = _add_bare(commands, "gates", COMMANDS["gates"])
    actions = gates.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, words in GATES_ACTIONS.items():
        parser = _add(actions, name, words)
        parser.add_argument("--json", action="store_true", help="for programs; keys stay")
        parser.set_defaults(command="gates", action=name)
        if name == "list":
            parser.add_argument("--all", action="store_true", help="what ended as well")
        else:
            parser.add_argument("gate", metavar="GATE", help="a gate's id, such as g-7k2f9qxe")


def _add_ask(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "ask", COMMANDS["ask"])
    parser.add_argument("text", metavar="TEXT", help='the question; "-" reads standard input')
    parser.add_argument("--imp", default="", metavar="NAME", help="the imp that is asked")
    parser.add_argument("--channel", type=_snowflake, metavar="ID", help="ask as in this channel")
    parser.set_defaults(command="ask")


def _add_task(commands: _Commands[argparse.ArgumentParser]) -> None:
    tasks = _add_bare(commands, "task", COMMANDS["task"])
    actions = tasks.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, short in TASK_ACTIONS.items():
        parser = _add(actions, name, (short, f"{short[0].upper()}{short[1:]}."))
        parser.add_argument("--json", action="store_true", help="for programs")
        parser.set_defaults(command="task", action=name)
        if name == "list":
            parser.add_argument("--all", action="store_true", help="those that ended, as well")
        elif name == "add":
            _add_task_options(parser)
        else:
            parser.add_argument("task", metavar="TASK", help="a task's id")


def _add_task_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="what the imp is to do or to remind of")
    kinds = ("reminder", "prompt", "heartbeat", "research", "code")
    parser.add_argument("--kind", choices=kinds, default="prompt", help="(default: prompt)")
    parser.add_argument("--at", default="", metavar="TIME", help="08:30, 2026-12-24 18:00, in 20m")
    parser.add_argument("--every", default="", metavar="SPAN", help="30m, 2h, 1d")
    parser.add_argument("--cron", default="", metavar="LINE", help='"30 8 * * 1-5"')
    parser.add_argument("--timezone", default="", metavar="ZONE", help="Europe/Paris")
    parser.add_argument(
        "--after", action="append", default=[], metavar="TASK", help="may be given again"
    )
    parser.add_argument("--channel", type=_snowflake, metavar="ID", help="the task's channel")
    parser.add_argument("--imp", default="", metavar="NAME", help="the imp that does it")
    parser.add_argument(
        "--repository", default="", metavar="NAME", help="for code: its name in org.toml"
    )


def _add_backup(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "backup", COMMANDS["backup"])
    parser.add_argument("file", nargs="?", default="", metavar="FILE", help="where to")
    parser.add_argument("--keys", action="store_true", help="put keys.db into it as well")
    parser.set_defaults(command="backup")
    parser = _add(commands, "restore", COMMANDS["restore"])
    parser.add_argument("file", metavar="FILE", help="what backup wrote")
    parser.set_defaults(command="restore")
    parser = _add(commands, "export", COMMANDS["export"])
    parser.add_argument(
        "--user", type=_snowflake, required=True, metavar="ID", help="the person's Discord id"
    )
    parser.add_argument("file", nargs="?", default="", metavar="FILE", help="where to")
    parser.set_defaults(command="export")
    parser = _add(commands, "prune", COMMANDS["prune"])
    parser.add_argument("--dry-run", action="store_true", help="only tell what would go")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(command="prune")
    parser = _add(commands, "upgrade", COMMANDS["upgrade"])
    parser.add_argument("--check", action="store_true", help="only try it, on a copy")
    parser.set_defaults(command="upgrade")


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) < 1_000_000:  # noqa: PLR2004
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")


def _snowflake(text: str) -> str:
    try:
        return parse_snowflake(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} {error}") from error


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) < 65536:  # noqa: PLR2004
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port")
