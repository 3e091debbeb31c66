"""How a drill counts."""

from __future__ import annotations

from bot.drill.account import Account, is_traced, mark_in
from bot.leftovers import INTERRUPTED


def test_every_message_counts_once() -> None:
    """Answered, interrupted, told otherwise, lost, doubled, untraced: each where it belongs."""
    account = Account(kills=3, sent=["a", "b", "c", "d", "e"], untraced=["e"])
    account.answers = {
        "a": ["done a"],
        "b": [f"{INTERRUPTED} (run `x`)"],
        "c": ["Too many."],
        "d": ["done d", "done d"],
    }
    assert dict(account.figures()) == {
        "kills": 3,
        "messages": 5,
        "answered": 2,
        "interrupted": 1,
        "told otherwise": 1,
        "lost": 1,
        "doubled": 1,
        "untraced": 1,
        "left over": 0,
    }
    assert not account.holds


def test_a_drill_holds_only_without_a_flaw() -> None:
    """One answer for each message is all it takes."""
    account = Account(sent=["a"], answers={"a": ["done a"]})
    assert account.holds
    assert not Account(left_over=1).holds, "a process outlived its host (P23)"
    account.sent.append("b")
    assert not account.holds


def test_a_mark_is_found_where_it_stands_last() -> None:
    """Quoted earlier messages do not count."""
    assert mark_in("drill-000001 then drill-000002!") == "drill-000002"
    assert mark_in("nothing") == ""


def test_only_a_compiled_input_is_a_trace() -> None:
    """A line of another event that names the message is none."""
    assert is_traced(['{"event":"compiled","blocks":"drill-000001"}'], "drill-000001")
    assert not is_traced(['{"event":"failed","blocks":"drill-000001"}'], "drill-000001")
