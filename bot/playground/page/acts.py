"""What people do on the chat page, carried out in the playground.

Each act is a small form (pydantic: it comes from a browser) and a coroutine. Ids travel as text,
since a browser's numbers are too short for them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from bot.playground.errors import refusal
from bot.playground.people.invoking import NO_ANSWER, InteractionResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from bot.playground.entities import Channel, Message, Payload, Upload, User
    from bot.playground.server import Playground

OPEN_FORMS = 50
"""How many forms that the bot opened are remembered until they are sent."""

Id = Annotated[int, Field(ge=0, lt=1 << 63)]


class Form(BaseModel):
    """What every act says: who does it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    who: Id = Field(alias="as")


class InChannel(Form):
    """An act in a conversation."""

    channel: Id


class OnMessage(InChannel):
    """An act on a message."""

    message: Id


class Say(InChannel):
    """A new message."""

    content: str
    reply_to: Id | None = None


class Edit(OnMessage):
    """New words for an own message."""

    content: str


class React(OnMessage):
    """A reaction, set or taken away."""

    emoji: str


class NewThread(OnMessage):
    """A thread on a message."""

    name: Annotated[str, Field(min_length=1, max_length=100)]


class Use(InChannel):
    """A slash command; ``files`` are the options that the uploads fill, in order."""

    application: Id | None = None
    """Whose command it is: the id that came with it. Without one, as ``Invoking`` says."""
    name: str
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    files: tuple[str, ...] = ()


class Complete(InChannel):
    """Choices wanted for the option that is being typed."""

    application: Id | None = None
    name: str
    focused: str
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)


class Click(OnMessage):
    """A button pressed, or values chosen in a select."""

    custom_id: str
    values: tuple[str, ...] | None = None


class UseOn(OnMessage):
    """An entry of a message's menu."""

    application: Id | None = None
    name: str


class Fill(Form):
    """A form of the bot, filled in."""

    interaction: Id
    values: dict[str, str | list[str]] = Field(default_factory=dict)


