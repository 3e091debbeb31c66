"""Using the bot's commands and buttons as a person, and waiting for what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.playground.applications.commands import CHAT_INPUT, MESSAGE_MENU, USER_MENU
from bot.playground.applications.interactions import FIRST_ANSWER_SECONDS, Desk
from bot.playground.applications.stages import Interaction, InteractionKind, Stage
from bot.playground.entities import Channel, Command, Message, Payload, User
from bot.playground.people.invocation import (
    NotOfferedError,
    component_data,
    menu_data,
    modal_data,
    slash_data,
)
from bot.playground.people.watch import WAIT_SECONDS, Watch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bot.playground.applications.bots import Application, Applications
    from bot.playground.world.state import World

NO_ANSWER = "The application did not respond"
STILL_THINKING = "The application is still thinking"
"""Both are what stands in ``InteractionResult.error``; the first is Discord's own line."""


class InteractionResult:
    """What a person has in front of them; it stays true while later follow-ups come in."""

    def __init__(self, interaction: Interaction, error: str | None) -> None:
        self.interaction = interaction
        self.error = error
        """None, or why there is no answer."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of the answer, the original first, "thinking" lines left out."""
        return tuple(m for m in self.interaction.messages if not m.loading)

    @property
    def ephemeral(self) -> bool:
        """Whether the first answer is for this person only."""
        return self.interaction.ephemeral

    @property
    def deferred(self) -> bool:
        """Whether the first answer only bought time."""
        return self.interaction.deferred

    @property
    def updated(self) -> bool:
        """Whether the pressed message itself was changed, or is silently being worked on."""
        return self.interaction.stage in {Stage.UPDATED, Stage.UPDATING}

    @property
    def modal(self) -> Payload | None:
        """The form that was opened, if one was."""
        return self.interaction.modal

    @property
    def choices(self) -> tuple[Payload, ...]:
        """The choices of an autocomplete."""
        return self.interaction.choices

    @property
    def text(self) -> str:
        """The texts of all messages, one after the other."""
        return "\n".join(message.content for message in self.messages)


