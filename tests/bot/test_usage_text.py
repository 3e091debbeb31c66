"""What people read of themselves, and owners of all."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from bot.usage_text import (
    LISTED,
    NO_USAGE,
    TIERS,
    WIDTH,
    Person,
    money,
    own_usage_text,
    whoami_text,
    whole_usage_text,
)
from compiler.request import Role
from sessions.allowance import AllowanceErrorCode, Refusal, Standing
from sessions.memory.results import NoteState
from sessions.store.kept import MOST, KeptOfPerson
from sessions.store.usage import Spent
from sessions.usage_book import OwnUsage, WholeUsage

SPENT = Spent(tokens=12_345, micro_usd=67_800, calls=9, input_tokens=10_000, cached_tokens=8_710)
NO_LIMITS = Standing(tokens=12_345, micro_usd=67_800, limit_tokens=0, limit_micro_usd=0)
OWN = OwnUsage(
    days=30,
    today=Spent(tokens=5, calls=1),
    week=SPENT,
    whole=SPENT + SPENT,
    standing=NO_LIMITS,
    refusal=None,
    timezone="Europe/Paris",
)
PERSON = Person(
    role=Role.MEMBER,
    imp="ember",
    answered=True,
    notes=(NoteState.INFERRED, NoteState.CONFIRMED, NoteState.WAITING, NoteState.FORGOTTEN),
    notes_hint="In direct messages I keep notes about you.",
    kept=KeptOfPerson(turns=MOST + 1, messages=3),
    usage=OWN,
)


def test_sums_and_no_limit() -> None:
    text = own_usage_text(OWN)
    assert "Today: 5 tokens, 1 call\n" in text
    assert "Last 7 days: 12,345 tokens, 9 calls, $0.0678\n" in text
    assert "Last 30 days: 24,690 tokens, 18 calls, $0.1356\n" in text
    assert text.endswith("Left today: no limit is set for you")
    assert "Last 3 days" not in own_usage_text(replace(OWN, days=3))
    assert "Today: nothing\n" in own_usage_text(replace(OWN, today=Spent()))


def test_what_is_left_is_never_below_nothing() -> None:
    """A call that began below a limit may end above it."""
    standing = replace(NO_LIMITS, limit_tokens=12_000, limit_micro_usd=1_000_000)
    text = own_usage_text(replace(OWN, standing=standing))
    assert "Left today: 0 of 12,000 tokens and $0.9322 of $1.00\n" in text
    assert text.endswith("A new day begins at 00:00 (Europe/Paris).")


def test_why_there_is_no_answer_now() -> None:
    refusal = Refusal(
        code=AllowanceErrorCode.CHANNEL,
        safe_message="This channel has used up its share.",
        opens_at=datetime(2026, 11, 30, tzinfo=UTC),
    )
    assert own_usage_text(replace(OWN, refusal=refusal)).endswith(refusal.safe_message)


def test_who_one_is_and_what_is_kept() -> None:
    text = whoami_text(PERSON)
    assert "You are a member, like everybody. I answer you here, as Ember." in text
    assert "Notes about you: 2 in use, 1 waiting for your word, 1 ended\n" in text
    assert "In direct messages I keep notes about you.\n" in text
    assert "records: more than 10,000\n" in text
    assert "of this conversation: 3\n" in text
    stranger = whoami_text(replace(PERSON, answered=False, notes=(), notes_hint=""))
    assert "I do not answer you here" in stranger
    assert "Notes about you: none\n" in stranger
    assert "\n\n" not in stranger
    assert "I cannot tell" in whoami_text(replace(PERSON, notes=None))


def test_every_tier_of_a_person_has_words() -> None:
    assert set(TIERS) == set(Role) - {Role.SYSTEM}


def whole_of(conversations: int) -> WholeUsage:
    return WholeUsage(
        days=(("2026-11-28", Spent()), ("2026-11-29", SPENT), ("2026-11-30", SPENT)),
        imps=(("ember", SPENT + SPENT),),
        conversations=tuple((f"discord:{number}", SPENT) for number in range(conversations)),
    )


def test_the_owner_reads_three_tables_that_fit_a_phone() -> None:
    text = whole_usage_text(whole_of(LISTED + 3), lambda channel: f"#{channel}" + "x" * 40)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "2026-11-28" not in text
    assert "2026-11-29                    9       12,345  87.1%  $0.0678" in text
    assert "all                          18       24,690  87.1%  $0.1356" in text
    assert "3 more                       27       37,035" in text
    assert text.count("#discord:") == LISTED


def test_nothing_yet() -> None:
    empty = WholeUsage(days=(("2026-11-30", Spent()),), imps=(), conversations=())
    assert whole_usage_text(empty, str) == NO_USAGE


def test_money_of_any_size() -> None:
    assert [money(each) for each in (0, 1, 123, 999_999, 1_000_000, 12_345_678_900)] == [
        "$0",
        "<$0.0001",
        "$0.0001",
        "$1.0000",
        "$1.00",
        "$12,345.68",
    ]
