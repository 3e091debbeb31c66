"""Buttons that say all they need in their ids."""

from __future__ import annotations

from unittest.mock import create_autospec

import discord

from bot.buttons import hand_on, laid_out


class Numbered(discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]], template=r"n:\d+"):
    """A button of a number."""

    def __init__(self, number: int) -> None:
        super().__init__(discord.ui.Button(label=str(number), custom_id=f"n:{number}"))


async def test_buttons_stand_in_their_order_and_keep_nothing_waiting() -> None:
    """P15: a press comes by its id, also after a restart, so no view is kept alive for it."""
    view = laid_out([Numbered(2), Numbered(1)])
    row = view.to_components()[0]["components"]
    assert [each["custom_id"] for each in row] == ["n:2", "n:1"]
    assert view.timeout is None
    assert view.is_finished()


async def test_a_press_that_fails_is_answered_without_its_cause() -> None:
    """P15, openclaw#51323: never "interaction failed", never the words of an error."""

    async def broken() -> None:
        raise ValueError("CANARY /home/ada")

    interaction = create_autospec(discord.Interaction, instance=True)
    interaction.response = create_autospec(discord.InteractionResponse, instance=True)
    interaction.response.is_done.return_value = False
    await hand_on(interaction, broken())
    (said,), kept = interaction.response.send_message.await_args
    assert "went wrong" in said
    assert "CANARY" not in said
    assert kept["ephemeral"] is True
