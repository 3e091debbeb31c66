"""The bots of a playground: each with a token, commands, and the world as it meets it."""

from __future__ import annotations

import copy
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from bot.playground.applications.commands import Registry

if TYPE_CHECKING:
    from bot.playground.entities import Channel, User
    from bot.playground.world.state import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One bot; its application has the id of its user."""

    token: str
    world: World
    registry: Registry

    @classmethod
    def further(cls, world: World, bot: User, token: str | None) -> Self:
        """Make one over the same world: all is shared but ``bot``, its commands and its intents."""
        met = copy.copy(world)
        met.bot = bot
        return cls(token=token or secrets.token_urlsafe(32), world=met, registry=Registry(met))

    @property
    def user(self) -> User:
        """The bot's own user."""
        return self.world.bot


class Applications:
    """All bots, the first one before the others."""

    def __init__(self, first: Application) -> None:
        self.first = first
        self._by_user = {first.user.id: first}

    def add(self, application: Application) -> None:
        """Take a further bot."""
        self._by_user[application.user.id] = application

    def every(self) -> tuple[Application, ...]:
        """Return all of them."""
        return tuple(self._by_user.values())

    def of(self, bot: User | int) -> Application:
        """Return a bot's application; KeyError for whoever is no bot here."""
        return self._by_user[bot if isinstance(bot, int) else bot.id]

    def asked(self, channel: Channel, bot: User | int | None) -> Application:
        """Return which bot is asked: the one named, that of a direct message, else the first."""
        if bot is not None:
            return self.of(bot)
        known = (self._by_user.get(user_id) for user_id in channel.recipients)
        return next((found for found in known if found is not None), self.first)
