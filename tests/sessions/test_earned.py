"""Trust that approvals earn and a denial takes away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sessions.earned import Past, is_earned

pasts = st.lists(
    st.builds(Past, decided_ms=st.integers(0, 100), approved=st.booleans()), max_size=12
)


def yes(*times: int) -> list[Past]:
    return [Past(decided_ms=time, approved=True) for time in times]


def no(time: int) -> Past:
    return Past(decided_ms=time, approved=False)


def test_so_many_approvals_earn_it() -> None:
    """Off by default; within the window; after a denial it begins anew."""
    assert is_earned(yes(1, 2, 3), approvals=3, since_ms=0)
    assert not is_earned(yes(1, 2), approvals=3, since_ms=0)
    assert is_earned(yes(1), approvals=1, since_ms=0)
    assert not is_earned(yes(1, 2, 3), approvals=3, since_ms=2)
    assert not is_earned(yes(1, 2, 3), approvals=0, since_ms=0)
    assert not is_earned([*yes(1, 2, 3), no(4)], approvals=3, since_ms=0)
    assert is_earned([*yes(1, 2), no(3), *yes(4, 5, 6)], approvals=3, since_ms=0)
    assert is_earned([no(1), *yes(2, 3)], approvals=2, since_ms=2)
    assert not is_earned([*yes(5), no(5)], approvals=1, since_ms=0)


@given(pasts, st.integers(-1, 4), st.integers(0, 100))
def test_a_denial_never_helps_and_one_at_the_end_resets(
    past: list[Past], approvals: int, since_ms: int
) -> None:
    """Order does not matter; what is earned is lost with a denial now."""
    earned = is_earned(past, approvals=approvals, since_ms=since_ms)
    assert earned == is_earned(past[::-1], approvals=approvals, since_ms=since_ms)
    assert not is_earned([*past, no(100)], approvals=approvals, since_ms=since_ms)
    if earned:
        without = [each for each in past if each.approved]
        assert is_earned(without, approvals=approvals, since_ms=since_ms)
        assert sum(each.approved for each in past) >= approvals >= 1
