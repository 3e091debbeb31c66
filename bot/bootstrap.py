"""Make the environment stand, then run the command inside it; standard library only.

    python3 -m bot run      the person's Python: look at the stamps, set up what is missing,
                            then become (exec) the environment's Python with the same command
    .venv/bin/python ...    the environment's Python: hand the command to ``cli`` or ``checks``

Nothing is locked, written or started when all stamps stand. Before the environment stands
only ``--help`` and ``setup`` are answered here; every other command belongs to ``cli``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from bot.help_texts import COMMANDS, DESCRIPTION
from bot.installer import locate, steps
from bot.installer.faults import SetupFailedError, explain_os_error
from bot.installer.layout import Layout, find_layout
from bot.installer.locate import NotInstalledError, PiFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bot.installer.progress import Progress

__all__ = [
    "NotInstalledError",
    "PiFiles",
    "bwrap_fault",
    "find_bwrap",
    "find_model",
    "find_pi",
    "libgomp_dir",
    "main",
]

HANDED_OVER = "INGLENOOK_HANDED_OVER"
"""Set to the process id when the process becomes the environment's Python: no second look."""

LISTED = """\
Usage: {call} COMMAND ...

{about}
{commands}
"""
TO_COME = """\

The first command sets everything up in
  {prefix}
(about 700 MB on disk; it needs the package registries, and a minute or two).
After that, `{call} COMMAND --help` tells all the options of a command.
"""

EXTRAS = {"--semantic": steps.Step.SEMANTIC, "--telemetry": steps.Step.TELEMETRY}
"""Options of ``setup`` that ask for more; a package has an extra of the same name."""
UNKNOWN = "There is no command {name!r}; --help lists all there are."
OF_PACKAGE = 'Here pip brings that: pip install "inglenook[{name}]"'
STOPPED = "Set-up stopped. The next start goes on from here."
USAGE_EXIT = 2
STOPPED_EXIT = 130
PROBE_SECONDS = 10.0


def main(argv: Sequence[str]) -> int:
    """Run one command; return its exit code.

    1 is a failed set-up, 2 a wrong call, 130 an interrupted set-up.
    """
    arguments = list(argv)
    if os.environ.pop(HANDED_OVER, "") == str(os.getpid()):
        return _command(arguments)
    try:
        code = _prepare(find_layout(), arguments)
    except SetupFailedError as failed:
        return _complain(failed.line)
    except OSError as error:
        return _complain(explain_os_error(error, doing="Set-up"))
    except KeyboardInterrupt:
        return _complain(STOPPED, code=STOPPED_EXIT)
    return _command(arguments) if code is None else code


def find_pi() -> PiFiles:
    """Return what starts pi.

    Raises:
        NotInstalledError: Node or pi is not installed.
    """
    node, _npm = locate.node_and_npm(None)
    for prefix in locate.prefixes(find_layout().prefix):
        cli = locate.pi_cli(prefix)
        if cli.is_file():
            return PiFiles(node=node, cli=cli)
    raise NotInstalledError(f"pi is not installed. {locate.REPAIR}")


def find_model() -> Path:
    """Return the weights of the embedded model, as they were verified at set-up.

    They are hashed again only when the set-up left no standing stamp for them.

    Raises:
        NotInstalledError: they are missing or not the pinned ones.
    """
    layout = find_layout()
    for file in _model_files(layout):
        if file.is_file():
            stamped = file.is_relative_to(layout.prefix)
            if not stamped or steps.stale(layout, (steps.Step.MODEL,)):
                locate.verify_model(file)
            return file
    raise NotInstalledError(f"The embedded model is not installed. {locate.REPAIR}")


def find_bwrap() -> Path | None:
    """Return bubblewrap's program, or None where there is none (it exists for Linux only)."""
    return locate.find_bwrap()


