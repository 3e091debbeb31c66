"""What people read about themselves, and owners about all: sums of days, limits, counts; pure.

A person's text is made of that person's figures alone. Of limits that others share it tells whether
they are reached, not how far they are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from compiler.request import Role
from sessions.allowance import Standing
from sessions.memory.results import NoteState
from sessions.store.kept import MOST, KeptOfPerson
from sessions.store.usage import Spent
from sessions.usage_book import OwnUsage, WholeUsage, total_of

WIDTH: Final = 60
"""As in ``runs.forms``: what a phone shows of a code block."""
LISTED: Final = 12
"""Conversations told one by one; the rest is one line."""
NO_USAGE: Final = "Nothing was spent yet. Write to the imp, then look again."
TIERS: Final = {
    Role.OWNER: "my owner",
    Role.ADMIN: "an administrator of this server",
    Role.TRUSTED: "one of those whom my owner named",
    Role.MEMBER: "a member, like everybody",
}
_STANDING: Final = frozenset({NoteState.INFERRED, NoteState.CONFIRMED})
_MICRO: Final = 1_000_000
_LEAST: Final = 100
"""A hundredth of a cent; less is not told."""
_NAME: Final = 24
Naming = Callable[[str], str]
"""What a conversation is called, by its id."""


# --- one person


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """What is known of one person, where he asks. ``notes`` is None where memory cannot be read.

    ``notes_hint`` says why, or what may be remembered here.
    """

    role: Role
    imp: str
    answered: bool
    notes: tuple[NoteState, ...] | None
    notes_hint: str
    kept: KeptOfPerson
    usage: OwnUsage


def own_usage_text(usage: OwnUsage) -> str:
    """Tell a person what was spent on his own words, and what is left of the day."""
    lines = [
        "**What you used of my model**",
        f"Today: {_told(usage.today)}",
        f"Last 7 days: {_told(usage.week)}",
    ]
    if usage.days > 7:  # noqa: PLR2004  (a week)
        lines.append(f"Last {usage.days} days: {_told(usage.whole)}")
    return "\n".join([*lines, *_limit_lines(usage)])


def whoami_text(person: Person) -> str:
    """Tell a person who he is here, and what is kept of him, in counts."""
    answers = "I answer you here" if person.answered else "I do not answer you here"
    lines = [
        "**You, as I know you**",
        f"You are {TIERS[person.role]}. {answers}, as {person.imp.capitalize()}.",
        f"Notes about you: {_notes(person.notes)}",
        person.notes_hint,
        f"Turns of yours in the records: {_at_most(person.kept.turns)}",
        f"Your messages that I keep of this conversation: {_at_most(person.kept.messages)}",
        f"Today: {_told(person.usage.today)}",
        *_limit_lines(person.usage),
        "`/memory list` shows the notes, `/usage` more figures.",
    ]
    return "\n".join(line for line in lines if line)


def _limit_lines(usage: OwnUsage) -> list[str]:
    """Tell what is left, and what stands in the way."""
    left = _left(usage.standing)
    told = " and ".join(left) if left else "no limit is set for you"
    lines = [f"Left today: {told}"]
    if usage.refusal is not None:
        lines.append(usage.refusal.safe_message)
    elif left:
        lines.append(f"A new day begins at 00:00 ({usage.timezone}).")
    return lines


def _left(standing: Standing) -> list[str]:
    left = []
    if standing.limit_tokens:
        rest = max(0, standing.limit_tokens - standing.tokens)
        left.append(f"{rest:,} of {standing.limit_tokens:,} tokens")
    if standing.limit_micro_usd:
        rest = max(0, standing.limit_micro_usd - standing.micro_usd)
        left.append(f"{money(rest)} of {money(standing.limit_micro_usd)}")
    return left


def _told(spent: Spent) -> str:
    if not spent.calls:
        return "nothing"
    calls = "1 call" if spent.calls == 1 else f"{spent.calls:,} calls"
    parts = [f"{spent.tokens:,} tokens", calls]
    parts += [money(spent.micro_usd)] if spent.micro_usd else []
    return ", ".join(parts)


def _notes(states: Sequence[NoteState] | None) -> str:
    if states is None:
        return "I cannot tell"
    counts = Counter(_note_word(state) for state in states)
    told = [f"{counts[word]:,} {word}" for word in ("in use", "waiting for your word", "ended")]
    return ", ".join(each for each in told if not each.startswith("0 ")) or "none"


def _note_word(state: NoteState) -> str:
    if state in _STANDING:
        return "in use"
    return "waiting for your word" if state is NoteState.WAITING else "ended"


def _at_most(count: int) -> str:
    return f"more than {MOST:,}" if count > MOST else f"{count:,}"


# --- everybody, for owners


def whole_usage_text(usage: WholeUsage, name: Naming) -> str:
    """Tell all sums in three tables; days on which nothing was spent are left out."""
    if not usage.total.calls:
        return NO_USAGE
    days = [(day, spent) for day, spent in usage.days if spent.calls]
    shown, rest = usage.conversations[:LISTED], usage.conversations[LISTED:]
    conversations = [(name(channel), spent) for channel, spent in shown]
    if rest:
        conversations.append((f"{len(rest)} more", total_of(spent for _, spent in rest)))
    return "\n\n".join(
        [
            "\n".join([_head("DAY"), *_rows(days), _row("all", usage.total)]),
            "\n".join([_head("IMP"), *_rows(usage.imps)]),
            "\n".join([_head("CONVERSATION"), *_rows(conversations)]),
            "CACHED: what the provider's cache knew of the prompts.",
        ]
    )


def money(micro_usd: int) -> str:
    """US dollars, with as many digits as small sums need."""
    if not micro_usd:
        return "$0"
    if micro_usd < _LEAST:
        return "<$0.0001"
    usd = micro_usd / _MICRO
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"


def percent(share: float | None) -> str:
    """A share as percent; a dash where there is none."""
    return "-" if share is None else f"{100 * share:.1f}%"


def _head(first: str) -> str:
    return f"{first:<{_NAME}} {'CALLS':>6} {'TOKENS':>12} {'CACHED':>6} {'COST':>8}"


def _rows(named: Iterable[tuple[str, Spent]]) -> list[str]:
    return [_row(name, spent) for name, spent in named]


def _row(name: str, spent: Spent) -> str:
    short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    return (
        f"{short:<{_NAME}} {spent.calls:>6,} {spent.tokens:>12,} "
        f"{percent(spent.cache_share):>6} {money(spent.micro_usd):>8}"
    )
