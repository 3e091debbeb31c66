"""REST for the bot itself, guilds, channels and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.playground.entities import ChannelKind
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH, KINDLING, ORCHARD
from bot.playground.world.permissions import Permission

if TYPE_CHECKING:
    from bot.playground.server import Playground
    from support.playground_rest import Api


async def test_the_application_shows_its_switches(pg: Playground, api: Api) -> None:
    """A switched-off privileged intent lacks its flag, which a check before the start can read."""
    for path in ("/applications/@me", "/oauth2/applications/@me"):
        body = (await api("GET", path)).body
        assert body["flags"] & (1 << 19)
        assert body["owner"]["id"] == str(ADA)
    pg.intents_allowed &= ~(1 << 15)
    assert not (await api("GET", "/applications/@me")).body["flags"] & (1 << 19)


async def test_gateway_addresses(pg: Playground, api: Api) -> None:
    """Both tell the loopback address."""
    assert (await api("GET", "/gateway")).body == {"url": pg.gateway_address}
    body = (await api("GET", "/gateway/bot")).body
    assert (body["url"], body["shards"]) == (pg.gateway_address, 1)


async def test_dm_is_opened_once(api: Api) -> None:
    """The same conversation each time; not with oneself, not with strangers."""
    body = (await api("POST", "/users/@me/channels", {"recipient_id": str(BO)})).body
    assert body["id"] == str(DIRECT[BO])
    assert [r["id"] for r in body["recipients"]] == [str(BO)]
    own = await api("POST", "/users/@me/channels", {"recipient_id": str(EMBER)})
    assert own.code == 50035
    assert (await api("POST", "/users/@me/channels", {"recipient_id": "42"})).code == 10013


async def test_guilds_members_and_roles(api: Api) -> None:
    """What the bot may look up."""
    assert len((await api("GET", "/users/@me/guilds")).body) == 2
    assert (await api("GET", f"/guilds/{ORCHARD}")).body["owner_id"] == str(ADA)
    members = (await api("GET", f"/guilds/{ORCHARD}/members?limit=3")).body
    assert len(members) == 3
    assert (await api("GET", f"/guilds/{ORCHARD}/members/{BO}")).body["user"]["id"] == str(BO)
    assert len((await api("GET", f"/guilds/{ORCHARD}/roles")).body) == 2
    channels = (await api("GET", f"/guilds/{ORCHARD}/channels")).body
    assert [c["name"] for c in channels] == ["hearth", "workshop"]


async def test_threads_of_the_bot(pg: Playground, api: Api) -> None:
    """A public thread is announced, a second one of a message is 160004, forums need a text."""
    path = f"/channels/{HEARTH}/threads"
    made = await api("POST", path, {"name": "plan", "type": 11})
    assert (made.status, made.body["parent_id"]) == (201, str(HEARTH))
    assert pg.messages(HEARTH)[-1].content == "plan"
    active = (await api("GET", f"/guilds/{ORCHARD}/threads/active")).body
    assert {t["id"] for t in active["threads"]} == {str(KINDLING), made.body["id"]}
    assert (await api("POST", path, {"name": ""})).code == 50035
    assert (await api("POST", path, {"name": "secret", "type": 12})).code == 50013
    message = await pg.say(BO, HEARTH, "x")
    of_message = f"/channels/{HEARTH}/messages/{message.id}/threads"
    assert (await api("POST", of_message, {"name": "x"})).status == 201
    assert (await api("POST", of_message, {"name": "x"})).code == 160004
    forum = pg.world.add_channel(ORCHARD, "ideas", kind=ChannelKind.FORUM)
    posts = f"/channels/{forum.id}/threads"
    assert (await api("POST", posts, {"name": "x"})).code == 50035
    post = await api("POST", posts, {"name": "x", "message": {"content": "first"}})
    assert post.body["message"]["content"] == "first"
    assert (await api("POST", f"/channels/{forum.id}/messages", {"content": "x"})).code == 50008


async def test_thread_members(pg: Playground, api: Api) -> None:
    """The bot joins and leaves; an archived thread cannot be joined; a channel is no thread."""
    path = f"/channels/{KINDLING}/thread-members"
    assert (await api("DELETE", f"{path}/@me")).status == 204
    assert [m["user_id"] for m in (await api("GET", path)).body] == [str(ADA)]
    assert (await api("PUT", f"{path}/@me")).status == 204
    assert (await api("PUT", f"/channels/{HEARTH}/thread-members/@me")).code == 50024
    await pg.archive(ADA, KINDLING)
    assert (await api("PUT", f"{path}/@me")).code == 50083
    archived = (await api("GET", f"/channels/{HEARTH}/threads/archived/public")).body
    assert [t["id"] for t in archived["threads"]] == [str(KINDLING)]


async def test_changing_channels_needs_rights(pg: Playground, api: Api) -> None:
    """A foreign thread needs MANAGE_THREADS, a channel MANAGE_CHANNELS; a DM never."""
    assert (await api("PATCH", f"/channels/{KINDLING}", {"archived": True})).code == 50013
    assert (await api("DELETE", f"/channels/{HEARTH}")).code == 50013
    assert (await api("PATCH", f"/channels/{DIRECT[BO]}", {"name": "x"})).code == 50003
    rights = Permission.MANAGE_THREADS | Permission.MANAGE_CHANNELS
    pg.world.guild(ORCHARD).roles[ORCHARD].permissions |= rights
    changed = await api("PATCH", f"/channels/{KINDLING}", {"archived": True, "name": "ash"})
    assert changed.body["thread_metadata"]["archived"] is True
    assert changed.body["name"] == "ash"
    assert (await api("PATCH", f"/channels/{HEARTH}", {"topic": "warm"})).body["topic"] == "warm"
    assert (await api("DELETE", f"/channels/{HEARTH}")).status == 200
    assert (await api("GET", f"/channels/{KINDLING}")).code == 10003
