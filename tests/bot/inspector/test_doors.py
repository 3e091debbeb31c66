"""One-time links and the sessions that they open."""

from __future__ import annotations

from bot.inspector.doors import MAX_LINKS, MAX_SESSIONS, Doors, is_token_of
from support.inspector_world import Wall


def doors_at(clock: Wall) -> Doors:
    return Doors(link_seconds=600, session_seconds=3600, now=clock)


def test_a_link_opens_once() -> None:
    """Issue: a one-time sign-in link."""
    doors = doors_at(Wall())
    ticket = doors.ticket()
    assert doors.is_open(ticket)
    assert doors.is_open(ticket)  # looking uses nothing up
    entered = doors.enter(ticket)
    assert entered is not None
    cookie, session = entered
    assert doors.session(cookie) == session
    assert doors.enter(ticket) is None
    assert not doors.is_open(ticket)


def test_a_link_is_too_old_after_its_minutes() -> None:
    """Issue "Bad input": expired sign-in links."""
    clock = Wall()
    doors = doors_at(clock)
    ticket = doors.ticket()
    clock.seconds += 600
    assert not doors.is_open(ticket)
    assert doors.enter(ticket) is None


def test_nobody_enters_by_a_guess() -> None:
    doors = doors_at(Wall())
    ticket = doors.ticket()
    for guess in ("", ticket[:-1], ticket.swapcase(), "\udce9", "x" * 10_000):
        assert doors.enter(guess) is None
        assert doors.session(guess) is None
    assert doors.enter(ticket) is not None


def test_a_session_ends_with_its_hours_or_by_leaving() -> None:
    clock = Wall()
    doors = doors_at(clock)
    cookie, session = doors.enter(doors.ticket()) or ("", None)
    assert session is not None
    assert doors.lasts(session)
    clock.seconds += 3600
    assert not doors.lasts(session)
    assert doors.session(cookie) is None
    cookie, session = doors.enter(doors.ticket()) or ("", None)
    assert session is not None
    doors.leave(session)
    assert doors.session(cookie) is None
    doors.leave(session)  # twice is once


def test_links_and_sessions_are_few() -> None:
    """Whoever asks for links all day leaves no heap of keys behind."""
    doors = doors_at(Wall())
    tickets = [doors.ticket() for _ in range(MAX_LINKS + 1)]
    assert [doors.is_open(ticket) for ticket in tickets] == [False] + [True] * MAX_LINKS
    cookies = [(doors.enter(doors.ticket()) or ("", None))[0] for _ in range(MAX_SESSIONS + 1)]
    assert doors.session(cookies[0]) is None
    assert all(doors.session(cookie) for cookie in cookies[1:])


def test_a_form_s_token_is_its_session_s_own() -> None:
    doors = doors_at(Wall())
    one, other = (doors.enter(doors.ticket()) for _ in range(2))
    assert one is not None
    assert other is not None
    assert is_token_of(one[1], one[1].form_token)
    for given in (other[1].form_token, "", "\udce9", one[0]):
        assert not is_token_of(one[1], given)
