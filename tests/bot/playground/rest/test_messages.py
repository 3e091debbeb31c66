"""What Discord refuses about messages, with its codes, and what it gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.playground.entities import MessageKind
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, HEARTH, HELPERS, KINDLING, ORCHARD
from bot.playground.world.permissions import Permission

if TYPE_CHECKING:
    from bot.playground.server import Playground
    from support.playground_rest import Api

SEND = f"/channels/{HEARTH}/messages"


def row(*parts: dict[str, object]) -> dict[str, object]:
    return {"type": 1, "components": list(parts)}


def button(custom_id: str = "x", **more: object) -> dict[str, object]:
    return {"type": 2, "style": 1, "label": "Press", "custom_id": custom_id, **more}


@pytest.mark.parametrize("content", ["", "  \n ", None])
async def test_empty_message_is_50006(api: Api, content: str | None) -> None:
    """P08: nothing, or white space, is refused."""
    answer = await api("POST", SEND, {"content": content})
    assert (answer.status, answer.code) == (400, 50006)


async def test_zero_width_text_is_no_empty_message(api: Api) -> None:
    """Discord takes a zero-width space for text, however odd that looks."""
    assert (await api("POST", SEND, {"content": "\u200b"})).status == 200


async def test_2000_code_points_fit_and_2001_do_not(api: Api) -> None:
    """Discord counts code points, after trimming white space."""
    assert (await api("POST", SEND, {"content": "🔥" * 2000 + "\n"})).status == 200
    answer = await api("POST", SEND, {"content": "x" * 2001})
    assert (answer.status, answer.code) == (400, 50035)
    assert answer.wrong("content") == ["BASE_TYPE_MAX_LENGTH"]


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"content": 5}, ("content",), "BASE_TYPE_INVALID"),
        ({"content": "x", "nonce": "n" * 26}, ("nonce",), "BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{"title": "x"}] * 11}, ("embeds",), "BASE_TYPE_BAD_LENGTH"),
        (
            {"embeds": [{"description": "x" * 4000}, {"description": "x" * 2001}]},
            ("embeds",),
            "MAX_EMBED_SIZE_EXCEEDED",
        ),
        ({"embeds": [{"title": "x" * 257}]}, ("embeds", "0", "title"), "BASE_TYPE_MAX_LENGTH"),
        ({"components": [row()] * 6}, ("components",), "BASE_TYPE_MAX_LENGTH"),
        (
            {"components": [row(*[button(str(n)) for n in range(6)])]},
            ("components", "0", "components"),
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"components": [row(button("x" * 101))]},
            ("components", "0", "components", "0", "custom_id"),
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"components": [row(button("a"), button("a"))]},
            ("components",),
            "COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        (
            {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
            ("allowed_mentions",),
            "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
        ),
        (
            {"content": "x", "allowed_mentions": {"parse": ["all"]}},
            ("allowed_mentions", "parse", "0"),
            "BASE_TYPE_CHOICES",
        ),
        (
            {"content": "x", "message_reference": {"message_id": "seven"}},
            ("message_reference", "message_id"),
            "NUMBER_TYPE_COERCE",
        ),
        (
            {"content": "x", "message_reference": {"message_id": "7"}},
            ("message_reference",),
            "REPLIES_UNKNOWN_MESSAGE",
        ),
        (
            {"content": "x", "flags": 1 << 15},
            ("content",),
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
        ),
    ],
)
async def test_malformed_messages_are_50035_with_the_path(
    api: Api, body: dict[str, object], path: tuple[str, ...], code: str
) -> None:
    """The tree names the field and says what is wrong with it."""
    answer = await api("POST", SEND, body)
    assert (answer.status, answer.code) == (400, 50035)
    assert answer.wrong(*path) == [code]


async def test_broken_json_is_50109(api: Api) -> None:
    """Neither half JSON nor a lone surrogate is taken."""
    for raw in (b"{", b'{"content": "\\ud83d"}', b"\xff"):
        answer = await api("POST", SEND, raw=raw)
        assert (answer.status, answer.code) == (400, 50109)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/channels/42/messages", 404, 10003),
        ("GET", "/channels/42", 404, 10003),
        ("GET", f"{SEND}/42", 404, 10008),
        ("PATCH", f"{SEND}/42", 404, 10008),
        ("DELETE", f"{SEND}/42", 404, 10008),
        ("GET", "/users/42", 404, 10013),
        ("GET", "/guilds/42", 404, 10004),
        ("GET", f"/guilds/{ORCHARD}/members/42", 404, 10007),
        ("GET", "/channels/abc", 400, 50035),
        ("GET", "/nowhere", 404, 0),
    ],
)
async def test_unknown_things(api: Api, method: str, path: str, status: int, code: int) -> None:
    """Unknown ids are refused with the code of their kind; no number is 50035."""
    answer = await api(method, path, {"content": "x"} if method != "GET" else None)
    assert (answer.status, answer.code) == (status, code)


async def test_missing_reference_can_be_tolerated(api: Api) -> None:
    """``fail_if_not_exists`` false sends a plain message instead."""
    body = {"content": "x", "message_reference": {"message_id": "7", "fail_if_not_exists": False}}
    answer = await api("POST", SEND, body)
    assert answer.status == 200
    assert answer.body["type"] == 0


async def test_system_messages_cannot_be_answered(pg: Playground, api: Api) -> None:
    """A reply to a join line is refused."""
    joined = await pg.say(BO, HEARTH, "", type=MessageKind.JOIN)
    body = {"content": "x", "message_reference": {"message_id": str(joined.id)}}
    answer = await api("POST", SEND, body)
    assert answer.wrong("message_reference") == ["REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE"]


async def test_the_same_nonce_gives_the_same_message(pg: Playground, api: Api) -> None:
    """``enforce_nonce`` makes a repeated send harmless, for some minutes."""
    now = [pg.world.clock()]
    pg.world.clock = lambda: now[0]
    body = {"content": "once", "nonce": "n1", "enforce_nonce": True}
    first = await api("POST", SEND, body)
    again = await api("POST", SEND, body)
    assert again.body["id"] == first.body["id"]
    assert len(pg.messages(HEARTH)) == 1
    other = await api("POST", SEND, body | {"enforce_nonce": False})
    assert other.body["id"] != first.body["id"]
    now[0] += 301
    late = await api("POST", SEND, body)
    assert late.body["id"] not in {first.body["id"], other.body["id"]}


async def test_permissions(pg: Playground, api: Api) -> None:
    """50013 for what is not allowed, 160002 for a reply without reading history."""
    asked = await pg.say(BO, HEARTH, "hi")
    pg.world.set_overwrite(HEARTH, EMBER, kind=1, deny=Permission.READ_MESSAGE_HISTORY)
    body = {"content": "x", "message_reference": {"message_id": str(asked.id)}}
    assert (await api("POST", SEND, body)).code == 160002
    assert (await api("GET", SEND)).code == 50001
    pg.world.set_overwrite(HEARTH, EMBER, kind=1, deny=Permission.SEND_MESSAGES)
    assert (await api("POST", SEND, {"content": "x"})).code == 50013
    assert (await api("DELETE", f"{SEND}/{asked.id}")).code == 50013
    assert (await api("PATCH", f"{SEND}/{asked.id}", {"content": "x"})).code == 50005


async def test_closed_dm_is_50007(pg: Playground, api: Api) -> None:
    """A person who closed their DMs cannot be written to."""
    pg.world.user(BO).dms_closed = True
    answer = await api("POST", f"/channels/{DIRECT[BO]}/messages", {"content": "x"})
    assert (answer.status, answer.code) == (403, 50007)


async def test_threads_locked_and_archived(pg: Playground, api: Api) -> None:
    """Sending opens an archived thread again; editing in it does not; locked is 160005."""
    path = f"/channels/{KINDLING}/messages"
    mine = await api("POST", path, {"content": "x"})
    await pg.archive(ADA, KINDLING)
    edit = await api("PATCH", f"{path}/{mine.body['id']}", {"content": "y"})
    assert (edit.status, edit.code) == (400, 50083)
    assert (await api("POST", path, {"content": "z"})).status == 200
    assert not pg.world.channel(KINDLING).archived
    await pg.archive(ADA, KINDLING, locked=True)
    answer = await api("POST", path, {"content": "x"})
    assert (answer.status, answer.code) == (403, 160005)


async def test_edit_keeps_what_it_does_not_name(pg: Playground, api: Api) -> None:
    """A PATCH changes the named fields only, and cannot empty a message."""
    body = {"content": "a", "components": [row(button())]}
    made = await api("POST", SEND, body)
    path = f"{SEND}/{made.body['id']}"
    edited = await api("PATCH", path, {"content": "b"})
    assert edited.body["components"] == body["components"]
    assert edited.body["edited_timestamp"] is not None
    assert (await api("PATCH", path, {"content": "", "components": []})).code == 50006
    assert pg.messages(HEARTH)[0].content == "b"


async def test_bulk_delete_rules(pg: Playground, api: Api) -> None:
    """Two to a hundred messages, and MANAGE_MESSAGES."""
    said = [await pg.say(BO, HEARTH, "x") for _ in range(2)]
    ids = [str(m.id) for m in said]
    path = f"{SEND}/bulk-delete"
    assert (await api("POST", path, {"messages": ids})).code == 50013
    pg.world.guild(ORCHARD).roles[ORCHARD].permissions |= Permission.MANAGE_MESSAGES
    assert (await api("POST", path, {"messages": ids[:1]})).code == 50016
    assert (await api("POST", path, {"messages": ids})).status == 204
    assert pg.messages(HEARTH) == ()


async def test_mentions_follow_allowed_mentions(pg: Playground, api: Api) -> None:
    """P09: the request decides who is pinged; left out, everything is."""
    pg.world.guild(ORCHARD).roles[ORCHARD].permissions |= Permission.MENTION_EVERYONE
    text = f"@everyone <@{BO}> <@&{HELPERS}>"
    loud = await api("POST", SEND, {"content": text})
    assert loud.body["mention_everyone"] is True
    assert [u["id"] for u in loud.body["mentions"]] == [str(BO)]
    quiet = await api("POST", SEND, {"content": text, "allowed_mentions": {"parse": []}})
    assert quiet.body["mention_everyone"] is False
    assert quiet.body["mentions"] == []
    assert quiet.body["mention_roles"] == []
    assert quiet.body["content"] == text
    some = {"content": text, "allowed_mentions": {"parse": ["roles"], "users": []}}
    await api("POST", SEND, some)
    pinged = [m.pinged for m in pg.messages(HEARTH)]
    assert pinged[0] == (BO, ADA, CY, *pinged[0][3:])
    assert pinged[1] == ()
    assert pinged[2] == (CY,)


async def test_reactions_of_the_bot(pg: Playground, api: Api) -> None:
    """Adding twice counts once; removing what is not there is 10014; 20 kinds at most."""
    message = await pg.say(BO, HEARTH, "x")
    path = f"{SEND}/{message.id}/reactions"
    for _ in range(2):
        assert (await api("PUT", f"{path}/%F0%9F%94%A5/@me")).status == 204
    assert message.reactions == {"🔥": [EMBER]}
    assert [u["id"] for u in (await api("GET", f"{path}/%F0%9F%94%A5")).body] == [str(EMBER)]
    assert (await api("DELETE", f"{path}/%F0%9F%91%8D/@me")).code == 10014
    for number in range(19):
        assert (await api("PUT", f"{path}/e:{number}/@me")).status == 204
    assert (await api("PUT", f"{path}/e:99/@me")).code == 30010


async def test_forward_has_a_snapshot_and_no_content(pg: Playground, api: Api) -> None:
    """P12: the text of a forward stands in its snapshot."""
    original = await pg.say(BO, HEARTH, "pass it on")
    reference = {"type": 1, "message_id": str(original.id), "channel_id": str(HEARTH)}
    answer = await api("POST", SEND, {"message_reference": reference})
    assert answer.body["content"] == ""
    assert answer.body["message_snapshots"][0]["message"]["content"] == "pass it on"
    assert answer.body["flags"] & (1 << 14)


async def test_token_is_needed(pg: Playground, api: Api) -> None:
    """Without the right token every route is 401."""
    pg.rest.token = "another"  # noqa: S105 - the client keeps the old one
    answer = await api("GET", "/users/@me")
    assert (answer.status, answer.body) == (401, {"message": "401: Unauthorized", "code": 0})
