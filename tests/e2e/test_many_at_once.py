"""Many conversations at once, while the database or the disk takes nothing (P24)."""

from __future__ import annotations

import asyncio
import errno
import json
import sys
from pathlib import Path

import pytest

from bot.home.backup import restore
from bot.playground.ids import BO
from bot.runs.book import open_book
from sessions import trace
from support.crowd import Crowd, crowd_of
from support.database_lock import held
from support.full_disk import can_mount, on_small_disk

pytestmark = pytest.mark.slow
CONVERSATIONS = 50
UNTRACED = "I could not write my record of this, so I did not answer."
UNKEPT = "My records cannot be reached just now."
ROOT = Path(__file__).parents[2]
SHELL = "import sys; from bot.cli import main; sys.exit(main(sys.argv[1:]))"


async def test_fifty_conversations_outlast_a_lock(tmp_path: Path) -> None:
    """P24, issue "Storage": held for longer than our patience, in the middle of things, each person
    gets one answer or one line; for less, one answer. The bot is not ready meanwhile and is again
    afterwards, each conversation goes on, and no later start says anything twice."""
    async with crowd_of(tmp_path, CONVERSATIONS) as crowd:
        async with crowd.bot() as app:
            assert (await crowd.health())[0] == 200
            first = await crowd.say()
            await crowd.answered(first, count=5)
            async with app.locked():
                second = await crowd.say()
                await crowd.answered((*first, *second))
                assert (await crowd.health())[0] == 503
            told = crowd.account()["told"]
            assert told >= len(second), "the second time nothing was written"
            with held(app.home):
                third = await crowd.say()
                status, parts = await crowd.health()
                assert (status, "cannot be written (busy)" in parts) == (503, True)
                assert not any(map(crowd.replies, third))
            await crowd.answered(third)
            assert crowd.account()["told"] == told
            assert (await crowd.health())[0] == 200
            await crowd.answered(await crowd.say())
            before = crowd.account()
            assert before["lost, doubled or untraced"] == 0, before
        crowd.pg.talk._nonces.clear()
        async with crowd.bot() as app:
            await app.rest()
        assert crowd.account() == before
        assert crowd.broken_chains() == []


@pytest.mark.skipif(not can_mount(), reason="no mounts of our own on this machine")
async def test_ten_conversations_outlast_a_full_disk(tmp_path: Path) -> None:
    """P24, issue "Storage": a disk that is really full, from the middle of ten first turns on: each
    person gets one answer or one line and the model no input without a trace; the bot is not ready,
    and well again by itself once there is room."""
    async with crowd_of(tmp_path, 10) as crowd, on_small_disk(crowd) as bot:
        first = await crowd.say()
        await crowd.answered(first, count=1)
        await bot.do("fill")
        second = await crowd.say()
        await crowd.answered((*first, *second))
        told = crowd.account()["told"]
        assert told >= len(second), "the second time nothing was written"
        status, parts = await crowd.health()
        assert (status, "no space left on device" in parts) == (503, True)
        await bot.do("free")
        await crowd.answered(await crowd.say())
        account = crowd.account()
        assert account == {"heard": 30 - told, "told": told, "lost, doubled or untraced": 0}
        assert '"disk": "ok"' in (await crowd.health())[1]
        assert await bot.do("unsound") == ""


async def test_ten_conversations_outlast_a_disk_that_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P24, issue "Storage": as a disk becomes when it fails, under files that are open: first for
    the traces, then for the database as well."""

    def read_only(*_: object) -> None:
        raise OSError(errno.EROFS, "CANARY")

    async with crowd_of(tmp_path, 10) as crowd:
        async with crowd.bot() as app:
            with monkeypatch.context() as patched:
                patched.setattr(trace, "_write_all", read_only)
                asked = await crowd.say()
                await crowd.answered(asked)
                async with app.database_read_only():
                    asked += await crowd.say()
                    await crowd.answered(asked)
            replies = [reply for each in asked for reply in crowd.replies(each)]
            assert all(each.startswith((UNTRACED, UNKEPT)) for each in replies), replies
            assert {each.startswith(UNKEPT) for each in replies} == {True, False}
            await crowd.answered(await crowd.say())
        before = crowd.account()
        assert before == {"heard": 10, "told": 20, "lost, doubled or untraced": 0}
        async with crowd.bot() as app:
            await app.rest()
        assert crowd.account() == before
        assert crowd.broken_chains() == []


async def in_shell(home: Path, *words: str) -> tuple[int | None, str]:
    """Give a command as its own process; give its exit code and all that it said."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SHELL, *words, "--home", str(home)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode, said.decode()


async def unsound(home: Path) -> list[str]:
    """Name the runs of a home that do not verify."""
    async with open_book(home) as book:
        rows = await book.rows(1_000)
        return [each.run_id for each in rows if not (await book.check(each.run_id)).ok]


async def test_the_shell_works_beside_twenty_that_are_answered(tmp_path: Path) -> None:
    """Issue 7 "Storage", issue 8 "Retention" and "Upgrades": backup, prune, export and a look at
    the upgrade beside each other and a bot at work: each does its own, no turn fails, and what was
    copied and what stays is whole."""
    copy, again, person = (tmp_path / name for name in ("copy.tar.gz", "again", "bo.json"))
    settings = {"sessions": {"max_warm": 10}, "retention": {"trace_mb": 1}}
    async with crowd_of(tmp_path, 20) as crowd:
        async with crowd.bot(settings):
            (crowd.home / "org.toml").write_text("[retention]\ntrace_mb = 1\n")
            for _ in range(3):  # half of the sessions end each time: more than a MB to prune
                await crowd.answered(await crowd.say())
            async with asyncio.TaskGroup() as tasks:
                talk = tasks.create_task(keep_talking(crowd))
                told = await asyncio.gather(
                    in_shell(crowd.home, "backup", str(copy)),
                    in_shell(crowd.home, "prune", "--json"),
                    in_shell(crowd.home, "export", "--user", str(BO), str(person)),
                    in_shell(crowd.home, "upgrade", "--check"),
                )
                crowd.enough.set()
                await talk
        assert [code for code, _ in told] == [0, 0, 0, 0], told
        assert json.loads(told[1][1])["traces"] > 0
        assert len(json.loads(person.read_text())["turns"]) >= len(crowd.places)
        account = crowd.account()
        assert account == {"heard": len(crowd.asked), "told": 0, "lost, doubled or untraced": 0}
        assert await unsound(crowd.home) == []
        restore(copy, again)
        assert await unsound(again) == []


async def keep_talking(crowd: Crowd) -> None:
    """Let everybody say a word, and another when all are answered."""
    while not crowd.enough.is_set():
        await crowd.answered(await crowd.say())
