"""The home directory: where it is, how it begins, and files that only the owner may read.

``run`` makes it from the template in ``config/home`` and never overwrites what is there.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import config
from config.layers import ENV_FILE, HOME_VARIABLE, ORG_FILE
from config.problems import ConfigError, ConfigErrorCode, Problem

DIR_MODE = 0o700
DATABASE_FILE = "inglenook.db"
_DOTENV_TEMPLATE = "dotenv.txt"  # a file called .env would be ignored by git and by packaging
ENGINE_DIR = "engine"
"""What the engine and its tokenizers keep."""
EMPTY_DIRS = ("channels", "runs", ENGINE_DIR)


def find_home(argument: str | None, environ: Mapping[str, str]) -> Path:
    """Decide the home: the argument, ``INGLENOOK_HOME``, else ``home`` beside the checkout.

    Without a checkout (an installed package) it is ``inglenook`` in the user's data directory.
    """
    named = argument or environ.get(HOME_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    root = find_checkout()
    if root is not None:
        return root / "home"
    data = environ.get("XDG_DATA_HOME") or "~/.local/share"
    return (Path(data).expanduser() / "inglenook" / "home").absolute()


def find_checkout() -> Path | None:
    """The checkout that this program runs from; None for an installed package."""
    root = Path(config.__file__).resolve().parent.parent
    return root if (root / "pyproject.toml").is_file() else None


def ensure_home(home: Path) -> tuple[str, ...]:
    """Make the home from the template where something is missing.

    Returns:
        The files that were made, relative to the home; empty when all was there.

    Raises:
        ConfigError: the directory cannot be made or written.
    """
    try:
        return _ensure_home(home)
    except OSError as error:
        raise ConfigError(
            [
                Problem(
                    file=str(home),
                    line=None,
                    key="",
                    message=f"cannot be used as the home ({(error.strerror or 'error').lower()})",
                    hint=f"Choose another with --home or {HOME_VARIABLE}.",
                )
            ],
            code=ConfigErrorCode.HOME,
        ) from error


def _ensure_home(home: Path) -> tuple[str, ...]:
    fresh = not (home / ORG_FILE).exists()
    _ensure_dir(home)
    template = resources.files("config") / "home"
    made = [
        target
        for name in _template_files(template)
        if (target := _plant(template, name, home, fresh=fresh))
    ]
    for name in EMPTY_DIRS:
        _ensure_dir(home / name)
    return tuple(made)


def _ensure_dir(path: Path) -> None:
    if not path.is_dir():
        path.mkdir(mode=DIR_MODE, parents=True, exist_ok=True)


def _template_files(folder: Traversable, prefix: str = "") -> list[str]:
    names: list[str] = []
    for item in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if item.is_dir():
            names.extend(_template_files(item, f"{prefix}{item.name}/"))
        elif not item.name.startswith((".", "__")):
            names.append(prefix + item.name)
    return names


def _plant(template: Traversable, name: str, home: Path, *, fresh: bool) -> str:
    """Copy one file of the template; gives its name in the home, empty when it stays out."""
    target = ENV_FILE if name == _DOTENV_TEMPLATE else name
    # An owner who removed an imp does not want it back: imps are only planted in a new home.
    if os.path.lexists(home / target) or (not fresh and name.startswith("imps/")):
        return ""
    source = template
    for part in name.split("/"):
        source = source / part
    for parent in reversed(Path(target).parents[:-1]):
        _ensure_dir(home / parent)
    write_private(home / target, source.read_bytes())
    return target


def write_private(path: Path, data: bytes) -> None:
    """Replace a file atomically; only the owner can read it, from its first moment on.

    Raises:
        OSError: the old file, if there was one, is then unchanged.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # made as 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)  # noqa: PTH105  (the name is a text)
    except BaseException:
        os.unlink(name)  # noqa: PTH108
        raise


def is_private(path: Path) -> bool:
    """Whether nobody but the owner can read, write or enter ``path``."""
    return stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
