"""The schema, as an ordered list of small changes and a table of those applied.

A change is never edited once released; the next one is appended. ``SCHEMA`` is the number of the
last. Each runs in a transaction of its own together with its row in ``migrations``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema; ``apply`` runs inside an open transaction."""

    number: int
    name: str
    apply: Callable[[sqlite3.Connection], None]


def _runs(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE runs (
            run_id TEXT PRIMARY KEY,
            surface TEXT NOT NULL,
            imp TEXT NOT NULL,
            channel_id TEXT,
            is_dm INTEGER NOT NULL,
            started_at TEXT NOT NULL,
            ended_at TEXT,
            end_reason TEXT,
            system_sha256 TEXT,
            route_key TEXT,
            turns INTEGER NOT NULL DEFAULT 0,
            trace_events INTEGER NOT NULL DEFAULT 0,
            trace_head_sha256 TEXT
        ) WITHOUT ROWID
        """
    )
    db.execute("CREATE INDEX runs_by_channel ON runs (channel_id, run_id)")
    db.execute("CREATE INDEX runs_open ON runs (run_id) WHERE ended_at IS NULL")
    db.execute(
        """
        CREATE TABLE turns (
            run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
            turn_id TEXT NOT NULL,
            seq INTEGER NOT NULL,
            user_id TEXT,
            accepted_at TEXT NOT NULL,
            outcome TEXT,
            error_code TEXT NOT NULL DEFAULT '',
            input_sha256 TEXT,
            reply_sha256 TEXT,
            wait_us INTEGER NOT NULL DEFAULT 0,
            compile_us INTEGER NOT NULL DEFAULT 0,
            trace_us INTEGER NOT NULL DEFAULT 0,
            first_text_us INTEGER NOT NULL DEFAULT 0,
            total_us INTEGER NOT NULL DEFAULT 0,
            input_tokens INTEGER NOT NULL DEFAULT 0,
            output_tokens INTEGER NOT NULL DEFAULT 0,
            cache_read_tokens INTEGER NOT NULL DEFAULT 0,
            cache_write_tokens INTEGER NOT NULL DEFAULT 0,
            cost_usd REAL NOT NULL DEFAULT 0,
            model_calls INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (run_id, seq)
        ) WITHOUT ROWID
        """
    )
    db.execute("CREATE INDEX turns_running ON turns (run_id) WHERE outcome IS NULL")
    db.execute(
        """
        CREATE TABLE replies (
            message_id TEXT PRIMARY KEY,
            run_id TEXT NOT NULL,
            turn_id TEXT NOT NULL
        ) WITHOUT ROWID
        """
    )


def _history(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE history (
            message_id TEXT PRIMARY KEY,
            channel_id TEXT NOT NULL,
            guild_id TEXT,
            ordinal INTEGER NOT NULL,
            author_id TEXT,
            author_label TEXT NOT NULL,
            text TEXT NOT NULL,
            is_imp INTEGER NOT NULL,
            deleted INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID
        """
    )
    db.execute("CREATE INDEX history_by_channel ON history (channel_id, ordinal) WHERE deleted = 0")


