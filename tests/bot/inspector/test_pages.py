"""What the inspector's pages say, read without a browser."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from yarl import URL

from bot.inspector.pages import PAGE_RUNS
from compiler.request import RunId
from support.compiler_factories import group_scope
from support.inspector_world import Markup, Reader, inspecting
from support.recorded_runs import CANARY, RUN, Said, change_line, record_run

pytestmark = pytest.mark.asyncio(loop_scope="module")  # one page for all who only read
LATER = RunId("2026-11-30-08-00-00-efgh")
TURNS = (Said(text="plums", number=1), Said(text="pears", number=2))
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u202e{{7*7}}<!--"
LOUD = {"script", "img", "iframe", "object", "embed", "style", "base", "b", "i"}


class HostileNames:
    """A Discord where everything is called something bad."""

    def channel(self, channel_id: str) -> str:
        return f"#{HOSTILE}{channel_id}"

    def person(self, user_id: str) -> str:
        return HOSTILE + user_id

    def channels_named(self, text: str) -> tuple[str, ...]:
        return ("discord:2001",) if text == "hearth" else ()


async def recorded(home: Path) -> Path:
    await record_run(home, TURNS)
    await record_run(home, run_id=LATER, scope=group_scope())
    return home


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reader]:
    """A home that nobody changes, and one browser before it for all who only read."""
    home = await recorded(tmp_path_factory.mktemp("home"))
    async with inspecting(home, names=HostileNames()) as opened:
        yield opened


def harmless(page: str) -> Markup:
    """No text of others became a tag, an attribute or an address."""
    found = Markup.of(page)
    for tag, name, value in found.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name != "style"
        if name in {"href", "src", "action"}:
            assert value.startswith(("/", "?", "#")), value
            assert not value.startswith("//")
    return found


async def test_the_list_and_a_run_are_whole_without_a_script(reader: Reader) -> None:
    """Issue "Bad input": a browser without script: the list and a run still readable."""
    listed = await reader.get("/")
    assert f'href="/runs/{RUN}"' in listed
    assert f'href="/runs/{LATER}"' in listed
    page = await reader.get(f"/runs/{RUN}")
    assert f"Run <code>{RUN}</code>" in page
    for word in ("identity", "runtime-policy", "trusted-directive", "imp-stable", "verified"):
        assert word in page
    for words in ("waiting", "until the first word", "297.4 ms", "1.2 s"):
        assert words in page
    assert 'aria-current="true"' in page
    assert CANARY not in page  # sizes and hashes, no content
    assert CANARY not in listed
    first = await reader.get(f"/runs/{RUN}?turn=1")
    assert "Nothing to compare with" in first
    assert "no room left, in characters" in first
    second = await reader.get(f"/runs/{RUN}?turn=2")
    assert "The system prompt is the same, byte for byte." in second
    assert "Receipt of turn 2" in second


async def test_search_and_filters_are_forms(reader: Reader) -> None:
    def runs(page: str) -> list[str]:
        found = Markup.of(page)
        return [v.removeprefix("/runs/") for t, n, v in found.attributes if v.startswith("/runs/")]

    assert runs(await reader.get("/")) == [LATER, RUN]
    assert runs(await reader.get("/?q=efgh")) == [LATER]
    assert runs(await reader.get("/?q=hearth")) == [LATER]  # a channel by its name
    assert runs(await reader.get("/?from=2026-11-30")) == [LATER]
    assert runs(await reader.get("/?where=discord:2100")) == [RUN]
    assert runs(await reader.get("/?outcome=failed")) == []
    assert runs(await reader.get(f"/?before={LATER}")) == [RUN]
    empty = await reader.get("/?q=nothing&outcome=failed")
    assert "No run is like that" in empty
    assert 'value="nothing"' in empty


async def test_exact_texts_are_given_on_their_own_pages_alone(reader: Reader) -> None:
    """Issue: exact text behind a click with a "private" cover."""
    page = await reader.get(f"/runs/{RUN}/turns/2/text/message")
    assert f"{CANARY} pears" in page
    assert "Private." in page
    name = f"{RUN}-2-message.txt"
    async with reader.http.get(
        f"{reader.inspector.origin}/runs/{RUN}/turns/2/text/message?as=file"
    ) as answer:
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert answer.headers["Content-Security-Policy"].startswith("sandbox")
        assert answer.content_type == "text/plain"
        assert f"{CANARY} pears" in await answer.text()


async def test_a_difference_is_marked_where_it_begins(reader: Reader) -> None:
    """Issue: difference to the turn before, by block, first differing byte marked."""
    page = await reader.get(f"/runs/{RUN}/turns/2/difference/message")
    marked = page.split("<mark>")
    assert len(marked) == 3  # once before, once after
    assert [part.partition("</mark>")[0] for part in marked[1:]] == ["1", "2"]  # 9001, 9002
    assert "The first byte that differs is number" in page
    await reader.get(f"/runs/{RUN}/turns/2/difference/identity", status=404)
    await reader.get(f"/runs/{RUN}/turns/1/difference/message", status=404)


TRICKS = [
    "/runs/../../etc/passwd",
    "/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/runs/..%2f..%2finglenook.db",
    f"/runs/{RUN}%2f..%2f{LATER}",
    f"/runs/{RUN}%00",
    f"/runs/{RUN}/context.jsonl",
    f"/runs/{RUN.upper()}",
    "/runs/2026-01-01-00-00-00-none",
    "/static/..%2fpages.py",
    "/static/../pages.py",
    "/static/%2e%2e/templates/base.html",
    "/static/secrets.js",
    f"/runs/{RUN}/turns/0/text/message",
    f"/runs/{RUN}/turns/99/text/message",
    f"/runs/{RUN}/turns/1/text/secrets",
    f"/runs/{RUN}/turns/1/text/connections",
    f"/runs/{RUN}/turns/-1/text/message",
    f"/runs/{RUN}?turn=99",
    f"/runs/{RUN}?turn=x",
    "//evil.test/",
]


async def test_path_tricks_lead_nowhere(reader: Reader) -> None:
    """Issue "Bad input": path tricks. The raw path is sent as it stands here."""
    for path in TRICKS:
        address = URL(reader.inspector.origin + path, encoded=True)
        async with reader.http.get(address, allow_redirects=False) as answer:
            assert answer.status == 404, path
            page = await answer.text()
        assert "root:" not in page
        assert CANARY not in page


async def test_hostile_names_and_texts_are_texts_everywhere(tmp_path: Path) -> None:
    """Issue "Bad input": hostile names and texts in every field of the page (all shown as text)."""
    bad = RunId("2026-11-30-09-00-00-evil")
    said = (Said(text=HOSTILE, number=1), Said(text=f"{HOSTILE}!", number=2))
    home = await recorded(tmp_path)
    await record_run(home, said, run_id=bad, scope=group_scope(), identity=HOSTILE)
    with sqlite3.connect(home / "inglenook.db") as db:
        db.execute(
            "UPDATE runs SET imp = ?, end_reason = ?, channel_id = ? WHERE run_id = ?",
            (HOSTILE, HOSTILE, f"discord:{HOSTILE}", bad),
        )
        db.execute("UPDATE turns SET error_code = ? WHERE run_id = ?", (HOSTILE, bad))
    db.close()
    async with inspecting(home, names=HostileNames()) as reader:
        for path in (
            "/",
            "/?q=%3Cscript%3Ealert(1)%3C/script%3E%22%3E&imp=%3Cb%3E&where=%22onload=%22",
            f"/runs/{bad}",
            f"/runs/{bad}?turn=1",
            f"/runs/{bad}/turns/1/text/message",
            f"/runs/{bad}/turns/2/text/runtime-scope",
            f"/runs/{bad}/turns/2/difference/message",
        ):
            page = await reader.get(path)
            found = harmless(page)
            assert found.tags.count("script") == 1, path  # our own
            assert not LOUD - {"script", "b"} & set(found.tags), path
            # The value that a choice sends is exact; what is read of it is not.
            assert "\u202e" not in "".join(found.words)
            assert "<!--" not in page.removeprefix("<!doctype html>")
            assert "{{" in page or "7*7" not in page  # no text is a template


async def test_a_damaged_trace_gives_no_text(tmp_path: Path) -> None:
    """Fail closed: what does not verify is told with its flaw, and shows none of its texts."""
    home = await recorded(tmp_path)
    change_line(home, RUN, 2, "plums", "prunes")
    async with inspecting(home) as reader:
        page = await reader.get(f"/runs/{RUN}", status=409)
        assert "does not verify" in page
        for path in (
            f"/runs/{RUN}/turns/1/text/message",
            f"/runs/{RUN}/turns/2/difference/message",
        ):
            assert CANARY not in await reader.get(path, status=409)
        verified = await reader.post(
            f"/runs/{RUN}/verify", {"token": await reader.token()}, status=200
        )
        assert "The trace does not verify." in verified
        assert "a block does not match its hash" in verified
        sound = await reader.post(
            f"/runs/{LATER}/verify", {"token": await reader.token()}, status=200
        )
        assert "Everything is as it was written." in sound


async def test_a_trace_that_was_cut_off_gives_no_text(tmp_path: Path) -> None:
    """It reads well in itself, and the row says that there was more: told, and nothing shown."""
    home = await recorded(tmp_path)
    trace = home / "runs" / LATER / "context.jsonl"
    trace.write_text("".join(trace.read_text().splitlines(keepends=True)[:-1]))
    async with inspecting(home) as reader:
        page = await reader.get(f"/runs/{LATER}")
        assert "so its texts are not shown" in page
        assert "private: show" not in page
        assert "runtime-policy" in page  # sizes and hashes are there
        for path in ("1/text/message", "2/difference/message"):
            assert CANARY not in await reader.get(f"/runs/{LATER}/turns/{path}", status=409)


async def test_colours_are_kept_and_the_way_back_stays_here(reader: Reader) -> None:
    token = await reader.token()
    origin = reader.inspector.origin
    for back, leads_to in (
        (f"/runs/{RUN}?turn=1", f"/runs/{RUN}?turn=1"),
        ("//evil.test/", "/"),
        ("/\\evil.test", "/"),
        ("https://evil.test/", "/"),
        ("/a\r\nSet-Cookie: x=1", "/"),
    ):
        async with reader.http.post(
            f"{origin}/theme",
            data={"token": token, "theme": "dark", "back": back},
            headers={"Origin": origin},
            allow_redirects=False,
        ) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, leads_to)
    assert 'data-theme="dark"' in await reader.get("/")
    await reader.post("/theme", {"token": token, "theme": '"><script>'})
    assert 'data-theme="dark"' in await reader.get("/")


async def test_without_a_database_the_traces_are_there(tmp_path: Path) -> None:
    """P24: the exact account stays readable."""
    home = await recorded(tmp_path)
    (home / "inglenook.db").write_bytes(b"not a database" * 100)
    async with inspecting(home) as reader:
        page = await reader.get("/")
        assert f'href="/runs/{RUN}"' in page
        assert "The database cannot be read" in page
        assert "verified" in await reader.get(f"/runs/{RUN}")


async def test_a_home_without_runs(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as reader:
        assert "No runs yet" in await reader.get("/")


async def test_ten_thousand_runs_are_paged(tmp_path: Path) -> None:
    """Issue: works at 10,000 runs without lag: a page holds its runs and asks for no more."""
    await record_run(tmp_path)
    with sqlite3.connect(tmp_path / "inglenook.db") as db:
        db.executemany(
            "INSERT INTO runs (run_id, surface, imp, channel_id, is_dm, started_at, turns)"
            " VALUES (?, 'discord-session', 'ember', ?, 0, '2026-01-01T00:00:00.000Z', 1)",
            (
                (
                    f"2025-{n // 2000 + 1:02}-01-00-{n // 60 % 60:02}-{n % 60:02}-{n:05}",
                    f"c{n % 40}",
                )
                for n in range(10_000)
            ),
        )
    db.close()
    async with inspecting(tmp_path) as reader:
        page = await reader.get("/")
        assert page.count('id="run-') == PAGE_RUNS
        older = page.partition('id="older"')[0].rpartition('href="')[2].partition('"')[0]
        second = await reader.get(older.replace("&amp;", "&"))
        assert second.count('id="run-') == PAGE_RUNS
        assert not set(_ids(page)) & set(_ids(second))
        assert "Newest" in second


def _ids(page: str) -> list[str]:
    return [part.partition('"')[0] for part in page.split('id="run-')[1:]]
