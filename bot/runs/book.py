"""Find runs and open them: the one reader behind ``/runs`` and the shell's ``runs``.

Rows come from the database, everything else from the traces in ``runs/``. Where the database is
missing or damaged the traces alone are read: they are the exact account, and they stay readable.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from bot.runs.kept_traces import KeptTraces, ReadTrace
from bot.runs.pruned import head_of, pruned_report, pruned_sentence
from compiler.request import ChannelId, ImpName, MessageId, RunId, TurnId
from config.homedir import DATABASE_FILE
from sessions.clock import SystemClock
from sessions.engine import SYSTEM_FILE
from sessions.errors import StoreUnavailable
from sessions.review.cache_report import CacheReport, report_cache
from sessions.review.differences import Difference, diff_turns
from sessions.review.inspection import InspectionError, InspectionErrorCode, view_run
from sessions.review.views import RuleView, RunView
from sessions.run_files import RUNS_DIR
from sessions.store.database import open_database
from sessions.store.directives import DirectiveStore, RuleEvent
from sessions.store.runs import LATEST, RunRow, RunStore, TurnRow
from sessions.trace import TRACE_FILE
from sessions.traces.proof import Flaw, VerifyReport, verify
from sessions.traces.reader import TraceDamaged, TracedEvent, read_trace

STORE_SECONDS: Final = 30.0
"""How long a look into the database may take. No lock holds up who reads: only a machine that
stands still does."""
_RUN_ID = re.compile(r"\d{4}(?:-\d\d){5}-[a-z0-9]+")
_PREFIX = re.compile(r"[0-9a-z-]{1,64}")
_EARLIER_LOOKED_AT: Final = 20
_RECENT: Final = 200
"""Among so many latest runs any part of an id is looked for."""


RulesOfRun: TypeAlias = Callable[[RunId], Awaitable[tuple[RuleEvent, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run as it was read at one moment. ``view`` holds no content; ``trace`` does."""

    view: RunView
    trace: tuple[TracedEvent, ...]
    report: VerifyReport

    @property
    def sound(self) -> bool:
        """Whether all whole lines verify.

        A torn last line does not count: it was never delivered, and the bot may be writing it. Nor
        does the file that the engine read: the trace has the text itself.
        """
        beside = {Flaw.TORN_END, Flaw.SYSTEM_FILE}
        return all(problem.flaw in beside for problem in self.report.problems)

    def demand_sound(self) -> None:
        """Refuse to go on with a trace that does not verify.

        Raises:
            InspectionError: some line of the trace is not what was written.
        """
        if not self.sound:
            raise InspectionError(
                InspectionErrorCode.TRACE_UNVERIFIED,
                "The trace of this run does not verify, so its texts are not shown. "
                f"In the shell, runs verify {self.view.run_id} names each flaw.",
            )


