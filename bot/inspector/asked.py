"""What the address of a list asks for, read and written back; pure.

Whatever cannot be read is left out: an address is typed, shared and cut off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final
from urllib.parse import urlencode

from compiler.request import RunId
from sessions.inbound import OutcomeKind
from sessions.store.run_list import RUNNING, RunFilter

RUN_ID: Final = r"\d{4}(?:-\d\d){5}-[a-z0-9]{1,16}"
MAX_TYPED: Final = 100
OUTCOMES: Final = (*(kind.value for kind in OutcomeKind), RUNNING)
_RUN = re.compile(RUN_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A list's filters as they were typed, and where the page begins."""

    text: str = ""
    imp: str = ""
    channel: str = ""
    since: str = ""
    until: str = ""
    """The last day that counts, unlike in ``RunFilter``."""
    outcome: str = ""
    cost: str = ""
    idle: bool = False
    """Also runs that were warmed up and took no turn."""
    before: RunId | None = None

    @property
    def narrows(self) -> bool:
        """Whether any filter is set."""
        return bool(self.query(before=None))

    def filter(self, channels: tuple[str, ...] = ()) -> RunFilter:
        """Give what the store looks for; ``channels`` are those that the text names."""
        return RunFilter(
            imp=self.imp,
            channel=self.channel,
            since=self.since,
            until=_next_day(self.until),
            outcome=self.outcome,
            least_usd=float(self.cost or 0),
            text=self.text,
            channels=channels,
            idle=self.idle,
        )

    def query(self, *, before: str | None) -> str:
        """Write the address's query again, to go on below another run."""
        pairs = (
            ("q", self.text),
            ("imp", self.imp),
            ("where", self.channel),
            ("from", self.since),
            ("to", self.until),
            ("outcome", self.outcome),
            ("cost", self.cost),
            ("idle", "1" if self.idle else ""),
            ("before", before or ""),
        )
        return urlencode([(name, value) for name, value in pairs if value], errors="replace")


def read_asked(query: Mapping[str, str]) -> Asked:
    """Read an address's query."""
    before = query.get("before", "")
    outcome = query.get("outcome", "")
    asked = Asked(
        text=query.get("q", "").strip()[:MAX_TYPED],
        imp=query.get("imp", "")[:MAX_TYPED],
        channel=query.get("where", "")[:MAX_TYPED],
        since=_day(query.get("from", "")),
        until=_day(query.get("to", "")),
        outcome=outcome if outcome in OUTCOMES else "",
        cost=_money(query.get("cost", "")),
        idle=query.get("idle") == "1",
    )
    return replace(asked, before=RunId(before)) if _RUN.fullmatch(before) else asked


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return ""


def _next_day(day: str) -> str:
    if not day:
        return ""
    try:
        return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    except OverflowError:
        return ""  # the last day of all


def _money(text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        return ""
    return text.strip()[:20] if math.isfinite(value) and value > 0 else ""
