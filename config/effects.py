"""When an edit of the settings counts: now, from the next session on, or after a restart. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel

from config.settings import ImpSettings, Settings


class Effect(StrEnum):
    """From when on an edit counts."""

    NOW = "now"
    """At the next message, call or click."""
    SESSION = "next session"
    """Sessions that are warm go on as they began."""
    RESTART = "restart"


SECTIONS: Final[Mapping[str, Effect]] = MappingProxyType(
    {
        "discord": Effect.NOW,
        "engine": Effect.SESSION,
        "context": Effect.SESSION,
        "sessions": Effect.RESTART,
        "limits": Effect.NOW,
        "memory": Effect.NOW,
        "box": Effect.RESTART,
        "grants": Effect.NOW,
        "web": Effect.NOW,
        "directives": Effect.NOW,
        "tasks": Effect.NOW,
        "talk": Effect.NOW,
        "files": Effect.NOW,
        "gates": Effect.NOW,
        "catch_up": Effect.NOW,
        "allow": Effect.NOW,
        "channels": Effect.NOW,
        "imps": Effect.NOW,
        "warm_up": Effect.NOW,
        "inspector": Effect.RESTART,
        "metrics": Effect.RESTART,
        "telemetry": Effect.RESTART,
        "retention": Effect.NOW,
        "log": Effect.RESTART,
    }
)
"""By section of ``org.toml``."""
KEYS: Final[Mapping[str, Effect]] = MappingProxyType(
    {
        "discord.api": Effect.RESTART,
        "discord.token": Effect.RESTART,
        "discord.bots": Effect.RESTART,
        "imps.context": Effect.SESSION,
        "imps.engine": Effect.SESSION,
    }
)
"""Keys that differ from their section."""
FILES: Final[Mapping[str, Effect]] = MappingProxyType(
    {
        "channels/<id>/channel.toml": Effect.NOW,
        "channels/<id>/purpose.md": Effect.SESSION,
        "imps/<imp>/identity.md": Effect.SESSION,
        ".env": Effect.RESTART,
    }
)
"""What is no key of ``org.toml``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One key that differs, and from when on that counts. Values are never told."""

    key: str
    effect: Effect


def changes(old: Settings, new: Settings) -> tuple[Change, ...]:
    """Compare settings key by key, in the order of the sections."""
    return tuple(_changes(old, new))


def _changes(old: Settings, new: Settings) -> Iterator[Change]:
    for section in Settings.model_fields:
        before, after = getattr(old, section), getattr(new, section)
        if before == after:
            continue
        if section == "imps":
            yield from _imps(before, after)
            continue
        keys = _keys(after)
        for key in keys:
            if getattr(before, key) != getattr(after, key):
                yield Change(key=f"{section}.{key}", effect=effect_of(section, key))
        if not keys:
            yield Change(key=section, effect=SECTIONS[section])


def _imps(before: Mapping[str, ImpSettings], after: Mapping[str, ImpSettings]) -> Iterator[Change]:
    bare = ImpSettings()
    for imp in sorted({*before, *after}):
        first, second = before.get(imp, bare), after.get(imp, bare)
        for key in ImpSettings.model_fields:
            if getattr(first, key) != getattr(second, key):
                yield Change(key=f"imps.{imp}.{key}", effect=effect_of("imps", key))


def effect_of(section: str, key: str) -> Effect:
    """Say from when on an edit of a key counts."""
    return KEYS.get(f"{section}.{key}", SECTIONS[section])


def _keys(section: object) -> tuple[str, ...]:
    if is_dataclass(section):
        return tuple(field.name for field in fields(section))
    return tuple(type(section).model_fields) if isinstance(section, BaseModel) else ()
