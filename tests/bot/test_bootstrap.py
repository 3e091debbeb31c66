"""The way from the person's Python into the environment, and the parts it finds there."""

from __future__ import annotations

import ast
import fcntl
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from bot import bootstrap
from bot.help_texts import COMMANDS
from bot.installer import locate, steps
from bot.installer.faults import SetupFailedError
from bot.installer.layout import Layout
from bot.installer.steps import Step
from support.installations import fill_environment, fill_pi, make_checkout, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.installer.runner import Runner


class Handed(Exception):
    """Raised where the process would become the environment's Python."""


class House:
    """A checkout whose steps only note that they were carried out."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.layout = make_checkout(root)
        self.missing: list[Step] = []
        self.done: list[Step] = []
        self.error: BaseException | None = None
        self.ran: list[tuple[str, list[str]]] = []
        self.handed: list[tuple[list[str], dict[str, str]]] = []
        monkeypatch.setattr(bootstrap, "find_layout", lambda: self.layout)
        monkeypatch.setattr(steps, "stale", self.stale)
        monkeypatch.setattr(steps, "carry_out", self.carry_out)
        monkeypatch.setattr(bootstrap, "import_module", self.module)
        monkeypatch.setattr(bootstrap, "bwrap_fault", lambda _bwrap: "")
        monkeypatch.setattr(os, "execve", self.execve)
        monkeypatch.chdir(root)

    def stale(self, _layout: Layout, wanted: Sequence[Step]) -> tuple[Step, ...]:
        return tuple(step for step in wanted if step in self.missing)

    def carry_out(self, _layout: Layout, step: Step, _runner: Runner) -> None:
        if self.error is not None:
            raise self.error
        self.missing.remove(step)
        self.done.append(step)

    def module(self, name: str) -> SimpleNamespace:
        def run(arguments: list[str]) -> int:
            self.ran.append((name, arguments))
            return 5

        return SimpleNamespace(main=run)

    def execve(self, _path: str, command: list[str], environment: dict[str, str]) -> None:
        self.handed.append((command, environment))
        raise Handed


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    """A checkout, and this process standing in it."""
    return House(tmp_path, monkeypatch)


def inside(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(house.layout.prefix))


def test_command_inside_the_environment(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to do: the command runs in this process, and its exit code is ours."""
    inside(house, monkeypatch)
    assert bootstrap.main(["run", "--headless"]) == 5
    assert house.ran == [("bot.cli", ["run", "--headless"])]
    assert not house.layout.lock_file.exists()


