"""Cards: a gate shown to those who decide, from the question to what became of it.

A card goes to each owner in private and, where the owner wants it, into the channel that it is
about. It is sent through the outbox, so once; later changes are edits of that message. Which state
the cards show is in the store, so what a host did not get to is done by the next one.
"""

from __future__ import annotations

import asyncio
from typing import Final

import discord
import structlog

from bot import ingress
from bot.delivery import nonce
from bot.gates import texts
from bot.gates.buttons import key_of
from bot.gates.parts import GateParts
from bot.gates.rounds import Rounds
from bot.logs import describe
from bot.missed import Channel
from bot.sending import FAILURES, describe_failure, is_passing
from compiler.request import ChannelId, GuildId, MessageId, TurnId
from sessions.gates import EARNED, FINAL, Gate, GateState
from sessions.store.outbox import CARD, OutboxStore, Parcel

EDIT_SECONDS: Final = 60.0
RETRY_SECONDS: Final = 5.0
CHANNEL: Final = "channel"
TOLD: Final = "gate-told"
_log = structlog.get_logger(__name__)


class GateCards:
    """Keeps the cards true."""

    def __init__(self, parts: GateParts, *, outbox: OutboxStore) -> None:
        self._parts = parts
        self._outbox = outbox
        self.rounds = Rounds(self._look, unread="cards.unread")
        """Bring cards up to date."""
        self._in_hand: set[str] = set()

    async def tell_owners(self, key: str, text: str) -> None:
        """Say something to every owner, once for each key."""
        for owner in self._parts.bot.live.current.discord.owners:
            await self._to_owner(owner, f"{key}:{owner}", text)

    async def _look(self) -> None:
        found = await self._parts.desk.store.unshown()
        for gate, shown in () if self._parts.desk.closing else found:
            idle = gate.gate_id not in self._in_hand
            if idle and not (shown is GateState.APPROVED and gate.state not in FINAL):
                self._in_hand.add(gate.gate_id)
                work = self._bring(gate, shown)
                self._parts.tasks.create_task(work, name=f"card:{gate.gate_id}")

    async def _bring(self, gate: Gate, shown: GateState | None) -> None:
        """Send or edit the cards of one gate; nobody else does so meanwhile."""
        try:
            if shown is not None:
                await self._edit(gate)
            elif gate.state is GateState.PENDING:
                await self._ask(gate)
            elif gate.decided_by == EARNED and gate.state in FINAL:
                await self.tell_owners(
                    f"{TOLD}:{gate.gate_id}", texts.card_text(gate, private=True)
                )
            if shown is not None or gate.decided_by != EARNED or gate.state in FINAL:
                await self._parts.desk.store.show(gate.gate_id, gate.state)
        except FAILURES as failure:
            _log.warning("card.unshown", gate_id=gate.gate_id, failure=describe_failure(failure))
            await asyncio.sleep(RETRY_SECONDS)
        except Exception as error:  # noqa: BLE001  (one card must not end the others)
            _log.error("card.failed", gate_id=gate.gate_id, **describe(error))
            await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._in_hand.discard(gate.gate_id)

    async def _ask(self, gate: Gate) -> None:
        answer = _answer_in(gate)
        for owner in self._parts.bot.live.current.discord.owners:
            text = texts.card_text(gate, private=True)
            await self._to_owner(owner, key_of(gate, owner), text, file=answer)
        origin = gate.origin
        if not self._parts.bot.live.current.gates.card_in_channel or origin.is_dm:
            return
        if origin.channel_id is not None:
            await self._ask_in_channel(gate, origin.channel_id)

    async def _ask_in_channel(self, gate: Gate, channel_id: ChannelId) -> None:
        origin = gate.origin
        channel = self._parts.bot.get_channel(ingress.snowflake(channel_id))
        if isinstance(channel, discord.TextChannel | discord.VoiceChannel | discord.Thread):
            await self._post(
                channel,
                key_of(gate, CHANNEL),
                texts.card_text(gate, private=False),
                guild_id=origin.guild_id,
                reply_to=origin.message_id,
            )

    async def _post(
        self,
        channel: Channel,
        key: str,
        text: str,
        *,
        file: str | None = None,
        guild_id: GuildId | None = None,
        reply_to: MessageId | None = None,
    ) -> None:
        parcel = Parcel(
            key=key,
            channel_id=ChannelId(ingress.prefixed(channel.id)),
            guild_id=guild_id,
            reply_to=reply_to,
            contents=(text,),
            nonces=(nonce(TurnId(key), "card"),),
            file_text=file,
        )
        async with self._parts.threshold.inward.lane(channel.id):
            await self._parts.cross(channel)
        async with self._parts.threshold.outward.lane(channel.id):
            await self._parts.delivery.post(channel, parcel)

    async def _edit(self, gate: Gate) -> None:
        for channel_id, message_id in await self._outbox.placed(f"{CARD}{gate.gate_id}:"):
            place = self._parts.bot.get_partial_messageable(ingress.snowflake(channel_id))
            card = place.get_partial_message(ingress.snowflake(message_id))
            private = channel_id != gate.origin.channel_id or gate.origin.is_dm
            try:
                async with asyncio.timeout(EDIT_SECONDS):
                    await card.edit(
                        content=texts.card_text(gate, private=private),
                        view=None,
                        allowed_mentions=discord.AllowedMentions.none(),
                    )
            except FAILURES as failure:
                if is_passing(failure):
                    raise
                _log.info("card.gone", gate_id=gate.gate_id, failure=describe_failure(failure))

    async def _to_owner(self, owner: str, key: str, text: str, *, file: str | None = None) -> None:
        """Write to one owner; one who cannot be written to keeps it from no other."""
        try:
            direct = await self._parts.bot.create_dm(discord.Object(int(owner)))
        except FAILURES as failure:
            if is_passing(failure):
                raise
            _log.warning("card.no_direct", failure=describe_failure(failure))
            return
        await self._post(direct, key, text, file=file)


def _answer_in(gate: Gate) -> str | None:
    """Give the answer that waits to be posted, for the card's file."""
    return texts.answer_of(gate) if gate.tool == texts.POST_ANSWER else None
