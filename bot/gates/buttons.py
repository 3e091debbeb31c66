"""The buttons of a card: what they do and to which gate stands in their ids.

So they work after a restart as before it. The hash of what the card asks for is in the id too:
what is approved is what was shown.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Final, Protocol, Self, runtime_checkable

import discord

from bot.buttons import Interaction, hand_on, laid_out
from sessions.gates import Gate, GateId
from sessions.store.outbox import CARD


class Press(StrEnum):
    """What a button does; the word stands in its id."""

    APPROVE = "approve"
    DENY = "deny"
    DETAILS = "details"


@runtime_checkable
class TakesPresses(Protocol):
    """The topic that the buttons belong to."""

    async def press(
        self, interaction: Interaction, press: Press, gate_id: GateId, shown_sha256: str
    ) -> None:
        """Do what a button says, as the person who pressed it."""


COG: Final = "Gates"
_LOOKS: Final = {
    Press.APPROVE: ("Approve", discord.ButtonStyle.success),
    Press.DENY: ("Deny", discord.ButtonStyle.danger),
    Press.DETAILS: ("Details", discord.ButtonStyle.secondary),
}
_KEY: Final = re.compile(rf"{CARD}(g-[a-z0-9]{{1,20}}):[a-z0-9]{{1,24}}:([0-9a-f]{{64}})")


class GateButton(
    discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]],
    template=r"gate:(?P<press>approve|deny|details):(?P<gate>g-[a-z0-9]{1,20}):(?P<sha>[0-9a-f]{64})",
):
    """One of the three."""

    def __init__(self, press: Press, gate_id: GateId, sha256: str) -> None:
        label, style = _LOOKS[press]
        custom_id = f"gate:{press.value}:{gate_id}:{sha256}"
        super().__init__(discord.ui.Button(label=label, style=style, custom_id=custom_id))
        self._press = press
        self._gate_id = gate_id
        self._sha256 = sha256

    @classmethod
    async def from_custom_id(
        cls, _: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
    ) -> Self:
        """Read a pressed button's id."""
        del item
        return cls(Press(match["press"]), GateId(match["gate"]), match["sha"])

    async def callback(self, interaction: Interaction) -> None:
        """Hand the press on."""
        topic = interaction.client.get_cog(COG)
        if isinstance(topic, TakesPresses):
            work = topic.press(interaction, self._press, self._gate_id, self._sha256)
            await hand_on(interaction, work)


def key_of(gate: Gate, place: str) -> str:
    """Name the parcel of a card; ``place`` tells one person's from another's and the channel's."""
    return f"{CARD}{gate.gate_id}:{place}:{gate.payload_sha256}"


def buttons_of(key: str) -> discord.ui.View | None:
    """Lay out a card's buttons from its parcel's key; None for another parcel."""
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    return laid_out(GateButton(press, GateId(match[1]), match[2]) for press in Press)
