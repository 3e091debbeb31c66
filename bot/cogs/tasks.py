"""``/task``: what the imp does by the clock.

Owners file and see all tasks. Other people file what ``[tasks] members`` lets them, where the imp
talks with them, and see their own in the conversation where they filed them. Where a task belongs
comes from the interaction's ids and nothing else: no option names a channel or a person (P03).
"""

from __future__ import annotations

import io
from typing import Final, Literal, TypeAlias

import discord
from discord import app_commands
from discord.ext import commands

from bot import ingress
from bot.client import InglenookBot, Interaction
from bot.follow_up import follow_up
from bot.permissions import for_everyone, is_owner
from bot.place import standing_of
from bot.tasks.texts import changed_text, filed_text, list_text, show_text
from compiler.request import ChannelId, UserId
from sessions.task_service import PERSON, Filing, TaskService, Viewer
from sessions.tasks import Task, TaskKind

Kind: TypeAlias = Literal["reminder", "prompt", "heartbeat", "research", "code"]
MAX_CONTENT: Final = 2_000
MAX_CHOICES: Final = 25
CHOICE_CHARS: Final = 100
_NO_FENCE: Final = "`\u200b``"


class TasksCog(commands.Cog, name="Tasks"):
    """The commands; ``service`` decides."""

    group = for_everyone(
        app_commands.Group(name="task", description="What I do by the clock, here.")
    )

    def __init__(self, bot: InglenookBot, *, service: TaskService) -> None:
        self._bot = bot
        self._service = service

    @property
    def _zone(self) -> str:
        return self._bot.live.current.tasks.timezone

    @group.command(name="add", description="Have me do something later, or again and again.")
    @app_commands.describe(
        text="What to remind of, or what I am to do",
        kind="A reminder is posted as it is; all else I am asked (default: reminder)",
        at="Once: 08:30, tomorrow 08:30, 2026-12-24 18:00, in 20m",
        every="Again and again: 30m, 2h, 1d",
        cron="By a cron line: 30 8 * * 1-5",
        timezone="Whose clock is meant, such as Europe/Paris",
        after="A task of this conversation that must be done first",
        repository="For a code task: its name in [tasks.repositories]",
    )
    async def add(
        self,
        interaction: Interaction,
        text: app_commands.Range[str, 1, 4000],
        *,
        kind: Kind = "reminder",
        at: str = "",
        every: str = "",
        cron: str = "",
        timezone: str = "",
        after: str = "",
        repository: str = "",
    ) -> None:
        """File a task for this conversation."""
        standing = standing_of(interaction, self._bot.live)
        await _defer(interaction)
        task = await self._service.file(
            Filing(
                kind=TaskKind(kind),
                text=text,
                imp=standing.imp,
                scope=standing.scope,
                origin=PERSON,
                at=at,
                every=every,
                cron=cron,
                zone=timezone,
                after=tuple(after.replace(",", " ").split()),
                repository=repository,
            )
        )
        await _say(interaction, filed_text(task, timezone or self._zone))

    @group.command(name="list", description="Your tasks here; the owner's list has all.")
    @app_commands.describe(everything="Those that ended, as well")
    @app_commands.rename(everything="all")
    async def list_tasks(self, interaction: Interaction, *, everything: bool = False) -> None:
        """Tell the tasks that this person may see."""
        await _defer(interaction)
        found = await self._service.listed(self._viewer(interaction), with_ended=everything)
        await _block(interaction, list_text(found, self._zone), file_name="tasks.txt")

    @group.command(name="show", description="One task, whole.")
    @app_commands.describe(task="The task's id")
    async def show(self, interaction: Interaction, task: str) -> None:
        """Tell a task."""
        await _defer(interaction)
        viewer = self._viewer(interaction)
        found = await self._service.show(task, viewer)
        result = await self._service.result(found) if viewer.is_owner else ""
        await _block(interaction, show_text(found, self._zone, result=result), file_name="task.txt")

    @group.command(name="cancel", description="End a task; a running one ends soon.")
    @app_commands.describe(task="The task's id")
    async def cancel(self, interaction: Interaction, task: str) -> None:
        """End a task."""
        await _defer(interaction)
        changed = await self._service.cancel(task, self._viewer(interaction))
        await _say(interaction, changed_text(changed, self._zone))

    @group.command(name="retry", description="Run a task again that failed or was cancelled.")
    @app_commands.describe(task="The task's id")
    async def retry(self, interaction: Interaction, task: str) -> None:
        """Queue a task again."""
        await _defer(interaction)
        changed = await self._service.retry(task, self._viewer(interaction))
        await _say(interaction, changed_text(changed, self._zone))

    @show.autocomplete("task")
    @cancel.autocomplete("task")
    @retry.autocomplete("task")
    async def complete_task(
        self, interaction: Interaction, typed: str
    ) -> list[app_commands.Choice[str]]:
        """Offer the tasks that this person may see."""
        ended = interaction.command is not None and interaction.command.name != "cancel"
        found = await self._service.listed(self._viewer(interaction), with_ended=ended)
        return [
            app_commands.Choice(name=_label(task), value=task.task_id)
            for task in found
            if task.task_id.startswith(typed.strip())
        ][:MAX_CHOICES]

    def _viewer(self, interaction: Interaction) -> Viewer:
        channel_id = interaction.channel_id
        return Viewer(
            is_owner=is_owner(interaction.user.id, self._bot.live.current),
            user_id=UserId(ingress.prefixed(interaction.user.id)),
            channel_id=None if channel_id is None else ChannelId(ingress.prefixed(channel_id)),
        )


def _label(task: Task) -> str:
    return f"{task.task_id} {task.kind.value}: {' '.join(task.text.split())}"[:CHOICE_CHARS]


async def _defer(interaction: Interaction) -> None:
    await interaction.response.defer(ephemeral=True, thinking=True)


async def _say(interaction: Interaction, text: str) -> None:
    await follow_up(interaction, text, ephemeral=True)


async def _block(interaction: Interaction, text: str, *, file_name: str) -> None:
    """Answer with a code block, or with a file where that is too long."""
    block = f"```\n{text.replace('```', _NO_FENCE)}\n```"
    if len(block) <= MAX_CONTENT:
        await follow_up(interaction, block, ephemeral=True)
        return
    file = discord.File(io.BytesIO(text.encode()), filename=file_name)
    await follow_up(interaction, "It is long, so here is a file.", file=file, ephemeral=True)
