"""``/channel``: where the imp answers, to what, and what for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final, Literal

import discord
from discord import app_commands
from discord.ext import commands

from bot.errors import Refused, answer
from bot.permissions import OWNERS_ONLY, is_owner, owner_only
from bot.views import MAX_FORM_CHARS, PurposeForm
from config.channels import CHANNELS_DIR
from config.homedir import DIR_MODE, write_private
from config.load import LiveConfig
from config.settings import (
    ChannelMode,
    ChannelSettings,
    DirectiveMode,
    ReplyMode,
    ThreadMode,
)

PURPOSE_FILE: Final = "purpose.md"
NEXT_SESSION: Final = "It counts from the next session on; `/sessions reset` begins one."
NO_CHANNEL: Final = "I do not know this kind of channel, so I have no settings for it."
DM_NEEDS_NONE: Final = "This is a direct message: owners and `[allow] users` may write here."
LONG_PURPOSE: Final = "The purpose is too long for a form. Edit the file `{file}` in the home."
MODES: Final = {
    ChannelMode.MENTION: "messages that mention me or reply to me",
    ChannelMode.ALL: "every message",
}
DIRECTIVES: Final = {
    DirectiveMode.ADDRESSED: "House rules are set here by messages to me and by `/state`.",
    DirectiveMode.COMMAND_ONLY: "House rules are set here by `/state` alone.",
    DirectiveMode.OFF: "No house rules are set here; those that stand go on to hold.",
}

NO_THREADS: Final = "I may not open any yet: give me Create Public Threads here."
THREADS: Final = {
    ThreadMode.AUTO: "I answer each question here in a thread of its own, and everything in it.",
    ThreadMode.OFF: "I answer here in the channel.",
}
HELD: Final = "Each of my answers waits here until you approve it."
NOT_HELD: Final = "I post my answers here at once."
TRUST_IS_MORE: Final = "I trust this channel, so I post my answers at once all the same."
TRUST: Final = {
    True: "I trust this channel. What you granted me goes on here without asking.",
    False: "I do not trust this channel. What has consequences waits here for an approval.",
}


@owner_only
class ChannelCog(
    commands.GroupCog, group_name="channel", group_description="Where the imp answers"
):
    """Reading and changing one channel's settings. A thread follows its channel until changed."""

    def __init__(self, live: LiveConfig) -> None:
        self._live = live

    @app_commands.command()
    async def enable(self, interaction: discord.Interaction) -> None:
        """Let the imp answer in this channel."""
        await interaction.response.defer(ephemeral=True)
        here = await self._change(interaction, enabled=True)
        told = f"From now on I answer {MODES[here.mode]} here."
        await self._tell(interaction, told if here.enabled else "I still do not answer here.")

    @app_commands.command()
    async def disable(self, interaction: discord.Interaction) -> None:
        """Stop answering in this channel."""
        await interaction.response.defer(ephemeral=True)
        here = await self._change(interaction, enabled=False)
        told = "I no longer answer here, nor keep what is said. Owners may still mention me."
        await self._tell(interaction, "I still answer here." if here.enabled else told)

    @app_commands.command()
    @app_commands.describe(mode="Which messages the imp answers in this channel")
    async def mode(self, interaction: discord.Interaction, mode: Literal["mention", "all"]) -> None:
        """Choose which messages the imp answers here."""
        await interaction.response.defer(ephemeral=True)
        here = await self._change(interaction, mode=ChannelMode(mode))
        told = f"I answer {MODES[here.mode]} here."
        await self._tell(interaction, told if here.enabled else f"Once enabled: {told}")

    @app_commands.command()
    @app_commands.describe(mode="How house rules are set in this channel")
    async def directives(
        self,
        interaction: discord.Interaction,
        mode: Literal["addressed", "command-only", "off"],
    ) -> None:
        """Choose how house rules are set here."""
        await interaction.response.defer(ephemeral=True)
        here = await self._change(interaction, directives=DirectiveMode(mode))
        await self._tell(interaction, DIRECTIVES[here.directives])

    @app_commands.command()
    @app_commands.describe(mode="Whether each question gets a thread of its own")
    async def threads(self, interaction: discord.Interaction, mode: Literal["auto", "off"]) -> None:
        """Choose whether I answer here in threads."""
        await interaction.response.defer(ephemeral=True)
        here = await self._change(interaction, threads=ThreadMode(mode))
        told = THREADS[here.threads]
        permissions = interaction.app_permissions
        if here.threads is ThreadMode.AUTO and not permissions.create_public_threads:
            told = f"{told} {NO_THREADS}"
        await self._tell(interaction, told)

    @app_commands.command()
    @app_commands.describe(mode="Whether the people here are trusted with what the imp may do")
    async def trust(self, interaction: discord.Interaction, mode: Literal["on", "off"]) -> None:
        """Choose whether this channel is trusted."""
        await interaction.response.defer(ephemeral=True)
        here = await self._change(interaction, trusted=mode == "on")
        await self._tell(interaction, TRUST[here.trusted])

    @app_commands.command()
    @app_commands.describe(mode="Whether the imp's answers wait for an approval")
    async def replies(
        self, interaction: discord.Interaction, mode: Literal["post", "gate"]
    ) -> None:
        """Choose whether my answers wait here for an approval."""
        await interaction.response.defer(ephemeral=True)
        here = await self._change(interaction, replies=ReplyMode(mode))
        told = HELD if here.holds_replies else NOT_HELD
        if here.replies is ReplyMode.GATE and here.trusted:
            told = TRUST_IS_MORE
        await self._tell(interaction, told)

    @app_commands.command()
    async def show(self, interaction: discord.Interaction) -> None:
        """Show what holds in this channel."""
        await interaction.response.defer(ephemeral=True)
        here = self._settings(interaction)
        purpose = await asyncio.to_thread(_read, self._purpose_path(interaction))
        rows = (
            ("enabled", "yes" if here.enabled else "no"),
            ("answers", "every message" if here.mode is ChannelMode.ALL else "mentions, replies"),
            ("trusted", "yes" if here.trusted else "no"),
            ("rules by", here.directives.value),
            ("threads", here.threads.value),
            ("replies", "wait for an approval" if here.holds_replies else "posted at once"),
            ("imp", here.imp),
            ("purpose", f"{len(purpose)} characters" if purpose else "none"),
        )
        table = "\n".join(f"{name:<9}{value}" for name, value in rows)
        await self._tell(interaction, f"```\n{table}\n```")

    @app_commands.command()
    @app_commands.describe(text="The new purpose; leave it out to write in a form")
    async def purpose(
        self,
        interaction: discord.Interaction,
        text: app_commands.Range[str, 1, MAX_FORM_CHARS] | None = None,
    ) -> None:
        """Write what the imp is to do in this channel."""
        if text is not None:
            await self._save_purpose(interaction, text)
            return
        path = self._purpose_path(interaction)
        present = await asyncio.to_thread(_read, path)
        if len(present) > MAX_FORM_CHARS:
            raise Refused(LONG_PURPOSE.format(file=path.relative_to(self._live.home)))
        await interaction.response.send_modal(PurposeForm(present, self._save_purpose))

    async def _save_purpose(self, interaction: discord.Interaction, text: str) -> None:
        if not is_owner(interaction.user.id, self._live.current):
            raise Refused(OWNERS_ONLY)  # an owner no more since the form was opened
        await interaction.response.defer(ephemeral=True, thinking=True)
        await asyncio.to_thread(_write, self._purpose_path(interaction), text)
        told = "This channel has a purpose now." if text.strip() else "The purpose is gone."
        await answer(interaction, f"{told} {NEXT_SESSION}")

    async def _change(
        self,
        interaction: discord.Interaction,
        *,
        enabled: bool | None = None,
        mode: ChannelMode | None = None,
        directives: DirectiveMode | None = None,
        threads: ThreadMode | None = None,
        trusted: bool | None = None,
        replies: ReplyMode | None = None,
    ) -> ChannelSettings:
        if interaction.guild_id is None:
            raise Refused(DM_NEEDS_NONE)
        await asyncio.to_thread(
            self._live.write_channel,
            _channel_of(interaction),
            enabled=enabled,
            mode=mode,
            directives=directives,
            threads=threads,
            trusted=trusted,
            replies=replies,
        )
        return self._settings(interaction)

    def _settings(self, interaction: discord.Interaction) -> ChannelSettings:
        return self._live.channel(
            _channel_of(interaction), _parent(interaction), is_dm=interaction.guild_id is None
        )

    def _purpose_path(self, interaction: discord.Interaction) -> Path:
        """Give the file of the channel; a thread shares its channel's."""
        channel = _parent(interaction) or _channel_of(interaction)
        return self._live.home / CHANNELS_DIR / channel / PURPOSE_FILE

    async def _tell(self, interaction: discord.Interaction, text: str) -> None:
        lines = [text]
        if fixed := self._live.fixed_keys(_channel_of(interaction)):
            keys = ", ".join(f"`{key}`" for key in fixed)
            lines.append(f"`org.toml` sets {keys} for this channel, and that wins.")
        if self._is_listed(interaction):
            lines.append("`[allow]` in `org.toml` lets me answer here in any case.")
        await answer(interaction, "\n".join(lines))

    def _is_listed(self, interaction: discord.Interaction) -> bool:
        allow = self._live.current.allow
        here = {_channel_of(interaction), _parent(interaction)}
        return not here.isdisjoint(allow.channels) or str(interaction.guild_id) in allow.guilds


def _channel_of(interaction: discord.Interaction) -> str:
    """Give the channel's id.

    Raises:
        Refused: the library knows no channel here, since its kind is newer than the library.
    """
    if interaction.channel_id is None:
        raise Refused(NO_CHANNEL)
    return str(interaction.channel_id)


def _parent(interaction: discord.Interaction) -> str | None:
    channel = interaction.channel
    return str(channel.parent_id) if isinstance(channel, discord.Thread) else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _write(path: Path, text: str) -> None:
    if not text.strip():
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(mode=DIR_MODE, parents=True, exist_ok=True)
    write_private(path, text.encode("utf-8", "replace"))
