"""Said about house rules beside the answers: that one was taken, and that it outlives its message.

A rule is changed by what somebody says, not by what becomes of that message later: whoever edits or
deletes it is told so, once for each message.
"""

from __future__ import annotations

from typing import Final

import discord
import structlog

from bot import ingress
from bot.delivery import Delivery, Target
from compiler.errors import SafeError
from compiler.request import MessageId
from sessions.house.keeper import RuleKeeper

RULE_TAKEN: Final = "I took that as a house rule."
"""Said where the reaction that says it cannot be put."""
RULE_EDITED: Final = (
    "House rules do not follow edits: what this message changed stands as it was. `/state undo` "
    "takes back the last change, `/state show` shows what holds."
)
RULE_DELETED: Final = (
    "A message that changed the house rules was deleted; what it changed stands. `/state undo` "
    "takes back the last change, `/state show` shows what holds."
)
MAX_TOLD: Final = 1000
_log = structlog.get_logger(__name__)


class RuleNotices:
    """Tells people what became of the rules that they set."""

    def __init__(self, rules: RuleKeeper, delivery: Delivery) -> None:
        self._rules = rules
        self._delivery = delivery
        self._told: dict[int, None] = {}
        """Messages whose edit or end was answered; a later one is not told again."""

    async def taken(self, message: discord.Message, emoji: str) -> None:
        """Put a sign under a message that changed the rules, or say it in words."""
        if not await self._delivery.react(message, emoji):
            await self._delivery.notice(message, RULE_TAKEN, key="rule")

    async def stands(self, target: Target, sentence: str) -> None:
        """Say that a rule outlives the message that set it, if this one did."""
        if target.id in self._told:
            return
        try:
            if not await self._rules.changed_by(MessageId(ingress.prefixed(target.id))):
                return
        except SafeError as error:
            _log.warning("rules.unread", code=str(error.code))
            return
        if len(self._told) >= MAX_TOLD:
            self._told.clear()
        self._told[target.id] = None
        await self._delivery.notice(target, sentence, key="stands")