def bwrap_fault(bwrap: Path) -> str:
    """Try bubblewrap; return an empty string when it works here, else what it said."""
    command = [str(bwrap), "--ro-bind", "/", "/", "--unshare-pid", "true"]
    try:
        ended = subprocess.run(  # noqa: S603 - our own program
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    said = ended.stderr.decode("utf-8", "replace").strip()
    return "" if ended.returncode == 0 else said or f"exit code {ended.returncode}"


def libgomp_dir() -> Path | None:
    """Return the folder that the model server needs on LD_LIBRARY_PATH, or None if it needs none.

    Raises:
        NotInstalledError: the system lacks libgomp and the set-up brought none.
    """
    if steps.has_libgomp():
        return None
    layout = find_layout()
    for site in _site_folders(layout):
        folder = site / "cmeel.prefix" / "lib"
        if (folder / steps.LIBGOMP).is_file():
            return folder
    raise NotInstalledError(f"{steps.LIBGOMP} is missing on this system. {locate.REPAIR}")


# --- starting


def _prepare(layout: Layout, arguments: list[str]) -> int | None:
    """Make the environment stand; None when the command may run in this very process."""
    if sys.platform == "win32":
        raise SetupFailedError("Inglenook runs on Linux and macOS; on Windows use WSL.")
    wanted = steps.wanted(layout, checks=arguments[:1] == ["test"])
    missing = steps.stale(layout, wanted)
    if missing and (not arguments or _asks_for_help(arguments)):
        return _help(layout, arguments, to_come=True)
    if missing and arguments[0] not in COMMANDS:
        return _complain(UNKNOWN.format(name=arguments[0]), code=USAGE_EXIT)
    if arguments[:1] == ["setup"]:
        return _setup_command(layout, wanted, arguments[1:])
    if missing:
        _set_up(layout, wanted)
    # What was just installed may be half imported here: only a new process sees all of it.
    if layout.checkout is not None and (missing or not layout.is_running()):
        _hand_over(layout, layout.checkout, arguments)
    return None


def _command(arguments: list[str]) -> int:
    """Run the command in this process; its module is imported only now, inside the environment."""
    # The checks stand apart from the commands: they must run also when those do not import.
    name, rest = ("checks", arguments[1:]) if arguments[:1] == ["test"] else ("cli", arguments)
    run = cast("Callable[[list[str]], int]", import_module(f"bot.{name}").main)
    return run(rest)


def _hand_over(layout: Layout, checkout: Path, arguments: list[str]) -> NoReturn:
    """Become the environment's Python, with the same command."""
    environment = {**os.environ, HANDED_OVER: str(os.getpid())}
    if Path.cwd() != checkout:
        path = [str(checkout), *filter(None, [os.environ.get("PYTHONPATH", "")])]
        environment["PYTHONPATH"] = os.pathsep.join(path)
    python = str(layout.python)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(python, [python, "-m", "bot", *arguments], environment)  # noqa: S606 - no shell wanted


# --- setting up


def _setup_command(layout: Layout, wanted: tuple[steps.Step, ...], options: list[str]) -> int:
    known = {"--repair", "--checks", *EXTRAS}
    if _asks_for_help(options):
        return _help(layout, ["setup"])
    if not known.issuperset(options):
        return _complain(f"setup takes only {', '.join(sorted(known))}.", code=USAGE_EXIT)
    asked = {option: EXTRAS[option] for option in options if option in EXTRAS}
    if asked and layout.checkout is None:
        return _complain(OF_PACKAGE.format(name=min(asked).removeprefix("--")))
    if asked or "--checks" in options:
        checks = steps.Step.CHECKS in wanted or "--checks" in options
        wanted = steps.wanted(layout, checks=checks, asked=asked.values())
    if "--repair" in options:
        steps.forget(layout)
    _set_up(layout, wanted)
    return 0


def _set_up(layout: Layout, wanted: tuple[steps.Step, ...]) -> None:
    """Carry out the steps that do not stand, one set-up at a time."""
    from bot.installer.progress import Progress  # noqa: PLC0415 - not needed for a quick start
    from bot.installer.runner import Runner  # noqa: PLC0415 - as above

    progress = Progress()
    with _locked(layout, progress) as held:
        missing = steps.stale(layout, wanted)
        if not missing:
            progress.say("Everything is set up.")
            return
        first = steps.Step.ENVIRONMENT in missing
        progress.say(
            f"Setting up in {layout.prefix} (once; a minute or two)."
            if first
            else f"Bringing {layout.prefix} up to date."
        )
        runner = Runner(on_line=lambda line: _show(progress, line), held_fds=(held,))
        for step in wanted:
            # Looked at one by one: a rebuilt environment takes the others' stamps with it.
            if steps.stale(layout, (step,)):
                with progress.step(steps.TITLES[step]):
                    steps.carry_out(layout, step, runner)
        _report_bwrap(layout, progress)
        progress.say("Ready.")


@contextmanager
def _locked(layout: Layout, progress: Progress) -> Iterator[int]:
    """Hold the set-up's lock; wait, visibly, while another set-up holds it."""
    import fcntl  # noqa: PLC0415 - not on every system, and only needed here

    layout.lock_file.parent.mkdir(parents=True, exist_ok=True)
    with layout.lock_file.open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("Another set-up is at work here; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _show(progress: Progress, line: str) -> None:
    """Show which package pip is at; its other lines may hold addresses."""
    words = line.split()
    if words[:1] in (["Collecting"], ["Downloading"], ["Installing"]):
        progress.detail(" ".join(words[:2]))


def _report_bwrap(layout: Layout, progress: Progress) -> None:
    bwrap = locate.find_bwrap(layout.site_packages() if layout.checkout else None)
    if bwrap is not None and (fault := bwrap_fault(bwrap)):
        progress.say(f"  Note: bubblewrap, which shuts pi in, does not work here: {fault}")


# --- words


def _asks_for_help(arguments: list[str]) -> bool:
    return not {"-h", "--help"}.isdisjoint(arguments)


def _help(layout: Layout, arguments: list[str], *, to_come: bool = False) -> int:
    """Tell of one command, or list them all; ``to_come``: and what the first one will do."""
    call = "python3 -m bot" if layout.checkout is not None else "inglenook"
    name = arguments[0] if arguments else ""
    if name in COMMANDS:
        text = f"Usage: {call} {name} ...\n\n{COMMANDS[name][1]}"
    else:
        commands = "\n".join(f"  {each:<9}{words}" for each, (words, _) in COMMANDS.items())
        text = LISTED.format(call=call, about=DESCRIPTION, commands=commands)
    sys.stdout.write(text + (TO_COME.format(call=call, prefix=layout.prefix) if to_come else ""))
    return 0


def _complain(line: str, *, code: int = 1) -> int:
    sys.stderr.write(f"{line}\n")
    return code


def _model_files(layout: Layout) -> Iterator[Path]:
    return (locate.model_file(site) for site in _site_folders(layout))


def _site_folders(layout: Layout) -> Iterator[Path]:
    import sysconfig  # noqa: PLC0415 - not needed for a quick start

    yield Path(sysconfig.get_path("purelib"))
    own = layout.site_packages()
    if own is not None:
        yield own
