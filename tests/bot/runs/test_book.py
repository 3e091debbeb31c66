"""Finding and opening runs, with a database and without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.runs.book import RunBook, open_book
from compiler.budget import ContextBudgets
from compiler.request import ChannelId, ImpName, MessageId, RunId
from sessions.clock import SystemClock
from sessions.house.keeper import RuleKeeper
from sessions.house.rules import DirectiveSettings
from sessions.review.inspection import InspectionError, InspectionErrorCode
from sessions.store.database import open_database
from sessions.store.directives import DirectiveStore
from sessions.store.runs import RunStore
from sessions.traces.proof import Flaw
from sessions.traces.reader import TraceDamaged
from support.compiler_factories import group_scope
from support.recorded_runs import RUN, change_line, record_run
from support.session_world import BOUND_SECONDS

LATER = RunId("2026-11-30-08-00-00-efgh")


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    await record_run(tmp_path)
    await record_run(tmp_path, run_id=LATER, scope=group_scope())
    return tmp_path


async def _code(book: RunBook, named: str) -> InspectionErrorCode:
    with pytest.raises(InspectionError) as caught:
        await book.find(named)
    assert isinstance(caught.value.code, InspectionErrorCode)
    return caught.value.code


async def test_runs_are_listed_the_latest_first(home: Path) -> None:
    async with open_book(home) as book:
        assert [row.run_id for row in await book.rows(10)] == [LATER, RUN]
        assert [row.run_id for row in await book.rows(1)] == [LATER]
        here = await book.rows(10, channel=ChannelId("discord:2100"))
        assert [row.run_id for row in here] == [RUN]


@pytest.mark.parametrize("damage", ["missing", "broken"])
async def test_traces_stay_readable_without_a_database(home: Path, damage: str) -> None:
    """P24: a broken database is said and mended; the exact account is in the traces."""
    database = home / "inglenook.db"
    database.unlink()
    if damage == "broken":
        database.write_bytes(b"not a database" * 100)
    async with open_book(home) as book:
        rows = await book.rows(10)
        assert [(row.run_id, row.turns) for row in rows] == [(LATER, 2), (RUN, 2)]
        assert (await book.rows(10, before=LATER))[0].end_reason == "idle"
        assert (await book.open("abcd")).sound
        assert [row.run_id for row in await book.complete("2026-11-29", 5)] == [RUN]
        assert await book.run_of_reply(MessageId("discord:7001")) is None


async def test_the_latest_run_is_one_that_can_be_opened(home: Path) -> None:
    """A run that begins just now has its row, and no trace yet."""
    async with open_database(
        home / "inglenook.db", clock=SystemClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        (row,) = await RunStore(database).list_runs(1)
        begun = RunId("2026-11-30-09-00-00-ijkl")
        await RunStore(database).begin_run(replace(row, run_id=begun))
    async with open_book(home) as book:
        assert await book.find("latest") == LATER
        assert await book.find("ijkl") == begun


async def test_a_home_without_runs(tmp_path: Path) -> None:
    async with open_book(tmp_path) as book:
        assert await book.rows(10) == ()
        assert await _code(book, "latest") is InspectionErrorCode.RUN_UNKNOWN


@pytest.mark.parametrize(
    ("named", "run_id"),
    [
        (RUN, RUN),
        ("abcd", RUN),
        (" ABCD ", RUN),
        ("2026-11-29", RUN),
        ("latest", LATER),
    ],
)
async def test_a_run_is_found_by_what_people_type(home: Path, named: str, run_id: RunId) -> None:
    async with open_book(home) as book:
        assert await book.find(named) == run_id


@pytest.mark.parametrize("named", ["", "zzzz", "../..", "/etc", "bcd", "runs/abcd", "a" * 500])
async def test_nothing_else_is_a_run(home: Path, named: str) -> None:
    async with open_book(home) as book:
        assert await _code(book, named) is InspectionErrorCode.RUN_UNKNOWN


async def test_a_name_for_two_runs_is_asked_back(home: Path) -> None:
    async with open_book(home) as book:
        assert await _code(book, "2026-11") is InspectionErrorCode.RUN_AMBIGUOUS


@pytest.mark.parametrize(
    ("typed", "found"),
    [("", [LATER, RUN]), ("2026-11-29", [RUN]), ("efgh", [LATER]), ("zz", []), ("%", [])],
)
async def test_completion_offers_recent_runs(home: Path, typed: str, found: list[RunId]) -> None:
    async with open_book(home) as book:
        assert [row.run_id for row in await book.complete(typed, 25)] == found


async def test_an_opened_run_is_verified(home: Path) -> None:
    async with open_book(home) as book:
        run = await book.open("abcd")
        assert run.report.ok
        run.demand_sound()
        assert run.view.turns[0].times is not None


async def test_a_forged_trace_is_refused(home: Path) -> None:
    change_line(home, RUN, 2, '"compile_us":800', '"compile_us":801')
    async with open_book(home) as book:
        with pytest.raises(TraceDamaged):
            await book.open("abcd")
        flaws = {problem.flaw for problem in (await book.check("abcd")).problems}
        assert Flaw.BROKEN_CHAIN in flaws


async def test_a_trace_that_was_cut_off_is_refused(home: Path) -> None:
    """The row keeps the last line's hash, so a whole shorter trace is noticed."""
    path = home / "runs" / RUN / "context.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    async with open_book(home) as book:
        run = await book.open("abcd")
        assert [problem.flaw for problem in run.report.problems] == [Flaw.CUT_OFF]
        assert (await book.check("abcd")).problems == run.report.problems
        with pytest.raises(InspectionError) as caught:
            run.demand_sound()
        assert caught.value.code is InspectionErrorCode.TRACE_UNVERIFIED


