"""Where things are: the checkout, the environment, the locks."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[2]
"""The folder that holds ``bot`` and its siblings: a checkout, or a site-packages folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One installation.

    ``checkout`` is None when Inglenook was installed as a package: then pip has already put
    the Python packages beside it, and ``prefix`` is a folder of the user's that holds only
    pi and the model.
    """

    checkout: Path | None
    prefix: Path
    locks: Path

    @property
    def python(self) -> Path:
        """The interpreter of the environment, whether it is there or not."""
        return self.prefix / "bin" / "python"

    @property
    def stamps(self) -> Path:
        """The folder of the stamps; its presence also says that the prefix is ours."""
        return self.prefix / ".inglenook"

    @property
    def pi(self) -> Path:
        """The folder whose ``node_modules`` holds pi."""
        return self.prefix / "pi"

    @property
    def lock_file(self) -> Path:
        """The file that is locked while a set-up runs; outside the prefix, which may be cleared."""
        return self.prefix.with_name(f"{self.prefix.name}.lock")

    def site_packages(self) -> Path | None:
        """Return the environment's site-packages folder, or None while there is none."""
        found = sorted((self.prefix / "lib").glob("python3.*/site-packages"))
        return found[-1] if found else None

    def is_running(self) -> bool:
        """Tell whether this process runs inside the environment."""
        return os.path.realpath(sys.prefix) == os.path.realpath(self.prefix)


def find_layout(packages: Path = PACKAGES) -> Layout:
    """Return the layout of the installation that ``packages`` belongs to."""
    locks = packages / "config" / "locks"
    if (packages / "pyproject.toml").is_file():
        return Layout(checkout=packages, prefix=packages / ".venv", locks=locks)
    return Layout(checkout=None, prefix=data_folder() / version(), locks=locks)


def data_folder() -> Path:
    """Return the user's folder for Inglenook's data (XDG base directories)."""
    named = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification has relative paths ignored.
    base = Path(named) if Path(named).is_absolute() else Path.home() / ".local" / "share"
    return base / "inglenook"


def version() -> str:
    """Return the version of the installed package."""
    from importlib.metadata import PackageNotFoundError  # noqa: PLC0415 - slow to import
    from importlib.metadata import version as installed  # noqa: PLC0415 - as above

    try:
        return installed("inglenook")
    except PackageNotFoundError:
        return "unversioned"