def _warm(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE warm_sessions (
            imp TEXT NOT NULL,
            channel_id TEXT NOT NULL,
            run_id TEXT NOT NULL,
            route_key TEXT NOT NULL,
            engine_sha256 TEXT NOT NULL,
            last_active_at TEXT NOT NULL,
            PRIMARY KEY (imp, channel_id)
        ) WITHOUT ROWID
        """
    )


def _memory(db: sqlite3.Connection) -> None:
    # Ids of a binding are '' where it has none, so that one index finds all its records.
    db.execute(
        """
        CREATE TABLE memory_records (
            record_id TEXT PRIMARY KEY,
            short_id TEXT NOT NULL UNIQUE,
            kind TEXT NOT NULL,
            imp TEXT NOT NULL,
            scope TEXT NOT NULL,
            guild_id TEXT NOT NULL,
            channel_id TEXT NOT NULL,
            user_id TEXT NOT NULL,
            subject_id TEXT NOT NULL,
            author_id TEXT NOT NULL,
            creator TEXT NOT NULL,
            trust TEXT NOT NULL,
            status TEXT NOT NULL,
            pinned INTEGER NOT NULL,
            created_ms INTEGER NOT NULL,
            expires_ms INTEGER,
            message_id TEXT NOT NULL,
            place_id TEXT NOT NULL,
            run_id TEXT NOT NULL,
            turn_id TEXT NOT NULL,
            supersedes TEXT NOT NULL,
            superseded_by TEXT NOT NULL,
            nonce BLOB,
            sealed BLOB
        ) WITHOUT ROWID
        """
    )
    db.execute(
        "CREATE INDEX memory_by_binding ON memory_records"
        " (imp, scope, guild_id, channel_id, user_id, status)"
    )
    db.execute("CREATE INDEX memory_by_subject ON memory_records (subject_id, status)")
    db.execute(
        "CREATE INDEX memory_by_expiry ON memory_records (expires_ms) WHERE expires_ms IS NOT NULL"
    )
    for column in ("supersedes", "superseded_by"):
        db.execute(
            f"CREATE INDEX memory_{column} ON memory_records ({column}) WHERE {column} != ''"
        )
    db.execute("CREATE INDEX memory_by_author ON memory_records (author_id, status)")
    db.execute(
        """
        CREATE TABLE memory_tombstones (
            record_id TEXT PRIMARY KEY,
            by_id TEXT NOT NULL,
            at_ms INTEGER NOT NULL,
            reason TEXT NOT NULL,
            receipt_id TEXT NOT NULL
        ) WITHOUT ROWID
        """
    )
    db.execute(
        """
        CREATE TABLE memory_runs (
            record_id TEXT NOT NULL,
            run_id TEXT NOT NULL,
            PRIMARY KEY (record_id, run_id)
        ) WITHOUT ROWID
        """
    )
    db.execute(
        """
        CREATE TABLE memory_lineage (
            source_id TEXT NOT NULL,
            record_id TEXT NOT NULL,
            PRIMARY KEY (source_id, record_id)
        ) WITHOUT ROWID
        """
    )
    db.execute(
        """
        CREATE TABLE memory_consents (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            record_id TEXT NOT NULL,
            imp TEXT NOT NULL,
            user_id TEXT NOT NULL,
            channel_id TEXT NOT NULL,
            field TEXT NOT NULL,
            purpose TEXT NOT NULL,
            level TEXT NOT NULL,
            at_ms INTEGER NOT NULL,
            until_ms INTEGER
        )
        """
    )
    db.execute(
        "CREATE INDEX memory_consents_of ON memory_consents"
        " (user_id, imp, channel_id, purpose, seq)"
    )
    db.execute("CREATE INDEX history_by_author ON history (author_id) WHERE deleted = 0")
    db.execute("CREATE INDEX turns_by_turn ON turns (turn_id)")
    db.execute("CREATE INDEX replies_by_turn ON replies (turn_id)")
    db.execute("CREATE TABLE memory_pending (receipt_id TEXT PRIMARY KEY, detail TEXT NOT NULL)")
    db.execute(
        "CREATE TABLE memory_receipts"
        " (receipt_id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, document TEXT NOT NULL)"
        " WITHOUT ROWID"
    )
    db.execute("CREATE TABLE memory_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")


def _usage(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE usage_days (
            day TEXT NOT NULL,
            kind TEXT NOT NULL,
            holder TEXT NOT NULL,
            tokens INTEGER NOT NULL,
            micro_usd INTEGER NOT NULL,
            calls INTEGER NOT NULL,
            PRIMARY KEY (day, kind, holder)
        ) WITHOUT ROWID
        """
    )


