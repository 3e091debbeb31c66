"""The chat page over HTTP: its files, reading, refusals, uploads."""

from __future__ import annotations

import functools
import re
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import MultipartWriter

from bot.playground.entities import Attachment
from bot.playground.errors import one_field, refusal
from bot.playground.ids import ADA, BO, DEE, DIRECT, HEARTH, PIER
from bot.playground.page import routes
from bot.playground.server import Playground
from support.page_client import PageClient, page_open

HOSTILE = [
    "<script>alert(1)</script>",
    "a\u2028b\u2029c\u0085d",
    "\ud800 alone",
    "\u202eabc",
    "</textarea><img src=x onerror=alert(1)>",
    "```" * 600,
    "*_~|`<@#" * 200,
]


@pytest.fixture
async def client() -> AsyncIterator[PageClient]:
    async with page_open() as opened:
        yield opened


async def test_the_root_leads_to_the_page(client: PageClient) -> None:
    async with client.http.get(client.pg.origin) as answer:
        assert str(answer.url) == client.base
        assert "Inglenook" in await answer.text()


async def test_the_page_loads_nothing_from_elsewhere(client: PageClient) -> None:
    """Every file comes from here, under a policy that allows nothing else."""
    for file in sorted(routes.STATIC.iterdir()):
        async with client.http.get(client.base + file.name) as answer:
            assert answer.status == 200, file.name
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            text = await answer.text()
        found = set(re.findall(r"https?://[\w.]+", text))
        assert found <= {"http://www.w3.org"}, file.name  # the name of SVG, not an address


async def test_no_script_parses_markup(client: PageClient) -> None:
    """Texts of people become text nodes; there is no way in for markup."""
    for file in sorted(routes.STATIC.glob("*.js")):
        async with client.http.get(client.base + file.name) as answer:
            text = await answer.text()
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|Function\(",
            text,
        ), file.name


async def test_the_world_is_that_of_the_person(client: PageClient) -> None:
    world = await client.read("world", as_=DEE)
    assert world["me"] == str(DEE)
    assert [guild["name"] for guild in world["guilds"]] == ["Orchard"]
    assert [dm["id"] for dm in world["dms"]] == [str(DIRECT[DEE])]
    assert world["bot"] == {"id": str(client.pg.bot_user.id), "name": "Ember", "online": False}
    assert world["banner"] == routes.LOCAL_BANNER


@pytest.mark.parametrize("who", ["", "7", "nobody", "-1"])
async def test_an_unknown_person_gets_the_owners_seat(client: PageClient, who: str) -> None:
    """A browser may remember someone of an earlier world."""
    query = {"as_": who} if who else {}
    status = 200 if who.isdigit() or not who else 400
    world = await client.read("world", status=status, **query)
    assert status == 400 or world["me"] == str(ADA)


async def test_the_banner_can_be_another() -> None:
    extend = functools.partial(routes.attach, banner=routes.TOY_BANNER)
    async with page_open(Playground(extend=[extend])) as other:
        assert (await other.read("world", as_=ADA))["banner"] == routes.TOY_BANNER


async def test_messages_come_in_pages(client: PageClient) -> None:
    for number in range(routes.PAGE_MESSAGES + 3):
        await client.pg.say(ADA, HEARTH, f"message {number}")
    last = await client.read("messages", as_=BO, channel=HEARTH)
    assert len(last["messages"]) == routes.PAGE_MESSAGES
    assert last["more"]
    first = await client.read("messages", as_=BO, channel=HEARTH, before=last["messages"][0]["id"])
    assert [m["content"] for m in first["messages"]] == ["message 0", "message 1", "message 2"]
    assert not first["more"]


async def test_a_channel_one_is_not_in_is_refused_in_words(client: PageClient) -> None:
    answer = await client.read("messages", status=403, as_=DEE, channel=PIER)
    assert answer == {"error": "Missing Access"}
    answer = await client.read("messages", status=403, as_=DEE, channel=DIRECT[ADA])
    assert answer == {"error": "Missing Access"}


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_texts_come_back_exactly(client: PageClient, text: str) -> None:
    text = text[:2000]
    await client.act("say", as_=str(BO), channel=str(HEARTH), content=text)
    seen = await client.read("messages", as_=ADA, channel=HEARTH)
    assert seen["messages"][-1]["content"] == text


async def test_a_text_of_two_megabytes_is_refused(client: PageClient) -> None:
    answer = await client.act(
        "say", status=400, as_=str(BO), channel=str(HEARTH), content="x" * 2_000_000
    )
    assert "2000" in answer["error"]


