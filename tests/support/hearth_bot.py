"""A small bot with one of everything that a chat page can show."""

from __future__ import annotations

import io

import discord
from discord import app_commands

from support.playground_bot import SmallBot

TITLES = ("Embers", "Ashes", "Smoke")
NOBODY = discord.AllowedMentions.none()


class Question(discord.ui.Modal, title="A question"):
    what: discord.ui.TextInput[Question] = discord.ui.TextInput(
        label="What is it about?", custom_id="what"
    )

    async def on_submit(self, interaction: discord.Interaction) -> None:
        await interaction.response.send_message(f"You asked about {self.what}.")


class Choice(discord.ui.View):
    @discord.ui.button(label="Light the fire", custom_id="light")
    async def light(self, interaction: discord.Interaction, _: discord.ui.Button[Choice]) -> None:
        await interaction.response.send_message("Lit.", ephemeral=True)

    @discord.ui.button(label="Ask me", custom_id="ask")
    async def ask(self, interaction: discord.Interaction, _: discord.ui.Button[Choice]) -> None:
        await interaction.response.send_modal(Question())

    @discord.ui.select(
        custom_id="drink",
        options=[discord.SelectOption(label=one, value=one) for one in ("tea", "coffee")],
    )
    async def drink(
        self, interaction: discord.Interaction, select: discord.ui.Select[Choice]
    ) -> None:
        await interaction.response.send_message(f"{select.values[0]} it is.")


@app_commands.command(description="Put the kettle on")
@app_commands.describe(cups="How many; none asks", who="For whom")
async def kettle(
    interaction: discord.Interaction, cups: int = 1, who: discord.User | None = None
) -> None:
    if not cups:
        await interaction.response.send_message("Here is a choice.", view=Choice())
        return
    text = f"{cups} cups for {who.mention if who else 'you'}"
    await interaction.response.send_message(text, allowed_mentions=NOBODY)


@app_commands.command(description="Say nothing at all")
async def slumber(_: discord.Interaction) -> None:
    """Leave the person without an answer."""


@app_commands.default_permissions()
class Books(app_commands.Group, name="books", description="The shelf"):
    @app_commands.command(description="Open a book")
    @app_commands.describe(title="Which one")
    async def show(self, interaction: discord.Interaction, title: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        pages = "".join(f"line {number} of {title}\n" for number in range(1, 31))
        file = discord.File(io.BytesIO(pages.encode()), "pages.txt")
        await interaction.edit_original_response(
            content=f"### {title}\nThirty lines.", attachments=[file]
        )

    @show.autocomplete("title")
    async def titles(self, _: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        found = [title for title in TITLES if title.lower().startswith(typed.lower())]
        return [app_commands.Choice(name=title, value=title) for title in found]


@app_commands.context_menu(name="Why this answer?")
@app_commands.default_permissions()
async def why(interaction: discord.Interaction, message: discord.Message) -> None:
    await interaction.response.send_message(f"Because of {message.id}.", ephemeral=True)


async def answer(message: discord.Message) -> None:
    """Answer in DMs and when mentioned, typing first, as the real one does."""
    mine = message.guild is None or any(user.bot for user in message.mentions)
    if mine:
        async with message.channel.typing():
            await message.reply(f"You said: {message.content}", allowed_mentions=NOBODY)


class HearthBot(SmallBot):
    """The bot; its commands are registered at the start."""

    def __init__(self) -> None:
        super().__init__(answer)
        self.tree.add_command(kettle)
        self.tree.add_command(slumber)
        self.tree.add_command(Books())
        self.tree.add_command(why)

    async def setup_hook(self) -> None:
        await self.tree.sync()
