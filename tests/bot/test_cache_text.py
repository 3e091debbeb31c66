"""The cache in words and for programs: figures, causes and places, at most 60 wide."""

from __future__ import annotations

import json

from bot.cache_text import WIDTH, cache_document, cache_text
from sessions.review.cache_report import (
    BreakCause,
    CacheBreak,
    CacheFigures,
    CacheReport,
    ImpCache,
    SessionCache,
)

RUN = "2026-11-29-23-16-35-abcd"
FIGURES = CacheFigures(
    calls=20, input_tokens=1_234_567, cached_tokens=1_200_000, expected_tokens=1_210_000
)


def break_of(cause: BreakCause, **changes: object) -> CacheBreak:
    fields: dict[str, object] = {
        "run_id": RUN,
        "turn_id": "discord:message:1",
        "at": "2026-11-29T23:17:00.000Z",
        "cause": cause,
        "block": "",
        "at_byte": None,
        "lost_tokens": 0,
        **changes,
    }
    return CacheBreak(**fields)  # type: ignore[arg-type]  # names are checked by the class


def report_of(*breaks: CacheBreak, observed: bool = True, unmeasured: int = 0) -> CacheReport:
    session = SessionCache(
        run_id=RUN,
        imp="ember",
        channel_id="discord:100",
        began_at="2026-11-29T23:16:35.000Z",
        figures=FIGURES if observed else CacheFigures(),
        unmeasured=unmeasured,
        observed=observed,
        breaks=breaks,
    )
    imp = ImpCache(imp="ember", sessions=1, figures=session.figures)
    return CacheReport(sessions=(session,), imps=(imp,))


def test_a_report_is_told_in_figures_and_breaks() -> None:
    text = cache_text(
        report_of(
            break_of(BreakCause.IDENTITY, block="identity", at_byte=1061, detail="reset"),
            break_of(BreakCause.REWRITTEN, at_byte=7_500, lost_tokens=2_000),
            break_of(BreakCause.PROVIDER, lost_tokens=900),
            unmeasured=2,
        )
    )
    assert f"{RUN}    20  1,234,567  97.2%     98.0%" in text
    assert "2 calls without figures" in text
    assert "  identity edit, 2026-11-29 23:17\n" in text
    assert "block identity, from byte 1,061" in text
    assert "the session before ended: reset" in text
    assert "request, from byte 7,500" in text
    assert "2,000 tokens read anew" in text
    assert "the provider had it no longer" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_no_break_is_said_as_well() -> None:
    assert "No breaks: every call went on where the one before it ended." in cache_text(report_of())


def test_what_was_not_observed_has_no_share() -> None:
    text = cache_text(report_of(observed=False))
    assert "not observed" in text
    assert "%" not in text


def test_nothing_yet() -> None:
    assert cache_text(CacheReport(sessions=(), imps=())).startswith("No model call was observed")


def test_every_cause_fits_the_width() -> None:
    breaks = [break_of(cause, at_byte=10**9, lost_tokens=10**9) for cause in BreakCause]
    assert max(map(len, cache_text(report_of(*breaks)).splitlines())) <= WIDTH


def test_programs_get_the_fields_and_the_shares() -> None:
    document = json.loads(json.dumps(cache_document(report_of(break_of(BreakCause.TOOLS)))))
    (session,) = document["sessions"]
    assert session["figures"]["cached_tokens"] == 1_200_000
    assert round(session["hit_share"], 3) == 0.972
    assert session["breaks"][0]["cause"] == "tool set"
    assert document["imps"][0]["expected_share"] > 0.9
    assert cache_document(report_of(observed=False))["sessions"][0]["hit_share"] is None
