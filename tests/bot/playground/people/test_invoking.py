"""Commands, buttons, selects, forms and menus with real discord.py, as a person meets them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import discord
import pytest
from discord import app_commands

from bot.playground.applications import interactions
from bot.playground.applications.interactions import FIRST_ANSWER_SECONDS
from bot.playground.entities import Upload
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH, HELPERS, KINDLING, ORCHARD, WORKSHOP
from bot.playground.people.invocation import NotOfferedError
from bot.playground.people.invoking import NO_ANSWER, STILL_THINKING
from bot.playground.server import Playground
from support.playground_bot import SmallBot, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Act = discord.Interaction[SmallBot]


class Form(discord.ui.Modal, title="Purpose"):
    text: discord.ui.TextInput[Form] = discord.ui.TextInput(
        label="Purpose", custom_id="text", default="as before", max_length=20
    )

    async def on_submit(self, interaction: discord.Interaction, /) -> None:
        await interaction.response.send_message(f"set: {self.text.value}", ephemeral=True)


class Panel(discord.ui.View):
    def __init__(self) -> None:
        super().__init__(timeout=None)

    @discord.ui.button(label="Approve", custom_id="approve")
    async def approve(self, interaction: Act, button: discord.ui.Button[Panel]) -> None:
        button.disabled = True
        await interaction.response.edit_message(content="approved", view=self)

    @discord.ui.button(label="Form", custom_id="form")
    async def form(self, interaction: Act, _button: discord.ui.Button[Panel]) -> None:
        await interaction.response.send_modal(Form())

    @discord.ui.button(label="Silent", custom_id="silent")
    async def silent(self, interaction: Act, _button: discord.ui.Button[Panel]) -> None:
        await interaction.response.defer()

    @discord.ui.select(
        custom_id="pick",
        options=[discord.SelectOption(label="One"), discord.SelectOption(label="Two")],
    )
    async def pick(self, interaction: Act, select: discord.ui.Select[Panel]) -> None:
        await interaction.response.send_message(f"picked {select.values[0]}", ephemeral=True)


def commands_of(bot: SmallBot, release: asyncio.Event) -> None:
    """Give a bot one command of each kind."""
    tree = bot.tree
    group = app_commands.Group(
        name="runs", description="Runs", default_permissions=discord.Permissions(0)
    )

    @group.command(description="Show a run")
    async def show(interaction: Act, run: str, turn: int = 0) -> None:
        await interaction.response.send_message(f"run {run} turn {turn}", ephemeral=True)

    @show.autocomplete("run")
    async def runs(_interaction: Act, current: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=f"{current}{n}", value=f"{current}-{n}") for n in "12"]

    @tree.command(description="Slow")
    async def slow(interaction: Act) -> None:
        await interaction.response.defer(ephemeral=True)
        await release.wait()
        await interaction.followup.send("first")
        await interaction.followup.send("second")
        await interaction.followup.send(
            "third", ephemeral=True, file=discord.File(__file__, "code.py")
        )

    @tree.command(description="Late")
    async def late(interaction: Act) -> None:
        await release.wait()
        await interaction.response.send_message("too late")

    @tree.command(description="Who")
    async def who(
        interaction: Act,
        user: discord.User,
        channel: discord.TextChannel | None = None,
        role: discord.Role | None = None,
        file: discord.Attachment | None = None,
    ) -> None:
        data = await file.read() if file else b""
        await interaction.response.send_message(f"{user.id} {channel} {role} {data!r}")

    @tree.command(description="Panel")
    async def panel(interaction: Act) -> None:
        await interaction.response.send_message("panel", view=Panel())
        original = await interaction.original_response()
        assert original.content == "panel"

    @tree.context_menu(name="Why this answer?")
    async def why(interaction: Act, message: discord.Message) -> None:
        await interaction.response.send_message(f"about {message.content}", ephemeral=True)

    @tree.context_menu(name="Look up")
    async def look(interaction: Act, user: discord.User) -> None:
        await interaction.response.send_message(f"looked at {user.id}", ephemeral=True)

    tree.add_command(group)


class Kit:
    """A playground with a bot whose commands are registered."""

    def __init__(self, pg: Playground, bot: SmallBot, release: asyncio.Event) -> None:
        self.pg = pg
        self.bot = bot
        self.release = release


@pytest.fixture
async def kit(pg: Playground) -> AsyncIterator[Kit]:
    bot, release = SmallBot(), asyncio.Event()
    commands_of(bot, release)
    async with running(bot, pg):
        await bot.tree.sync()
        yield Kit(pg, bot, release)
        release.set()


async def test_slash_with_subcommand_and_options(kit: Kit) -> None:
    """Options arrive typed; the answer is seen by the asker alone."""
    result = await kit.pg.slash(ADA, HEARTH, "runs show", run="x", turn=3)
    assert result.text == "run x turn 3"
    assert result.ephemeral
    assert not result.deferred
    assert kit.pg.messages(HEARTH) == ()
    assert [m.content for m in kit.pg.messages(HEARTH, as_user=ADA)] == ["run x turn 3"]
    assert kit.pg.messages(HEARTH, as_user=BO) == ()


async def test_autocomplete_offers_choices(kit: Kit) -> None:
    """What is typed reaches the bot; its choices come back."""
    choices = await kit.pg.autocomplete(ADA, HEARTH, "runs show", "run", "20")
    assert choices == ({"name": "201", "value": "20-1"}, {"name": "202", "value": "20-2"})


async def test_deferred_answer_with_follow_ups(kit: Kit) -> None:
    """The first follow-up takes the place of "thinking" with its privacy; each later has its own.

    Reference: a forgotten flag on a later follow-up is public.
    """
    kit.release.set()
    result = await kit.pg.slash(ADA, HEARTH, "slow")
    messages = await kit.pg.wait_for_messages(result, 3)
    assert result.deferred
    assert [(m.content, m.ephemeral) for m in messages] == [
        ("first", True),
        ("second", False),
        ("third", True),
    ]
    assert messages[2].attachments[0].filename == "code.py"


async def test_an_answer_that_never_comes_is_named(kit: Kit) -> None:
    """Without a first answer the person reads Discord's line; "thinking" has a line of its own."""
    patient = kit.pg.invoking.answer_seconds
    kit.pg.invoking.answer_seconds = 0.1
    assert (await kit.pg.slash(ADA, HEARTH, "late")).error == NO_ANSWER
    kit.pg.invoking.answer_seconds = patient
    result = await kit.pg.slash(ADA, HEARTH, "slow", timeout=0.1)
    assert result.error == STILL_THINKING
    assert result.messages == ()


