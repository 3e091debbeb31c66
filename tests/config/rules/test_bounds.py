"""The sentences of which most rules are made: where each bound lies, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from config.findings import Finding
from config.rules import bounds

KEY = ("section", "key")
NAN = float("nan")
Rule = Callable[[float], Iterator[Finding]]


def least(value: float) -> Iterator[Finding]:
    return bounds.at_least(KEY, value, 3)


def positive(value: float) -> Iterator[Finding]:
    return bounds.not_negative(KEY, value)


def ranged(value: float) -> Iterator[Finding]:
    return bounds.between(KEY, value, 1, 5)


def above(value: float) -> Iterator[Finding]:
    return bounds.above_nothing(KEY, value, 5)


def waited(value: float) -> Iterator[Finding]:
    return bounds.seconds(KEY, value)


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        (least, (3, 4), (2, -1)),
        (positive, (0, 1e12), (-0.1, NAN, float("inf"))),
        (ranged, (1, 5), (0.99, 5.01, NAN)),
        (above, (0.01, 5), (0, -1, 5.01, NAN)),
        (waited, (0.001, 604_800), (0, 604_801, NAN)),
    ],
)
def test_both_ends_lie_where_the_sentence_says(
    rule: Rule, inside: tuple[float, ...], outside: tuple[float, ...]
) -> None:
    """A value that is no number is within no bounds."""
    assert [value for value in inside if [*rule(value)]] == []
    assert [value for value in outside if not [*rule(value)]] == []


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (least, "must be at least 3"),
        (positive, "must not be negative"),
        (ranged, "must be between 1 and 5"),
        (above, "must be more than 0 and at most 5"),
        (waited, "must be more than 0 and at most 604800 seconds"),
    ],
)
def test_a_finding_names_its_key_and_its_bounds(rule: Rule, message: str) -> None:
    """Style "Errors": config problems come with their key path."""
    assert [*rule(-1)] == [Finding(paths=(KEY,), message=message)]


def test_a_unit_and_a_hint_are_told() -> None:
    """Style "Shape": say the unit."""
    (found,) = bounds.between(KEY, 9, 0, 5.0, "hours", hint="0 is none.")
    assert (found.message, found.hint) == ("must be between 0 and 5 hours", "0 is none.")


def test_a_choice_is_one_of_the_words_exactly() -> None:
    """Another case or a blank is another word."""
    assert [*bounds.one_of(KEY, "queue", ("queue", "steer"))] == []
    (found,) = bounds.one_of(KEY, "Queue", ("queue", "steer"))
    assert found.message == 'must be one of "queue", "steer"'


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_number_that_is_no_port_is_found(port: int) -> None:
    """0 is one: any that is free."""
    assert [*bounds.port(KEY, port)]
    assert [*bounds.port(KEY, 0), *bounds.port(KEY, 65_535)] == []


@pytest.mark.parametrize(
    "address",
    ["", "localhost:4318", "ftp://x", "http://", "http://[::1", "http://x:99999", "http://x:0"],
)
def test_what_is_no_address_of_a_server_is_found(address: str) -> None:
    """A text that cannot be taken apart is found as well, and raises nothing."""
    assert [*bounds.address(KEY, address)]
    assert [
        *bounds.address(KEY, "https://example.org/v1"),
        *bounds.address(KEY, "http://x:1"),
    ] == []


def test_a_time_zone_is_one_that_is_known() -> None:
    """The file that is looked up is never named by a path."""
    assert [*bounds.time_zone(KEY, "Europe/Paris")] == []
    assert [*bounds.time_zone(KEY, "Middle/Earth")]
    assert [*bounds.time_zone(KEY, "../etc/passwd")]
