"""Who may ask the inspector at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.inspector.guard import HEADERS, is_loopback, is_ours
from support.inspector_world import Reader, inspecting
from support.recorded_runs import RUN, record_run

OURS = "127.0.0.1:4301"
PAGES = ("/", f"/runs/{RUN}", f"/runs/{RUN}/turns/1/text/message", "/live", "/nothing")


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1:4301", True),
        ("localhost:4301", True),
        ("LOCALHOST", True),
        ("[::1]:9000", True),  # a tunnel has a port of its own
        ("evil.test", False),
        ("evil.test:4301", False),
        ("127.0.0.1.evil.test", False),
        ("localhost.evil.test:4301", False),
        ("evil.test@127.0.0.1", False),
        ("127.0.0.1:4301@evil.test", False),
        ("127.0.0.1:port", False),
        ("0.0.0.0:4301", False),
        ("", False),
    ],
)
def test_only_names_of_this_machine_lead_here(host: str, ours: bool) -> None:  # noqa: FBT001
    """DNS rebinding: the address is ours, the name is somebody's."""
    assert is_loopback(host) is ours


@pytest.mark.parametrize(
    ("method", "headers", "ours"),
    [
        ("GET", {}, True),
        ("GET", {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, True),
        # a link in Discord's page
        ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, True),
        (
            "GET",
            {
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "navigate",
                "Sec-Fetch-Dest": "iframe",
            },
            False,
        ),
        ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, False),
        # another port of this machine
        ("GET", {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, False),
        ("GET", {"Origin": "http://evil.test"}, False),
        ("POST", {"Origin": f"http://{OURS}"}, True),
        ("POST", {}, False),
        ("POST", {"Origin": "null"}, False),
        ("POST", {"Origin": "http://127.0.0.1:4300"}, False),
        ("POST", {"Origin": f"https://{OURS}"}, False),
        ("DELETE", {"Origin": "http://evil.test"}, False),
    ],
)
def test_only_the_page_itself_acts(method: str, headers: dict[str, str], ours: bool) -> None:  # noqa: FBT001
    """Issue "Bad input": other origins."""
    assert is_ours(method, OURS, headers) is ours


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    await record_run(tmp_path)
    async with inspecting(tmp_path, signed_in=False) as opened:
        yield opened


async def test_nothing_is_shown_to_whoever_is_not_signed_in(reader: Reader) -> None:
    """All pages, each by itself, then links that do not open; and then everything."""
    for path in PAGES:
        page = await reader.get(path, status=401)
        assert "/inspect" in page
        assert RUN not in page
    await reader.post("/theme", {"theme": "dark"}, status=401)
    await reader.post(f"/runs/{RUN}/verify", {}, status=401)
    assert "once" in await reader.get("/sign-in?ticket=guessed", status=410)
    await reader.post("/sign-in", {"ticket": "guessed"}, status=410)
    await reader.post("/sign-in", {}, status=410)
    link = reader.inspector.link()
    path, ticket = link.removeprefix(reader.inspector.origin), link.partition("ticket=")[2]
    reader.clock.seconds += 600  # ten minutes
    assert "too old" in await reader.get(path, status=410)
    await reader.post("/sign-in", {"ticket": ticket}, status=410)
    await reader.sign_in()
    assert RUN in await reader.get("/")
    reader.clock.seconds += 12 * 3600
    await reader.get("/", status=401)


async def test_forms_are_taken_from_their_own_page_alone(reader: Reader) -> None:
    """Cross-site request forgery: neither another origin nor a form without its token acts."""
    await reader.sign_in()
    token = await reader.token()
    assert len(token) > 30
    ours = {"Origin": reader.inspector.origin}
    for fields, headers in (
        ({"token": token}, {"Origin": "http://evil.test"}),
        ({"token": token}, {"Origin": "null"}),
        ({"token": token}, {"Referer": reader.inspector.origin}),
        ({}, ours),
        ({"token": "x" * 43}, ours),
    ):
        for path in ("/sign-out", "/theme", f"/runs/{RUN}/verify"):
            await reader.post(path, fields, status=403, **headers)
    assert RUN in await reader.get("/")
    await reader.post("/sign-out", {"token": token}, status=200)
    await reader.get("/", status=401)


async def test_what_is_no_form_of_ours_is_refused(reader: Reader) -> None:
    """Nothing that is sent breaks the page, and nothing is done by it."""
    await reader.sign_in()
    urlencoded = "application/x-www-form-urlencoded"
    for body, kind, status in (
        (b"\xff\xfe\x00", "multipart/form-data", 403),
        (b"--x\r\nnothing", "multipart/form-data; boundary=x", 403),
        (b'{"token": []}', "application/json", 403),
        (b"token=%ff%fe&token=a", urlencoded, 403),
        (b"\xff\xfe", urlencoded, 403),
        (b"token=" + b"a" * 20_000, urlencoded, 413),
    ):
        headers = {"Origin": reader.inspector.origin, "Content-Type": kind}
        address = f"{reader.inspector.origin}/sign-out"
        async with reader.http.post(address, data=body, headers=headers) as answer:
            assert answer.status == status, body
            assert "Content-Security-Policy" in answer.headers
    assert RUN in await reader.get("/")


async def test_every_answer_says_what_the_browser_may(reader: Reader) -> None:
    """Strict policy, no caching, no frames: also of refusals and of the page's files."""
    for path in ("/", "/static/inspector.css", "/sign-in?ticket=x", "/nothing"):
        address = f"{reader.inspector.origin}{path}"
        async with reader.http.get(address) as answer:
            for name, value in HEADERS.items():
                if name != "Cache-Control":
                    assert answer.headers[name] == value
            assert answer.headers["Cache-Control"] in {"no-store", "no-cache"}
            assert "Set-Cookie" not in answer.headers
    assert "'unsafe" not in HEADERS["Content-Security-Policy"]
    link = reader.inspector.link()
    async with reader.http.post(
        f"{reader.inspector.origin}/sign-in",
        data={"ticket": link.partition("ticket=")[2]},
        headers={"Origin": reader.inspector.origin},
        allow_redirects=False,
    ) as answer:
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie


async def test_another_name_is_refused_before_anything_else(reader: Reader) -> None:
    await reader.sign_in()
    for path in (*PAGES, "/static/inspector.js", "/sign-in"):
        page = await reader.get(path, status=421, Host=f"evil.test:{reader.inspector.port}")
        assert RUN not in page
