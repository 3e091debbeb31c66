"""All rows of one person, for that person: nothing here is of anybody else.

From channels only the person's own words and acts are read. A direct message has two sides, and
both are the person's to have: its answers are read as well. What another person did about a row, as
deciding on a gate, is left out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from compiler.request import UserId
from sessions.store.database import Database

Rows: TypeAlias = list[dict[str, object]]
_DIRECT: Final = (
    "(SELECT DISTINCT runs.channel_id FROM turns JOIN runs USING (run_id)"
    " WHERE turns.user_id = :user AND runs.is_dm = 1)"
)
_QUERIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "messages": (
            "SELECT message_id, channel_id, guild_id, author_label, text FROM history"
            " WHERE author_id = :user AND deleted = 0 ORDER BY message_id"
        ),
        "answers_in_direct_messages": (
            "SELECT message_id, channel_id, text FROM history"  # noqa: S608  (a constant)
            f" WHERE channel_id IN {_DIRECT} AND is_imp = 1 AND deleted = 0 ORDER BY ordinal"
        ),
        "turns": (
            "SELECT turns.*, runs.imp, runs.channel_id, runs.is_dm,"
            " runs.pruned_at IS NOT NULL AS trace_pruned FROM turns JOIN runs USING (run_id)"
            " WHERE turns.user_id = :user ORDER BY run_id, seq"
        ),
        "spent_by_day": (
            "SELECT day, tokens, micro_usd, calls, input_tokens, cached_tokens FROM usage_days"
            " WHERE kind = 'user' AND holder = :user ORDER BY day"
        ),
        "consents": (
            "SELECT imp, channel_id, field, purpose, level, at_ms, until_ms FROM memory_consents"
            " WHERE user_id = :user ORDER BY seq"
        ),
        "house_rule_changes": (
            "SELECT channel_id, kind, code, told, at, message_id, undone FROM house_rule_events"
            " WHERE user_id = :user ORDER BY seq"
        ),
        "proposed_actions": (
            "SELECT gate_id, imp, channel_id, tool, payload, effect, intent, filed_ms, state,"
            " decided_ms, ended_ms, result_code FROM gates WHERE requester = :user"
            " ORDER BY filed_ms, gate_id"
        ),
        "tasks": (
            "SELECT task_id, kind, imp, channel_id, guild_id, text, schedule, filed_ms, due_ms,"
            " state, result_code, result FROM tasks WHERE user_id = :user ORDER BY filed_ms"
        ),
        "inbox": (
            "SELECT message_id, channel_id, imp, state FROM inbox WHERE user_id = :user"
            " ORDER BY ordinal"
        ),
        "admission": "SELECT state, at_ms FROM pairings WHERE user_id = :user",
    }
)


class PersonStore:
    """Reads; raises ``StoreUnavailable`` when the database cannot answer in time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, user_id: UserId) -> dict[str, Rows]:
        """Read everything, as of one moment."""

        def work(db: sqlite3.Connection) -> dict[str, Rows]:
            return {name: _select(db, query, user_id) for name, query in _QUERIES.items()}

        return await self._database.read(work)


def _select(db: sqlite3.Connection, query: str, user_id: UserId) -> Rows:
    found = db.execute(query, {"user": user_id})
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]