class RunBook:
    """All runs of one home. ``store`` is None where the database cannot be read.

    ``rules`` tells what befell the house rules in a run; the database alone knows.
    """

    def __init__(
        self,
        home: Path,
        store: RunStore | None,
        rules: RulesOfRun | None = None,
        *,
        kept: KeptTraces | None = None,
    ) -> None:
        self._runs_dir = home / RUNS_DIR
        self._store = store
        self._rules = rules
        self._kept = kept

    async def rows(
        self,
        limit: int,
        *,
        channel: ChannelId | None = None,
        before: RunId | None = None,
        telling: bool = False,
    ) -> tuple[RunRow, ...]:
        """List runs, the latest first; with ``telling``, none that was warmed up in vain.

        Where the database cannot be read, all are listed.
        """
        if self._store is not None:
            return await self._store.list_runs(
                limit, channel=channel, before=before, telling=telling
            )
        return await asyncio.to_thread(self._rows_of_traces, limit, channel, before)

    async def complete(self, typed: str, limit: int) -> tuple[RunRow, ...]:
        """Find runs that what was typed may mean: the beginning of an id, or any part of it."""
        text = typed.strip().lower()
        if text and self._store is not None:
            found = await self._store.search_run_ids(text, limit)
            if found:
                return found
        recent = await self.rows(_RECENT if text else limit, telling=not text)
        return tuple(row for row in recent if text in row.run_id)[:limit]

    async def find(self, named: str) -> RunId:
        """Make out which run is meant: a whole id, its unique beginning or end, or ``latest``.

        Raises:
            InspectionError: none, or more than one.
        """
        text = named.strip().lower()
        if text != LATEST and not _PREFIX.fullmatch(text):
            raise _unknown()
        if _is_whole(text) and await asyncio.to_thread((self._runs_dir / text).is_dir):
            return RunId(text)
        found = () if self._store is None else await self._store.named(text)
        if text == LATEST:  # one that begins just now has a row and no trace yet
            found = await asyncio.to_thread(self._with_files, found)
        if not found:  # a walk over all traces, for those that no row tells of
            found = _named(text, await asyncio.to_thread(self._ids))
        if len(found) > 1:
            raise InspectionError(
                InspectionErrorCode.RUN_AMBIGUOUS,
                f"{len(found)} runs are meant by that, the latest is {found[0]}. Name one.",
            )
        if not found:
            raise _unknown()
        return found[0]

    async def open(self, named: str) -> OpenRun:
        """Read a run and verify its trace.

        Raises:
            InspectionError: there is no such run, its trace holds nothing, or it was pruned.
            TraceDamaged: the trace cannot be read.
        """
        run_id = await self.find(named)
        row, turns = await self._rows_of(run_id)
        if (pruned := pruned_report(row)) is not None:
            raise InspectionError(InspectionErrorCode.TRACE_PRUNED, pruned_sentence(pruned))
        posted = {} if self._store is None else await self._store.posted(run_id)
        rules = () if self._rules is None else await self._rules(run_id)
        opened = await asyncio.to_thread(self._open, run_id, row, turns, posted)
        return replace(opened, view=replace(opened.view, house_rules=tuple(map(_rule, rules))))

    async def check(self, named: str) -> VerifyReport:
        """Verify a trace, also one that cannot be opened.

        Raises:
            InspectionError: there is no such run.
            TraceDamaged: there is no file, or it cannot be read at all.
        """
        run_id = await self.find(named)
        row, _ = await self._rows_of(run_id)
        if (pruned := pruned_report(row)) is not None:
            return pruned
        return await asyncio.to_thread(_verified, self._trace(run_id), row)

    async def diff(self, run: OpenRun, turn: int | None) -> Difference:
        """Compare a turn with the one before it, which may be in the conversation's last run.

        Raises:
            InspectionError: no such turn, or a trace that does not verify.
            TraceDamaged: a trace that cannot be read.
        """
        run.demand_sound()
        earlier = () if turn not in {None, 1} else await self._earlier(run.view)
        return diff_turns(run.trace, turn, earlier)

    async def cache(
        self, limit: int, *, channel: ChannelId | None = None, run: str | None = None
    ) -> CacheReport:
        """Report on the provider's cache: of one run, or of the latest.

        Traces that do not verify are left out, as nothing can be said of them. One run is told
        together with the conversation's last one, which says why it had to begin anew.

        Raises:
            InspectionError: there is no such run.
            TraceDamaged: the run that was named cannot be read.
        """
        if run is None:
            rows = await self.rows(limit, channel=channel)
            opened = [await self._sound_trace(row.run_id) for row in rows]
            return report_cache(trace for trace in opened if trace)
        return await self.cache_of(await self.open(run))

    async def cache_of(self, run: OpenRun) -> CacheReport:
        """Report on one run.

        Raises:
            InspectionError: its trace does not verify.
            TraceDamaged: the conversation's last trace before it cannot be read.
        """
        run.demand_sound()
        both = report_cache((await self._earlier(run.view), run.trace))
        return both.only(run.view.run_id)

    async def before(self, run: OpenRun, difference: Difference) -> tuple[TracedEvent, ...]:
        """Give the trace of the turn that a difference compares with; empty if there is none.

        Raises:
            InspectionError: as ``open``, and if it does not verify.
            TraceDamaged: as ``open``.
        """
        if difference.before is None:
            return ()
        if difference.before[0] == run.view.run_id:
            return run.trace
        earlier = await self.open(difference.before[0])
        earlier.demand_sound()
        return earlier.trace

    async def _sound_trace(self, run_id: RunId) -> tuple[TracedEvent, ...]:
        try:
            found = await self.open(run_id)
        except (InspectionError, TraceDamaged):
            return ()
        return found.trace if found.sound else ()

    async def run_of_reply(self, message: MessageId) -> tuple[RunId, str] | None:
        """Find run and turn behind a message of the imp."""
        return None if self._store is None else await self._store.turn_of_reply(message)

    async def _rows_of(self, run_id: RunId) -> tuple[RunRow | None, tuple[TurnRow, ...]]:
        if self._store is None:
            return None, ()
        return await self._store.get_run(run_id), await self._store.turns(run_id)

    async def _earlier(self, view: RunView) -> tuple[TracedEvent, ...]:
        """The trace of the conversation's run before this one that has a compiled turn."""
        if view.channel_id is None:
            return ()
        rows = await self.rows(
            _EARLIER_LOOKED_AT, channel=ChannelId(view.channel_id), before=RunId(view.run_id)
        )
        for row in rows:
            if row.turns and row.pruned_at is None:
                run = await self.open(row.run_id)
                if run.sound:
                    return run.trace
        return ()

    def _open(
        self,
        run_id: RunId,
        row: RunRow | None,
        turns: tuple[TurnRow, ...],
        posted: Mapping[TurnId, str],
    ) -> OpenRun:
        path = self._trace(run_id)

        def reading() -> ReadTrace:
            return _verified(path, row), read_trace(path)

        files = (path, path.with_name(SYSTEM_FILE))
        kept = self._kept
        report, trace = kept.read(files, head_of(row), reading) if kept else reading()
        return OpenRun(view=view_run(trace, row, turns, posted), trace=trace, report=report)

    def _trace(self, run_id: RunId) -> Path:
        return self._runs_dir / run_id / TRACE_FILE

    def _with_files(self, run_ids: Sequence[RunId]) -> tuple[RunId, ...]:
        return tuple(each for each in run_ids if (self._runs_dir / each / TRACE_FILE).is_file())[:1]

    def _ids(self) -> list[RunId]:
        """All run ids, the latest first; names begin with the time."""
        try:
            names = [entry.name for entry in os.scandir(self._runs_dir)]
        except OSError:
            return []
        return [RunId(name) for name in sorted(names, reverse=True) if _RUN_ID.fullmatch(name)]

    def _rows_of_traces(
        self, limit: int, channel: ChannelId | None, before: RunId | None
    ) -> tuple[RunRow, ...]:
        rows: list[RunRow] = []
        for run_id in self._ids():
            if len(rows) == limit:
                break
            if before is not None and run_id >= before:
                continue
            try:
                trace = read_trace(self._trace(run_id))
                row = _row(view_run(trace), trace)
            except (TraceDamaged, InspectionError):
                continue  # runs verify names what is wrong with it
            if channel in {None, row.channel_id}:
                rows.append(row)
        return tuple(rows)


