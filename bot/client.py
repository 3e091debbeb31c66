"""The connection to Discord: one sharding bot, few intents, no caches of people.

Commands are written to Discord in one bulk call and only when they changed: the form last written
is remembered in the home, and Discord's list is read once a start to see that it still stands
(a local Discord forgets). Nothing is deleted first, and a rate limit leaves the old commands
working until a later attempt (P16).
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import aiohttp
import discord
import structlog
import yarl
from discord import app_commands
from discord.ext import commands
from discord.gateway import DiscordWebSocket

from bot import callbacks, frames, global_limit, usual_fields
from bot.errors import answer_command_error
from bot.interactions import Parse
from bot.logs import describe
from bot.odd_messages import as_far, edited, read_clicked, read_odd, readable
from bot.odd_servers import read_server
from bot.permissions import is_for_everyone, is_owner, refuse
from bot.sending import UNREADABLE
from config.homedir import write_private

if TYPE_CHECKING:
    from config.load import LiveConfig

SYNC_FILE = "commands.json"
SYNC_SECONDS = 60.0
"""One attempt at writing the commands, with discord.py's waits."""
SYNC_RETRY_SECONDS = 600.0
MESSAGE_CACHE = 200
"""Discord's library keeps this many messages; our own history is in the store."""
GUILD_READY_SECONDS = 0.5
"""Silence after the last server's data that counts as ready; messages are served before it."""
MAX_RATE_LIMIT_SECONDS = 30.0
"""The library waits out shorter rate limits by itself; whoever meets a longer one decides."""
MAX_GUILDS_LOOKED_AT = 25
"""Servers whose own list is looked at for commands of an earlier registration."""
_FIRST_EVENT = "READY"
_WHOLE_MESSAGE = frozenset({"id", "channel_id", "author", "content", "type"})
_SLASH = discord.AppCommandType.chat_input.value
Name: TypeAlias = tuple[object, object]
"""What tells commands apart: the kind and the name."""
Setup: TypeAlias = Callable[["InglenookBot"], Awaitable[None]]
_log = structlog.get_logger(__name__)


def intents() -> discord.Intents:
    """Ask for what is needed: servers, messages with their content, typing; no member lists."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    wanted.messages = True
    wanted.message_content = True
    wanted.typing = True
    return wanted


class OwnerTree(app_commands.CommandTree["InglenookBot"]):
    """Commands are the owner's unless marked; the check stands in front of every one of them."""

    def __init__(self, client: InglenookBot) -> None:
        super().__init__(client)
        self._under_way = 0
        self._rests = asyncio.Event()

    async def finished(self) -> None:
        """Wait until every command under way has its answer."""
        while self._under_way:
            self._rests.clear()
            await self._rests.wait()

    async def _call(self, interaction: discord.Interaction[InglenookBot]) -> None:
        # The library runs each command in a task of its own, and has no other place around it.
        with self._one_more():
            await super()._call(interaction)

    @contextmanager
    def _one_more(self) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._rests.set()

    async def interaction_check(self, interaction: discord.Interaction[InglenookBot]) -> bool:
        """Let owners pass, and everybody to what is everyone's; turn all others away."""
        if is_for_everyone(interaction.command):
            return True
        if is_owner(interaction.user.id, self.client.live.current):
            return True
        _log.info("command.refused", user_id=f"discord:{interaction.user.id}")
        await refuse(interaction)
        return False

    async def on_error(
        self,
        interaction: discord.Interaction[InglenookBot],
        error: app_commands.AppCommandError,
    ) -> None:
        """Hand every failure to the one place that words them."""
        if self.client.is_closed():
            _log.warning("command.cut_off")  # no answer can be sent any more
            return
        with self._one_more():
            await answer_command_error(interaction, error)


