"""Bounds and relations between settings that their types cannot say.

Pure: settings in, findings out. Each finding names the keys it speaks of, the one to mend first.
What each section must hold is in ``config.rules``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, replace

from compiler.normalize import normalize_item
from config.findings import Finding, Path
from config.rules import bounds, doors, keeping, talk, work
from config.rules.context import check_context
from config.rules.engine import check_engine
from config.rules.grants import check_grants
from config.rules.web import check_web
from config.settings import ImpSettings, Settings
from sessions.house.rules import DirectiveSettings
from sessions.limits import EngineSettings, SessionLimits, UsageLimits
from sessions.tools.table import TOOL_NAMES

_EMOJI = re.compile(r"<a?:\w{2,32}:\d{1,20}>|[^\s<>:]{1,16}")


def find_incoherent(settings: Settings) -> tuple[Finding, ...]:
    """Check every bound and relation; all findings at once, in the order of the sections."""
    return tuple(_findings(settings))


def _findings(settings: Settings) -> Iterator[Finding]:
    yield from doors.check_discord(settings.discord)
    yield from check_engine(settings.engine)
    yield from check_context(("context",), settings.context)
    yield from _sessions(settings.sessions)
    yield from _directives(settings.directives)
    yield from work.check_tasks(settings.tasks)
    yield from talk.check_talk(settings.talk)
    yield from talk.check_files(settings.files)
    yield from work.check_gates(settings.gates)
    yield from keeping.check_catch_up(settings.catch_up)
    yield from _limits(settings.limits)
    yield from keeping.check_memory(settings.memory)
    yield from work.check_box(settings.box)
    yield from doors.check_inspector(settings.inspector)
    yield from doors.check_metrics(settings.metrics)
    yield from doors.check_telemetry(settings.telemetry)
    yield from keeping.check_retention(settings.retention, catch_up=settings.catch_up)
    yield from check_grants(settings.grants)
    yield from check_web(settings.web, tool_seconds=settings.memory.tool_seconds)
    for imp, overlay in settings.imps.items():
        yield from _imp(("imps", imp), overlay, settings.engine)


def _imp(place: Path, overlay: ImpSettings, general: EngineSettings) -> Iterator[Finding]:
    yield from check_context((*place, "context"), overlay.context)
    for finding in (*check_engine(overlay.engine), *check_grants(overlay.grants)):
        yield replace(finding, paths=tuple((*place, *path) for path in finding.paths))
    if overlay.engine.is_embedded and not general.is_embedded:
        yield Finding(
            paths=((*place, "engine", "provider"),),
            message="the embedded model starts only if it is the one of [engine]",
        )
    for tool in overlay.connections or ():
        if tool not in TOOL_NAMES:
            yield Finding(
                paths=((*place, "connections"),),
                message=f"holds {tool!r}, which is no tool",
                hint=f"Tools are {', '.join(TOOL_NAMES)}.",
            )


def _sessions(limits: SessionLimits) -> Iterator[Finding]:
    for limit in fields(limits):
        value = getattr(limits, limit.name)
        path = ("sessions", limit.name)
        if isinstance(value, bool):
            continue
        if limit.name.endswith("_seconds"):
            yield from bounds.seconds(path, value)
        elif limit.name.endswith("_percent"):
            yield from bounds.between(path, value, 1, 100)
        else:
            yield from bounds.at_least(path, value, 1)


def _directives(directives: DirectiveSettings) -> Iterator[Finding]:
    if not _EMOJI.fullmatch(directives.emoji):
        yield Finding(
            paths=(("directives", "emoji"),),
            message="must be one emoji",
            hint='For example "✅", or a server\'s own as "<:name:123456789012345678>".',
        )
    for item, tool in directives.aliases.items():
        if not normalize_item(item) or not normalize_item(tool):
            yield Finding(
                paths=(("directives", "aliases", item),), message="must name an item and a tool"
            )


def _limits(limits: UsageLimits) -> Iterator[Finding]:
    for limit in fields(limits):
        value = getattr(limits, limit.name)
        if isinstance(value, int | float):
            path = ("limits", limit.name)
            yield from bounds.not_negative(path, value, hint="0 sets no limit.")
    yield from bounds.time_zone(("limits", "timezone"), limits.timezone)
