"""pip itself, for Pythons that come without it (Debian's has no ``ensurepip``).

Three ways, in this order: the pip wheel that Python carries; a pip of the system, which can
install into another environment; and the pinned wheel from the index that pip's own
configuration names. Where nothing names one there is no address to ask, and the person is
told which package to install.
"""

from __future__ import annotations

import configparser
import hashlib
import html
import json
import os
import re
import ssl
import sys
import tempfile
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from bot.installer.faults import OFFLINE, WRONG_HASH, SetupFailedError, known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bot.installer.layout import Layout
    from bot.installer.runner import Runner

NO_PIP = (
    "This Python cannot install packages: it has neither ensurepip nor pip, and pip's "
    "configuration leads to none. On Debian and Ubuntu: apt install python3-venv."
)
FETCH_SECONDS = 60.0
SIMPLE = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
HREF = re.compile(r"""href\s*=\s*["']([^"']+)["']""", re.IGNORECASE)


class Pin(NamedTuple):
    """The pinned pip: the name of its wheel and the SHA-256 that it may have."""

    file_name: str
    hashes: frozenset[str]


class PipConfig(NamedTuple):
    """What pip's configuration says about where packages come from."""

    pages: tuple[str, ...]
    """Pages that may list a pip wheel: index pages of pip, and find-links."""
    cert: str


def bring_pip(layout: Layout, runner: Runner) -> None:
    """Install pip into the environment that stands without it.

    Raises:
        SetupFailedError: no way of the three is open here.
    """
    python = str(layout.python)
    ended = runner.run([python, "-I", "-m", "ensurepip", "--default-pip"])
    if ended.exit_code == 0:
        return
    if line := known(ended.output):  # such as a full disk: another way would fail the same
        raise SetupFailedError(line)
    pinned = ["install", "--no-deps", "--require-hashes", "-r", str(layout.locks / "pip.txt")]
    if find_spec("pip") and _system_pip(python, pinned, runner):
        return
    with tempfile.TemporaryDirectory(prefix="inglenook-") as folder:
        wheel = fetch(read_pin(layout.locks / "pip.txt"), read_config(os.environ), Path(folder))
        # A wheel is an archive that Python can import from: pip installs itself.
        runner.check(
            [python, "-m", "pip", "install", "--no-index", "--no-deps", str(wheel)],
            env={"PYTHONPATH": str(wheel), "PYTHONNOUSERSITE": "1"},
        )


def read_pin(lock: Path) -> Pin:
    """Read the pinned version and hashes of pip from its lock file."""
    text = lock.read_text(encoding="utf-8")
    version = re.search(r"^pip==(\S+)", text, re.MULTILINE)
    if version is None:
        raise SetupFailedError(f"{lock.name} names no version of pip; the checkout is damaged.")
    hashes = frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", text))
    return Pin(f"pip-{version[1]}-py3-none-any.whl", hashes)


def read_config(environ: Mapping[str, str]) -> PipConfig:
    """Collect what pip's environment variables and configuration files say, the first rules."""
    said: dict[str, str] = {}
    for key in ("index-url", "extra-index-url", "find-links", "cert"):
        value = environ.get(f"PIP_{key.upper().replace('-', '_')}", "")
        if value.strip():
            said[key] = value
    for file in _config_files(environ):
        parsed = configparser.RawConfigParser()
        try:
            parsed.read_string(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, configparser.Error):
            continue
        for section in ("install", "global"):
            if parsed.has_section(section):
                for key, value in parsed.items(section):
                    said.setdefault(key, value)
    indexes = f"{said.get('index-url', '')} {said.get('extra-index-url', '')}".split()
    pages = [f"{index.rstrip('/')}/pip/" for index in indexes]
    return PipConfig((*pages, *said.get("find-links", "").split()), said.get("cert", "").strip())


def fetch(pin: Pin, config: PipConfig, folder: Path) -> Path:
    """Find the pinned wheel on the configured pages, check its hash and store it.

    Raises:
        SetupFailedError: nothing is configured, nothing answers, or the hash differs.
    """
    if not config.pages:
        raise SetupFailedError(NO_PIP)
    answered = False
    for page in config.pages:
        try:
            for link in _links(page, config.cert):
                answered = True
                if unquote(Path(urlsplit(link).path).name) == pin.file_name:
                    return _store(pin, _get(link, config.cert)[0], folder)
        except (urllib.error.URLError, OSError, ValueError):
            continue
    raise SetupFailedError(NO_PIP if answered else OFFLINE)


def _system_pip(python: str, arguments: list[str], runner: Runner) -> bool:
    command = [sys.executable, "-I", "-m", "pip", "--python", python, *arguments]
    return runner.run(command, env={"PIP_USER": "0"}).exit_code == 0


def _config_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield pip's configuration files, the one that rules first."""
    home = Path(environ.get("HOME") or "/")
    user = environ.get("XDG_CONFIG_HOME") or str(home / ".config")
    if environ.get("PIP_CONFIG_FILE"):
        yield Path(environ["PIP_CONFIG_FILE"])
    yield from (Path(user) / "pip" / "pip.conf", home / ".pip" / "pip.conf")
    yield Path("/etc/pip.conf")
    for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":"):
        yield Path(folder) / "pip" / "pip.conf"


def _links(page: str, cert: str) -> Iterator[str]:
    folder = Path(page.removeprefix("file://"))
    if folder.is_dir():
        yield from (file.as_uri() for file in sorted(folder.resolve().iterdir()))
        return
    body, kind = _get(page, cert)
    text = body.decode("utf-8", "replace")
    if "json" in kind:
        found = [str(file["url"]) for file in json.loads(text)["files"]]
    else:
        found = [html.unescape(link) for link in HREF.findall(text)]
    yield from (urljoin(page, link) for link in found)


def _get(address: str, cert: str) -> tuple[bytes, str]:
    trust = ssl.create_default_context(cafile=cert or None)
    request = urllib.request.Request(address, headers={"Accept": SIMPLE})  # noqa: S310 - the owner's own index
    with urllib.request.urlopen(request, timeout=FETCH_SECONDS, context=trust) as answer:  # noqa: S310 - as above
        return answer.read(), answer.headers.get("Content-Type", "")


def _store(pin: Pin, wheel: bytes, folder: Path) -> Path:
    if hashlib.sha256(wheel).hexdigest() not in pin.hashes:
        raise SetupFailedError(WRONG_HASH)
    stored = folder / pin.file_name
    stored.write_bytes(wheel)
    return stored
