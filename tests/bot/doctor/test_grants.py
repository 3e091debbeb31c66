"""Rules that never count are told, so that none is relied on."""

from __future__ import annotations

from bot.doctor.grants import judge_grants
from bot.doctor.results import Verdict as Health
from sessions.grants import Grant, Verdict


def test_rules_that_never_count_are_named_as_an_owner_counts() -> None:
    """Issue "Gateway of actions": the first match decides, so a later deny may be void."""
    assert judge_grants(()).verdict is Health.OK
    fine = Grant(tool="bash", verdict=Verdict.ALLOW, arguments={"command": "ls*"})
    assert judge_grants((fine,)).verdict is Health.OK
    void = Grant(tool="bash", verdict=Verdict.DENY, arguments={"command": "*sudo*"})
    found = judge_grants((Grant(tool="bash", verdict=Verdict.ALLOW), fine, void))
    assert found.verdict is Health.WARN
    assert "rule 2 never counts, as rule 1 decides; rule 3" in found.summary
