"""House rules as people read them, in Discord's markdown; pure.

Items and premises stand in code spans: neither can hold a backtick (DG 6, D10), so nothing in
them is read as markup, and mentions in them show as they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from compiler.directives.values import Policy
from sessions.clock import parse_timestamp
from sessions.house.rules import KeptRules, Origin
from sessions.house.ruling import RulingCode
from sessions.store.directives import EventKind, RuleEvent

NO_RULES: Final = (
    "No house rules here yet. Say one to me, for example `use docker`, `prohibit peanuts` or "
    "`set premise We ship on Friday`."
)
NO_HISTORY: Final = "Nothing happened to the house rules here yet."
_HEADS: Final = {Policy.USE: "**In use**", Policy.PROHIBIT: "**Prohibited**"}
_BEFELL: Final = {
    EventKind.CLARIFIED: "was asked back; nothing changed",
    EventKind.REFUSED: "was refused; nothing changed",
    EventKind.COPIED: "This thread began with the rules of its channel.",
}


def rules_text(
    kept: KeptRules, *, guild_id: int | None, channel_id: int, parent_id: int | None = None
) -> str:
    """Tell all rules with who set each, when, and by which message.

    ``parent_id`` is the channel that a thread is of.
    """
    if kept == KeptRules():
        return NO_RULES

    def address(message_id: int) -> str:
        # What is older than the thread came with the copy of its channel's rules.
        where = channel_id if parent_id is None or message_id >= channel_id else parent_id
        return f"https://discord.com/channels/{guild_id or '@me'}/{where}/{message_id}"

    lines = []
    if kept.premise is not None:
        lines += ["**Premise**", f"- {_code(kept.premise.text)}{_by(kept.premise.origin, address)}"]
    for policy in Policy:
        items = [each for each in kept.policies if each.policy is policy]
        if items:
            lines.append(_HEADS[policy])
            lines += [f"- {_code(each.item)}{_by(each.origin, address)}" for each in items]
    return "\n".join(lines)


def history_text(events: Sequence[RuleEvent]) -> str:
    """Tell what befell the rules, a line each, the newest first."""
    return "\n".join(map(_event_line, events)) or NO_HISTORY


def _event_line(event: RuleEvent) -> str:
    when = _when(event.at)
    if event.kind is EventKind.COPIED:
        return f"- {when}: {_BEFELL[event.kind]}"
    who = _who(event.user_id)
    if event.kind in _BEFELL:
        why = "" if event.code == RulingCode.CLARIFY else f" ({event.code.replace('_', ' ')})"
        return f"- {when} {who} {_BEFELL[event.kind]}{why}"
    did = {EventKind.UNDONE: "took back: ", EventKind.IMPORTED: "imported: "}.get(event.kind, "")
    undone = " *(taken back since)*" if event.undone else ""
    return f"- {when} {who}: {did}{event.told}{undone}"


def _by(origin: Origin, address: Callable[[int], str]) -> str:
    who = f", by {_who(origin.user_id)} {_when(origin.at)}"
    if origin.message_id is None:
        return who
    return f"{who} ([message]({address(int(origin.message_id.rpartition(':')[2]))}))"


def _who(user_id: str | None) -> str:
    return "somebody" if user_id is None else f"<@{user_id.rpartition(':')[2]}>"


def _when(at: str) -> str:
    return f"<t:{int(parse_timestamp(at).timestamp())}:f>"


def _code(text: str) -> str:
    return f"`{text}`" if text.strip() else "(blank)"
