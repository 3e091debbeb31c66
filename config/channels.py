"""``channels/<id>/channel.toml``: what slash commands set for one channel."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict, Unpack

from config.check import check_channel
from config.homedir import DIR_MODE, write_private
from config.layers import Layer, parse_org
from config.problems import ConfigError, Problem
from config.settings import (
    ChannelMode,
    ChannelOverlay,
    DirectiveMode,
    ReplyMode,
    ThreadMode,
    parse_snowflake,
)

CHANNELS_DIR = "channels"
CHANNEL_FILE = "channel.toml"
MAX_FILE_BYTES = 256 * 1024
"""A settings file larger than this is not one; it is refused unread."""


def channel_file(channel: str) -> str:
    """The path of a channel's file, relative to the home."""
    return f"{CHANNELS_DIR}/{channel}/{CHANNEL_FILE}"


def read_layer(home: Path, name: str) -> Layer | None:
    """Read one TOML file of the home; None when it is not there."""
    path = home / name
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return _broken(name, f"is larger than {MAX_FILE_BYTES // 1024} KiB")
        return parse_org(path.read_bytes().decode("utf-8"), name=name)
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return _broken(name, "is not UTF-8 text")
    except OSError as error:
        return _broken(name, f"cannot be read ({(error.strerror or 'error').lower()})")


def _broken(name: str, message: str) -> Layer:
    problem = Problem(file=name, line=None, key="", message=message)
    return Layer(name=name, typed=True, values={}, problems=(problem,))


def read_channel(home: Path, channel: str) -> tuple[ChannelOverlay | None, tuple[Problem, ...]]:
    """Read what slash commands set; None and no problem when they set nothing."""
    layer = read_layer(home, channel_file(channel))
    return (None, ()) if layer is None else check_channel(layer)


class ChannelKeys(TypedDict, total=False):
    """What slash commands may set; None leaves a key as it is."""

    enabled: bool | None
    mode: ChannelMode | str | None
    trusted: bool | None
    directives: DirectiveMode | str | None
    threads: ThreadMode | str | None
    replies: ReplyMode | str | None
    imp: str | None


def write_channel(
    home: Path,
    channel: str,
    **keys: Unpack[ChannelKeys],
) -> ChannelOverlay:
    """Set keys of a channel's file; those that are None stay as they are.

    A file that cannot be read is refused rather than overwritten: it holds an owner's words.

    Raises:
        ValueError: ``channel`` is no Discord id, or a value is not allowed (pydantic's subclass).
        ConfigError: the file that stands there is broken.
        OSError: it cannot be written; the old one is then unchanged.
    """
    number = parse_snowflake(channel)
    present, problems = read_channel(home, number)
    if problems:
        raise ConfigError(problems)
    changes = {key: value for key, value in keys.items() if value is not None}
    kept = (present or ChannelOverlay()).model_dump()
    overlay = ChannelOverlay.model_validate(kept | changes)
    path = home / channel_file(number)
    path.parent.mkdir(mode=DIR_MODE, parents=True, exist_ok=True)
    write_private(path, render_channel(overlay).encode())
    return overlay


def render_channel(overlay: ChannelOverlay) -> str:
    """Write an overlay as TOML; keys that say nothing are left out."""
    lines = ['# Set by slash commands. [channels."<id>"] in org.toml wins over this file.']
    for key, value in overlay.model_dump(mode="json", exclude_none=True).items():
        text = str(value).lower() if isinstance(value, bool) else f'"{value}"'
        lines.append(f"{key} = {text}")
    return "\n".join(lines) + "\n"