async def test_entities_and_files_are_resolved(kit: Kit) -> None:
    """User, channel, role and file options come as discord.py's own objects."""
    result = await kit.pg.slash(
        BO,
        HEARTH,
        "who",
        options={
            "user": kit.pg.world.user(ADA),
            "channel": WORKSHOP,
            "role": HELPERS,
            "file": Upload(filename="a.txt", data=b"abc"),
        },
    )
    assert result.text == f"{ADA} workshop helpers b'abc'"
    assert not result.ephemeral


async def test_slash_in_a_dm(kit: Kit) -> None:
    """In a DM the person comes as a user."""
    result = await kit.pg.slash(BO, DIRECT[BO], "who", user=BO)
    assert result.text.startswith(str(BO))
    assert [m.content for m in kit.pg.messages(DIRECT[BO])] == [result.text]


async def test_slash_in_a_thread(kit: Kit) -> None:
    """In a thread the answer stands in the thread."""
    result = await kit.pg.slash(BO, KINDLING, "who", user=BO)
    assert [m.id for m in kit.pg.messages(KINDLING)] == [result.messages[0].id]


async def test_button_changes_its_message(kit: Kit) -> None:
    """An update answer edits the pressed message; a disabled button cannot be pressed again."""
    message = (await kit.pg.slash(ADA, HEARTH, "panel")).messages[0]
    result = await kit.pg.click(ADA, message, "approve")
    assert result.updated
    assert message.content == "approved"
    with pytest.raises(NotOfferedError):
        await kit.pg.click(ADA, message, "approve")


async def test_select_sends_its_values(kit: Kit) -> None:
    """Chosen values reach the bot; values that are not offered are refused."""
    message = (await kit.pg.slash(ADA, HEARTH, "panel")).messages[0]
    result = await kit.pg.click(BO, message, "pick", values=["Two"])
    assert result.text == "picked Two"
    with pytest.raises(NotOfferedError):
        await kit.pg.click(BO, message, "pick", values=["Three"])


async def test_button_opens_a_form(kit: Kit) -> None:
    """A modal keeps its presets and sends what was typed; too much text is refused."""
    message = (await kit.pg.slash(ADA, HEARTH, "panel")).messages[0]
    opened = await kit.pg.click(ADA, message, "form")
    assert opened.modal is not None
    assert opened.modal["title"] == "Purpose"
    kept = await kit.pg.submit_modal(ADA, opened, {})
    assert kept.text == "set: as before"
    opened = await kit.pg.click(ADA, message, "form")
    with pytest.raises(NotOfferedError):
        await kit.pg.submit_modal(ADA, opened, {"text": "x" * 21})
    assert (await kit.pg.submit_modal(ADA, opened, {"text": "new"})).text == "set: new"


