"""Addresses of lists, read and written back."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.inspector.asked import Asked, read_asked
from compiler.request import RunId

RUN = RunId("2026-11-29-23-16-35-abcd")
WHOLE = {
    "q": "hearth",
    "imp": "ember",
    "where": "discord:100",
    "from": "2026-11-01",
    "to": "2026-11-30",
    "outcome": "failed",
    "cost": "0.25",
    "idle": "1",
    "before": RUN,
}


def test_every_filter_is_read() -> None:
    asked = read_asked(WHOLE)
    assert asked.before == RUN
    wanted = asked.filter(("discord:7",))
    assert (wanted.imp, wanted.channel, wanted.outcome) == ("ember", "discord:100", "failed")
    assert (wanted.since, wanted.until) == ("2026-11-01", "2026-12-01")  # the last day counts
    assert wanted.idle
    assert (wanted.least_usd, wanted.text, wanted.channels) == (0.25, "hearth", ("discord:7",))
    assert dict(parse_qsl(asked.query(before=asked.before))) == WHOLE


@pytest.mark.parametrize(
    "query",
    [
        {"from": "yesterday", "to": "2026-13-01"},
        {"outcome": "pleased"},
        {"cost": "nan"},
        {"cost": "-1"},
        {"cost": "1e999"},
        {"before": "../../etc/passwd"},
        {"before": "2026-11-29-23-16-35-abcd' OR 1=1"},
        {"unknown": "1"},
        {"idle": "maybe"},
    ],
)
def test_what_cannot_be_read_is_left_out(query: dict[str, str]) -> None:
    assert read_asked(query) == Asked()
    assert not read_asked(query).narrows


def test_the_last_day_of_all_has_no_next() -> None:
    assert not read_asked({"to": "9999-12-31"}).filter().until


@settings(max_examples=50)
@given(query=st.dictionaries(st.sampled_from(list(WHOLE)), st.text(max_size=30)))
def test_writing_and_reading_again_changes_nothing(query: dict[str, str]) -> None:
    """A link to the next page asks for what this page asked for."""
    asked = read_asked(query)
    again = read_asked(dict(parse_qsl(asked.query(before=asked.before))))
    assert again.query(before=again.before) == asked.query(before=asked.before)
