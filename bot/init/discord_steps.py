"""The steps at Discord: token, intents, owner, invitation."""

from __future__ import annotations

from typing import Final

from bot.doctor.results import Check, Verdict, fail
from bot.init.desk import Desk
from bot.init.discord import Application, Discord
from bot.init.given import EXIT_USAGE, Halt
from bot.init.invite import invite_link
from config.layers import TOKEN_VARIABLE
from config.settings import parse_snowflake

_PORTAL: Final = "https://discord.com/developers/applications"
_TRIES: Final = 5
"""How often a token may be wrong before it is left for another day."""
_NOT_ASKED: Final = fail(
    "Discord token", "holds blanks or characters that no token has", "Copy it again."
)
_NO_TOKEN: Final = (_NOT_ASKED, _NOT_ASKED, Application(name="", id="", owner="", owner_name=""))


class DiscordSteps:
    """What has to stand at Discord."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def token(self) -> tuple[Discord, Application] | None:
        """Take a token that Discord accepts; None when there is none yet."""
        desk = self._desk
        desk.terminal.heading("1. The bot's token")
        settings = desk.keeper.load().settings.discord
        token = settings.token.get_secret_value()
        if not token:
            desk.need(f"the environment's {TOKEN_VARIABLE}")
            desk.terminal.say(
                f"At {_PORTAL} make an application; there, on the page Bot, reset the token and "
                "copy it."
            )
        for _ in range(_TRIES):
            token = token or desk.terminal.ask(
                "Token (hidden; empty to go on without Discord)", str, hidden=True
            )
            if not token:
                desk.remark("No token yet: run opens the playground. With one, start init again.")
                return None
            discord = Discord(settings.api, token)
            good, intent, application = discord.look() if _may_be(token) else _NO_TOKEN
            if good.verdict is Verdict.OK:
                self._keep_token(token)
                desk.done(f"The token is that of {application.name}")
                self._intent(discord, intent)
                return discord, application
            why = f"The token {good.summary}. {good.advice}"
            if not desk.given.interactive:
                raise Halt(why)
            desk.terminal.say(f"  {why}", style="yellow")
            token = ""
        raise Halt("No token that Discord accepts. Start init again when you have one.")

    def _keep_token(self, token: str) -> None:
        """Put the token into ``.env``, also where it came from the environment this time."""
        keeper = self._desk.keeper
        there = keeper.secrets().get(TOKEN_VARIABLE, "")
        if keeper.environ.get(TOKEN_VARIABLE, token) != token:
            self._desk.leave(
                f"{TOKEN_VARIABLE} in your environment is another token, and goes before .env: "
                f"unset {TOKEN_VARIABLE}"
            )
        if there == token:
            return
        if there and not self._desk.may_replace("the token in .env"):
            return
        keeper.set_secret(TOKEN_VARIABLE, token)

    def _intent(self, discord: Discord, intent: Check) -> None:
        while intent.verdict is not Verdict.OK:
            line = f"{intent.name}: {intent.summary}. {intent.advice}"
            if not self._desk.given.interactive or not self._desk.terminal.wait(line):
                self._desk.leave(line)
                return
            _, intent, _ = discord.look()
        self._desk.done("Message Content Intent is on; no other privileged intent is needed")

    def owner(self, discord: Discord | None, application: Application | None) -> str:
        """Take the owner's id; empty only where nobody gives one."""
        self._desk.terminal.heading("2. You")
        present = self._desk.keeper.load().settings.discord.owners
        given = self._desk.given.owner
        if present and (not given or given in present):
            self._desk.done("Owner: " + ", ".join(present))
            return given or present[0]
        if present and not self._desk.may_replace(f"the owner {', '.join(present)}"):
            return present[0]
        if given:
            try:
                owner = self._checked_owner(discord, given)
            except ValueError as error:
                raise Halt(f"--owner {error}.", code=EXIT_USAGE) from error
        elif self._desk.given.interactive:
            likely = application.owner if application else ""
            if application and application.owner_name:
                self._desk.terminal.say(f"The application belongs to {application.owner_name}.")
            self._desk.terminal.say(
                "Discord: Settings > Advanced > Developer Mode; right-click your name > Copy ID."
            )
            owner = self._desk.terminal.ask(
                "Your user id",
                lambda typed: self._checked_owner(discord, typed),
                default=likely,
            )
        else:
            self._desk.need("--owner")
            return ""
        self._desk.keeper.set("discord", {"owners": (owner,)})
        return owner

    def _checked_owner(self, discord: Discord | None, typed: str) -> str:
        number = parse_snowflake(typed)
        name = discord.user_name(number) if discord else ""
        if name is None:
            raise ValueError("is nobody whom Discord knows")
        self._desk.done(f"Owner: {name} ({number})" if name else f"Owner: {number}")
        return number

    def invite(self, discord: Discord, application: Application) -> None:
        """Show the link, and see that the bot is on a server."""
        self._desk.terminal.heading("3. The invitation")
        api = self._desk.keeper.load().settings.discord.api
        link = invite_link(application.id, api=api)
        self._desk.terminal.say(
            f"This invites the bot with the permissions it needs, no more:\n{link}"
        )
        while discord.places() is None:
            wait = f"{application.name} is on no server yet. Open the link and choose one."
            if not self._desk.given.interactive or not self._desk.terminal.wait(wait):
                self._desk.leave(f"Invite the bot: {link}")
                return
        self._desk.done(f"{application.name} is on a server")


def _may_be(token: str) -> bool:
    return token.isascii() and token.isprintable() and " " not in token