async def test_silent_button(kit: Kit) -> None:
    """A deferred update is answered at once and shows nothing."""
    message = (await kit.pg.slash(ADA, HEARTH, "panel")).messages[0]
    result = await kit.pg.click(ADA, message, "silent")
    assert result.error is None
    assert result.messages == ()


async def test_context_menus_on_message_and_user(kit: Kit) -> None:
    """The target comes resolved."""
    message = await kit.pg.say(BO, HEARTH, "the answer")
    result = await kit.pg.context_menu(ADA, message, "Why this answer?")
    assert result.text == "about the answer"
    assert result.messages[0].type == 23
    looked = await kit.pg.context_menu(ADA, kit.pg.world.user(BO), "Look up", channel=HEARTH)
    assert looked.text == f"looked at {BO}"


async def test_hidden_commands_can_be_forced(kit: Kit) -> None:
    """``default_member_permissions`` "0" hides a command from Bo, not from the bot's own check."""
    names = {c.name for c in kit.pg.commands_for(BO, HEARTH)}
    assert names == {"slow", "late", "who", "panel", "Why this answer?", "Look up"}
    assert "runs" in {c.name for c in kit.pg.commands_for(ADA, HEARTH)}
    with pytest.raises(NotOfferedError):
        await kit.pg.slash(BO, HEARTH, "runs show", run="x")
    result = await kit.pg.slash(BO, HEARTH, "runs show", run="x", force=True)
    assert result.text == "run x turn 0"


async def test_wrong_options_are_not_sent(kit: Kit) -> None:
    """A client refuses missing and unknown options, and groups without a subcommand."""
    for command, options in (
        ("runs show", {}),
        ("runs show", {"run": "x", "more": 1}),
        ("runs", {}),
        ("runs hide", {}),
        ("nothing", {}),
    ):
        with pytest.raises(NotOfferedError):
            await kit.pg.slash(ADA, HEARTH, command, options=options)


async def test_anothers_ephemeral_message_cannot_be_pressed(kit: Kit) -> None:
    """Who does not see a message cannot press its buttons."""
    message = (await kit.pg.slash(ADA, HEARTH, "runs show", run="x")).messages[0]
    with pytest.raises(NotOfferedError):
        await kit.pg.click(BO, message, "approve")


async def test_sync_keeps_ids_and_guild_commands_are_separate(kit: Kit) -> None:
    """A second sync of the same tree keeps the ids; a guild's list is its own."""
    before = {c.name: c.id for c in kit.pg.registry.listed(None)}
    await kit.bot.tree.sync()
    assert {c.name: c.id for c in kit.pg.registry.listed(None)} == before
    guild = discord.Object(ORCHARD)
    kit.bot.tree.copy_global_to(guild=guild)
    await kit.bot.tree.sync(guild=guild)
    shown = [c.name for c in kit.pg.commands_for(ADA, HEARTH)]
    assert shown.count("slow") == 2
    fetched = await kit.bot.tree.fetch_commands()
    assert {c.name for c in fetched} == set(before)
    assert kit.pg.bot_user.id == EMBER


async def test_late_first_answer_is_unknown(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """After three seconds the interaction is unknown: 404, 10062 (P15)."""
    monkeypatch.setattr(interactions, "FIRST_ANSWER_SECONDS", FIRST_ANSWER_SECONDS)  # Discord's own
    now = [kit.pg.world.clock()]
    kit.pg.world.clock = lambda: now[0]
    errors: asyncio.Queue[discord.NotFound] = asyncio.Queue()

    @kit.bot.tree.error
    async def on_error(_interaction: Act, error: app_commands.AppCommandError) -> None:
        cause = getattr(error, "original", error)
        assert isinstance(cause, discord.NotFound)
        errors.put_nowait(cause)

    kit.pg.invoking.answer_seconds = 0.05
    await kit.pg.slash(ADA, HEARTH, "late")
    now[0] += 3.1
    kit.release.set()
    async with asyncio.timeout(120):
        assert (await errors.get()).code == 10062


async def test_the_token_dies_after_fifteen_minutes(kit: Kit) -> None:
    """A follow-up after 15 minutes gets 401, 50027 (P15)."""
    now = [kit.pg.world.clock()]
    kit.pg.world.clock = lambda: now[0]
    errors: asyncio.Queue[discord.HTTPException] = asyncio.Queue()

    @kit.bot.tree.error
    async def on_error(_interaction: Act, error: app_commands.AppCommandError) -> None:
        cause = getattr(error, "original", error)
        assert isinstance(cause, discord.HTTPException)
        errors.put_nowait(cause)

    await kit.pg.slash(ADA, HEARTH, "slow", timeout=0.05)
    now[0] += 901
    kit.release.set()
    async with asyncio.timeout(120):
        refused = await errors.get()
    assert (refused.status, refused.code) == (401, 50027)