@asynccontextmanager
async def open_book(home: Path) -> AsyncIterator[RunBook]:
    """Open the runs of a home for reading, beside a running bot or without one."""
    database = open_database(
        home / DATABASE_FILE, clock=SystemClock(), patience_seconds=STORE_SECONDS, read_only=True
    )
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(database)
        except StoreUnavailable:
            yield RunBook(home, None)
        else:
            yield RunBook(home, RunStore(opened), DirectiveStore(opened).of_run)


def _rule(event: RuleEvent) -> RuleView:
    return RuleView(
        at=event.at,
        kind=event.kind.value,
        code=event.code,
        user_id=event.user_id,
        message_id=event.message_id,
    )


def _is_whole(text: str) -> bool:
    return _RUN_ID.fullmatch(text) is not None


def _named(text: str, ids: Sequence[RunId]) -> tuple[RunId, ...]:
    """Give the runs that may be meant, the latest first."""
    if text == LATEST:
        return tuple(ids[:1])
    if text in ids:
        return (RunId(text),)
    return tuple(run for run in ids if run.startswith(text) or run.endswith(f"-{text}"))


def _unknown() -> InspectionError:
    return InspectionError(
        InspectionErrorCode.RUN_UNKNOWN,
        "There is no such run. The list tells all: /runs list, in the shell runs ls.",
    )


def _verified(trace: Path, row: RunRow | None) -> VerifyReport:
    return verify(trace, head=head_of(row), system_file=trace.with_name(SYSTEM_FILE))


def _row(view: RunView, trace: tuple[TracedEvent, ...]) -> RunRow:
    return RunRow(
        run_id=RunId(view.run_id),
        surface=view.surface,
        imp=ImpName(view.imp),
        channel_id=None if view.channel_id is None else ChannelId(view.channel_id),
        is_dm=view.is_dm,
        started_at=view.started_at,
        ended_at=view.ended_at,
        end_reason=view.end_reason,
        system_sha256=view.start.system_prompt_sha256 if view.start else None,
        route_key=view.route_key,
        turns=len(view.turns),
        trace_events=len(trace),
        trace_head_sha256=trace[-1].mark.sha256 if trace else None,
    )