async def test_an_empty_message_is_refused_in_words(client: PageClient) -> None:
    answer = await client.act("say", status=400, as_=str(BO), channel=str(HEARTH), content=" ")
    assert answer == {"error": "Cannot send an empty message"}


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{", b'{"as": "x"}', b'{"as": 1, "channel": -1}', b"\xff", b'{"as":[]}'],
)
async def test_nonsense_is_refused_in_words(client: PageClient, body: bytes) -> None:
    headers = {"Origin": client.pg.origin, "Content-Type": "application/json"}
    address = f"{client.base}api/say"
    async with client.http.post(address, data=body, headers=headers) as answer:
        assert answer.status == 400
        assert (await answer.json())["error"] == "The playground does not understand this."


async def test_only_json_and_forms_with_files_are_taken(client: PageClient) -> None:
    """A plain HTML form of another page could send text; it is not taken."""
    headers = {"Origin": client.pg.origin, "Content-Type": "text/plain"}
    async with client.http.post(f"{client.base}api/say", data=b"{}", headers=headers) as answer:
        assert answer.status == 415


async def test_files_go_up_and_come_down(client: PageClient) -> None:
    form = aiohttp.FormData()
    form.add_field("body", f'{{"as": "{BO}", "channel": "{HEARTH}", "content": ""}}')
    form.add_field("file", b"hello", filename="notes \u202e.txt", content_type="text/plain")
    form.add_field("file", b"\x89PNG", filename="a.png", content_type="image/png")
    headers = {"Origin": client.pg.origin}
    async with client.http.post(f"{client.base}api/say", data=form, headers=headers) as answer:
        assert answer.status == 200
    (message,) = (await client.read("messages", as_=ADA, channel=HEARTH))["messages"]
    assert [file["size"] for file in message["attachments"]] == [5, 4]
    async with client.http.get(client.base + message["attachments"][0]["url"]) as answer:
        assert await answer.read() == b"hello"


async def test_a_nested_form_is_refused(client: PageClient) -> None:
    with MultipartWriter("form-data") as outer, MultipartWriter("mixed") as inner:
        inner.append("x")
        outer.append(inner)
        headers = {"Origin": client.pg.origin}
        async with client.http.post(f"{client.base}api/say", data=outer, headers=headers) as answer:
            assert answer.status == 400


async def test_an_unknown_file_is_not_found(client: PageClient) -> None:
    async with client.http.get(f"{client.base}files/1/2/x.png") as answer:
        assert answer.status == 404


@pytest.mark.parametrize("path", ["../server.py", "%2e%2e/server.py", "..%2fserver.py"])
async def test_only_the_pages_own_files_are_served(client: PageClient, path: str) -> None:
    async with client.http.get(client.base + path) as answer:
        assert answer.status in {403, 404}


def file(name: str, kind: str | None) -> Attachment:
    return Attachment(id=1, filename=name, data=b"", content_type=kind)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("image/png", "image/png"),
        ("text/html", "text/plain; charset=utf-8"),
        ("text/plain; charset=utf-8", "text/plain; charset=utf-8"),
        ("image/svg+xml", "application/octet-stream"),
        ("application/pdf", "application/octet-stream"),
        (None, "application/octet-stream"),
    ],
)
def test_a_file_is_never_interpreted(kind: str | None, shown: str) -> None:
    """An uploaded page or drawing with code in it stays a text or a download."""
    headers = routes.file_headers(file("x", kind), download=False)
    assert headers["Content-Type"] == shown
    assert headers["Content-Security-Policy"].startswith("sandbox;")
    assert headers["Content-Disposition"].startswith("attachment") == (shown[:11] == "application")


def test_a_download_keeps_its_name_whatever_is_in_it() -> None:
    headers = routes.file_headers(file('a"\r\nX: \u202e\ud800.txt', "text/plain"), download=True)
    disposition = headers["Content-Disposition"]
    assert disposition.startswith("attachment; filename*=UTF-8''a%22%0D%0AX%3A")
    assert disposition.isascii()


def test_a_refusal_names_the_field() -> None:
    error = one_field(("embeds", 0, "title"), "BASE_TYPE_MAX_LENGTH", "Too long.")
    assert routes.words_of(error) == "embeds.0.title: Too long."
    assert routes.words_of(refusal(50006)) == "Cannot send an empty message"
