"""Windows of rate limits."""

from __future__ import annotations

from bot.playground.ratelimit import Limits, Rule


def test_a_window_refuses_until_it_ends() -> None:
    """So many in so many seconds, then all of them again."""
    now = [100.0]
    limits = Limits(now=lambda: now[0])
    limits.rules.append(Rule(method="POST", route="/a", count=2, seconds=5.0))
    assert limits.take("GET", "/a", "") is None
    left = [limits.take("POST", "/a", "1") for _ in range(3)]
    assert [v.retry_after if v else 0 for v in left] == [None, None, 5.0]
    now[0] += 3
    refused = limits.take("POST", "/a", "1")
    assert refused is not None
    assert refused.retry_after == 2.0
    assert refused.headers["X-RateLimit-Reset-After"] == "2.000"
    now[0] += 2
    again = limits.take("POST", "/a", "1")
    assert again is not None
    assert again.retry_after is None


def test_major_parameters_have_windows_of_their_own() -> None:
    """Two channels do not use up each other's limit; their bucket has one name."""
    limits = Limits()
    limits.rules.append(Rule(method="*", route="/a", count=1, seconds=60))
    one, two = limits.take("POST", "/a", "1"), limits.take("POST", "/a", "2")
    assert one is not None
    assert two is not None
    assert one.retry_after is None
    assert two.retry_after is None
    assert one.headers["X-RateLimit-Bucket"] == two.headers["X-RateLimit-Bucket"]


def test_the_global_limit_gives_no_headers_while_it_lasts() -> None:
    """It shows only when it refuses, as on Discord."""
    limits = Limits()
    limits.rules.append(Rule(method="*", route="*", count=1, seconds=60, scope="global"))
    assert limits.take("GET", "/a", "1") is None
    refused = limits.take("GET", "/b", "2")
    assert refused is not None
    assert refused.is_global
