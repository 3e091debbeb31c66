"""What a rule of ``[[grants]]`` must be so that it can ever count. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from config.findings import Finding, Path
from sessions.grants import ANY, Grant, Verdict
from sessions.tools.table import TOOL_NAMES, arguments_of, deed_of

_IMP = re.compile(r"\*|[a-z0-9][a-z0-9_-]{0,31}")


def check_grants(grants: Iterable[Grant]) -> Iterator[Finding]:
    """Find rules that hold nothing: they must not look as if they did."""
    for number, grant in enumerate(grants):
        yield from _grant(("grants", number), grant)


def _grant(path: Path, grant: Grant) -> Iterator[Finding]:
    if grant.tool != ANY and grant.tool not in TOOL_NAMES:
        close = get_close_matches(grant.tool, TOOL_NAMES, n=1)
        yield Finding(
            paths=((*path, "tool"),),
            message='is no tool; "*" stands for all of them',
            hint=f'Did you mean "{close[0]}"?' if close else f"Tools are {', '.join(TOOL_NAMES)}.",
        )
        return
    if not _IMP.fullmatch(grant.imp):
        yield Finding(paths=((*path, "imp"),), message='must be an imp\'s name, or "*" for all')
    if grant.tool == ANY:
        return
    if grant.verdict is Verdict.GATE and deed_of(grant.tool) is None:
        yield Finding(
            paths=((*path, "verdict"), (*path, "tool")),
            message=f'must be "allow" or "deny": a call of {grant.tool} cannot wait',
        )
    known = arguments_of(grant.tool)
    for name in grant.arguments:
        if known and name not in known:
            yield Finding(
                paths=((*path, "arguments", name),),
                message=f"is no argument of {grant.tool}, so the rule would never count",
                hint=f"Its arguments are {', '.join(known)}.",
            )
