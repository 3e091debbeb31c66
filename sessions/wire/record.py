"""One model call as it is written down: what left, whether it was what was compiled, what it cost.

Ids, sizes, hashes, codes and figures only; not a word of what was said.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from compiler.request import RunId
from sessions.clock import timestamp
from sessions.traces.events import UnobservedEvent, WireEvent
from sessions.traces.forms import TracedMark, TracedPlace, TracedWireUsage
from sessions.wire.ledger import Finding, Place
from sessions.wire.usage import WireUsage

ANSWERED: Final = range(200, 300)
"""The statuses of an answer."""


class CallEnd(StrEnum):
    """How a model call ended."""

    COMPLETE = "complete"
    """The provider's whole answer went through, an error of its own included."""
    REFUSED = "refused"
    """It never left: a limit, a mismatch, or too large."""
    UNREACHABLE = "unreachable"
    """No connection, or none that answered."""
    SILENT = "silent"
    """The provider was silent, or took longer, than the settings allow."""
    DROPPED = "dropped"
    """The provider broke off in the middle."""
    LEFT = "left"
    """pi went away before the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRecord:
    """One model call. Times count from the moment in which the request was here whole."""

    number: int
    """From 1, by process."""
    at: datetime
    api: str
    body_sha256: str
    body_bytes: int
    finding: Finding
    end: CallEnd
    refusal: str
    """The code of why it did not leave; empty if it did."""
    status: int
    """The provider's; 0 without an answer."""
    response_bytes: int
    usage: WireUsage | None
    first_byte_us: int
    total_us: int


def wire_event(run_id: RunId, record: WireRecord) -> WireEvent:
    """Describe a model call for the trace."""
    found, reading = record.finding, record.finding.reading
    return WireEvent(
        ts=timestamp(record.at),
        run_id=run_id,
        turn_id=found.turn.turn_id if found.turn else None,
        turn=TracedMark(seq=found.turn.mark.seq, sha256=found.turn.mark.sha256)
        if found.turn
        else None,
        number=record.number,
        api=record.api,
        model=reading.model if reading else "",
        body_sha256=record.body_sha256,
        body_bytes=record.body_bytes,
        items=reading.items if reading else 0,
        kept_items=reading.kept if reading else 0,
        extends_former=reading.extends if reading else None,
        difference_at=reading.difference_at if reading else None,
        prefix_bytes=reading.prefix_bytes if reading else 0,
        prefix_sha256=reading.prefix_sha256 if reading else None,
        tools=reading.tools if reading else 0,
        tools_sha256=reading.tools_sha256 if reading else None,
        system=_place(found.system),
        input=_place(found.input),
        problems=tuple(problem.value for problem in found.problems),
        end=record.end.value,
        refusal=record.refusal,
        status=record.status,
        response_bytes=record.response_bytes,
        usage=_usage(record.usage),
        first_byte_us=record.first_byte_us,
        total_us=record.total_us,
    )


def unobserved_event(run_id: RunId, *, at: datetime, provider: str) -> UnobservedEvent:
    """Say that a process asks its provider directly, so that nothing is known of its calls."""
    return UnobservedEvent(ts=timestamp(at), run_id=run_id, provider=provider)


def _place(place: Place | None) -> TracedPlace | None:
    return None if place is None else TracedPlace(**asdict(place))


def _usage(usage: WireUsage | None) -> TracedWireUsage | None:
    return None if usage is None else TracedWireUsage(**asdict(usage))
