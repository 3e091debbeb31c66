"""The home directory and its template."""

from __future__ import annotations

import os
import stat
import tomllib
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel

from config.check import check_layers
from config.homedir import ensure_home, find_home, is_private, write_private
from config.layers import parse_org
from config.problems import ConfigError, ConfigErrorCode
from config.settings import ChannelOverlay, Settings, merge_channel


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> object:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_a_new_home_is_complete_and_the_owner_s_alone(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    made = ensure_home(home)
    assert set(made) == {"org.toml", ".env", "README.md", "imps/ember/identity.md"}
    for path in [home, *home.rglob("*")]:
        assert _mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert {"channels", "runs", "engine", "imps"} <= {path.name for path in home.iterdir()}


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    ensure_home(tmp_path)
    (tmp_path / "org.toml").write_text("# mine\n")
    (tmp_path / "README.md").unlink()
    assert ensure_home(tmp_path) == ("README.md",)
    assert (tmp_path / "org.toml").read_text() == "# mine\n"


def test_a_removed_imp_stays_removed(tmp_path: Path) -> None:
    ensure_home(tmp_path)
    (tmp_path / "imps/ember/identity.md").unlink()
    assert ensure_home(tmp_path) == ()


def test_an_existing_directory_keeps_its_mode(tmp_path: Path) -> None:
    """Its owner chose it; doctor says when it is too open."""
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o750)
    ensure_home(home)
    assert _mode(home) == 0o750
    assert not is_private(home)


def test_a_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(ConfigError) as caught:
        ensure_home(tmp_path / "home")
    assert caught.value.code is ConfigErrorCode.HOME
    assert "cannot be used as the home" in str(caught.value)


def test_where_the_home_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_home("mine", {"INGLENOOK_HOME": "/x"}) == tmp_path / "mine"
    assert find_home(None, {"INGLENOOK_HOME": "/x"}) == Path("/x")
    checkout = Path(__file__).resolve().parents[2]
    assert find_home(None, {}) == checkout / "home"


def test_an_installed_package_has_its_home_in_the_user_s_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.__file__", str(tmp_path / "lib" / "config" / "__init__.py"))
    assert find_home(None, {"XDG_DATA_HOME": "/data"}) == Path("/data/inglenook/home")
    assert find_home(None, {}) == Path("~/.local/share/inglenook/home").expanduser()


def test_a_failed_write_leaves_the_old_file_and_no_scrap(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_private(path, b"old")
    with pytest.raises(TypeError):
        write_private(path, "not bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def _template() -> str:
    return (Path(__file__).resolve().parents[2] / "config/home/org.toml").read_text()


def test_the_template_is_valid_as_it_stands() -> None:
    checked = check_layers((parse_org(_template()),))
    assert checked.problems == ()
    assert checked.settings == Settings.model_validate({"channels": {"default": {}}})


def _documented() -> dict[str, dict[str, object]]:
    """The template with its defaults uncommented: single ``# key = value`` remarks."""
    lines = []
    for line in _template().splitlines():
        bare = line.removeprefix("# ") if line.startswith("# ") and " = " in line else line
        if bare is not line and (not bare[0].isalpha() or " " in bare.split(" = ")[0]):
            bare = line
        if line.startswith("# ["):
            bare = f"[other.{line[3:].split(']')[0]}]"
        lines.append(bare.split("   ")[0])
    return tomllib.loads("\n".join(lines))


def test_the_template_documents_every_setting_with_its_default() -> None:
    """A setting that the template does not name, or names with another default, fails here."""
    documented = _documented()
    defaults = Settings()
    for section in (
        "engine",
        "context",
        "sessions",
        "limits",
        "allow",
        "warm_up",
        "log",
        "discord",
        "directives",
    ):
        model = getattr(defaults, section)
        assert isinstance(model, BaseModel) or is_dataclass(model)
        names = (
            set(type(model).model_fields)
            if isinstance(model, BaseModel)
            else {field.name for field in fields(model)}
        )
        told = set(documented[section])
        left_out = {"token", "url", "api", "key_env", "aliases", "bots"}
        assert names - told - left_out == set(), section
        for name in (names & told) - {"owners"}:
            value = getattr(model, name)
            assert documented[section][name] == (list(value) if value == () else value), name
    channel = merge_channel([], imp="ember")
    assert documented["channels"]["default"] == {
        name: getattr(channel, name) for name in ChannelOverlay.model_fields
    }
