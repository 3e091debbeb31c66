"""The frame of REST: hostile bodies, files, the log."""

from __future__ import annotations

import asyncio
import contextlib
from io import BytesIO
from typing import TYPE_CHECKING

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.playground.applications.commands import Registry
from bot.playground.applications.interactions import Desk
from bot.playground.applications.stages import InteractionKind
from bot.playground.errors import ApiError
from bot.playground.faults import SEND, Faults
from bot.playground.ids import ADA, BO, EMBER, HEARTH
from bot.playground.messages.drafts import Draft
from bot.playground.messages.talk import Talk
from bot.playground.rest import frame as rest_module
from bot.playground.rest.frame import Call
from bot.playground.rest.messages import draft_of
from bot.playground.world.bodies import Callback, CreateMessage, EditMessage
from bot.playground.world.state import default_world

if TYPE_CHECKING:
    from bot.playground.server import Playground
    from support.playground_rest import Api

PATH = f"/channels/{HEARTH}/messages"
KEYS = [
    "content",
    "type",
    "components",
    "custom_id",
    "label",
    "style",
    "options",
    "url",
    "embeds",
    "fields",
    "footer",
    "text",
    "author",
    "name",
    "value",
    "title",
    "description",
    "flags",
    "nonce",
    "allowed_mentions",
    "parse",
    "users",
    "replied_user",
    "choices",
    "message_reference",
    "message_id",
    "attachments",
    "id",
    "filename",
    "data",
    "accessory",
    "component",
    "required",
    "autocomplete",
    "default_member_permissions",
    "contexts",
    "tts",
    "poll",
    "sticker_ids",
    "placeholder",
]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 20),
    st.floats(),
    st.text(max_size=5),
    st.just("users"),
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=30,
)
OBJECTS = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6)
PARTS = st.recursive(
    st.fixed_dictionaries({"type": st.integers(0, 20)}, optional=dict.fromkeys(KEYS[3:10], JSON)),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from([1, 9, 17, 18])},
        optional={
            "components": st.lists(inner, max_size=3),
            "accessory": inner,
            "component": inner,
        },
    ),
    max_leaves=6,
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "content": LEAVES,
        "embeds": st.lists(OBJECTS, max_size=3),
        "components": st.lists(st.one_of(PARTS, OBJECTS), max_size=3),
        "choices": st.lists(OBJECTS, max_size=3),
        "options": st.lists(OBJECTS, max_size=3),
        "allowed_mentions": OBJECTS,
        "message_reference": OBJECTS,
        "flags": st.sampled_from([0, 64, 1 << 15, "x"]),
        "name": LEAVES,
        "description": LEAVES,
        "title": st.just("t"),
        "custom_id": st.just("m"),
        "poll": OBJECTS,
    },
)


@settings(max_examples=100, deadline=None)
@given(st.one_of(JSON, BODIES))
def test_no_body_breaks_the_playground(body: object) -> None:
    """Whatever JSON comes, it is carried out or refused with one of Discord's errors."""
    world = default_world()
    talk, channel = Talk(world), world.channel(HEARTH)
    desk = Desk(world, talk)
    call = Call(params={}, query={}, body=body)
    with contextlib.suppress(ApiError):
        talk.send(EMBER, channel, draft_of(call.parsed(CreateMessage), call))
    with contextlib.suppress(ApiError):
        mine = talk.send(EMBER, channel, Draft(content="x"))
        talk.edit(EMBER, mine, call.parsed(EditMessage))
    with contextlib.suppress(ApiError):
        Registry(world).overwrite(None, body if isinstance(body, list) else [body])
    with contextlib.suppress(ApiError):
        Registry(world).upsert(None, body)
    for kind in InteractionKind:
        for answer in (4, 7, 8, 9):
            it = desk.open(kind, ADA, channel, {"name": "x"})
            data = body if isinstance(body, dict) else None
            with contextlib.suppress(ApiError):
                desk.answer(it.id, it.token, Callback(type=answer, data=data), ())


@pytest.mark.parametrize("body", [[], "text", 5, {"embeds": {}}, {"components": [1]}])
async def test_wrong_shapes_are_50035(api: Api, body: object) -> None:
    """A body that is no object, or a field of another kind."""
    assert (await api("POST", PATH, body)).code == 50035


async def test_endless_nesting_is_no_json(api: Api) -> None:
    """A hundred thousand brackets are refused, not recursed into."""
    assert (await api("POST", PATH, raw=b"[" * 100_000)).code == 50109


async def test_big_bodies_are_40005(
    pg: Playground, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than the limit is refused, as JSON and as files."""
    answer = await api("POST", PATH, raw=b" " * (33 * 1024 * 1024))
    assert (answer.status, answer.code) == (413, 40005)
    monkeypatch.setattr(rest_module, "BODY_LIMIT_BYTES", 10)
    assert (await _upload(pg, {"files[0]": b"x" * 11}))["code"] == 40005


async def _upload(pg: Playground, parts: dict[str, bytes]) -> dict[str, object]:
    form = aiohttp.FormData(quote_fields=False)
    for name, data in parts.items():
        if name == "payload_json":
            form.add_field(name, data.decode())
        else:
            form.add_field(name, BytesIO(data), filename="a.txt")
    headers = {"Authorization": f"Bot {pg.token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(pg.api_base + PATH, data=form) as answer,
    ):
        body: dict[str, object] = await answer.json()
        return body


async def test_files_without_notes_and_with_broken_json(pg: Playground) -> None:
    """Files may come alone; half a ``payload_json`` is refused."""
    assert (await _upload(pg, {"files[0]": b"abc"}))["content"] == ""
    assert pg.messages(HEARTH)[0].attachments[0].data == b"abc"
    assert pg.requests[-1].files == ("a.txt",)
    assert (await _upload(pg, {"payload_json": b"{", "files[0]": b"x"}))["code"] == 50109


async def test_broken_multipart_is_refused(pg: Playground) -> None:
    """A body that ends in the middle of a part does not break the server."""
    headers = {
        "Authorization": f"Bot {pg.token}",
        "Content-Type": "multipart/form-data; boundary=x",
    }
    async with aiohttp.ClientSession(headers=headers) as session:
        for raw in (b"", b"--x\r\nContent-Disp", b"no boundary at all"):
            async with asyncio.timeout(120), session.post(pg.api_base + PATH, data=raw) as answer:
                assert answer.status == 400


async def test_the_log_keeps_method_route_body_and_status(pg: Playground, api: Api) -> None:
    """What a test asserts on; the oldest entries go first."""
    await api("POST", PATH, {"content": "x"})
    seen = await pg.wait_for_request("POST", SEND)
    assert (seen.path, seen.body, seen.status) == (PATH, {"content": "x"}, 200)
    assert seen.at_ns > 0
    await api("GET", "/nowhere?a=1")
    assert pg.requests[-1].route == ""
    assert pg.requests[-1].query == {"a": "1"}


async def test_the_log_is_bounded(
    pg: Playground, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A playground that runs for days does not grow for ever."""
    monkeypatch.setattr(rest_module, "LOG_ENTRIES", 3)
    for _ in range(5):
        await api("GET", f"/users/{BO}")
    assert len(pg.requests) == 3


def test_unscripted_requests_meet_no_fault() -> None:
    """An empty script is no fault."""
    assert Faults().take("POST", SEND, PATH) is None
