"""``Playground``: a Discord of one's own on one loopback port.

It wires the pure world to sockets: REST under ``/api/v10``, the gateway at ``/gateway``, files
under ``/attachments``. The package docstring shows how to use it.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Self

from aiohttp import web

from bot.playground.applications.bots import Application, Applications
from bot.playground.applications.commands import Registry
from bot.playground.applications.interactions import Desk
from bot.playground.faults import Faults
from bot.playground.gateway.sessions import Gateway
from bot.playground.messages.reactions import Reactions
from bot.playground.messages.talk import Talk
from bot.playground.people.invoking import Invoking
from bot.playground.people.saying import People
from bot.playground.people.watch import WAIT_SECONDS, Watch
from bot.playground.rest.channels import ChannelRoutes
from bot.playground.rest.commands import CommandRoutes
from bot.playground.rest.frame import API, BODY_LIMIT_BYTES, Request, Rest, Side
from bot.playground.rest.messages import MessageRoutes
from bot.playground.world.payloads import message_event
from bot.playground.world.state import World, default_world

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from types import TracebackType

    from bot.playground.entities import Event, Guild, Message, Payload, User

HOST = "127.0.0.1"
BACKLOG = 1024
"""Connections that may wait at once: a bot that answers everywhere opens one per request."""
SHUTDOWN_SECONDS = 1.0
"""How long open requests may take when the playground closes."""


class Playground:
    """A local Discord; use it with ``async with``.

    People's acts and what they see are methods of the object itself: those of ``saying.People``
    (``say``, ``edit``, ``wait_for_message`` ...), ``invoking.Invoking`` (``slash``, ``click`` ...)
    and ``watch.Watch`` (``subscribe``, ``wait_for``, ``until``).
    """

    def __init__(
        self,
        *,
        port: int = 0,
        clock: Callable[[], float] = time.time,
        token: str | None = None,
        world: World | None = None,
        extend: Iterable[Callable[[web.Application, Playground], None]] = (),
    ) -> None:
        """Prepare a playground.

        Args:
            port: the loopback port; 0 takes a free one.
            clock: wall clock in seconds, for ids, times and expiry of interactions and files.
            token: the bot's token; a random one unless given.
            world: the world; ``state.default_world()`` unless given.
            extend: each is called with the application before it starts, to add routes.
        """
        self._port = port
        self._extend = tuple(extend)
        self._runner: web.AppRunner | None = None
        self.token = token or secrets.token_urlsafe(32)
        self.world = default_world(clock=clock) if world is None else world
        self.world.emit = self._happened
        self.faults = Faults()
        self.watch = Watch()
        self.talk = Talk(self.world)
        self.reactions = Reactions(self.world)
        self.registry = Registry(self.world)
        self.bots = Applications(
            Application(token=self.token, world=self.world, registry=self.registry)
        )
        self.desk = Desk(self.world, self.talk)
        self.gateway = Gateway(self.world, self.faults, self.token)
        self.rest = Rest(token=self.token, faults=self.faults)
        self.rest.changed = self.watch.look_again
        self.people = People(self.world, self.talk, self.reactions, self.watch)
        self.invoking = Invoking(self.world, self.bots, self.desk, self.watch)
        self._add_routes(self.rest.first, self.bots.first)
        self._offer()

    def _offer(self) -> None:
        people, invoking, watch = self.people, self.invoking, self.watch
        self.say, self.edit, self.delete = people.say, people.edit, people.delete
        self.bulk_delete, self.forward = people.bulk_delete, people.forward
        self.react, self.unreact, self.pin = people.react, people.unreact, people.pin
        self.typing, self.typing_in = people.typing, people.typing_in
        self.open_dm, self.create_thread = people.open_dm, people.create_thread
        self.bring_in = people.bring_in
        self.archive, self.messages = people.archive, people.messages
        self.wait_for_message = people.wait_for_message
        self.commands_for, self.offers = invoking.commands_for, invoking.offers
        self.slash = invoking.slash
        self.autocomplete, self.click = invoking.autocomplete, invoking.click
        self.context_menu, self.submit_modal = invoking.context_menu, invoking.submit_modal
        self.wait_for_messages = invoking.wait_for_messages
        self.subscribe, self.wait_for, self.until = watch.subscribe, watch.wait_for, watch.until
        self.inject = self.gateway.inject

    # Where it is

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    @property
    def origin(self) -> str:
        """Its web address, without a slash at the end."""
        return f"http://{HOST}:{self._port}"

    @property
    def api_base(self) -> str:
        """What ``discord.http.Route.BASE`` must be."""
        return self.origin + API

    @property
    def gateway_address(self) -> str:
        """What ``DiscordWebSocket.DEFAULT_GATEWAY`` must be."""
        return f"ws://{HOST}:{self._port}/gateway"

    @property
    def bot_user(self) -> User:
        """The bot's own user."""
        return self.world.bot

    @property
    def connected(self) -> asyncio.Event:
        """Set while the bot has a ready session on an open connection."""
        return self.gateway.connected

    @property
    def requests(self) -> Sequence[Request]:
        """Every REST request so far, oldest first."""
        return self.rest.log

    @property
    def intents_allowed(self) -> int:
        """The intents that may be asked for; a privileged one outside closes with 4014."""
        return self.world.intents_allowed

    @intents_allowed.setter
    def intents_allowed(self, bits: int) -> None:
        self.world.intents_allowed = bits

    def add_bot(
        self,
        name: str,
        *,
        guilds: Iterable[Guild | int] = (),
        token: str | None = None,
        user_id: int | None = None,
    ) -> Application:
        """Make a further bot, with a token of its own, and take it into guilds."""
        user = self.world.add_user(name.lower(), global_name=name, bot=True, user_id=user_id)
        made = Application.further(self.world, user, token)
        self.bots.add(made)
        self.gateway.let_in(made.token, made.world)
        self._add_routes(self.rest.further.setdefault(made.token, Side()), made)
        for guild in guilds:
            made.world.invite_bot(guild)
        return made

    def _add_routes(self, side: Side, bot: Application) -> None:
        MessageRoutes(bot.world, self.talk, self.reactions).attach(side)
        ChannelRoutes(bot.world, self.talk, self.gateway).attach(side)
        CommandRoutes(bot.world, bot.registry, self.desk).attach(side)

    # Its life

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=BODY_LIMIT_BYTES, middlewares=[_local_names_only])
        self.rest.attach(app)
        app.router.add_get("/gateway", self.gateway.handle)
        app.router.add_get("/gateway/", self.gateway.handle)
        app.router.add_get("/attachments/{channel_id}/{attachment_id}/{name}", self._download)
        for extend in self._extend:
            extend(app, self)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        await web.TCPSite(runner, HOST, self._port, backlog=BACKLOG).start()
        self._runner = runner
        self._port = runner.addresses[0][1]
        for bot in self.bots.every():
            bot.world.origin = self.origin
        self.gateway.address = self.gateway_address
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.gateway.close(1001)
        if self._runner is not None:
            await self._runner.cleanup()

    def _happened(self, event: Event) -> None:
        self.gateway.dispatch(event)
        self.watch.tell(event)

    # More for testers

    def redeliver(self, message: Message) -> None:
        """Send MESSAGE_CREATE of a message again, as happens after a resume."""
        data: Payload = message_event(self.world, message)
        self.gateway.inject("MESSAGE_CREATE", data)

    async def wait_for_request(
        self,
        method: str,
        route: str,
        *,
        count: int = 1,
        answered: bool = True,
        timeout: float = WAIT_SECONDS,  # noqa: ASYNC109 - a test's own bound
    ) -> Request:
        """Return a request to a route (its template), waiting until it has come.

        Args:
            method: the HTTP method.
            route: the template, such as ``faults.SEND``.
            count: the how manieth of its kind since the start.
            answered: whether to wait for its answer as well.
            timeout: how many seconds to wait.

        Raises:
            TimeoutError: there were fewer.
        """

        def look() -> Request | None:
            found = [r for r in self.rest.log if r.method == method and r.route == route]
            wanted = found[count - 1] if len(found) >= count else None
            return wanted if wanted and (wanted.status or not answered) else None

        return await self.until(look, timeout=timeout)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        raw = request.match_info["attachment_id"]
        item = self.world.attachments.get(int(raw) if raw.isdigit() else 0)
        if item is None or item.expires_at < self.world.clock():
            return web.Response(status=404, text="This content is no longer available.")
        return web.Response(
            body=item.data,
            headers={
                "Content-Type": item.content_type or "application/octet-stream",
                "Content-Security-Policy": "default-src 'none'; sandbox",
                "X-Content-Type-Options": "nosniff",
            },
        )


@web.middleware
async def _local_names_only(
    request: web.Request,
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> web.StreamResponse:
    """Refuse other host names, so that no web page can reach in by rebinding its name."""
    name = request.host.rpartition(":")[0] or request.host
    if name not in {HOST, "localhost"}:
        return web.Response(status=421, text="This is a local playground.")
    return await handler(request)
