"""The steps of the imp: who it is, where it answers first, its first word."""

from __future__ import annotations

from typing import Final

from bot.init.characters import (
    MAX_NAME_CHARS,
    SUMMARIES,
    Character,
    Persona,
    clean,
    folder_of,
    render_identity,
)
from bot.init.desk import Desk
from bot.init.discord import Discord, Place
from bot.init.given import EXIT_USAGE, Halt
from config.settings import ChannelMode, parse_snowflake

NO_CHANNEL: Final = "none"
HELLO: Final = (
    "I am {name}, and this is my first word here. Once my owner has started me, mention me and "
    "I will answer."
)
MAX_CHANNELS: Final = 30
"""How many are listed; a longer list runs off a screen."""
_FORBIDDEN: Final = 403


class ImpSteps:
    """What has to stand for an imp to be somebody, somewhere."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def name(self) -> str:
        """See that the imp has an identity; give the name of its folder."""
        self._desk.terminal.heading("5. The imp")
        given, terminal = self._desk.given, self._desk.terminal
        imp = self._desk.keeper.load().settings.discord.imp
        written = self._desk.keeper.identity_of(imp)
        told = bool(given.imp or given.character)
        if written and not told and not given.interactive:
            return imp
        again = f"{imp} has an identity. Make another imp?"
        if written and not told and not terminal.confirm(again, default=False):
            return imp
        name = given.imp or imp.capitalize()
        character = given.character or Character.COMPANION
        about, language = given.about, given.language
        if given.interactive and not given.imp:
            name = terminal.ask("Its name", _imp_name, default="Ember")
        if given.interactive and given.character is None:
            options = tuple((kind.value, words) for kind, words in SUMMARIES.items())
            character = Character(terminal.choose("What it is like", options, default="companion"))
        if given.interactive and not told:
            about = terminal.ask("What this place is about (empty: nothing in particular)", clean)
            language = terminal.ask("Its language (empty: that of whoever writes)", clean)
        try:
            name = _imp_name(name)
        except ValueError as error:
            raise Halt(f"--imp {error}.", code=EXIT_USAGE) from error
        folder = folder_of(name)
        there = self._desk.keeper.identity_of(folder)
        text = render_identity(
            Persona(name=name, character=character, place=about, language=language)
        )
        if not there or there == text or self._desk.may_replace(f"imps/{folder}"):
            self._desk.keeper.set_identity(folder, text)
        if folder != imp:
            self._desk.keeper.set("discord", {"imp": folder})
        self._desk.done(f"{name} stands in imps/{folder}/identity.md; change it as you like")
        return folder

    def channel(self, discord: Discord, imp: str) -> Place | None:
        """See where the imp answers first; None: nowhere but in direct messages."""
        self._desk.terminal.heading("6. The first channel")
        given = self._desk.given
        wanted = given.channel
        if not wanted and given.interactive:
            wanted = self._asked_channel(discord, imp)
        if not wanted or wanted == NO_CHANNEL:
            self._desk.done("No channel: it answers you alone, until /channel enable")
            return None
        try:
            place = discord.place(parse_snowflake(wanted))
        except ValueError as error:
            raise Halt(f"--channel {error}.", code=EXIT_USAGE) from error
        if place is None:
            self._desk.leave(f"The bot does not see a text channel {wanted}. Then: /channel enable")
            return None
        mode = ChannelMode(given.mode or ChannelMode.MENTION)
        if given.interactive and not given.mode:
            options = (
                (ChannelMode.MENTION.value, "what mentions it or replies to it"),
                (ChannelMode.ALL.value, "every message"),
            )
            mode = ChannelMode(self._desk.terminal.choose("It answers", options, default="mention"))
        self._desk.keeper.set_channel(place.id, mode)
        self._desk.done(f"It answers in #{place.name} ({mode.value})")
        return place

    def _asked_channel(self, discord: Discord, imp: str) -> str:
        places = discord.places() or ()
        if not places:
            return NO_CHANNEL
        shown = places[:MAX_CHANNELS]
        if len(shown) < len(places):
            self._desk.terminal.say(
                f"The first {len(shown)} of {len(places)} channels. For another choose none, and "
                "type /channel enable there later."
            )
        options = [(f"#{place.name} ({place.guild})", "") for place in shown]
        number = self._desk.terminal.pick(
            f"Where {imp} answers first",
            [*options, (NO_CHANNEL, "only you, in direct messages")],
        )
        return shown[number].id if number < len(shown) else NO_CHANNEL

    def hello(self, discord: Discord, place: Place | None, owner: str, imp: str) -> None:
        """Post the test message: into the channel, else to the owner."""
        where = f"#{place.name}" if place else "your direct messages"
        channel = place.id if place else discord.direct_channel(owner) if owner else ""
        if not channel:
            return
        status = discord.post(channel, HELLO.format(name=imp.capitalize()))
        if not status:
            self._desk.done(f"A message of mine stands in {where}")
        elif status == _FORBIDDEN:
            self._desk.leave(
                f"Discord does not let the bot write to {where}: look at its permissions there"
            )
        else:
            self._desk.leave(f"The test message did not get through to {where} (Discord: {status})")


def _imp_name(typed: str) -> str:
    name = clean(typed, MAX_NAME_CHARS)
    if not folder_of(name):
        raise ValueError("needs at least one letter or digit from a to z, 0 to 9")
    return name
