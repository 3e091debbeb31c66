"""What an imp may do by itself, what waits for a person, what is refused: the owner's rules. Pure.

    decide(rules, call) -> Decision: allow | gate | deny, and which rule said so

Rules are asked in the order in which they stand; the first that fits decides, and where none does
the answer is no. A rule fits a call by the imp, the tool, the trust of the channel, and patterns
for the call's arguments (``*`` any characters, ``?`` one, ``[ab]`` one of these), each of which
must cover the whole of its argument. A missing argument fits no pattern.

Patterns on a command are a matter of manners, not of safety: ``git status*`` also covers
``git status; rm notes``. What a command can reach is for the box to say.

Spec: issue "Gateway of actions"; CC acceptance 19.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote

from compiler.canonical_json import JsonValue, canonical_bytes
from compiler.request import ImpName
from sessions.boxes.plan import WORKSPACE

ANY: Final = "*"
_PATHS: Final = frozenset({"path", "file", "directory"})
"""Arguments that name a place: they are compared as what they lead to, not as they are written."""
_HOME: Final = "/tmp"  # noqa: S108  (inside the box)
_SPACES: Final = dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
"""Blanks that the engine takes for the plain one."""
_AROUND_URL: Final = "".join(map(chr, range(0x21)))
_NOT_IN_URL: Final = dict.fromkeys(map(ord, "\t\n\r"))


class Verdict(StrEnum):
    """What becomes of a call."""

    ALLOW = "allow"
    GATE = "gate"
    """It waits until a person has approved it."""
    DENY = "deny"


class Trust(StrEnum):
    """In which channels a rule holds."""

    ANY = "any"
    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One rule of the owner's (``org.toml [[grants]]``)."""

    tool: str
    """A tool's name, or ``*``."""
    verdict: Verdict
    imp: str = ANY
    trust: Trust = Trust.ANY
    arguments: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Patterns by the argument's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call as the host knows it: the imp and the trust are of the turn, not of the model."""

    imp: ImpName
    tool: str
    trusted: bool
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided; ``rule`` counts the owner's rules from 0, None: none fitted."""

    verdict: Verdict
    rule: int | None


def decide(grants: Iterable[Grant], call: Call) -> Decision:
    """Judge a call by the first rule that fits; nothing granted is denied."""
    for number, grant in enumerate(grants):
        if fits(grant, call):
            return Decision(verdict=grant.verdict, rule=number)
    return Decision(verdict=Verdict.DENY, rule=None)


DEFAULT_GRANTS: Final = tuple(
    Grant(tool=tool, verdict=Verdict.ALLOW)
    for tool in (
        *("remember", "recall", "forget", "correct"),
        *("reply", "stay_silent", "check_gates"),
    )
)
"""What stands after the owner's rules: tools that do nothing beyond the conversation."""


def fits(grant: Grant, call: Call) -> bool:
    """Tell whether a rule speaks of a call."""
    return (
        grant.imp in (ANY, call.imp)
        and grant.tool in (ANY, call.tool)
        and grant.trust in (Trust.ANY, Trust.TRUSTED if call.trusted else Trust.UNTRUSTED)
        and all(_covers(pattern, name, call) for name, pattern in grant.arguments.items())
    )


def overshadowed(grants: Iterable[Grant]) -> tuple[tuple[int, int], ...]:
    """Find rules that never count, each with the earlier one that takes all its calls.

    Both count from 0. Only what is plain is found: patterns are compared as they are written.
    """
    rules = tuple(grants)
    found: list[tuple[int, int]] = []
    for number, rule in enumerate(rules):
        earlier = (place for place in range(number) if _takes_all(rules[place], rule))
        first = next(earlier, None)
        if first is not None:
            found.append((number, first))
    return tuple(found)


def _takes_all(grant: Grant, other: Grant) -> bool:
    return (
        grant.imp in (ANY, other.imp)
        and grant.tool in (ANY, other.tool)
        and grant.trust in (Trust.ANY, other.trust)
        and grant.arguments.items() <= other.arguments.items()
    )


def offered(
    grants: Iterable[Grant], tools: Iterable[str], *, imp: ImpName, trusted: bool
) -> tuple[str, ...]:
    """Say which tools an imp is shown at all: those that some call of could pass or wait.

    A tool whose every rule denies, or that no rule names, is not in the model's list. The order is
    that of ``tools``, so equal grants give an equal prefix.
    """
    rules = tuple(grants)
    return tuple(tool for tool in tools if _reachable(rules, tool, imp=imp, trusted=trusted))


def _reachable(grants: tuple[Grant, ...], tool: str, *, imp: ImpName, trusted: bool) -> bool:
    for grant in grants:
        bare = Call(imp=imp, tool=tool, trusted=trusted, arguments={})
        unconditional = not grant.arguments
        speaks = fits(grant, bare) if unconditional else fits(_without_patterns(grant), bare)
        if speaks and grant.verdict is not Verdict.DENY:
            return True
        if speaks and unconditional:
            return False
    return False


def _without_patterns(grant: Grant) -> Grant:
    return Grant(tool=grant.tool, verdict=grant.verdict, imp=grant.imp, trust=grant.trust)


def _covers(pattern: str, name: str, call: Call) -> bool:
    if name not in call.arguments:
        return False
    value = call.arguments[name]
    text = value if isinstance(value, str) else canonical_bytes(value).decode()
    if name in _PATHS:
        return fnmatchcase(_spelled(_led_to(text)), _spelled(pattern))
    return fnmatchcase(text, pattern)


def _spelled(name: str) -> str:
    """Give the one spelling of names that the engine takes for each other when it reads a file.

    Where no file has the name that was asked for, it looks for the one with a bent apostrophe or
    with its accents apart.
    """
    return unicodedata.normalize("NFC", name).replace("\u2019", "'")


def _led_to(path: str) -> str:
    """Give the place that a path leads to inside the box, as far as its words tell.

    ``/workspace/../session/x`` is not below ``/workspace``, and ``@/session/x``, ``~/../session/x``
    and ``file://localhost/session/x`` are what the engine makes of them. A link may still lead
    elsewhere; the box holds what it can reach.
    """
    plain = path.translate(_SPACES).removeprefix("@")
    if plain == "~" or plain.startswith("~/"):
        plain = _HOME + plain[1:]
    elif plain.startswith("file://"):
        plain = _led_to_by_url(plain)
    return "/" + posixpath.normpath(posixpath.join(WORKSPACE, plain)).lstrip("/")


def _led_to_by_url(url: str) -> str:
    """Give the path of a ``file:`` address as the engine's language reads such addresses.

    Blanks around it, tabs and line ends in it, a query and a fragment are not part of the path; a
    backslash is a slash; and a host, which can only be this one, is left out.
    """
    kept = url.strip(_AROUND_URL).translate(_NOT_IN_URL).replace("\\", "/")
    kept = re.split("[?#]", kept.removeprefix("file://"), maxsplit=1)[0]
    return "/" + unquote(kept.partition("/")[2])
