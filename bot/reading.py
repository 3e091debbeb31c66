"""What a message of Discord's is here: whose, to which imp, and whether it is answered.

``ingress`` and ``wake`` are pure; this reads them by the settings as they are now. A person's words
in a proxy's mouth stay a person's words, of whom it is not known who he is (``proxies``).
"""

from __future__ import annotations

from dataclasses import replace

import discord

from bot import ingress
from bot.attachments import with_files
from bot.client import InglenookBot
from bot.place import place_facts, role_in, rules_of
from bot.wake import Wake, WakeFacts, decide
from compiler.request import Role
from config.load import LiveConfig
from config.settings import ChannelSettings
from sessions.inbound import InboundMessage, SeenMessage


class Reader:
    """Reads messages and places for one bot."""

    def __init__(self, bot: InglenookBot) -> None:
        self._bot = bot
        self._live: LiveConfig = bot.live

    @property
    def me(self) -> int:
        """The bot's own id; 0 before it is known."""
        return self._bot.user.id if self._bot.user else 0

    @property
    def marks(self) -> tuple[str, ...]:
        """The raw mentions of the bot."""
        return f"<@{self.me}>", f"<@!{self.me}>"

    def facts(self, message: discord.Message) -> WakeFacts:
        """Read what decides over waking; a person's words stay so in a proxy's mouth."""
        facts = ingress.facts(message, me=self.me)
        if not self.is_copy(message):
            return facts
        return replace(facts, is_bot=False, author_id="", author_role_ids=frozenset())

    def place_facts(
        self,
        channel_id: int,
        guild_id: int | None,
        user_id: int,
        user: discord.abc.User | None,
    ) -> WakeFacts:
        """Describe a message that a person would send to the imp in a place."""
        channel = self._bot.get_channel(channel_id) if guild_id is not None else None
        return place_facts(channel_id, channel, guild_id=guild_id, user_id=user_id, user=user)

    def wake(self, facts: WakeFacts) -> Wake:
        """Decide by the owner's rules for the place."""
        rules = rules_of(self._live.current, self.channel(facts), paired=self._bot.paired)
        return decide(facts, rules)

    def keeps_all(self, facts: WakeFacts) -> bool:
        """Tell whether what anybody says in this place is kept as its history."""
        chat = WakeFacts(
            message_type=0,
            author_id="",
            channel_id=facts.channel_id,
            parent_id=facts.parent_id,
            guild_id=facts.guild_id,
        )
        return facts.guild_id is not None and self.wake(chat) is not Wake.IGNORE

    def channel(self, facts: WakeFacts) -> ChannelSettings:
        """Look up the settings of a place."""
        return self._live.channel(facts.channel_id, facts.parent_id, is_dm=facts.guild_id is None)

    def role(self, user: discord.abc.User) -> Role:
        """Look up a person's tier in the owner's lists."""
        return role_in(user, self._live.current)

    def is_copy(self, message: discord.Message) -> bool:
        """Tell whether a proxy says somebody's words again."""
        proxies = self._live.current.allow.proxies
        return message.webhook_id is not None and str(message.application_id) in proxies

    def inbound(
        self, message: discord.Message, facts: WakeFacts, received_ns: int
    ) -> InboundMessage:
        """Make a turn's input of a message; of a proxy's copy it is nobody's."""
        inbound = ingress.inbound(
            message,
            imp=self.channel(facts).imp,
            role=self.role(message.author),
            me=self.me,
            received_ns=received_ns,
        )
        return ingress.of_nobody(inbound) if self.is_copy(message) else inbound

    async def with_files(self, message: discord.Message, inbound: InboundMessage) -> InboundMessage:
        """Add what a message's files say and show."""
        settings = self._live.current
        return await with_files(
            inbound,
            message,
            files=settings.files,
            api=settings.discord.api,
            sees=self._live.engine(inbound.imp).images,
        )

    def seen(self, message: discord.Message) -> SeenMessage:
        """Make an entry of the history of a message; of a proxy's copy it is nobody's."""
        seen = ingress.seen(message, role=self.role(message.author), me=self.me)
        if self.is_copy(message):
            return replace(seen, entry=replace(seen.entry, author_id=None))
        return seen