class Invoking:
    """What people do with commands and components.

    Where there are several bots, ``bot`` says which is asked. Unless said it is the one of the
    direct message, and the first one elsewhere; buttons and forms lead to whoever posted them.
    """

    def __init__(self, world: World, bots: Applications, desk: Desk, watch: Watch) -> None:
        self._world = world
        self._bots = bots
        self._desk = desk
        self._watch = watch
        self.answer_seconds = FIRST_ANSWER_SECONDS
        """How long to wait for a first answer, in real seconds."""

    def commands_for(
        self, user: User | int, channel: Channel | int, *, bot: User | int | None = None
    ) -> tuple[Command, ...]:
        """Return the commands of a bot that a person's client offers in a channel."""
        where = self._world.channel(channel)
        return self._bots.asked(where, bot).registry.visible(self._world.user(user), where)

    def offers(
        self, user: User | int, channel: Channel | int
    ) -> tuple[tuple[User, tuple[Command, ...]], ...]:
        """Return what a person's client offers in a channel, by bot: two may have a ``/help``."""
        offered = (
            (bot.user, self.commands_for(user, channel, bot=bot.user)) for bot in self._bots.every()
        )
        return tuple((bot, commands) for bot, commands in offered if commands)

    async def slash(
        self,
        user: User | int,
        channel: Channel | int,
        command: str,
        /,
        *,
        force: bool = False,
        bot: User | int | None = None,
        options: Mapping[str, object] | None = None,
        timeout: float = WAIT_SECONDS,  # noqa: ASYNC109 - a test's own bound
        **more: object,
    ) -> InteractionResult:
        """Use a slash command, such as ``"runs show"``, and wait for the whole first answer.

        Args:
            user: who.
            channel: where.
            command: its name with group and subcommand.
            force: use it although this person's client would hide it.
            bot: whose command it is.
            options: option values by name, for names that are parameters here.
            timeout: how long a deferred answer may take.
            **more: option values by name.

        Raises:
            NotOfferedError: there is no such command, option or choice for this person.
        """
        values = {**(options or {}), **more}
        it = self._slash(user, channel, command, values, bot=bot, force=force)
        return await self._settled(it, timeout)

    async def autocomplete(
        self,
        user: User | int,
        channel: Channel | int,
        command: str,
        focused: str,
        value: str,
        /,
        *,
        force: bool = False,
        bot: User | int | None = None,
        **more: object,
    ) -> tuple[Payload, ...]:
        """Type into an option and return the offered choices; none when nobody answered."""
        values = {**more, focused: value}
        it = self._slash(user, channel, command, values, bot=bot, focused=focused, force=force)
        result = await self._settled(it, self.answer_seconds)
        return result.choices

    def _slash(
        self,
        user: User | int,
        channel: Channel | int,
        command: str,
        values: Mapping[str, object],
        *,
        force: bool,
        bot: User | int | None = None,
        focused: str | None = None,
    ) -> Interaction:
        who, where = self._world.user(user), self._world.channel(channel)
        asked = self._bots.asked(where, bot)
        name, *path = command.split()
        found = _command(asked, who, where, name, CHAT_INPUT, force=force)
        data = slash_data(self._world, found, path, values, where, focused=focused)
        kind = InteractionKind.COMMAND if focused is None else InteractionKind.AUTOCOMPLETE
        return self._desk.open(kind, who.id, where, data, world=asked.world)

    async def context_menu(
        self,
        user: User | int,
        target: Message | User,
        name: str,
        /,
        *,
        channel: Channel | int | None = None,
        force: bool = False,
        bot: User | int | None = None,
        timeout: float = WAIT_SECONDS,  # noqa: ASYNC109 - a test's own bound
    ) -> InteractionResult:
        """Use a context menu command on a message (or, with ``channel``, on a user)."""
        where = self._world.channel(
            target.channel_id if isinstance(target, Message) else channel or 0
        )
        kind = MESSAGE_MENU if isinstance(target, Message) else USER_MENU
        who, asked = self._world.user(user), self._bots.asked(where, bot)
        found = _command(asked, who, where, name, kind, force=force)
        data = menu_data(self._world, found, target, where)
        it = self._desk.open(InteractionKind.COMMAND, who.id, where, data, world=asked.world)
        return await self._settled(it, timeout)

    async def click(
        self,
        user: User | int,
        message: Message,
        custom_id: str,
        /,
        *,
        values: Sequence[str] | None = None,
        timeout: float = WAIT_SECONDS,  # noqa: ASYNC109 - a test's own bound
    ) -> InteractionResult:
        """Press a button, or choose ``values`` in a select."""
        who, where = self._world.user(user), self._world.channel(message.channel_id)
        if message.only_for not in {None, who.id} or not self._world.sees(where, who.id):
            raise NotOfferedError("this person does not see the message")
        data = component_data(message, custom_id, values)
        world = self._bots.asked(where, message.author_id).world
        kind = InteractionKind.COMPONENT
        it = self._desk.open(kind, who.id, where, data, source=message, world=world)
        return await self._settled(it, timeout)

    async def submit_modal(
        self,
        user: User | int,
        opened: InteractionResult,
        values: Mapping[str, str],
        /,
        *,
        timeout: float = WAIT_SECONDS,  # noqa: ASYNC109 - a test's own bound
    ) -> InteractionResult:
        """Fill in and send a form that an earlier answer opened; ``values`` by custom id."""
        if opened.modal is None:
            raise NotOfferedError("no form was opened")
        it = self._desk.open(
            InteractionKind.MODAL_SUBMIT,
            self._world.user(user).id,
            opened.interaction.channel,
            modal_data(opened.modal, values),
            source=opened.interaction.source,
            world=opened.interaction.world,
        )
        return await self._settled(it, timeout)

    async def _settled(self, it: Interaction, seconds: float) -> InteractionResult:
        self._desk.announce(it)
        try:
            await self._watch.until(
                lambda: True if it.stage is not Stage.WAITING else None,
                timeout=self.answer_seconds,
            )
        except TimeoutError:
            return InteractionResult(it, NO_ANSWER)
        if it.stage is Stage.UPDATING:  # the person sees the button come back, nothing else
            return InteractionResult(it, None)
        try:
            await self._watch.until(lambda: True if it.settled else None, timeout=seconds)
        except TimeoutError:
            return InteractionResult(it, STILL_THINKING)
        return InteractionResult(it, None)

    async def wait_for_messages(
        self,
        result: InteractionResult,
        count: int,
        *,
        timeout: float = WAIT_SECONDS,  # noqa: ASYNC109 - a test's own bound
    ) -> tuple[Message, ...]:
        """Wait until an answer has so many messages, follow-ups included."""
        return await self._watch.until(
            lambda: result.messages if len(result.messages) >= count else None,
            timeout=timeout,
        )


def _command(
    asked: Application, who: User, where: Channel, name: str, kind: int, *, force: bool
) -> Command:
    if force:
        found = asked.registry.find(where, name, kind)
    else:
        offered = asked.registry.visible(who, where)
        found = next((c for c in offered if c.name == name and c.type == kind), None)
    if found is None:
        raise NotOfferedError(f"no command {name!r} for {who.username} here")
    return found