def test_checks_do_not_need_the_commands(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """`test` runs also when the commands' module cannot be imported."""
    inside(house, monkeypatch)
    bootstrap.main(["test", "--quick"])
    assert house.ran == [("bot.checks", ["--quick"])]


def test_other_python_becomes_the_environments(house: House) -> None:
    """The same command, the environment's interpreter."""
    with pytest.raises(Handed):
        bootstrap.main(["run"])
    ((command, environment),) = house.handed
    assert command == [str(house.layout.python), "-m", "bot", "run"]
    assert environment[bootstrap.HANDED_OVER] == str(os.getpid())
    assert house.done == []


def test_second_look_is_spared(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the hand-over the stamps were just compared; the mark goes no further."""
    house.missing = list(Step)
    monkeypatch.setenv(bootstrap.HANDED_OVER, str(os.getpid()))
    assert bootstrap.main(["run"]) == 5
    assert bootstrap.HANDED_OVER not in os.environ


def test_mark_of_another_process_does_not_count(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that inherited the mark looks for itself."""
    monkeypatch.setenv(bootstrap.HANDED_OVER, str(os.getpid() + 1))
    with pytest.raises(Handed):
        bootstrap.main(["run"])
    assert len(house.handed) == 1


def test_missing_steps_are_carried_out_in_order(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    """The set-up shows each step, on stderr, and then goes on with the command."""
    house.missing = [Step.PI, Step.PACKAGES]
    with pytest.raises(Handed):
        bootstrap.main(["runs", "ls", "--json"])
    assert house.done == [Step.PACKAGES, Step.PI]
    shown = capsys.readouterr()
    assert shown.out == ""
    assert steps.TITLES[Step.PI] in shown.err


def test_set_up_inside_the_environment_starts_anew(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was just installed is seen whole only by a new process."""
    inside(house, monkeypatch)
    house.missing = [Step.PACKAGES]
    with pytest.raises(Handed):
        bootstrap.main(["run"])


def test_installed_package_goes_on_in_place(house: House) -> None:
    """The console script has its packages already; only pi and the model are set up."""
    house.layout = Layout(checkout=None, prefix=house.layout.prefix, locks=house.layout.locks)
    house.missing = list(Step)
    assert bootstrap.main(["run"]) == 5
    assert house.done == [Step.ENVIRONMENT, Step.MODEL, Step.PI]
    assert house.handed == []


def test_from_another_folder_the_checkout_is_on_the_path(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative paths of the person stay right: the folder is not changed."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("PYTHONPATH", "/mine")
    with pytest.raises(Handed):
        bootstrap.main(["run"])
    assert house.handed[0][1]["PYTHONPATH"] == f"{house.layout.checkout}{os.pathsep}/mine"
    assert Path.cwd() == elsewhere


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "chat page"),
        (["--help"], "chat page"),
        *(([name, "--help"], long) for name, (_, long) in COMMANDS.items()),
    ],
)
def test_help_before_the_set_up(
    house: House, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    """A question installs nothing, gets its answer, and what the first command will do."""
    house.missing = list(Step)
    assert bootstrap.main(arguments) == 0
    said = capsys.readouterr().out
    assert told in said
    assert str(house.layout.prefix) in said
    assert max(map(len, said.splitlines())) <= 100
    assert house.done == []


@pytest.mark.parametrize("arguments", [["rnu"], ["--port", "4300"]])
def test_a_misspelt_command_sets_nothing_up(
    house: House, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """Nobody waits minutes for 700 MB to be told of a slip."""
    house.missing = list(Step)
    assert bootstrap.main(arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        f"There is no command {arguments[0]!r}; --help lists all there are.\n",
    )
    assert house.done == []


def test_help_after_the_set_up_is_the_commands_own(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the environment stands there is one text about options only."""
    inside(house, monkeypatch)
    bootstrap.main(["run", "--help"])
    assert house.ran == [("bot.cli", ["run", "--help"])]


def test_setup_only_sets_up(house: House) -> None:
    """No command follows, and without --checks their tools are left out."""
    house.missing = list(Step)
    assert bootstrap.main(["setup"]) == 0
    assert Step.CHECKS not in house.done
    assert bootstrap.main(["setup", "--checks"]) == 0
    assert Step.CHECKS in house.done
    assert house.handed == []


def test_setup_repair_forgets_first(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """--repair trusts no stamp."""
    forgotten: list[Layout] = []
    monkeypatch.setattr(steps, "forget", forgotten.append)
    assert bootstrap.main(["setup", "--repair"]) == 0
    assert forgotten == [house.layout]


@pytest.mark.parametrize(("option", "step"), bootstrap.EXTRAS.items())
def test_setup_brings_what_few_homes_need_only_when_told(
    house: House, option: str, step: Step
) -> None:
    """--semantic is 91 MB, --telemetry an SDK that most homes do not need."""
    house.missing = [*bootstrap.EXTRAS.values()]
    assert bootstrap.main(["setup"]) == 0
    assert house.done == []
    assert bootstrap.main(["setup", option]) == 0
    assert house.done == [step]


@pytest.mark.parametrize("name", ["semantic", "telemetry"])
def test_a_package_names_pip_for_what_few_homes_need(
    house: House, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """There the environment is not ours to change."""
    house.layout = replace(house.layout, checkout=None)
    assert bootstrap.main(["setup", f"--{name}"]) == 1
    assert f"inglenook[{name}]" in capsys.readouterr().err


def test_setup_refuses_other_words(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt option changes nothing."""
    house.missing = list(Step)
    assert bootstrap.main(["setup", "--repiar"]) == 2
    assert "--repair" in capsys.readouterr().err
    assert house.done == []


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (SetupFailedError("Plain words."), 1, "Plain words."),
        (OSError(28, "No space left on device", "/x"), 1, "disk is full"),
        (PermissionError(13, "Permission denied", "/x"), 1, "No permission"),
        (KeyboardInterrupt(), 130, "goes on from here"),
    ],
)
def test_failed_set_up_is_one_sentence(
    house: House, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    """No traceback, no command after it."""
    house.missing = [Step.PACKAGES]
    house.error = error
    assert bootstrap.main(["run"]) == code
    assert said in capsys.readouterr().err
    assert house.handed == []


def test_command_that_fails_is_not_called_a_failed_set_up(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the command is the command's own, also one of the system's."""
    inside(house, monkeypatch)

    def fail(_name: str) -> SimpleNamespace:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bootstrap, "import_module", fail)
    with pytest.raises(OSError, match="No space"):
        bootstrap.main(["run"])


def test_only_one_set_up_at_a_time(house: House) -> None:
    """The lock is held while steps are carried out."""
    house.missing = [Step.PI]
    held: list[bool] = []
    inner = house.carry_out

    def carry_out(layout: Layout, step: Step, runner: Runner) -> None:
        with layout.lock_file.open("w", encoding="utf-8") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(True)
        inner(layout, step, runner)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "carry_out", carry_out)
        bootstrap.main(["setup"])
    assert held == [True]


@pytest.mark.parametrize("version", [(3, 6), (3, 8), (3, 10)])
def test_entry_parses_on_old_pythons(version: tuple[int, int]) -> None:
    """The sentence about the version must reach the person, not a syntax error."""
    folder = Path(bootstrap.__file__).parent
    for name in ("__main__.py", "__init__.py"):
        text = (folder / name).read_text(encoding="utf-8")
        ast.parse(text, feature_version=version)
        # Unknown to 3.6, and the parser alone does not notice.
        assert "from __future__ import annotations" not in text


# --- the parts it finds


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """An installation whose prefix holds pi and nothing else does."""
    layout = make_checkout(tmp_path)
    fill_environment(layout)
    monkeypatch.setattr(bootstrap, "find_layout", lambda: layout)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "elsewhere"))
    return layout


def test_find_pi(parts: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """pi is looked for in this process's environment, then in our own."""
    node = parts.prefix / "node"
    monkeypatch.setattr(locate, "node_and_npm", lambda _site: (node, node))
    with pytest.raises(bootstrap.NotInstalledError, match="pi is not installed"):
        bootstrap.find_pi()
    fill_pi(parts.pi)
    assert bootstrap.find_pi() == bootstrap.PiFiles(node=node, cli=locate.pi_cli(parts.prefix))
    own = Path(sys.prefix)
    fill_pi(own / "pi")
    assert bootstrap.find_pi().cli == locate.pi_cli(own)


def test_find_model_hashes_only_without_a_stamp(
    parts: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that was verified at set-up is not read again at each start."""
    site = parts.prefix / "lib" / "python3.11" / "site-packages"
    monkeypatch.setattr(bootstrap, "_site_folders", lambda _layout: iter((site,)))
    with pytest.raises(bootstrap.NotInstalledError):
        bootstrap.find_model()
    file = write(locate.model_file(site), "weights")
    verified: list[Path] = []
    monkeypatch.setattr(locate, "verify_model", verified.append)
    assert bootstrap.find_model() == file
    assert verified == [file]
    monkeypatch.setattr(steps, "stale", lambda _layout, _steps: ())
    assert bootstrap.find_model() == file
    assert verified == [file]


def test_libgomp(parts: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder only where the system has none, and an error where nobody has."""
    site = parts.prefix / "lib" / "python3.11" / "site-packages"
    monkeypatch.setattr(bootstrap, "_site_folders", lambda _layout: iter((site,)))
    monkeypatch.setattr(steps, "has_libgomp", lambda: True)
    assert bootstrap.libgomp_dir() is None
    monkeypatch.setattr(steps, "has_libgomp", lambda: False)
    with pytest.raises(bootstrap.NotInstalledError, match="libgomp"):
        bootstrap.libgomp_dir()
    library = write(site / "cmeel.prefix" / "lib" / "libgomp.so.1")
    assert bootstrap.libgomp_dir() == library.parent


def test_bubblewrap_probe(tmp_path: Path) -> None:
    """The probe says what went wrong, or nothing."""
    works = write(tmp_path / "works", "#!/bin/sh\nexit 0\n")
    refused = write(tmp_path / "refused", "#!/bin/sh\necho no namespaces >&2\nexit 1\n")
    for program in (works, refused):
        program.chmod(0o700)
    assert bootstrap.bwrap_fault(works) == ""
    assert bootstrap.bwrap_fault(refused) == "no namespaces"
    assert bootstrap.bwrap_fault(tmp_path / "none") == "FileNotFoundError"