class InglenookBot(commands.AutoShardedBot):
    """The bot. ``setup`` adds the cogs; it is called once, after the login."""

    def __init__(self, live: LiveConfig, *, setup: Setup) -> None:
        # There is no voice here, so nobody needs to hear that its libraries are missing.
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(
            command_prefix=(),
            help_command=None,
            tree_cls=OwnerTree,
            intents=intents(),
            allowed_mentions=discord.AllowedMentions.none(),
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            max_messages=MESSAGE_CACHE,
            guild_ready_timeout=GUILD_READY_SECONDS,
            max_ratelimit_timeout=MAX_RATE_LIMIT_SECONDS,
        )
        self.live = live
        self.paired: set[str] = set()
        """Who was let into direct messages with a code; bare snowflakes."""
        self.connected = asyncio.Event()
        """Set at the first READY, when every shard has its servers."""
        self._setup = setup
        self._deaf: set[int] = set()
        """Shards without a connection."""
        parsers = self._connection.parsers
        for name in usual_fields.EVENTS:
            parsers[name] = _filling(name, parsers[name])
        for name in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            parsers[name] = partial(read_odd, parsers[name])
        clicked = parsers["INTERACTION_CREATE"]
        parsers["INTERACTION_CREATE"] = read_clicked(clicked, self._connection)
        self._connection.create_message = readable(self._connection)  # type: ignore[method-assign]  # it has no other place for it
        self.http.edit_message = edited(self.http.edit_message, self._connection)  # type: ignore[method-assign, assignment, arg-type]  # JSON as the library types it
        parsers["GUILD_CREATE"] = partial(read_server, parsers["GUILD_CREATE"], self._connection)
        parsers.update({name: tolerant(name, parser) for name, parser in parsers.items()})
        parsers["MESSAGE_UPDATE"] = self._tell_partial(parsers["MESSAGE_UPDATE"])

    def guard_interactions(self, around: Callable[[Parse], Parse]) -> None:
        """Put a guard in front of what the library does with an interaction.

        It hands each straight to its command, button or form, and knows no other place for it.
        """
        parsers = self._connection.parsers
        parsers["INTERACTION_CREATE"] = around(parsers["INTERACTION_CREATE"])

    def _tell_partial(self, parse: Parse) -> Parse:
        """Tell of edits in which Discord left out whose message it is: ``on_partial_edit``.

        The library needs all of a message; what is not about its words can be left out.
        """

        def read(data: Any) -> None:  # noqa: ANN401  (Discord's JSON)
            if data.keys() >= _WHOLE_MESSAGE:
                parse(data)
            elif "content" in data:
                self.dispatch("partial_edit", int(data["channel_id"]), int(data["id"]))

        return read

    @property
    def hears(self) -> bool:
        """Whether Discord's events come in at this moment, on every shard."""
        return self.connected.is_set() and not self.is_closed() and not self._deaf

    async def on_shard_disconnect(self, shard_id: int) -> None:
        """Note that a shard hears nothing until it is back."""
        self._deaf.add(shard_id)

    async def on_shard_ready(self, shard_id: int) -> None:
        """Note that a shard hears, after a fresh start of its session."""
        self._deaf.discard(shard_id)
        shard = self.get_shard(shard_id)
        if shard is not None:
            frames.keep(shard._parent)  # noqa: SLF001  (what it shows has no such switch)

    async def on_shard_resumed(self, shard_id: int) -> None:
        """Note that a shard hears again, its session being resumed."""
        self._deaf.discard(shard_id)

    async def finish_commands(self, seconds: float) -> None:
        """Let commands under way have their answers: one that is cut off would "think" for ever."""
        if not isinstance(self.tree, OwnerTree):
            return
        try:
            async with asyncio.timeout(seconds):
                await self.tree.finished()
        except TimeoutError:
            _log.warning("commands.left")

    async def setup_hook(self) -> None:
        """Add the cogs, when Discord knows us and before anything happens."""
        global_limit.guard(self)
        callbacks.install(partial(as_far, self._connection, 0))
        await self._setup(self)

    async def launch_shard(
        self, gateway: yarl.URL, shard_id: int, *, initial: bool = False
    ) -> None:
        """Connect a shard, and let the library fall back to no other gateway than this one."""
        DiscordWebSocket.DEFAULT_GATEWAY = gateway  # where it goes after an invalid session
        await super().launch_shard(gateway, shard_id, initial=initial)

    async def on_ready(self) -> None:
        """Note that all shards are up; Discord may say so again after each reconnect."""
        _log.info("discord.ready", guilds=len(self.guilds), shards=self.shard_count)
        self.connected.set()

    async def on_message(self, message: discord.Message, /) -> None:
        """Read no prefix commands; messages are for ``cogs.conversation``."""

    async def on_error(self, event_method: str, /, *_args: object, **_kwargs: object) -> None:
        """Log an event that failed, without its arguments: they hold what people wrote."""
        error = sys.exc_info()[1] or RuntimeError()
        _log.error("discord.event_failed", event_method=event_method, **describe(error))

    async def keep_commands_synced(self) -> None:
        """Write the commands if they changed; try again later until it worked."""
        await self.connected.wait()
        for wait in itertools.chain((0.0,), itertools.repeat(SYNC_RETRY_SECONDS)):
            await asyncio.sleep(wait)
            if await self._sync_once():
                return

    async def _sync_once(self) -> bool:
        try:
            async with asyncio.timeout(SYNC_SECONDS):
                await self._sync()
        except (discord.HTTPException, aiohttp.ClientError) as error:
            status = getattr(error, "status", 0)
            _log.warning("commands.not_synced", kind=type(error).__name__, status=status)
        except (TimeoutError, OSError, discord.RateLimited, *UNREADABLE) as error:
            _log.warning("commands.not_synced", kind=type(error).__name__)
        else:
            return True
        return False

    async def _sync(self) -> None:
        # The library's models of commands want more of an answer than is needed here.
        payload = command_forms(self.tree)
        wanted = command_hash(payload)
        path = self.live.home / SYNC_FILE
        application = self.application_id or 0
        there = _names(await self.http.get_global_commands(application))
        ours = _names(payload)
        if there == ours and await asyncio.to_thread(_read, path) == (application, wanted):
            _log.info("commands.unchanged", count=len(there))
            return
        await self.http.bulk_upsert_global_commands(application, payload)
        await self._clear_doubles(application, ours)
        content = json.dumps({"application": application, "sha256": wanted})
        await asyncio.to_thread(write_private, path, content.encode())
        _log.info("commands.synced", count=len(ours))

    async def _clear_doubles(
        self, application: int, ours: AbstractSet[tuple[object, object]]
    ) -> None:
        """Empty a server's own list where it shows our commands a second time."""
        for guild in self.guilds[:MAX_GUILDS_LOOKED_AT]:
            try:
                theirs = await self.http.get_guild_commands(application, guild.id)
                if not ours.isdisjoint(_names(theirs)):
                    await self.http.bulk_upsert_guild_commands(application, guild.id, [])
            except discord.HTTPException as error:
                _log.warning("commands.doubles_left", status=error.status, code=error.code)


