"""REST: application commands and the answers to interactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.playground.errors import one_field, refusal
from bot.playground.world import payloads
from bot.playground.world.bodies import Callback, CreateMessage, EditMessage

if TYPE_CHECKING:
    from bot.playground.applications.commands import Registry
    from bot.playground.applications.interactions import Desk
    from bot.playground.applications.stages import Interaction
    from bot.playground.entities import Command, Payload
    from bot.playground.rest.frame import Answer, Call, Side
    from bot.playground.world.state import World

APPLICATION = "/applications/{application_id}"
GLOBAL = APPLICATION + "/commands"
IN_GUILD = APPLICATION + "/guilds/{guild_id}/commands"
WEBHOOK = "/webhooks/{application_id}/{token}"
ANSWER = WEBHOOK + "/messages/{message_id}"
CALLBACK = "/interactions/{interaction_id}/{token}/callback"


class CommandRoutes:
    """The bot's side of ``commands`` and ``interactions``."""

    def __init__(self, world: World, registry: Registry, desk: Desk) -> None:
        self._world = world
        self._registry = registry
        self._desk = desk

    def attach(self, rest: Side) -> None:
        """Add the routes."""
        for path in (GLOBAL, IN_GUILD):
            one = path + "/{command_id}"
            rest.route("GET", path, self._listed)
            rest.route("PUT", path, self._overwrite)
            rest.route("POST", path, self._upsert, status=201)
            rest.route("GET", one, self._get)
            rest.route("PATCH", one, self._change)
            rest.route("DELETE", one, self._delete)
        rest.route("GET", IN_GUILD + "/{command_id}/permissions", self._command_permissions)
        rest.route("POST", CALLBACK, self._answer, public=True)
        rest.route("POST", WEBHOOK, self._follow_up, public=True)
        rest.route("GET", ANSWER, self._get_answer, public=True)
        rest.route("PATCH", ANSWER, self._edit_answer, public=True)
        rest.route("DELETE", ANSWER, self._delete_answer, public=True)

    # Commands

    def _list_id(self, call: Call) -> int | None:
        if call.id("application_id") != self._world.bot.id:
            raise refusal(10002)
        if "guild_id" not in call.params:
            return None
        guild = self._world.guild(call.id("guild_id"))
        if self._world.bot.id not in guild.members:
            raise refusal(50001)
        return guild.id

    def _payload(self, command: Command) -> Payload:
        return payloads.command(command, self._world.bot.id)

    def _listed(self, call: Call) -> Answer:
        return [self._payload(command) for command in self._registry.listed(self._list_id(call))]

    def _overwrite(self, call: Call) -> Answer:
        if not isinstance(call.body, list):
            raise one_field((), "BASE_TYPE_INVALID", "Only iterables may be used in a ListType")
        made = self._registry.overwrite(self._list_id(call), call.body)
        return [self._payload(command) for command in made]

    def _upsert(self, call: Call) -> Answer:
        command, _new = self._registry.upsert(self._list_id(call), call.body)
        return self._payload(command)

    def _get(self, call: Call) -> Answer:
        return self._payload(self._registry.get(self._list_id(call), call.id("command_id")))

    def _change(self, call: Call) -> Answer:
        body: Payload = call.body or {}
        return self._payload(
            self._registry.change(self._list_id(call), call.id("command_id"), body)
        )

    def _delete(self, call: Call) -> Answer:
        self._registry.delete(self._list_id(call), call.id("command_id"))
        return None

    def _command_permissions(self, call: Call) -> Answer:
        self._registry.get(self._list_id(call), call.id("command_id"))
        raise refusal(10066)

    # Interactions

    def _answer(self, call: Call) -> Answer:
        body = call.parsed(Callback)
        it = self._desk.answer(call.id("interaction_id"), call.params["token"], body, call.uploads)
        with_response = call.query.get("with_response", "").lower() in {"1", "true"}
        return self._desk.response(it, body.type) if with_response else None

    def _meant(self, call: Call) -> Interaction:
        """Return the interaction of a webhook's address; it is one application's."""
        it = self._desk.by_token(call.params["token"])
        if call.id("application_id") != it.world.bot.id:
            raise refusal(10015)
        return it

    def _follow_up(self, call: Call) -> Answer:
        it = self._meant(call)
        message = self._desk.follow_up(it.token, call.parsed(CreateMessage), call.uploads)
        return payloads.message(it.world, message)

    def _get_answer(self, call: Call) -> Answer:
        it = self._meant(call)
        return payloads.message(it.world, self._desk.message(it, call.params["message_id"]))

    def _edit_answer(self, call: Call) -> Answer:
        it = self._meant(call)
        body = call.parsed(EditMessage)
        message = self._desk.edit(it.token, call.params["message_id"], body, call.uploads)
        return payloads.message(it.world, message)

    def _delete_answer(self, call: Call) -> Answer:
        self._desk.delete(self._meant(call).token, call.params["message_id"])
        return None
