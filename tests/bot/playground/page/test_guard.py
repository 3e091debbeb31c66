"""Other pages and other names do not get at the playground's page."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot.playground.ids import ADA, HEARTH
from support.page_client import PageClient, page_open


@pytest.fixture
async def client() -> AsyncIterator[PageClient]:
    async with page_open() as opened:
        yield opened


@pytest.mark.parametrize("name", ["evil.test", "127.0.0.1.evil.test", "127.0.0.1:1", "localhost"])
async def test_another_host_name_is_refused(client: PageClient, name: str) -> None:
    """DNS rebinding: the address is ours, the name is not (nor is the port)."""
    for path in ("", "api/world", "app.js"):
        async with client.http.get(client.base + path, headers={"Host": name}) as answer:
            assert answer.status == 421


async def test_the_names_of_loopback_are_ours(client: PageClient) -> None:
    for name in ("127.0.0.1", "localhost"):
        headers = {"Host": f"{name}:{client.pg.port}"}
        async with client.http.get(client.base, headers=headers) as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "http://evil.test"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1"}],
)
async def test_only_our_own_page_may_act(client: PageClient, headers: dict[str, str]) -> None:
    """Cross-site requests: nothing is said in anyone's name."""
    answer = await client.act(
        "say", status=403, headers=headers, as_=str(ADA), channel=str(HEARTH), content="hello"
    )
    assert "own page" in answer["error"]
    assert client.pg.messages(HEARTH) == ()


async def test_an_origin_of_another_loopback_name_is_not_ours(client: PageClient) -> None:
    headers = {"Origin": f"http://localhost:{client.pg.port}"}
    await client.act("typing", status=403, headers=headers, as_=str(ADA), channel=str(HEARTH))


@pytest.mark.parametrize("origin", [None, "http://evil.test"])
async def test_the_socket_is_for_our_own_page(client: PageClient, origin: str | None) -> None:
    headers = {"Origin": origin} if origin else {}
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        async with client.http.ws_connect(f"{client.base}api/events?as={ADA}", headers=headers):
            pass
    assert caught.value.status == 403


async def test_a_picture_tag_of_another_site_reads_nothing(client: PageClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"}
    async with client.http.get(f"{client.base}api/world", headers=headers) as answer:
        assert answer.status == 403


async def test_refusals_carry_the_policy_too(client: PageClient) -> None:
    async with client.http.get(f"{client.base}api/messages") as answer:
        assert answer.status == 400
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
