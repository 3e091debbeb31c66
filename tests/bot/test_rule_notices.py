"""What is said of house rules beside the answers."""

from __future__ import annotations

from unittest.mock import create_autospec

import discord
import pytest

from bot.delivery import Delivery
from bot.rule_notices import RULE_DELETED, RULE_EDITED, RULE_TAKEN, RuleNotices
from sessions.errors import StoreUnavailable
from sessions.house.keeper import RuleKeeper

MESSAGE = create_autospec(discord.Message, instance=True, id=500)


def notices(*, changed: bool = True, reacts: bool = True) -> tuple[RuleNotices, Delivery]:
    rules = create_autospec(RuleKeeper, instance=True)
    rules.changed_by.return_value = changed
    delivery = create_autospec(Delivery, instance=True)
    delivery.react.return_value = reacts
    return RuleNotices(rules, delivery), delivery


def said(delivery: Delivery) -> list[str]:
    return [call.args[1] for call in delivery.notice.await_args_list]  # type: ignore[attr-defined]  # a fake


@pytest.mark.parametrize(("reacts", "words"), [(True, []), (False, [RULE_TAKEN])])
async def test_a_rule_is_acknowledged_by_a_sign_or_by_words(
    *, reacts: bool, words: list[str]
) -> None:
    """Issue "In the conversation": where no reaction may be put, the person hears of it too."""
    told, delivery = notices(reacts=reacts)
    await told.taken(MESSAGE, "✅")
    assert said(delivery) == words


async def test_whoever_edits_and_deletes_hears_once_that_the_rule_stands() -> None:
    """Issue "In the conversation": a later edit or end rewrites nothing, and names the undo."""
    told, delivery = notices()
    for sentence in (RULE_EDITED, RULE_DELETED):
        await told.stands(MESSAGE, sentence)
    assert said(delivery) == [RULE_EDITED]
    assert "/state undo" in RULE_EDITED
    assert "/state undo" in RULE_DELETED


async def test_a_message_that_set_no_rule_may_be_edited_in_peace() -> None:
    told, delivery = notices(changed=False)
    await told.stands(MESSAGE, RULE_EDITED)
    assert said(delivery) == []


async def test_records_out_of_reach_end_nothing() -> None:
    """P24: whether it set a rule is not known, so nothing is claimed; the next edit asks again."""
    rules = create_autospec(RuleKeeper, instance=True)
    rules.changed_by.side_effect = [StoreUnavailable("locked"), True]
    delivery = create_autospec(Delivery, instance=True)
    told = RuleNotices(rules, delivery)
    await told.stands(MESSAGE, RULE_EDITED)
    assert said(delivery) == []
    await told.stands(MESSAGE, RULE_EDITED)
    assert said(delivery) == [RULE_EDITED]