def _house_rules(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE house_rules (
            channel_id TEXT PRIMARY KEY,
            parent_id TEXT,
            rules TEXT NOT NULL
        ) WITHOUT ROWID
        """
    )
    # "before" is set where something changed: the rules ahead of it, which undo puts back.
    db.execute(
        """
        CREATE TABLE house_rule_events (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            channel_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            code TEXT NOT NULL,
            told TEXT NOT NULL,
            at TEXT NOT NULL,
            user_id TEXT,
            message_id TEXT,
            run_id TEXT,
            before TEXT,
            undone INTEGER NOT NULL DEFAULT 0
        )
        """
    )
    db.execute("CREATE INDEX house_rule_events_of ON house_rule_events (channel_id, seq)")
    db.execute(
        "CREATE INDEX house_rule_events_by_message ON house_rule_events (message_id)"
        " WHERE message_id IS NOT NULL"
    )
    db.execute(
        "CREATE INDEX house_rule_events_in_run ON house_rule_events (run_id)"
        " WHERE run_id IS NOT NULL"
    )


def _edge(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE inbox (
            message_id TEXT PRIMARY KEY,
            turn_id TEXT NOT NULL,
            channel_id TEXT NOT NULL,
            user_id TEXT,
            imp TEXT NOT NULL,
            ordinal INTEGER NOT NULL,
            state TEXT NOT NULL
        ) WITHOUT ROWID
        """
    )
    db.execute("CREATE INDEX inbox_by_turn ON inbox (turn_id)")
    db.execute("CREATE INDEX inbox_owed ON inbox (ordinal) WHERE state != 'done'")
    db.execute("CREATE INDEX inbox_done ON inbox (ordinal) WHERE state = 'done'")
    db.execute(
        """
        CREATE TABLE outbox (
            parcel TEXT NOT NULL,
            part INTEGER NOT NULL,
            channel_id TEXT NOT NULL,
            guild_id TEXT,
            reply_to TEXT,
            turn_id TEXT,
            run_id TEXT,
            nonce TEXT NOT NULL,
            content TEXT NOT NULL,
            file_text TEXT,
            quotable INTEGER NOT NULL,
            state TEXT NOT NULL,
            created_at TEXT NOT NULL,
            message_id TEXT,
            error TEXT NOT NULL DEFAULT '',
            UNIQUE (parcel, part)
        )
        """
    )
    db.execute("CREATE INDEX outbox_pending ON outbox (channel_id) WHERE state = 'pending'")
    db.execute("CREATE INDEX outbox_by_turn ON outbox (turn_id)")
    db.execute(
        "CREATE TABLE cursors (channel_id TEXT PRIMARY KEY, last INTEGER NOT NULL,"
        " is_dm INTEGER NOT NULL) WITHOUT ROWID"
    )
    db.execute(
        "CREATE TABLE interactions (interaction_id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL)"
        " WITHOUT ROWID"
    )
    db.execute(
        """
        CREATE TABLE pairings (
            user_id TEXT PRIMARY KEY,
            state TEXT NOT NULL,
            code TEXT NOT NULL,
            tries INTEGER NOT NULL,
            at_ms INTEGER NOT NULL
        ) WITHOUT ROWID
        """
    )


def _gates(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE gates (
            gate_id TEXT PRIMARY KEY,
            imp TEXT NOT NULL,
            channel_id TEXT NOT NULL,
            is_dm INTEGER NOT NULL,
            requester TEXT NOT NULL,
            run_id TEXT NOT NULL,
            turn_id TEXT NOT NULL,
            tool TEXT NOT NULL,
            payload TEXT NOT NULL,
            payload_sha256 TEXT NOT NULL,
            effect TEXT NOT NULL,
            intent TEXT NOT NULL,
            rationale TEXT NOT NULL,
            filed_ms INTEGER NOT NULL,
            expires_ms INTEGER NOT NULL,
            state TEXT NOT NULL,
            decided_by TEXT,
            decided_ms INTEGER,
            ended_ms INTEGER,
            result_code TEXT NOT NULL
        ) WITHOUT ROWID
        """
    )
    db.execute("CREATE INDEX gates_by_channel ON gates (channel_id, state, filed_ms)")
    db.execute("CREATE INDEX gates_by_state ON gates (state, expires_ms)")


def _summaries(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE summaries (
            record_id TEXT PRIMARY KEY,
            imp TEXT NOT NULL,
            channel_id TEXT NOT NULL,
            lineage TEXT NOT NULL,
            lineage_sha256 TEXT NOT NULL,
            stale TEXT
        ) WITHOUT ROWID
        """
    )
    db.execute("CREATE INDEX summaries_by_channel ON summaries (channel_id, imp)")


_STALE_SUMMARIES = (
    """
    CREATE TRIGGER summary_of_message_changed AFTER UPDATE OF text, deleted ON history
    WHEN NEW.text IS NOT OLD.text OR NEW.deleted IS NOT OLD.deleted
    BEGIN
        UPDATE summaries
        SET stale = CASE NEW.deleted WHEN 0 THEN 'source-changed' ELSE 'source-gone' END
        WHERE stale IS NULL AND record_id IN
            (SELECT record_id FROM summary_sources WHERE message_id = NEW.message_id);
    END
    """,
    """
    CREATE TRIGGER summary_of_message_gone AFTER DELETE ON history
    BEGIN
        UPDATE summaries SET stale = 'source-gone'
        WHERE stale IS NULL AND record_id IN
            (SELECT record_id FROM summary_sources WHERE message_id = OLD.message_id);
    END
    """,
    """
    CREATE TRIGGER summary_of_note_ended AFTER UPDATE OF status ON memory_records
    WHEN OLD.status = 'active' AND NEW.status != 'active'
    BEGIN
        UPDATE summaries
        SET stale = CASE NEW.status WHEN 'tombstoned' THEN 'source-gone' ELSE 'source-changed' END
        WHERE stale IS NULL AND record_id IN
            (SELECT record_id FROM memory_lineage WHERE source_id = NEW.record_id);
    END
    """,
    """
    CREATE TRIGGER summary_of_person_refused AFTER INSERT ON memory_consents
    WHEN NEW.level = 'off' OR (NEW.purpose = 'share' AND NEW.level != 'on')
    BEGIN
        UPDATE summaries SET stale = 'out-of-reach'
        WHERE stale IS NULL AND imp = NEW.imp AND record_id IN
            (SELECT memory_lineage.record_id FROM memory_lineage JOIN memory_records
             ON memory_records.record_id = memory_lineage.source_id
             WHERE NEW.user_id IN (subject_id, memory_records.user_id));
    END
    """,
)
"""No way of changing a source can leave a summary standing on it."""


