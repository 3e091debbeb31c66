"""pip for Pythons without it: three ways, and an honest sentence when all are closed."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from bot.installer import pip_wheel
from bot.installer.faults import DISK_FULL, OFFLINE, WRONG_HASH, SetupFailedError
from bot.installer.runner import Finished
from support.installations import NotingRunner, fill_environment, make_checkout, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

WHEEL = b"not really a wheel"
PIN = pip_wheel.Pin("pip-26.3-py3-none-any.whl", frozenset({hashlib.sha256(WHEEL).hexdigest()}))
FAILED = Finished(exit_code=1, output="No module named ensurepip")


@pytest.fixture(params=["html", "json"])
def index(request: pytest.FixtureRequest) -> Iterator[str]:
    """A package index that lists pip in one of the two forms; yields its address."""
    as_json = request.param == "json"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = "application/octet-stream", WHEEL
            if self.path == "/simple/pip/" and as_json:
                kind = "application/vnd.pypi.simple.v1+json"
                names = ["pip-1.0.tar.gz", PIN.file_name]
                body = json.dumps({"files": [{"url": f"../../f/{n}"} for n in names]}).encode()
            elif self.path == "/simple/pip/":
                kind = "text/html"
                body = f'<a href="../../f/{PIN.file_name}#sha256=0">pip</a>'.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    worker = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    worker.start()
    yield f"http://127.0.0.1:{server.server_port}/simple"
    server.shutdown()
    worker.join(60)
    server.server_close()


def test_ensurepip_is_enough(tmp_path: Path) -> None:
    """Where Python carries pip nothing else is tried."""
    layout = make_checkout(tmp_path)
    runner = NotingRunner(lambda _command, _cwd: None)
    pip_wheel.bring_pip(layout, runner)
    assert len(runner.commands) == 1
    assert runner.ran("ensurepip")


def test_full_disk_is_not_taken_for_a_missing_pip(tmp_path: Path) -> None:
    """When ensurepip fails for a known cause, that cause is told and nothing else is tried."""
    full = Finished(exit_code=1, output="OSError: [Errno 28] No space left on device")
    runner = NotingRunner(lambda _command, _cwd: full)
    with pytest.raises(SetupFailedError) as caught:
        pip_wheel.bring_pip(make_checkout(tmp_path), runner)
    assert caught.value.line == DISK_FULL
    assert len(runner.commands) == 1


def test_pip_of_the_system_installs_into_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second way: pinned and hashed, through another environment's pip."""
    layout = make_checkout(tmp_path)
    monkeypatch.setattr(pip_wheel, "find_spec", lambda _name: object())
    runner = NotingRunner(lambda command, _cwd: FAILED if "ensurepip" in command else None)
    pip_wheel.bring_pip(layout, runner)
    assert runner.ran(f"pip --python {layout.python} install --no-deps --require-hashes")


def test_wheel_from_the_index_installs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third way: the fetched wheel is both the installer and what is installed."""
    layout = make_checkout(tmp_path)
    fill_environment(layout)
    monkeypatch.setattr(pip_wheel, "find_spec", lambda _name: None)
    monkeypatch.setattr(pip_wheel, "fetch", lambda _pin, _config, folder: folder / "pip.whl")
    runner = NotingRunner(lambda command, _cwd: FAILED if "ensurepip" in command else None)
    pip_wheel.bring_pip(layout, runner)
    assert runner.ran("-m pip install --no-index --no-deps")
    assert runner.environments[-1]["PYTHONPATH"].endswith("pip.whl")


def test_pin_is_read_from_the_lock(tmp_path: Path) -> None:
    """The version and the hashes stand in the lock only."""
    pin = pip_wheel.read_pin(make_checkout(tmp_path).locks / "pip.txt")
    assert pin == pip_wheel.Pin("pip-26.3-py3-none-any.whl", frozenset({"a" * 64}))


def test_lock_without_a_version(tmp_path: Path) -> None:
    """A damaged lock is said to be one."""
    with pytest.raises(SetupFailedError, match="damaged"):
        pip_wheel.read_pin(write(tmp_path / "pip.txt", "# nothing\n"))


def test_environment_rules_over_files(tmp_path: Path) -> None:
    """The order is pip's own: variables, the person's file, the system's."""
    write(tmp_path / "pip" / "pip.conf", "[global]\nindex-url = file\nfind-links = /links\n")
    environ = {
        "HOME": str(tmp_path / "nobody"),
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_CONFIG_DIRS": str(tmp_path / "none"),
        "PIP_INDEX_URL": "variable/",
        "PIP_CERT": "/ca.pem",
    }
    config = pip_wheel.read_config(environ)
    assert config.pages[0] == "variable/pip/"
    assert "/links" in config.pages
    assert config.cert == "/ca.pem"


def test_damaged_config_file_is_passed_over(tmp_path: Path) -> None:
    """pip itself will complain about it; here it names nothing."""
    write(tmp_path / "pip" / "pip.conf", "index-url before any section")
    config = pip_wheel.read_config(
        {"XDG_CONFIG_HOME": str(tmp_path), "PIP_INDEX_URL": "variable", "HOME": str(tmp_path)}
    )
    assert config.pages[0] == "variable/pip/"


def test_fetch_from_an_index(index: str, tmp_path: Path) -> None:
    """Both forms of the simple interface are understood."""
    config = pip_wheel.PipConfig((f"{index}/pip/",), "")
    assert pip_wheel.fetch(PIN, config, tmp_path).read_bytes() == WHEEL


def test_wrong_hash_is_refused(index: str, tmp_path: Path) -> None:
    """A wheel that is not the pinned one is not even stored."""
    pin = PIN._replace(hashes=frozenset({"0" * 64}))
    config = pip_wheel.PipConfig((f"{index}/pip/",), "")
    with pytest.raises(SetupFailedError) as caught:
        pip_wheel.fetch(pin, config, tmp_path)
    assert caught.value.line == WRONG_HASH
    assert not list(tmp_path.iterdir())


def test_fetch_from_a_folder(tmp_path: Path) -> None:
    """find-links may name a folder of wheels."""
    links = tmp_path / "links"
    links.mkdir()
    (links / PIN.file_name).write_bytes(WHEEL)
    config = pip_wheel.PipConfig((str(links),), "")
    assert pip_wheel.fetch(PIN, config, tmp_path).read_bytes() == WHEEL


@pytest.mark.parametrize(
    ("pages", "line"),
    [((), pip_wheel.NO_PIP), (("http://127.0.0.1:9/pip/",), OFFLINE)],
)
def test_no_way(pages: Sequence[str], line: str, tmp_path: Path) -> None:
    """Nothing configured and nothing reachable are different things to do about."""
    with pytest.raises(SetupFailedError) as caught:
        pip_wheel.fetch(PIN, pip_wheel.PipConfig(tuple(pages), ""), tmp_path)
    assert caught.value.line == line
