"""House rules as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from bot.state_text import NO_HISTORY, NO_RULES, history_text, rules_text
from compiler.directives.values import Policy
from compiler.normalize import sanitize_premise
from compiler.request import ChannelId, MessageId, UserId
from sessions.house.rules import KeptPolicy, KeptPremise, KeptRules, Origin
from sessions.store.directives import EventKind, RuleEvent

AT = "2026-11-29T20:00:00.000Z"
SAID = Origin(user_id=UserId("discord:1"), at=AT, message_id=MessageId("discord:77"))
GIVEN = Origin(user_id=UserId("discord:2"), at=AT)


def event(kind: EventKind, **more: object) -> RuleEvent:
    given: dict[str, object] = {
        "seq": 1,
        "channel_id": ChannelId("discord:9"),
        "kind": kind,
        "code": "",
        "told": "`tea` is in use.",
        "at": AT,
        "user_id": UserId("discord:1"),
        "message_id": None,
        "run_id": None,
        "undone": False,
    }
    return RuleEvent(**{**given, **more})  # type: ignore[arg-type]  # a row of mixed types


def test_rules_say_who_when_and_by_which_message() -> None:
    """Issue "Slash commands": premise, policies, who and when; used before prohibited."""
    kept = KeptRules(
        premise=KeptPremise(text="We ship on <Friday>", origin=GIVEN),
        policies=(
            KeptPolicy(item="nuts", policy=Policy.PROHIBIT, origin=SAID),
            KeptPolicy(item="tea", policy=Policy.USE, origin=SAID),
        ),
    )
    assert rules_text(kept, guild_id=5, channel_id=9) == snapshot("""\
**Premise**
- `We ship on <Friday>`, by <@2> <t:1795982400:f>
**In use**
- `tea`, by <@1> <t:1795982400:f> ([message](https://discord.com/channels/5/9/77))
**Prohibited**
- `nuts`, by <@1> <t:1795982400:f> ([message](https://discord.com/channels/5/9/77))\
""")
    assert "/channels/@me/9/77" in rules_text(kept, guild_id=None, channel_id=9)


def test_a_rule_copied_into_a_thread_links_to_its_channel() -> None:
    """Issue: a thread starts from a copy; what was said before it stands in its channel."""
    rules = (KeptPolicy(item="tea", policy=Policy.USE, origin=SAID),)
    kept = KeptRules(policies=rules)
    assert "/channels/5/9/77" in rules_text(kept, guild_id=5, channel_id=78, parent_id=9)
    assert "/channels/5/77/77" in rules_text(kept, guild_id=5, channel_id=77, parent_id=9)
    assert "/channels/5/76/77" in rules_text(kept, guild_id=5, channel_id=76, parent_id=9)


def test_nothing_is_said_in_words() -> None:
    assert rules_text(KeptRules(), guild_id=None, channel_id=9) == NO_RULES
    assert history_text(()) == NO_HISTORY


def test_an_empty_premise_is_shown_as_set() -> None:
    """DG D22."""
    kept = KeptRules(premise=KeptPremise(text="", origin=GIVEN))
    assert "(blank)" in rules_text(kept, guild_id=None, channel_id=9)


@given(st.text(min_size=1))
def test_no_premise_leaves_its_code_span(text: str) -> None:
    """DG D10: neither can hold a backtick, so markup and mentions in them stay text."""
    premise = sanitize_premise(text)
    kept = KeptRules(premise=KeptPremise(text=premise, origin=GIVEN))
    line = rules_text(kept, guild_id=None, channel_id=9).splitlines()[-1]
    assert line.count("`") in {0, 2}


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (event(EventKind.UPDATED), "<@1>: `tea` is in use."),
        (event(EventKind.UPDATED, undone=True), "<@1>: `tea` is in use. *(taken back since)*"),
        (event(EventKind.UNDONE), "<@1>: took back: `tea` is in use."),
        (event(EventKind.IMPORTED, user_id=None), "somebody: imported: `tea` is in use."),
        (
            event(EventKind.CLARIFIED, code="hidden_character", told=""),
            "<@1> was asked back; nothing changed (hidden character)",
        ),
        (
            event(EventKind.CLARIFIED, code="clarify", told=""),
            "<@1> was asked back; nothing changed",
        ),
        (
            event(EventKind.REFUSED, code="not_trusted", told=""),
            "<@1> was refused; nothing changed (not trusted)",
        ),
        (
            event(EventKind.COPIED, user_id=None, told=""),
            "This thread began with the rules of its channel.",
        ),
    ],
)
def test_every_event_has_its_line(found: RuleEvent, line: str) -> None:
    """Issue "Slash commands": ``/state history``."""
    assert history_text((found,)).endswith(line)