async def test_a_line_that_is_being_written_hinders_nobody(home: Path) -> None:
    with (home / "runs" / RUN / "context.jsonl").open("ab") as file:
        file.write(b'{"half":')
    async with open_book(home) as book:
        run = await book.open("abcd")
        assert not run.report.ok
        run.demand_sound()


async def test_a_first_turn_is_compared_with_the_run_before_in_its_channel(home: Path) -> None:
    other = RunId("2026-12-01-08-00-00-ijkl")
    await record_run(home, run_id=other, identity="Changed.")
    async with open_book(home) as book:
        difference = await book.diff(await book.open(other), 1)
        assert difference.before == (RUN, 2)
        assert (await book.diff(await book.open(LATER), 1)).before is None


async def test_the_run_of_a_reply_is_found(home: Path) -> None:
    async with open_book(home) as book:
        found = await book.run_of_reply(MessageId("discord:7002"))
        assert found is not None
        assert found[1] == "discord:message:9002"
        assert await book.run_of_reply(MessageId("discord:1")) is None


async def test_a_run_names_what_befell_the_house_rules_in_it(home: Path) -> None:
    """Issue "House rules": a run event records it; ids and codes, never what was written."""
    scope = replace(group_scope(), message_id=MessageId("discord:7"))
    database = open_database(
        home / "inglenook.db", clock=SystemClock(), patience_seconds=BOUND_SECONDS
    )
    async with database as opened:
        keeper = RuleKeeper(
            DirectiveStore(opened),
            clock=SystemClock(),
            settings=DirectiveSettings,
            budgets=lambda _: ContextBudgets(),
        )
        await opened.write(
            lambda db: db.execute(
                "UPDATE runs SET ended_at = NULL, channel_id = ? WHERE run_id = ?",
                (scope.channel_id, LATER),
            )
        )
        for text in ("use CANARY", "prohibit CANARY"):
            await keeper.command(scope, ImpName("ember"), text)
    async with open_book(home) as book:
        (update, clarify) = (await book.open(LATER)).view.house_rules
        assert (await book.open(RUN)).view.house_rules == ()
    assert (update.kind, clarify.kind, clarify.code) == ("updated", "clarified", "clarify")
    assert (clarify.user_id, clarify.message_id) == (scope.user_id, "discord:7")
    assert "CANARY" not in str((update, clarify)).upper()
