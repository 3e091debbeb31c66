"""Claims to be resumed; their making is tested with the runs."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path

from compiler.request import ChannelId, ImpName, RunId
from sessions.store.database import open_database
from sessions.store.warm import WarmRow, WarmStore, keep
from support.session_world import BOUND_SECONDS, ManualClock


def _keep(db: sqlite3.Connection, *, row: WarmRow) -> None:
    keep(db, row)


async def test_a_conversation_has_one_claim(tmp_path: Path) -> None:
    """A later run takes the place of an earlier one; dropping is by run."""
    imp, channel = ImpName("ember"), ChannelId("discord:100")
    async with open_database(
        tmp_path / "inglenook.db", clock=ManualClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        store = WarmStore(database)
        for run_id in ("a", "b"):
            row = WarmRow(
                imp=imp,
                channel_id=channel,
                run_id=RunId(run_id),
                route_key="k",
                engine_sha256="e",
                last_active_at="t",
            )
            await database.write(partial(_keep, row=row))
        found = await store.find(imp, channel)
        assert found is not None
        assert found.run_id == "b"
        await store.drop(RunId("a"))
        assert await store.find(imp, channel) == found
        await store.drop(RunId("b"))
        assert await store.find(imp, channel) is None


async def test_all_claims_of_a_channel_are_found(tmp_path: Path) -> None:
    """P13: whichever imp holds what was said there."""
    async with open_database(
        tmp_path / "inglenook.db", clock=ManualClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        store = WarmStore(database)
        for imp, channel in (("moth", "discord:100"), ("ember", "discord:100"), ("ember", "d:2")):
            row = WarmRow(
                imp=ImpName(imp),
                channel_id=ChannelId(channel),
                run_id=RunId(f"{imp} {channel}"),
                route_key="k",
                engine_sha256="e",
                last_active_at="t",
            )
            await database.write(partial(_keep, row=row))
        found = await store.of_channel(ChannelId("discord:100"))
        assert [(each.imp, each.channel_id, each.run_id) for each in found] == [
            ("ember", "discord:100", "ember discord:100"),
            ("moth", "discord:100", "moth discord:100"),
        ]
