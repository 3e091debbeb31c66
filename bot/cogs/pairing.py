"""Strangers in direct messages: turned away, or a code for them and a decision for the owner.

Nothing of what a stranger writes is kept, shown to the owner or given to a model before he is let
in. The two buttons carry the person's id and the code, so that they work after a restart; what
they come to is decided by the store, once.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Final

import discord
import structlog
from discord.ext import commands

from bot import ingress
from bot.client import InglenookBot
from bot.delivery import Delivery
from bot.errors import answer, reply_for
from bot.permissions import OWNERS_ONLY, is_owner
from bot.sending import FAILURES, describe_failure
from compiler.errors import SafeError
from compiler.request import UserId
from sessions.clock import ALPHABET
from sessions.store.pairings import Decision, PairingStore

CODE_CHARS: Final = 6
PREFIX: Final = "pair"
NOT_YOUR_DM: Final = "I only talk with my owner in direct messages. Please find me in a server."
DECLINE_EVERY_SECONDS: Final = 600.0
"""A stranger who goes on writing is told once in a while, not every time."""
MAX_DECLINED: Final = 1000
NOT_KNOWN: Final = (
    "I do not know you yet. I asked my owner; your code is `{code}`, and it holds for one hour. "
    "What you wrote was not read."
)
LET_IN: Final = "My owner let you in. Write to me whenever you like."
ASKED: Final = "<@{user}> (id {user}) would like to talk with me here. Their code: `{code}`."
_TOLD: Final = {
    Decision.APPROVED: "<@{user}> may talk with me in direct messages now.",
    Decision.REFUSED: "<@{user}> may not talk with me in direct messages.",
    Decision.OVER: "That request is over: it was decided, or its hour has passed.",
}
_log = structlog.get_logger(__name__)


class Pairing(commands.Cog):
    """Turns away, asks and decides."""

    def __init__(self, bot: InglenookBot, *, store: PairingStore, delivery: Delivery) -> None:
        self._bot = bot
        self._store = store
        self._delivery = delivery
        self._declined: dict[int, float] = {}

    async def load(self) -> None:
        """Read who was let in.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        self._bot.paired = {_bare(user) for user in await self._store.approved()}

    async def decline(self, message: discord.Message) -> None:
        """Answer a stranger without a turn, as the owner wants it."""
        if self._bot.live.current.talk.pairing:
            await self._ask(message)
            return
        now, key = time.monotonic(), message.channel.id
        if now - self._declined.get(key, -DECLINE_EVERY_SECONDS) < DECLINE_EVERY_SECONDS:
            return
        if len(self._declined) >= MAX_DECLINED:
            self._declined.clear()
        self._declined[key] = now
        _log.info("message.declined", user_id=ingress.prefixed(message.author.id))
        await self._delivery.notice(message, NOT_YOUR_DM, key="declined")

    @commands.Cog.listener()
    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Take an owner's click, whenever it comes."""
        data: Mapping[str, object] = {**interaction.data} if interaction.data else {}
        parts = str(data.get("custom_id", "")).split(":")
        if interaction.type is not discord.InteractionType.component or parts[0] != PREFIX:
            return
        if not is_owner(interaction.user.id, self._bot.live.current):
            await answer(interaction, OWNERS_ONLY)
            return
        _, wish, user, code = parts
        await self._decide(interaction, user, code, let_in=wish == "yes")

    async def _ask(self, message: discord.Message) -> None:
        """Give a stranger a code and ask the owner, at most once an hour."""
        user_id = UserId(ingress.prefixed(message.author.id))
        code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARS))
        try:
            given = await self._store.ask(user_id, code, now_ms=_now_ms())
        except SafeError as error:
            _log.warning("pairing.unrecorded", code=str(error.code))
            return
        _log.info("pairing.asked", user_id=user_id, told=given is not None)
        if given is None or not await self._ask_owner(message.author.id, given):
            return
        await self._delivery.notice(message, NOT_KNOWN.format(code=given), key="pairing")

    async def _decide(
        self, interaction: discord.Interaction, user: str, code: str, *, let_in: bool
    ) -> None:
        user_id = UserId(ingress.prefixed(int(user)))
        try:
            done = await self._store.decide(user_id, code, let_in=let_in, now_ms=_now_ms())
        except SafeError as error:
            await answer(interaction, reply_for(error))
            return
        _log.info("pairing.decided", user_id=user_id, decision=done.value)
        if done is Decision.APPROVED:
            self._bot.paired.add(user)
        try:
            await interaction.response.edit_message(
                content=_TOLD[done].format(user=user),
                view=None,
                allowed_mentions=discord.AllowedMentions.none(),
            )
        except FAILURES as failure:  # it is decided all the same
            _log.warning("pairing.unshown", failure=describe_failure(failure))
        if done is Decision.APPROVED:
            await self._tell(int(user), LET_IN)

    async def _ask_owner(self, user: int, code: str) -> bool:
        owners = self._bot.live.current.discord.owners
        if not owners:
            return False
        view = discord.ui.View(timeout=None)
        for wish, label, style in (
            ("yes", "Let in", discord.ButtonStyle.success),
            ("no", "Refuse", discord.ButtonStyle.secondary),
        ):
            view.add_item(
                discord.ui.Button(
                    label=label, style=style, custom_id=f"{PREFIX}:{wish}:{user}:{code}"
                )
            )
        view.stop()  # the clicks come to the listener, after a restart as well
        return await self._tell(int(owners[0]), ASKED.format(user=user, code=code), view)

    async def _tell(self, user: int, text: str, view: discord.ui.View | None = None) -> bool:
        try:
            private = await self._bot.create_dm(discord.Object(user))
            await private.send(
                text,
                view=view,  # type: ignore[arg-type]  # None is the library's default
                allowed_mentions=discord.AllowedMentions.none(),
            )
        except FAILURES as failure:
            _log.warning("pairing.untold", failure=describe_failure(failure))
            return False
        return True


def _bare(user_id: UserId) -> str:
    return str(ingress.snowflake(user_id))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
