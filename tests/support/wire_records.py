"""A record of one model call that went well, for tests that change one thing of it."""

from __future__ import annotations

from datetime import UTC, datetime

from sessions.wire.ledger import Finding
from sessions.wire.record import CallEnd, WireRecord
from sessions.wire.usage import WireUsage

AT = datetime(2026, 11, 29, 23, 16, 35, tzinfo=UTC)


def record_of(
    finding: Finding, usage: WireUsage | None = None, *, api: str = "openai-completions"
) -> WireRecord:
    """Record the first call of a process, answered at once."""
    return WireRecord(
        number=1,
        at=AT,
        api=api,
        body_sha256="b" * 64,
        body_bytes=100,
        finding=finding,
        end=CallEnd.COMPLETE,
        refusal="",
        status=200,
        response_bytes=50,
        usage=usage,
        first_byte_us=10,
        total_us=20,
    )