def _summary_sources(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE summary_sources (
            message_id TEXT NOT NULL,
            record_id TEXT NOT NULL,
            PRIMARY KEY (message_id, record_id)
        ) WITHOUT ROWID
        """
    )
    db.execute("CREATE INDEX memory_lineage_of ON memory_lineage (record_id)")
    db.execute(
        "INSERT OR IGNORE INTO summary_sources SELECT value, record_id"
        " FROM summaries, json_each(summaries.lineage, '$.source_record_ids')"
    )
    db.execute(
        "UPDATE summaries SET stale = 'source-changed' WHERE stale IS NULL AND EXISTS ("
        "SELECT 1 FROM memory_lineage JOIN memory_records"
        " ON memory_records.record_id = memory_lineage.source_id"
        " WHERE memory_lineage.record_id = summaries.record_id AND status != 'active')"
    )
    for trigger in _STALE_SUMMARIES:
        db.execute(trigger)


def _gate_scope(db: sqlite3.Connection) -> None:
    for column in (
        "parent_channel_id TEXT",
        "guild_id TEXT",
        "message_id TEXT",
        "detail TEXT NOT NULL DEFAULT ''",
        "shown TEXT",  # what its cards show; NULL: there are none yet
    ):
        db.execute(f"ALTER TABLE gates ADD COLUMN {column}")
    # What ended before there were cards has none to be brought up to date.
    db.execute("UPDATE gates SET shown = state WHERE state != 'pending'")
    db.execute("CREATE INDEX gates_unshown ON gates (filed_ms, gate_id) WHERE shown IS NOT state")
    db.execute("CREATE INDEX gates_by_time ON gates (filed_ms)")


def _run_list(db: sqlite3.Connection) -> None:
    """What a list of runs is looked through by, and when an answer was in its channel."""
    db.execute("ALTER TABLE runs ADD COLUMN cost_usd REAL NOT NULL DEFAULT 0")
    db.execute(
        "UPDATE runs SET cost_usd = coalesce("
        "(SELECT sum(cost_usd) FROM turns WHERE turns.run_id = runs.run_id), 0)"
    )
    db.execute("ALTER TABLE replies ADD COLUMN at TEXT")
    db.execute("CREATE INDEX runs_by_imp ON runs (imp, run_id)")
    db.execute("CREATE INDEX turns_by_outcome ON turns (outcome, run_id)")
    db.execute("CREATE INDEX turns_by_user ON turns (user_id, run_id)")
    db.execute("CREATE INDEX turns_by_error ON turns (error_code, run_id) WHERE error_code != ''")


def _tasks(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE tasks (
            task_id TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            imp TEXT NOT NULL,
            provider TEXT NOT NULL,
            place TEXT NOT NULL,
            channel_id TEXT,
            parent_channel_id TEXT,
            guild_id TEXT,
            user_id TEXT,
            message_id TEXT,
            role TEXT NOT NULL,
            origin TEXT NOT NULL,
            text TEXT NOT NULL,
            schedule TEXT NOT NULL,
            filed_ms INTEGER NOT NULL,
            due_ms INTEGER NOT NULL,
            state TEXT NOT NULL,
            comes_after TEXT NOT NULL,
            repository TEXT NOT NULL,
            runs INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            missed INTEGER NOT NULL,
            run_id TEXT,
            ended_ms INTEGER,
            result_code TEXT NOT NULL,
            cancelled INTEGER NOT NULL,
            result TEXT NOT NULL DEFAULT ''
        ) WITHOUT ROWID
        """
    )
    db.execute("CREATE INDEX tasks_by_state ON tasks (state, due_ms)")
    db.execute("CREATE INDEX tasks_by_person ON tasks (user_id, channel_id)")


