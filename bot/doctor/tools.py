"""Which tools the imp has, which wait for a person, and why it has no others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bot.doctor.results import Check, ok
from compiler.request import ImpName
from config.imps import all_grants
from config.settings import Settings
from sessions.gateway import floor
from sessions.grants import ANY, DEFAULT_GRANTS, Decision, Grant, Trust, Verdict
from sessions.tools.table import BUILTIN_NAMES, MEMORY_TOOLS, TOOL_NAMES, deed_of

_NAME: Final = "Tools"
NO_RULE: Final = "no rule of [[grants]]"
NO_BOX: Final = "no box to run in"
NO_HOSTS: Final = "no [web] hosts"
NO_MEMORY: Final = "[memory] is off"
NO_REPLIES: Final = "[talk] reply_messages is 0"


def judge_tools(settings: Settings, *, boxed: bool) -> Check:
    """Tell what the imp of ``[discord]`` may do.

    Args:
        settings: the owner's.
        boxed: whether the engine's own tools have something to run in.
    """
    imp = ImpName(settings.discord.imp)
    rules = (*all_grants(settings), *DEFAULT_GRANTS)
    missing = {tool: _missing(tool, settings, boxed=boxed) for tool in TOOL_NAMES}
    alone: list[str] = []
    trusted_alone: list[str] = []
    asking: list[str] = []
    for tool in TOOL_NAMES:
        if missing[tool]:
            continue
        here = _best(rules, tool, imp, trusted=False)
        there = _best(rules, tool, imp, trusted=True)
        if here is Verdict.ALLOW:
            alone.append(tool)
        elif there is Verdict.ALLOW:
            trusted_alone.append(tool)
        if Verdict.GATE in (here, there):
            asking.append(tool)
        if here is None and there is None:
            missing[tool] = NO_RULE
    told = [
        f"{imp} uses {', '.join(alone) or 'none'}",
        *_part("in trusted channels also", trusted_alone),
        *_part("asks a person before", asking),
        *_lacks(missing),
    ]
    return ok(_NAME, "; ".join(told))


def _part(words: str, tools: Sequence[str]) -> Iterable[str]:
    if tools:
        yield f"{words} {', '.join(tools)}"


def _lacks(missing: dict[str, str]) -> Iterable[str]:
    for reason in dict.fromkeys(filter(None, missing.values())):
        tools = [tool for tool, why in missing.items() if why == reason]
        yield f"not {', '.join(tools)} ({reason})"


def _missing(tool: str, settings: Settings, *, boxed: bool) -> str:
    """Say what else than a rule is missing for a tool; empty if nothing is."""
    if tool in BUILTIN_NAMES and not boxed:
        return NO_BOX
    if tool in {each.name for each in MEMORY_TOOLS} and not settings.memory.enabled:
        return NO_MEMORY
    if tool == "web_fetch" and not settings.web.hosts:
        return NO_HOSTS
    if tool == "reply" and not settings.talk.reply_messages:
        return NO_REPLIES
    return ""


def _best(rules: Iterable[Grant], tool: str, imp: ImpName, *, trusted: bool) -> Verdict | None:
    """Give the best that some call of a tool can get; None: none is let through."""
    place, best = Trust.TRUSTED if trusted else Trust.UNTRUSTED, None
    for grant in rules:
        if grant.imp not in (ANY, imp) or grant.tool not in (ANY, tool):
            continue
        if grant.trust not in (Trust.ANY, place):
            continue
        decision = Decision(verdict=grant.verdict, rule=None)
        verdict = floor(decision, grant, deed_of(tool), trusted=trusted)
        if verdict is Verdict.ALLOW:
            return verdict
        if verdict is Verdict.GATE and deed_of(tool) is not None:
            best = verdict
        if not grant.arguments:
            return best
    return best
