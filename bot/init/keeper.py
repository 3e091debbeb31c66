"""What stands in the home, and how an answer gets there: at once, whole, only for the owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Final

from bot.init.given import Halt
from config.dotenv_edit import set_variable
from config.homedir import DIR_MODE, ensure_home, write_private
from config.layers import ENV_FILE, ORG_FILE, parse_dotenv
from config.load import Loaded, load_settings, write_channel
from config.problems import ConfigError
from config.settings import ChannelMode
from config.toml_edit import EditRefused, Value, set_keys

_IDENTITY: Final = "identity.md"
_BROKEN: Final = "Mend that first, or move the file away; then start again: python3 -m bot init"


class Keeper:
    """The home of a wizard."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self.home = home
        self.environ = environ

    def open(self) -> bool:
        """Make the home where something is missing; tell whether it is new.

        Raises:
            Halt: it cannot be made, or what stands there cannot be read.
        """
        try:
            made = ensure_home(self.home)
        except ConfigError as error:
            raise Halt(str(error)) from error
        self.load()
        return ORG_FILE in made

    def load(self) -> Loaded:
        """Read all settings anew.

        Raises:
            Halt: they are broken.
        """
        try:
            return load_settings(self.home, self.environ)
        except ConfigError as error:
            raise Halt(f"{error}\n{_BROKEN}") from error

    def secrets(self) -> Mapping[str, str]:
        """Read the variables of ``.env`` alone; nothing where it cannot be read."""
        try:
            text = (self.home / ENV_FILE).read_bytes().decode("utf-8", "replace")
        except OSError:
            return {}
        return parse_dotenv(text)[0]

    def set(self, section: str, values: Mapping[str, Value]) -> None:
        """Set keys of ``org.toml``.

        Raises:
            Halt: the file cannot be written, or its form is not understood; it is unchanged.
        """
        named = ", ".join(f"{key} = {value!r}" for key, value in values.items())
        try:
            self._change(ORG_FILE, lambda text: set_keys(text, section, values))
        except EditRefused as error:
            raise Halt(
                f"{ORG_FILE} is written in a way that I do not dare to change. Put in yourself, "
                f"in the section [{section}]: {named}. Then start again."
            ) from error

    def set_secret(self, name: str, value: str) -> None:
        """Set a variable of ``.env``.

        Raises:
            Halt: the file cannot be written, or the value is none.
        """
        try:
            self._change(ENV_FILE, lambda text: set_variable(text, name, value))
        except ValueError as error:
            raise Halt(f"{name} holds characters that cannot stand in {ENV_FILE}.") from error

    def identity_of(self, imp: str) -> str:
        """Read an imp's identity; empty where there is none, or only what came with the home."""
        path = self._identity(imp)
        try:
            text = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""
        return "" if text == _planted(imp) else text

    def set_identity(self, imp: str, text: str) -> None:
        """Write an imp's identity.

        Raises:
            Halt: it cannot be written.
        """
        path = self._identity(imp)
        try:
            path.parent.mkdir(mode=DIR_MODE, parents=True, exist_ok=True)
            write_private(path, text.encode())
        except OSError as error:
            raise self._refused(f"imps/{imp}/{_IDENTITY}", error) from error

    def set_channel(self, channel: str, mode: ChannelMode) -> None:
        """Let the imp answer in a channel, as ``/channel enable`` does.

        Raises:
            Halt: it cannot be written.
        """
        try:
            write_channel(self.home, channel, enabled=True, mode=mode)
        except OSError as error:
            raise self._refused(f"channels/{channel}", error) from error

    def _change(self, name: str, edit: Callable[[str], str]) -> None:
        path = self.home / name
        try:
            text = path.read_bytes().decode("utf-8") if path.exists() else ""
            changed = edit(text)
            if changed != text:
                write_private(path, changed.encode())
        except OSError as error:
            raise self._refused(name, error) from error

    def _refused(self, name: str, error: OSError) -> Halt:
        reason = (error.strerror or "error").lower()
        return Halt(
            f"{name} in {self.home} cannot be written ({reason}). Nothing that stood there is "
            "lost. Make room, or choose another home with --home; then start again."
        )

    def _identity(self, imp: str) -> Path:
        return self.home / "imps" / imp / _IDENTITY


def _planted(imp: str) -> str:
    source = resources.files("config") / "home" / "imps" / imp / _IDENTITY
    return source.read_text(encoding="utf-8") if source.is_file() else ""
