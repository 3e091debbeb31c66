"""The hourly pass, ``prune`` in the shell, and what can be asked of a pruned run afterwards."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import create_autospec

import discord
import pytest

from bot.alarms import OwnerAlarms, unsound_text
from bot.cli import main
from bot.home import housekeeping
from bot.home.housekeeping import Housekeeper, place_in_time, pruner_of
from bot.runs.book import open_book
from config.homedir import ensure_home
from config.load import LiveConfig
from sessions.clock import SystemClock
from sessions.errors import StoreUnavailable
from sessions.pruning import Pruned, PrunePlan, Pruner
from sessions.retention import MB, DiskFact
from sessions.review.inspection import InspectionError, InspectionErrorCode
from sessions.store.database import open_database
from support.inspector_world import inspecting
from support.recorded_runs import RUN, change_line, record_run
from support.session_world import BOUND_SECONDS


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """A home whose one run is over its size."""
    ensure_home(tmp_path)
    await record_run(tmp_path)
    (tmp_path / "runs" / RUN / "picture").write_bytes(b"x" * 2 * MB)
    (tmp_path / "org.toml").write_text("[retention]\ntrace_mb = 1\nfree_mb = 0\n")
    return tmp_path


def test_prune_tells_and_does_and_verify_tells_the_end(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Issue "Retention": `prune --dry-run`; "pruned, chain ends at"; a page that says so."""

    def shell(*words: str, code: int = 0) -> str:
        assert main([*words, "--home", str(home)]) == code
        out, err = capfd.readouterr()
        return out or err

    head = json.loads(shell("runs", "verify", RUN, "--json"))["head"]
    assert f"{RUN}  " in shell("prune", "--dry-run")
    assert json.loads(shell("prune", "--dry-run", "--json"))["traces"][0]["why"] == "size"
    assert (home / "runs" / RUN).is_dir()
    assert "Traces: 1, 2." in shell("prune")
    assert not (home / "runs" / RUN).exists()
    told = shell("runs", "verify", RUN)
    assert "pruned on" in told
    assert head["sha256"] in told
    assert "chain was whole" in told
    assert json.loads(shell("runs", "verify", RUN, "--json"))["ok"]
    assert "was pruned on" in shell("runs", "show", RUN, code=1)
    assert RUN in shell("runs", "ls")
    assert "Nothing has to go" in shell("prune")


async def test_a_pruned_run_is_named_and_not_opened(home: Path) -> None:
    """/runs and the inspector open runs by the same book: one sentence, with the way on."""
    live = LiveConfig(home, environ={})
    clock = SystemClock()
    alarms = create_autospec(OwnerAlarms, instance=True)
    async with open_database(
        home / "inglenook.db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:
        keeper = Housekeeper(live, pruner_of(live, database, clock), alarms=alarms)
        assert (await keeper.one_pass()).traces == 1
        await keeper.one_pass()
    async with open_book(home) as book:
        with pytest.raises(InspectionError) as caught:
            await book.open(RUN)
        assert caught.value.code is InspectionErrorCode.TRACE_PRUNED
        report = await book.check(RUN)
        assert report.ok
        assert (await book.cache(5)).sessions == ()
    async with inspecting(home) as page:
        assert "was pruned on" in await page.get(f"/runs/{RUN}", status=409)
        assert RUN in await page.get("/")
    alarms.disk.assert_not_called()
    alarms.unsound.assert_not_called()


async def test_the_owner_hears_of_a_full_disk_and_of_an_unsound_trace(home: Path) -> None:
    """Issue "Retention": disk budget with warning."""
    (home / "org.toml").write_text("[retention]\ntrace_mb = 1\nhome_mb = 2\nfree_mb = 0\n")
    change_line(home, RUN, 2, "CANARY", "CANARI")
    live = LiveConfig(home, environ={})
    clock = SystemClock()
    alarms = create_autospec(OwnerAlarms, instance=True)
    async with open_database(
        home / "inglenook.db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:
        keeper = Housekeeper(live, pruner_of(live, database, clock), alarms=alarms)
        assert (await keeper.one_pass()).kept == (RUN,)
    (warning,) = alarms.disk.call_args.args
    assert "of the 2 MB" in warning
    alarms.unsound.assert_called_once_with((RUN,))
    assert RUN in unsound_text([RUN])


async def test_passes_go_on_by_themselves(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue "Retention": hourly in the bot; a store that fails once does not end it."""
    monkeypatch.setattr(housekeeping, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(housekeeping, "EVERY_SECONDS", 0.0)
    looked = asyncio.Event()
    pruner = create_autospec(Pruner, instance=True)
    pruner.look.side_effect = StoreUnavailable("locked"), PrunePlan()
    pruner.carry_out.return_value = Pruned()

    async def disk() -> DiskFact:
        looked.set()
        return await asyncio.Future()

    pruner.disk.side_effect = disk
    alarms = create_autospec(OwnerAlarms, instance=True)
    keeper = Housekeeper(LiveConfig(home, environ={}), pruner, alarms=alarms)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(keeper.run())
        await looked.wait()
        running.cancel()
    assert pruner.look.await_count == 2


def test_messages_are_as_old_as_their_ids_say() -> None:
    moment = datetime(2026, 11, 29, tzinfo=UTC)
    assert discord.utils.snowflake_time(place_in_time(moment)) == moment
    assert place_in_time(datetime(2000, 1, 1, tzinfo=UTC)) == 0
