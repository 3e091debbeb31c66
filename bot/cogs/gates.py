"""Gates in people's hands: the buttons of the cards, and ``/gates``.

Who decides is asked anew at each press and each command, by the platform's ids (P03). Owners see
all gates. Administrators, where the owner lets them decide, see what was asked in the server in
which they are and speak now. To everybody else, and for every other gate, the answer is that of a
gate that does not exist.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Final

import discord
import structlog
from discord import app_commands
from discord.ext import commands

from bot import ingress
from bot.buttons import Interaction
from bot.client import InglenookBot
from bot.errors import Refused, answer
from bot.follow_up import follow_up
from bot.gates import texts
from bot.gates.buttons import GateButton, Press
from bot.permissions import OWNERS_ONLY, for_everyone, is_owner
from compiler.errors import SafeError
from compiler.request import ChannelId, GuildId, MessageId, UserId
from sessions.gate_desk import Choice, GateDesk, GateUnknown
from sessions.gates import Decider, Gate, GateId, GateRefused, GateState, Tier

MAX_CONTENT: Final = 2_000
MAX_CHOICES: Final = 25
CHOICE_CHARS: Final = 100
LISTED: Final = 15
_ENDED: Final = (GateState.EXECUTED, GateState.FAILED, GateState.DENIED, GateState.EXPIRED)
_log = structlog.get_logger(__name__)


class Gates(commands.Cog, name="Gates"):
    """Shows gates and takes decisions."""

    # Discord shows it to administrators alone; who may use it is decided here.
    group = for_everyone(
        app_commands.Group(
            name="gates",
            description="What I proposed to do, and what you decide.",
            default_permissions=discord.Permissions(),
        )
    )

    def __init__(self, bot: InglenookBot, *, desk: GateDesk) -> None:
        self._bot = bot
        self._desk = desk

    async def cog_load(self) -> None:
        """Know the buttons of earlier hosts again."""
        self._bot.add_dynamic_items(GateButton)

    async def cog_unload(self) -> None:
        """Know them no longer."""
        self._bot.remove_dynamic_items(GateButton)

    @commands.Cog.listener()
    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """Take back what was asked for by a message that is gone (P13)."""
        await self._withdraw(payload.channel_id, payload.message_id)

    @commands.Cog.listener()
    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Take back what was asked for by messages that are gone."""
        for message_id in sorted(payload.message_ids):
            await self._withdraw(payload.channel_id, message_id)

    @commands.Cog.listener()
    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        """Take back what was asked for in a channel that is gone."""
        await self._withdraw(channel.id)

    @commands.Cog.listener()
    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """Take back what was asked for in a thread that is gone."""
        await self._withdraw(payload.thread_id)

    async def _withdraw(self, channel_id: int, message_id: int | None = None) -> None:
        try:
            ended = await self._desk.withdraw(
                ChannelId(ingress.prefixed(channel_id)),
                None if message_id is None else MessageId(ingress.prefixed(message_id)),
            )
        except SafeError as error:  # it goes on to wait, and whoever decides may deny it
            _log.warning("gates.not_withdrawn", code=str(error.code))
            return
        for gate in ended:
            _log.info("gate.withdrawn", gate_id=gate.gate_id)

    async def press(
        self, interaction: Interaction, press: Press, gate_id: GateId, shown_sha256: str
    ) -> None:
        """Do what a button says, as the person who pressed it."""
        if not self._may_decide_at_all(interaction):
            _log.info("gate.press_refused", gate_id=gate_id, user_id=_user_id(interaction))
            await answer(interaction, texts.NOT_YOURS)
            return
        if press is Press.DETAILS:
            await interaction.response.defer(ephemeral=True, thinking=True)
            await self._details(interaction, gate_id)
            return
        await interaction.response.defer()  # the card changes by itself, for all who see it
        choice = Choice.APPROVE if press is Press.APPROVE else Choice.DENY
        told = await self._decide(interaction, gate_id, choice, shown_sha256=shown_sha256)
        if told is not None:
            await answer(interaction, told)

    @group.command(name="list", description="What waits for a decision, and what was decided.")
    @app_commands.describe(everything="Decided ones as well")
    @app_commands.rename(everything="all")
    async def list_gates(self, interaction: Interaction, *, everything: bool = False) -> None:
        """Tell the gates that this person may decide on."""
        await self._admit(interaction)
        found = await self._seen_by(interaction, everything=everything)
        await _say(interaction, texts.list_text(found), file_name="gates.txt")

    @group.command(name="show", description="One gate, with exactly what would be done.")
    @app_commands.describe(gate="The gate's id")
    async def show(self, interaction: Interaction, gate: str) -> None:
        """Tell a gate whole, in private."""
        await self._admit(interaction)
        await self._details(interaction, GateId(gate))

    @group.command(name="approve", description="Let me do it.")
    @app_commands.describe(gate="The gate's id")
    async def approve(self, interaction: Interaction, gate: str) -> None:
        """Approve a gate by its id."""
        await self._admit(interaction)
        told = await self._decide(interaction, GateId(gate), Choice.APPROVE)
        await _say(interaction, told or f"Approved: `{gate}`.", file_name="gate.txt")

    @group.command(name="deny", description="Do not let me do it.")
    @app_commands.describe(gate="The gate's id")
    async def deny(self, interaction: Interaction, gate: str) -> None:
        """Deny a gate by its id."""
        await self._admit(interaction)
        told = await self._decide(interaction, GateId(gate), Choice.DENY)
        await _say(interaction, told or f"Denied: `{gate}`.", file_name="gate.txt")

    @show.autocomplete("gate")
    @approve.autocomplete("gate")
    @deny.autocomplete("gate")
    async def complete_gate(
        self, interaction: Interaction, typed: str
    ) -> list[app_commands.Choice[str]]:
        """Offer what waits, of what this person may decide on."""
        if not self._may_decide_at_all(interaction):
            return []
        found = await self._seen_by(interaction, everything=False)
        return [
            app_commands.Choice(
                name=f"{gate.gate_id} {texts.one_line_of(gate.intent)}"[:CHOICE_CHARS],
                value=gate.gate_id,
            )
            for gate in found
            if typed in gate.gate_id
        ][:MAX_CHOICES]

    async def _admit(self, interaction: Interaction) -> None:
        """Buy time, and turn away who decides on nothing at all."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        if not self._may_decide_at_all(interaction):
            _log.info("command.refused", user_id=_user_id(interaction))
            raise Refused(OWNERS_ONLY)

    def _may_decide_at_all(self, interaction: Interaction) -> bool:
        settings = self._bot.live.current
        if is_owner(interaction.user.id, settings):
            return True
        return settings.gates.admins_decide and _is_admin(interaction)

    def _tier(self, interaction: Interaction, gate: Gate) -> Tier:
        settings = self._bot.live.current
        if is_owner(interaction.user.id, settings):
            return Tier.OWNER
        of_here = gate.origin.guild_id is not None and gate.origin.guild_id == _guild(interaction)
        admits = settings.gates.admins_decide and of_here and not gate.origin.is_dm
        return Tier.ADMIN if admits and _is_admin(interaction) else Tier.MEMBER

    async def _known(self, interaction: Interaction, gate_id: GateId) -> Gate:
        """Give a gate that this person may know of.

        Raises:
            GateUnknown: there is none, or it is somebody else's: the same.
        """
        gate = await self._desk.get(gate_id)
        if self._tier(interaction, gate) is Tier.MEMBER:
            raise GateUnknown
        return gate

    async def _seen_by(self, interaction: Interaction, *, everything: bool) -> list[Gate]:
        store = self._desk.store
        waiting = await store.all_in(GateState.PENDING)
        ended: Iterable[Gate] = await store.latest(LISTED) if everything else ()
        found = [*waiting, *(gate for gate in ended if gate.state is not GateState.PENDING)]
        return [gate for gate in found if self._tier(interaction, gate) is not Tier.MEMBER]

    async def _decide(
        self,
        interaction: Interaction,
        gate_id: GateId,
        choice: Choice,
        *,
        shown_sha256: str | None = None,
    ) -> str | None:
        """Decide; give what there is to tell the person, None if it went as wanted."""
        try:
            gate = await self._known(interaction, gate_id)
            decider = Decider(
                user_id=UserId(_user_id(interaction)), tier=self._tier(interaction, gate)
            )
            await self._desk.decide(gate_id, decider, choice, shown_sha256=shown_sha256)
            _log.info("gate.decided", gate_id=gate_id, choice=choice.value, tier=decider.tier.value)
        except GateUnknown as unknown:
            return unknown.safe_message
        except GateRefused as refused:
            now = await self._desk.get(gate_id)
            return refused.safe_message if now.open else texts.already(now)
        return None

    async def _details(self, interaction: Interaction, gate_id: GateId) -> None:
        try:
            gate = await self._known(interaction, gate_id)
        except GateUnknown as unknown:
            await answer(interaction, unknown.safe_message)
            return
        file = discord.File(io.BytesIO(texts.details_text(gate).encode()), f"{gate_id}.txt")
        text = texts.show_text(gate)
        if len(text) > MAX_CONTENT:
            text = texts.LONG_DETAILS
        await follow_up(interaction, text, file=file, ephemeral=True)


async def _say(interaction: Interaction, text: str, *, file_name: str) -> None:
    if len(text) <= MAX_CONTENT:
        await follow_up(interaction, text, ephemeral=True)
        return
    file = discord.File(io.BytesIO(text.encode()), file_name)
    await follow_up(interaction, "It is long, so here is a file.", file=file, ephemeral=True)


def _user_id(interaction: Interaction) -> str:
    return ingress.prefixed(interaction.user.id)


def _guild(interaction: Interaction) -> GuildId | None:
    guild_id = interaction.guild_id
    return None if guild_id is None else GuildId(ingress.prefixed(guild_id))


def _is_admin(interaction: Interaction) -> bool:
    user = interaction.user
    return isinstance(user, discord.Member) and interaction.permissions.administrator