class Acts:
    """All acts by the name under which the page asks for them."""

    def __init__(self, playground: Playground) -> None:
        self._pg = playground
        self._forms: OrderedDict[int, InteractionResult] = OrderedDict()
        self._table: Mapping[str, tuple[type[Form], Callable[..., Awaitable[Payload]]]] = {
            "say": (Say, self._say),
            "edit": (Edit, self._edit),
            "delete": (OnMessage, self._delete),
            "dismiss": (OnMessage, self._dismiss),
            "react": (React, self._react),
            "unreact": (React, self._unreact),
            "typing": (InChannel, self._typing),
            "thread": (NewThread, self._thread),
            "slash": (Use, self._slash),
            "autocomplete": (Complete, self._autocomplete),
            "click": (Click, self._click),
            "context": (UseOn, self._context),
            "modal": (Fill, self._modal),
        }

    @property
    def names(self) -> tuple[str, ...]:
        """What can be asked for."""
        return tuple(self._table)

    async def carry_out(self, name: str, raw: object, files: Sequence[Upload]) -> Payload:
        """Do what a page asks for and give the answer to it.

        Raises:
            ApiError: what Discord refuses.
            NotOfferedError: what a client would not offer.
            pydantic.ValidationError: the form is not one of ours.
        """
        model, act = self._table[name]
        return await act(model.model_validate(raw), files)

    # Looking up, as one person sees it

    def person(self, who: int) -> User:
        """Give the person who sits at the page; nobody sits there as the bot."""
        user = self._pg.world.user(who)
        if user.bot:
            raise refusal(10013)
        return user

    def channel(self, who: int, channel_id: int) -> Channel:
        """Give a conversation that this person sees, or refuse as Discord does."""
        channel = self._pg.world.channel(channel_id)
        self._pg.world.require(channel, self.person(who).id)
        return channel

    def _message(self, form: OnMessage) -> Message:
        channel = self.channel(form.who, form.channel)
        whisper = self._pg.world.ephemerals.get(form.message)
        if whisper is not None and whisper.only_for == form.who:
            return whisper
        return self._pg.world.message(channel, form.message)

    # Messages

    async def _say(self, form: Say, files: Sequence[Upload]) -> Payload:
        channel = self.channel(form.who, form.channel)
        message = await self._pg.say(
            form.who, channel, form.content, reply_to=form.reply_to, attachments=files
        )
        return {"message": str(message.id)}

    async def _edit(self, form: Edit, _: Sequence[Upload]) -> Payload:
        await self._pg.edit(form.who, self._message(form), form.content)
        return {}

    async def _delete(self, form: OnMessage, _: Sequence[Upload]) -> Payload:
        await self._pg.delete(form.who, self._message(form))
        return {}

    async def _dismiss(self, form: OnMessage, _: Sequence[Upload]) -> Payload:
        message = self._message(form)
        if message.only_for != form.who:
            raise refusal(50013)
        await self._pg.delete(form.who, message)
        return {}

    async def _react(self, form: React, _: Sequence[Upload]) -> Payload:
        await self._pg.react(form.who, self._message(form), form.emoji)
        return {}

    async def _unreact(self, form: React, _: Sequence[Upload]) -> Payload:
        await self._pg.unreact(form.who, self._message(form), form.emoji)
        return {}

    async def _typing(self, form: InChannel, _: Sequence[Upload]) -> Payload:
        await self._pg.typing(form.who, self.channel(form.who, form.channel))
        return {}

    async def _thread(self, form: NewThread, _: Sequence[Upload]) -> Payload:
        message = self._message(form)
        thread = await self._pg.create_thread(
            form.who, message.channel_id, form.name, message=message
        )
        return {"channel": str(thread.id)}

    # Commands, buttons, forms

    async def _slash(self, form: Use, files: Sequence[Upload]) -> Payload:
        channel = self.channel(form.who, form.channel)
        options: dict[str, object] = {**form.options, **dict(zip(form.files, files, strict=True))}
        result = await self._pg.slash(
            form.who, channel, form.name, bot=form.application, options=options
        )
        return self._told(result)

    async def _autocomplete(self, form: Complete, _: Sequence[Upload]) -> Payload:
        channel = self.channel(form.who, form.channel)
        others = {key: value for key, value in form.options.items() if key != form.focused}
        typed = str(form.options.get(form.focused, ""))
        choices = await self._pg.autocomplete(
            *(form.who, channel, form.name, form.focused, typed),
            bot=form.application,
            **others,  # type: ignore[arg-type]  # option values; its keyword "force" is for tests
        )
        return {"choices": list(choices)}

    async def _click(self, form: Click, _: Sequence[Upload]) -> Payload:
        message = self._message(form)
        return self._told(
            await self._pg.click(form.who, message, form.custom_id, values=form.values)
        )

    async def _context(self, form: UseOn, _: Sequence[Upload]) -> Payload:
        result = await self._pg.context_menu(
            form.who, self._message(form), form.name, bot=form.application
        )
        return self._told(result)

    async def _modal(self, form: Fill, _: Sequence[Upload]) -> Payload:
        opened = self._forms.get(form.interaction)
        if opened is None or opened.interaction.user_id != form.who:
            raise refusal(10062)
        values = {
            name: value if isinstance(value, str) else next(iter(value), "")
            for name, value in form.values.items()
        }
        result = await self._pg.submit_modal(form.who, opened, values)
        self._forms.pop(form.interaction, None)
        return self._told(result)

    def _told(self, result: InteractionResult) -> Payload:
        """Say how it went; the answer itself comes as a message through the feed."""
        if result.error == NO_ANSWER:
            return {"silent": True}
        if result.modal is None:
            return {}
        number = result.interaction.id
        self._forms[number] = result
        while len(self._forms) > OPEN_FORMS:
            self._forms.popitem(last=False)
        return {"interaction": str(number), "modal": result.modal}
