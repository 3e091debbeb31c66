"""``prune`` in the shell: what the bot does once an hour, now and to the end, or only told.

It may run beside the bot: what either has let go the other finds gone.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from bot.home.housekeeping import pruner_of
from bot.shell.task_home import holder_of
from compiler.errors import SafeError
from config.homedir import DATABASE_FILE
from config.load import LiveConfig
from sessions.clock import SystemClock
from sessions.pruning import Pruned, PrunePlan, Pruner
from sessions.retention import MB, Why
from sessions.store.database import open_database

_ROUND: Final = 500
_NOTHING: Final = "Nothing has to go by [retention] in org.toml."


def main(home: Path, *, dry_run: bool, as_json: bool) -> int:
    """Run the command: 1 when something that had to go could not."""
    try:
        return asyncio.run(_main(home, dry_run=dry_run, as_json=as_json))
    except SafeError as error:
        print(error.safe_message, file=sys.stderr)  # noqa: T201
        return 1


async def _main(home: Path, *, dry_run: bool, as_json: bool) -> int:
    live = await asyncio.to_thread(LiveConfig, home, environ=os.environ)
    clock = SystemClock()
    patience_seconds = live.current.sessions.store_seconds
    path = home / DATABASE_FILE
    # Of another release's running bot the schema is not changed: a reader refuses another one.
    careful = dry_run or not path.is_file() or holder_of(home) is not None
    if careful:
        looking = open_database(
            path, clock=clock, patience_seconds=patience_seconds, read_only=True
        )
        async with looking as database:
            if dry_run:
                plan = await pruner_of(live, database, clock).look()
                print(json.dumps(_plan_document(plan)) if as_json else plan_text(plan))  # noqa: T201
                return 0
    async with open_database(path, clock=clock, patience_seconds=patience_seconds) as database:
        done = await prune_all(pruner_of(live, database, clock))
    print(json.dumps(asdict(done)) if as_json else done_text(done))  # noqa: T201
    return 1 if done.kept else 0


async def prune_all(pruner: Pruner) -> Pruned:
    """Look and prune until nothing is left but what has to stay."""
    total = Pruned()
    kept: set[str] = set()
    while True:
        plan = await pruner.look()
        plan = replace(
            plan, traces=tuple(each for each in plan.traces if each.run_id not in kept)[:_ROUND]
        )
        if plan.is_empty:
            return total
        done = await pruner.carry_out(plan)
        kept |= set(done.kept)
        total = Pruned(
            traces=total.traces + done.traces,
            size_bytes=total.size_bytes + done.size_bytes,
            turns=total.turns + done.turns,
            messages=total.messages + done.messages,
            kept=(*total.kept, *done.kept),
        )


def plan_text(plan: PrunePlan) -> str:
    """Tell what would go."""
    if plan.is_empty:
        return _NOTHING
    lines = [
        _traces(len(plan.traces), plan.size_bytes),
        *(
            f"  {each.run_id}  {each.size_bytes // 1024:,} kB  "
            f"{'too old' if each.why is Why.AGE else 'over trace_mb'}"
            for each in plan.traces[:20]
        ),
    ]
    if len(plan.traces) > 20:  # noqa: PLR2004  (as shown above)
        lines.append(f"  and {len(plan.traces) - 20:,} more")
    lines += [
        f"Turns of {len(plan.records):,} runs",
        f"Messages: {plan.messages:,}",
        "Nothing was changed.",
    ]
    return "\n".join(lines)


def done_text(done: Pruned) -> str:
    """Tell what went."""
    if done == Pruned():
        return _NOTHING
    lines = [
        _traces(done.traces, done.size_bytes),
        f"Turns: {done.turns:,}",
        f"Messages: {done.messages:,}",
    ]
    if done.kept:
        lines.append(
            f"Kept, for they do not verify or cannot be deleted: {len(done.kept):,}, the first is "
            f"{done.kept[0]}. Look closer with: runs verify {done.kept[0]}"
        )
    return "\n".join(lines)


def _traces(count: int, size_bytes: int) -> str:
    return f"Traces: {count:,}, {size_bytes / MB:,.1f} MB"


def _plan_document(plan: PrunePlan) -> dict[str, object]:
    return {**asdict(plan), "size_bytes": plan.size_bytes}