Interaction: TypeAlias = discord.Interaction[InglenookBot]
"""What somebody does with a command or a menu of ours."""


def tolerant(event: str, parser: Callable[[Any], None]) -> Callable[[Any], None]:
    """Keep one event that the library cannot read from ending the connection of all.

    Discord adds and leaves out fields without notice, and the library lets a missing one end the
    whole bot. READY stays strict: without it there is no connection to keep.
    """
    if event == _FIRST_EVENT:
        return parser

    def read(data: Any) -> None:  # noqa: ANN401  (whatever Discord sent)
        try:
            parser(data)
        except Exception as error:  # noqa: BLE001  (logged without its content; the next is read)
            _log.warning("discord.event_unreadable", event_name=event, **describe(error))

    return read


def _filling(event: str, parser: Parse) -> Parse:
    """Fill in what an event may leave out."""
    return lambda data: parser(usual_fields.filled(event, data))


def command_forms(
    tree: app_commands.CommandTree[InglenookBot],
) -> list[dict[str, Any]]:
    """Give the commands as they are written to Discord, in a fixed order."""
    forms = [command.to_dict(tree) for command in tree.get_commands()]
    return sorted(forms, key=lambda form: (form["type"], form["name"]))


def command_hash(forms: Sequence[Mapping[str, object]]) -> str:
    """Name a set of commands, so that a change is noticed."""
    return hashlib.sha256(json.dumps(forms, sort_keys=True).encode()).hexdigest()


def _names(forms: Iterable[Mapping[str, Any]]) -> set[Name]:
    """Name commands; Discord need not say that one is a slash command."""
    return {(form.get("type", _SLASH), form["name"]) for form in forms}


def _read(path: Path) -> tuple[int | None, str]:
    try:
        found = json.loads(path.read_bytes())
        return int(found["application"]), str(found["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None, ""  # never written, or not readable: write the commands once more
