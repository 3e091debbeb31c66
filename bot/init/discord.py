"""What the wizard wants of Discord, and what Discord says to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bot.doctor.discord import Answer, judge_intents, judge_token
from bot.doctor.results import Check
from bot.init.characters import clean
from bot.init.given import Halt
from bot.init.rest import OK, TOO_MANY, Reply, Rest
from config.settings import parse_snowflake

MAX_GUILDS: Final = 20
NEW_GOES_HERE: Final = "give the new one here"
_NAME_CHARS: Final = 60
_TEXT_CHANNELS: Final = frozenset({0, 5})
"""Text and announcement channels."""
_CREATED: Final = range(200, 300)
_FAULTS: Final = range(500, 600)


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Whose token it is. ``owner`` is empty where Discord does not say."""

    name: str
    id: str
    owner: str
    owner_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A channel where the imp could answer."""

    id: str
    name: str
    guild: str


class Discord:
    """One application's view of Discord.

    ``user_name``, ``places`` and ``place`` end the wizard (``Halt``) where Discord gives no answer:
    a question that was not answered says nothing of the person or the place.
    """

    def __init__(self, api: str, token: str) -> None:
        self._rest = Rest(api, token)
        self._api = api

    def look(self) -> tuple[Check, Check, Application]:
        """Look at token, intents and application; the last two mean nothing if the first fails."""
        me, own = self._rest.get("/users/@me"), self._rest.get("/applications/@me")
        good = judge_token(_answer(me), remedy=NEW_GOES_HERE)
        return good, judge_intents(_answer(own)), _application(me, own)

    def user_name(self, user: str) -> str | None:
        """Give a person's name; None if Discord knows no such person."""
        found = self._get(f"/users/{user}")
        if found.status != OK or found.fields.get("bot"):
            return None
        return _text(found.fields.get("username"))

    def places(self) -> tuple[Place, ...] | None:
        """List the text channels that the bot sees; None when it is on no server."""
        guilds = self._get("/users/@me/guilds").items[:MAX_GUILDS]
        if not guilds:
            return None
        found: list[Place] = []
        for guild in guilds:
            name, number = _text(guild.get("name")), _id(guild.get("id"))
            for channel in self._get(f"/guilds/{number}/channels").items if number else ():
                place = _place(channel, name)
                if place is not None:
                    found.append(place)
        return tuple(found)

    def place(self, channel: str) -> Place | None:
        """Look at one channel; None if the bot does not see it or nobody writes there."""
        return _place(self._get(f"/channels/{channel}").fields, "")

    def direct_channel(self, user: str) -> str:
        """Open the direct messages with somebody; empty if Discord does not let the bot."""
        return _id(self._rest.post("/users/@me/channels", {"recipient_id": user}).fields.get("id"))

    def _get(self, path: str) -> Reply:
        reply = self._rest.get(path)
        if reply.status in (0, TOO_MANY) or reply.status in _FAULTS:
            said = f"answers {reply.status}" if reply.status else "does not answer"
            raise Halt(
                f"Discord {said} just now. Start init again in a while; it goes on from here."
            )
        return reply

    def post(self, channel: str, text: str) -> int:
        """Post a message that notifies nobody; 0 when it is there, else Discord's status."""
        body = {"content": text, "allowed_mentions": {"parse": []}}
        status = self._rest.post(f"/channels/{channel}/messages", body).status
        return 0 if status in _CREATED else status or -1


def _answer(reply: Reply) -> Answer:
    return Answer(status=reply.status, body=reply.fields)


def _application(me: Reply, own: Reply) -> Application:
    person = own.fields.get("owner")
    team = own.fields.get("team")
    owner, name = "", ""
    if isinstance(team, dict):
        owner = _id(team.get("owner_user_id"))
    elif isinstance(person, dict):
        owner, name = _id(person.get("id")), _text(person.get("username"))
    return Application(
        name=_text(me.fields.get("username")),
        id=_id(own.fields.get("id")) or _id(me.fields.get("id")),
        owner=owner,
        owner_name=name,
    )


def _place(channel: dict[str, object], guild: str) -> Place | None:
    number = _id(channel.get("id"))
    if not number or channel.get("type") not in _TEXT_CHANNELS:
        return None
    return Place(id=number, name=_text(channel.get("name")), guild=guild)


def _id(value: object) -> str:
    try:
        return parse_snowflake(value)
    except ValueError:
        return ""


def _text(value: object) -> str:
    return clean(value, _NAME_CHARS) if isinstance(value, str) else ""
