"""The settings of a running bot: read once, kept fresh, never worse than the last good ones.

``LiveConfig`` is read on the event loop at every message and touches no file there. Files are
looked at by ``reload_if_changed``, which ``watch`` calls in a thread once a second.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Unpack

import structlog

from compiler.budget import ContextBudgets
from config.channels import (
    CHANNELS_DIR,
    ChannelKeys,
    channel_file,
    read_channel,
    read_layer,
    write_channel,
)
from config.check import check_layers
from config.effects import Change, changes
from config.homedir import ensure_home, find_home
from config.imp_files import imp_file, imp_names, read_imps
from config.imps import all_grants
from config.layers import ENV_FILE, ORG_FILE, Layer, parse_dotenv, parse_variables
from config.problems import ConfigError, Problem
from config.settings import (
    DEFAULT_CHANNEL,
    ChannelOverlay,
    ChannelSettings,
    Settings,
    merge_channel,
    parse_snowflake,
)
from sessions.grants import Grant
from sessions.limits import EngineSettings

__all__ = [
    "ConfigError",
    "LiveConfig",
    "Problem",
    "Reload",
    "ensure_home",
    "find_home",
    "load_settings",
    "watch",
    "write_channel",
]

RELOAD_SECONDS: Final = 1.0
_OVERRIDES: Final = "command line"
_log = structlog.get_logger(__name__)
Stamp = tuple[int, int, int]
"""Modification time, size and inode: an edit changes at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Everything read at one moment."""

    settings: Settings
    channels: Mapping[str, ChannelOverlay]
    """What slash commands set, by channel id."""
    grants: tuple[Grant, ...]
    """All rules over tools, each imp's own among them."""
    variables: Mapping[str, str]
    """The environment with ``.env`` below it, for keys named by ``engine.key_env``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """What a look at changed files gave: new settings in force, or problems and the old ones."""

    applied: bool
    problems: tuple[Problem, ...] = ()


def load_settings(
    home: Path,
    environ: Mapping[str, str],
    overrides: Mapping[str, object] | None = None,
    *,
    place: Path | None = None,
) -> Loaded:
    """Read all sources of a home; ``place`` is where what slash commands set is, if elsewhere.

    ``overrides`` is the strongest layer: nested as ``org.toml`` is, for what the program decides
    itself, such as the playground's address.

    Raises:
        ConfigError: with the problems of all files together.
    """
    org = read_layer(home, ORG_FILE) or Layer(name=ORG_FILE, typed=True, values={})
    dotenv, env_layer = _read_dotenv(home)
    layers = (
        Layer(name=_OVERRIDES, typed=False, values=overrides or {}),
        parse_variables(environ),
        env_layer,
        org,
        *read_imps(home),
    )
    checked = check_layers(layers)
    channels, problems = _read_channels(place or home)
    if checked.settings is None or problems:
        raise ConfigError((*checked.problems, *problems))
    return Loaded(
        settings=checked.settings,
        channels=channels,
        grants=all_grants(checked.settings),
        variables=MappingProxyType({**dotenv, **environ}),
    )


def _read_dotenv(home: Path) -> tuple[Mapping[str, str], Layer]:
    try:
        text = (home / ENV_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, Layer(name=ENV_FILE, typed=False, values={})
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or "error").lower() if isinstance(error, OSError) else "no UTF-8"
        problem = Problem(file=ENV_FILE, line=None, key="", message=f"cannot be read ({reason})")
        return {}, Layer(name=ENV_FILE, typed=False, values={}, problems=(problem,))
    variables, lines, problems = parse_dotenv(text)
    layer = parse_variables(variables, name=ENV_FILE, lines=lines, problems=problems)
    return variables, layer


def _read_channels(home: Path) -> tuple[Mapping[str, ChannelOverlay], tuple[Problem, ...]]:
    found: dict[str, ChannelOverlay] = {}
    problems: list[Problem] = []
    for channel in _channel_ids(home):
        overlay, wrong = read_channel(home, channel)
        problems.extend(wrong)
        if overlay is not None:
            found[channel] = overlay
    return MappingProxyType(found), tuple(problems)


def _channel_ids(home: Path) -> list[str]:
    try:
        names = sorted(entry.name for entry in os.scandir(home / CHANNELS_DIR))
    except OSError:
        return []
    return [name for name in names if name.isascii() and name.isdigit()]


def _stamps(home: Path, place: Path) -> Mapping[str, Stamp]:
    shared = _stamps_of(home, [ORG_FILE, ENV_FILE, *map(imp_file, imp_names(home))])
    return {**shared, **_stamps_of(place, map(channel_file, _channel_ids(place)))}


def _stamps_of(home: Path, names: Iterable[str]) -> Mapping[str, Stamp]:
    stamps: dict[str, Stamp] = {}
    for name in names:
        try:
            info = (home / name).stat()
        except OSError:
            continue
        stamps[name] = (info.st_mtime_ns, info.st_size, info.st_ino)
    return stamps


class LiveConfig:
    """The last good settings of a home.

    Readers (``current``, ``channel``, ``budgets``) touch no file and may be called from the
    event loop; ``reload_if_changed`` and ``write_channel`` do, and belong in a thread there.
    """

    def __init__(
        self,
        home: Path,
        *,
        environ: Mapping[str, str],
        overrides: Mapping[str, object] | None = None,
        shared: Path | None = None,
    ) -> None:
        """Read all settings.

        Args:
            home: where everything is that the bot writes.
            environ: the process's environment.
            overrides: what the program decides itself, over all else.
            shared: where ``org.toml``, ``.env`` and ``imps/`` are, if not in the home.

        Raises:
            ConfigError: with every problem.
        """
        self.home = home
        self.shared = shared or home
        self._environ = MappingProxyType(dict(environ))
        self._overrides = overrides or {}
        self._lock = threading.Lock()
        self._stamps = _stamps(self.shared, home)
        self._loaded = self._load()
        self._problems: tuple[Problem, ...] = ()
        self._first = self._loaded.settings

    @property
    def current(self) -> Settings:
        """The settings in force."""
        return self._loaded.settings

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why the files as they stand now are not in force; empty when they are."""
        return self._problems

    @property
    def changes(self) -> tuple[Change, ...]:
        """What differs from the settings that the bot started with."""
        return changes(self._first, self.current)

    @property
    def environ(self) -> Mapping[str, str]:
        """The process's environment alone, as it was handed in."""
        return self._environ

    @property
    def variables(self) -> Mapping[str, str]:
        """The process's environment with the home's ``.env`` below it."""
        return self._loaded.variables

    @property
    def channel_overlays(self) -> tuple[ChannelOverlay, ...]:
        """What slash commands set, all channels."""
        return tuple(self._loaded.channels.values())

    def channel(
        self, channel: str, parent: str | None = None, *, is_dm: bool = False
    ) -> ChannelSettings:
        """Decide what holds in a channel, key by key.

        ``[channels."<id>"]`` wins over ``channel.toml``; a thread's own of both win over those of
        its ``parent``; ``[channels.default]`` comes last. Ids may carry the prefix ``discord:``.
        """
        loaded = self._loaded
        layers = [
            overlay
            for place in (channel, parent)
            if place is not None
            for source in (loaded.settings.channels, loaded.channels)
            if (overlay := source.get(parse_snowflake(place))) is not None
        ]
        default = loaded.settings.channels.get(DEFAULT_CHANNEL)
        if default is not None:
            layers.append(default)
        return merge_channel(layers, imp=loaded.settings.discord.imp, is_dm=is_dm)

    def fixed_keys(self, channel: str) -> tuple[str, ...]:
        """The keys of a channel that ``org.toml`` fixes, so that a slash command can say so."""
        overlay = self._loaded.settings.channels.get(parse_snowflake(channel))
        return tuple(overlay.model_dump(exclude_none=True)) if overlay else ()

    def budgets(self, imp: str) -> ContextBudgets:
        """The limits of an imp's context."""
        settings = self._loaded.settings
        overlay = settings.imps.get(imp)
        return settings.context if overlay is None else overlay.context

    def places_of(self, imp: str) -> tuple[str, ...]:
        """The channels that name an imp, by id, in ``org.toml`` or their own file."""
        loaded = self._loaded
        named: dict[str, str] = {}
        for source in (loaded.channels, loaded.settings.channels):  # the stronger comes last
            named.update({key: item.imp for key, item in source.items() if item.imp is not None})
        named.pop(DEFAULT_CHANNEL, None)
        return tuple(sorted(key for key, name in named.items() if name == imp))

    def engine(self, imp: str) -> EngineSettings:
        """The model behind an imp."""
        settings = self._loaded.settings
        overlay = settings.imps.get(imp)
        return settings.engine if overlay is None else overlay.engine

    @property
    def grants(self) -> tuple[Grant, ...]:
        """All rules over tools in the order in which they are asked; the same until a reload."""
        return self._loaded.grants

    def reload_if_changed(self) -> Reload | None:
        """Read the files again if one changed; a bad edit leaves the old settings in force.

        Returns:
            None when nothing changed since the last look.
        """
        with self._lock:
            stamps = _stamps(self.shared, self.home)
            if stamps == self._stamps:
                return None
            return self._reload(stamps)

    def reload(self) -> Reload:
        """Read all files again, whether they look changed or not."""
        with self._lock:
            return self._reload(_stamps(self.shared, self.home))

    def write_channel(self, channel: str, **keys: Unpack[ChannelKeys]) -> ChannelOverlay:
        """Write ``channel.toml`` and take it into force at once, whatever else is broken.

        Raises:
            ValueError: no Discord id, or a value that is not allowed.
            ConfigError: the file that stands there is broken.
            OSError: it cannot be written.
        """
        number = parse_snowflake(channel)
        with self._lock:
            overlay = write_channel(self.home, number, **keys)
            channels = MappingProxyType({**self._loaded.channels, number: overlay})
            self._loaded = replace(self._loaded, channels=channels)
            name = channel_file(number)
            self._stamps = {**self._stamps, **_stamps_of(self.home, [name])}
        return overlay

    def _load(self) -> Loaded:
        return load_settings(self.shared, self._environ, self._overrides, place=self.home)

    def _reload(self, stamps: Mapping[str, Stamp]) -> Reload:
        self._stamps = stamps
        try:
            self._loaded = self._load()
        except ConfigError as error:
            self._problems = error.problems
            return Reload(applied=False, problems=error.problems)
        self._problems = ()
        return Reload(applied=True)


async def watch(
    live: LiveConfig,
    on_reload: Callable[[Reload], None],
    *,
    every_seconds: float = RELOAD_SECONDS,
) -> None:
    """Look for changed files until cancelled; ``on_reload`` is told what came of each change."""
    while True:
        await asyncio.sleep(every_seconds)
        reload = await asyncio.to_thread(live.reload_if_changed)
        if reload is None:
            continue
        _log.info("config.reloaded", applied=reload.applied, problems=len(reload.problems))
        on_reload(reload)