def _outbox_files(db: sqlite3.Connection) -> None:
    """Files of a message on its way; what is settled keeps none."""
    db.execute(
        """
        CREATE TABLE outbox_files (
            parcel TEXT NOT NULL,
            place INTEGER NOT NULL,
            name TEXT NOT NULL,
            content BLOB NOT NULL,
            PRIMARY KEY (parcel, place)
        )
        """
    )
    db.execute(
        "CREATE TRIGGER outbox_files_settled AFTER UPDATE OF state ON outbox"
        " WHEN NEW.state != 'pending' AND OLD.part = 0"
        " BEGIN DELETE FROM outbox_files WHERE parcel = OLD.parcel; END"
    )
    db.execute(
        "CREATE TRIGGER outbox_files_dropped AFTER DELETE ON outbox WHEN OLD.part = 0"
        " BEGIN DELETE FROM outbox_files WHERE parcel = OLD.parcel; END"
    )


def _cached_usage(db: sqlite3.Connection) -> None:
    """What of each day's prompts came from a cache; of earlier days it is not known."""
    for column in ("input_tokens", "cached_tokens"):
        db.execute(f"ALTER TABLE usage_days ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")


def _retention(db: sqlite3.Connection) -> None:
    """What stays of a pruned trace is in its run's row; what is old is found without a walk."""
    db.execute("ALTER TABLE runs ADD COLUMN pruned_chain TEXT")
    db.execute("ALTER TABLE runs ADD COLUMN pruned_at TEXT")
    db.execute("CREATE INDEX runs_with_trace ON runs (run_id) WHERE pruned_at IS NULL")
    db.execute("CREATE INDEX history_by_age ON history (ordinal)")


def _private_threads(db: sqlite3.Connection) -> None:
    """What a gate of a private thread leads to stays there."""
    db.execute("ALTER TABLE gates ADD COLUMN in_private_thread INTEGER NOT NULL DEFAULT 0")


MIGRATIONS: tuple[Migration, ...] = (
    Migration(number=1, name="runs, turns and replies", apply=_runs),
    Migration(number=2, name="history of conversations", apply=_history),
    Migration(number=3, name="sessions to resume", apply=_warm),
    Migration(number=4, name="memory", apply=_memory),
    Migration(number=5, name="what was spent", apply=_usage),
    Migration(number=6, name="house rules", apply=_house_rules),
    Migration(number=7, name="inbox, outbox and cursors", apply=_edge),
    Migration(number=8, name="gates", apply=_gates),
    Migration(number=9, name="summaries", apply=_summaries),
    Migration(number=10, name="what summaries stand on", apply=_summary_sources),
    Migration(number=11, name="scope and cards of gates", apply=_gate_scope),
    Migration(number=12, name="list of runs", apply=_run_list),
    Migration(number=13, name="tasks", apply=_tasks),
    Migration(number=14, name="files on their way", apply=_outbox_files),
    Migration(number=15, name="cached tokens of days", apply=_cached_usage),
    Migration(number=16, name="pruning", apply=_retention),
    Migration(number=17, name="gates of private threads", apply=_private_threads),
)
SCHEMA = MIGRATIONS[-1].number


def schema_of(db: sqlite3.Connection) -> int:
    """Read the number of the last applied change; 0 for an empty database."""
    known = db.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'"
    ).fetchone()
    if known is None:
        return 0
    (number,) = db.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchone()
    return int(number)


def migrate(
    db: sqlite3.Connection, *, now: str, migrations: Sequence[Migration] = MIGRATIONS
) -> tuple[int, ...]:
    """Apply what is missing and return the numbers applied.

    The connection is in autocommit mode. A failing change leaves the schema as it was before it.
    """
    done: list[int] = []
    for step in migrations:
        # Two openings at once take turns here, and the later one finds the work done.
        db.execute("BEGIN IMMEDIATE")
        try:
            if step.number > schema_of(db):
                _apply(db, step, now=now)
                done.append(step.number)
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
    return tuple(done)


def _apply(db: sqlite3.Connection, step: Migration, *, now: str) -> None:
    db.execute(
        "CREATE TABLE IF NOT EXISTS migrations"
        " (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"
    )
    step.apply(db)
    db.execute("INSERT INTO migrations VALUES (?, ?, ?)", (step.number, step.name, now))
