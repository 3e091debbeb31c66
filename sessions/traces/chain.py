"""Where the chain of a trace ends, worked out from its lines alone and quickly.

``sessions.traces.proof.verify`` works out everything anew; before a trace is pruned its chain is
all that matters, since the chain's end is what stays.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sessions.traces.events import TraceMark, chain_root, line_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainEnd:
    """How many whole lines there are, the last one's hash, and whether all of it holds.

    A torn last line does not count: it was never delivered.
    """

    events: int
    head_sha256: str | None
    is_whole: bool


def chain_end(path: Path, *, head: TraceMark | None = None) -> ChainEnd | None:
    """Follow the chain of a trace; None where there is no file. Blocks.

    Args:
        path: the ``context.jsonl``; its directory's name is the run's id.
        head: the last line that is known to have been written.

    Raises:
        OSError: the file cannot be read.
    """
    run_id = path.parent.name
    events, previous = 0, chain_root(run_id)
    is_whole = head is None
    try:
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                if not _links(line, seq=events, previous=previous, run_id=run_id):
                    return ChainEnd(events=events, head_sha256=previous, is_whole=False)
                previous = line_hash(line[:-1])
                is_whole = is_whole or head == TraceMark(seq=events, sha256=previous)
                events += 1
    except FileNotFoundError:
        return None
    return ChainEnd(events=events, head_sha256=previous if events else None, is_whole=is_whole)


def _links(line: bytes, *, seq: int, previous: str, run_id: str) -> bool:
    try:
        told = json.loads(line)
    except ValueError:
        return False
    return isinstance(told, dict) and (
        told.get("seq"),
        told.get("prev_sha256"),
        told.get("run_id"),
    ) == (seq, previous, run_id)
