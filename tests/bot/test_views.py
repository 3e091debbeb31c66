"""Forms."""

from __future__ import annotations

import discord

from bot.views import MAX_FORM_CHARS, PurposeForm


async def test_the_purpose_form_starts_from_the_present_text() -> None:
    """An edit begins with what is there; an empty text is allowed and means none."""

    async def save(_interaction: discord.Interaction, _text: str) -> None: ...

    form = PurposeForm("Talk of tea.", save)
    assert form.purpose.default == "Talk of tea."
    assert not form.purpose.required
    assert form.purpose.max_length == MAX_FORM_CHARS
    assert PurposeForm("", save).purpose.default == ""
