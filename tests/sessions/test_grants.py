"""The owner's rules over tool calls."""

from __future__ import annotations

import json
import re
import subprocess

from hypothesis import given
from hypothesis import strategies as st

from bot.bootstrap import find_pi
from compiler.canonical_json import JsonValue
from compiler.request import ImpName
from sessions.grants import (
    Call,
    Decision,
    Grant,
    Trust,
    Verdict,
    decide,
    offered,
    overshadowed,
)

EMBER = ImpName("ember")
PI = find_pi()
BUILTIN = ("read", "bash", "edit", "write")


def call(tool: str, *, trusted: bool = False, imp: str = EMBER, **arguments: JsonValue) -> Call:
    return Call(imp=ImpName(imp), tool=tool, trusted=trusted, arguments=arguments)


def verdict(grants: list[Grant], asked: Call) -> Verdict:
    return decide(grants, asked).verdict


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_nothing_granted_is_denied(tool: str, arguments: dict[str, str]) -> None:
    """Issue "Gateway of actions": without a rule there is no permission."""
    asked = Call(imp=EMBER, tool=tool, trusted=True, arguments=arguments)
    assert decide([], asked) == Decision(verdict=Verdict.DENY, rule=None)


def test_the_first_rule_that_fits_decides() -> None:
    """A later rule neither widens nor narrows an earlier one."""
    grants = [
        Grant(tool="bash", verdict=Verdict.GATE, trust=Trust.UNTRUSTED),
        Grant(tool="bash", verdict=Verdict.ALLOW),
        Grant(tool="*", verdict=Verdict.DENY),
    ]
    assert decide(grants, call("bash")) == Decision(verdict=Verdict.GATE, rule=0)
    assert decide(grants, call("bash", trusted=True)) == Decision(verdict=Verdict.ALLOW, rule=1)
    assert decide(grants, call("write")) == Decision(verdict=Verdict.DENY, rule=2)


def test_a_rule_may_hold_for_one_imp() -> None:
    """Grants are per imp."""
    grants = [Grant(tool="read", verdict=Verdict.ALLOW, imp="ember")]
    assert verdict(grants, call("read")) is Verdict.ALLOW
    assert verdict(grants, call("read", imp="dusk")) is Verdict.DENY


def test_patterns_cover_the_whole_argument() -> None:
    """Part of a command is not the command."""
    grants = [Grant(tool="bash", verdict=Verdict.ALLOW, arguments={"command": "ls"})]
    assert verdict(grants, call("bash", command="ls")) is Verdict.ALLOW
    for other in ("ls -l", " ls", "ls\n", "LS", "ls; rm x"):
        assert verdict(grants, call("bash", command=other)) is Verdict.DENY


def test_every_pattern_must_fit_and_a_missing_argument_fits_none() -> None:
    """Also ``*`` asks for the argument to be there."""
    grants = [
        Grant(tool="web_fetch", verdict=Verdict.ALLOW, arguments={"url": "https://*", "form": "*"})
    ]
    assert verdict(grants, call("web_fetch", url="https://example.org", form="")) is (Verdict.ALLOW)
    assert verdict(grants, call("web_fetch", url="https://example.org")) is Verdict.DENY
    assert verdict(grants, call("web_fetch", url="http://example.org", form="")) is (Verdict.DENY)


def test_a_path_is_judged_by_where_it_leads() -> None:
    """Dots are no way around a pattern; a relative path begins in the workspace."""
    grants = [Grant(tool="read", verdict=Verdict.ALLOW, arguments={"path": "/workspace/*"})]
    for inside in ("/workspace/a", "a", "b/../a", "/session/../workspace/a", "//workspace/./a/b"):
        assert verdict(grants, call("read", path=inside)) is Verdict.ALLOW
    for outside in ("/workspace/../session/x", "../session/x", "/session/x", "..", "/workspaces/x"):
        assert verdict(grants, call("read", path=outside)) is Verdict.DENY


def test_a_path_is_read_as_the_engine_reads_it() -> None:
    """A leading ``@``, ``~``, an address, odd blanks and two slashes are no way past a rule."""
    grants = [
        Grant(tool="read", verdict=Verdict.DENY, arguments={"path": "/session/a b"}),
        Grant(tool="read", verdict=Verdict.ALLOW),
    ]
    for way in (
        "//session/a b",
        "@/session/a b",
        "@../session/a b",
        "~/../session/a b",
        "@~/../session/a b",
        "file:///session/a%20b",
        "/session/a\u00a0b",
        "/session/a\u2003b",
    ):
        assert verdict(grants, call("read", path=way)) is Verdict.DENY, way
    assert verdict(grants, call("read", path="@@/session/a b")) is Verdict.ALLOW


def test_a_name_has_one_spelling_where_the_engine_takes_two_for_each_other() -> None:
    """Issue "Box", escapes: ``read`` opens "Ada’s" for "Ada's", and an accent apart for one within.

    A rule against the one is no rule for the other; letters of another case are other files.
    """
    for ruled in ("/workspace/Ada\u2019s caf\u00e9", "/workspace/Ada's cafe\u0301"):
        grants = [
            Grant(tool="read", verdict=Verdict.DENY, arguments={"path": f"{ruled}*"}),
            Grant(tool="read", verdict=Verdict.ALLOW),
        ]
        for asked in (
            "Ada's caf\u00e9",
            "Ada\u2019s cafe\u0301.md",
            "./Ada\u2019s\u202fcaf\u00e9/x",
        ):
            assert verdict(grants, call("read", path=asked)) is Verdict.DENY, (ruled, asked)
        for other in ("ada's caf\u00e9", "Ada`s caf\u00e9", "Adas caf\u00e9", "Ada's cafe"):
            assert verdict(grants, call("read", path=other)) is Verdict.ALLOW, (ruled, other)
    command = [Grant(tool="bash", verdict=Verdict.ALLOW, arguments={"command": "echo '"})]
    assert verdict(command, call("bash", command="echo \u2019")) is Verdict.DENY, "no path"


ODD_PATHS = (
    "a",
    "../session/x",
    "@a",
    "@@/session/x",
    "~",
    "~/../session/x",
    "~other/x",
    "@~/x",
    "/session/a\u00a0b",
    "\u2003/session/x",
    "file:///session/a%20b",
    "file://localhost/session/x",
    "file://LOCALHOST/session/x",
    "file://%6cocalhost/session/x",
    "file://localhost/../session/x",
    "file://localhost/%2e%2e/session/x",
    "file://localhost\\..\\session\\x",
    "file:////session/x",
    "file:///session/x?y",
    "file:///session/x#y",
    "file:///ses\tsion/x",
    "file:///session/x ",
    "file:///session/x%20",
    "file://localhost",
    "file:/session/x",
    "FILE:///session/x",
    "@file:///session/x",
)


def test_a_path_leads_where_the_engine_s_own_code_says() -> None:
    """Issue "Box", escapes: no spelling of a path passes for another place than it opens."""
    code = PI.cli.parents[1] / "core" / "tools" / "path-utils.js"
    script = (
        f"const {{resolveToCwd}} = await import({json.dumps(code.as_uri())});"
        f"const led = {json.dumps(ODD_PATHS)}.map((path) => resolveToCwd(path, '/workspace'));"
        "console.log(JSON.stringify(led));"
    )
    told = subprocess.run(  # noqa: S603  (our own words)
        [PI.node, "--input-type=module", "-e", script],
        env={"HOME": "/tmp"},  # noqa: S108  (inside the box)
        capture_output=True,
        check=True,
        timeout=120,
    )
    for path, place in zip(ODD_PATHS, json.loads(told.stdout), strict=True):
        pattern = re.sub(r"([*?[])", r"[\1]", place)
        there = [Grant(tool="read", verdict=Verdict.ALLOW, arguments={"path": pattern})]
        assert verdict(there, call("read", path=path)) is Verdict.ALLOW, (path, place)


def test_other_values_are_compared_in_their_one_form() -> None:
    """A number or a list has one spelling."""
    grants = [Grant(tool="t", verdict=Verdict.ALLOW, arguments={"n": "5", "l": '[[]"a",*]'})]
    assert verdict(grants, call("t", n=5, l=["a", "b"])) is Verdict.ALLOW
    assert verdict(grants, call("t", n=50, l=["a", "b"])) is Verdict.DENY


def test_only_tools_that_may_come_to_something_are_offered() -> None:
    """Issue: names and order are a pure function of the grants."""
    grants = [
        Grant(tool="bash", verdict=Verdict.DENY, arguments={"command": "*sudo*"}),
        Grant(tool="bash", verdict=Verdict.GATE),
        Grant(tool="write", verdict=Verdict.DENY),
        Grant(tool="write", verdict=Verdict.ALLOW),
        Grant(tool="read", verdict=Verdict.ALLOW, trust=Trust.TRUSTED),
    ]
    assert offered(grants, BUILTIN, imp=EMBER, trusted=True) == ("read", "bash")
    assert offered(grants, BUILTIN, imp=EMBER, trusted=False) == ("bash",)
    assert offered([], BUILTIN, imp=EMBER, trusted=True) == ()


GRANTS = st.lists(
    st.builds(
        Grant,
        tool=st.sampled_from([*BUILTIN, "*"]),
        verdict=st.sampled_from(Verdict),
        imp=st.sampled_from(["*", "ember", "dusk"]),
        trust=st.sampled_from(Trust),
        arguments=st.dictionaries(st.sampled_from(["path", "command"]), st.sampled_from("*ab")),
    ),
    max_size=6,
)


@given(GRANTS, st.sampled_from(BUILTIN), st.booleans(), st.sampled_from(["a", "b", "c"]))
def test_a_tool_that_is_not_offered_is_never_allowed(
    grants: list[Grant],
    tool: str,
    trusted: bool,  # noqa: FBT001  (drawn)
    value: str,
) -> None:
    """The model's list and the judgement agree, whatever the rules."""
    if tool not in offered(grants, BUILTIN, imp=EMBER, trusted=trusted):
        for arguments in ({}, {"path": value}, {"command": value}, {"path": "b", "command": value}):
            asked = Call(imp=EMBER, tool=tool, trusted=trusted, arguments=arguments)
            assert decide(grants, asked).verdict is Verdict.DENY


def test_a_rule_behind_a_wider_one_never_counts() -> None:
    """By tool, imp, trust or fewer patterns; what only might be wider is not called so."""
    narrow = Grant(
        tool="bash",
        verdict=Verdict.DENY,
        imp="ember",
        trust=Trust.TRUSTED,
        arguments={"command": "ls"},
    )
    wider = (
        Grant(tool="*", verdict=Verdict.ALLOW),
        Grant(tool="bash", verdict=Verdict.ALLOW, imp="ember"),
        Grant(tool="bash", verdict=Verdict.ALLOW, trust=Trust.TRUSTED),
        Grant(tool="bash", verdict=Verdict.ALLOW, arguments={"command": "ls"}),
    )
    for grant in wider:
        assert overshadowed((grant, narrow)) == ((1, 0),)
        assert overshadowed((narrow, grant)) == ()
    for other in (
        Grant(tool="read", verdict=Verdict.ALLOW),
        Grant(tool="bash", verdict=Verdict.ALLOW, imp="dusk"),
        Grant(tool="bash", verdict=Verdict.ALLOW, trust=Trust.UNTRUSTED),
        Grant(tool="bash", verdict=Verdict.ALLOW, arguments={"command": "l*"}),
        Grant(tool="bash", verdict=Verdict.ALLOW, arguments={"command": "ls", "timeout": "*"}),
    ):
        assert overshadowed((other, narrow)) == ()


@given(GRANTS, st.sampled_from(BUILTIN), st.booleans(), st.sampled_from(["a", "b", "c"]))
def test_taking_out_what_never_counts_changes_no_verdict(
    grants: list[Grant],
    tool: str,
    trusted: bool,  # noqa: FBT001  (drawn)
    value: str,
) -> None:
    """Whatever the call."""
    idle = {number for number, _ in overshadowed(grants)}
    kept = [grant for number, grant in enumerate(grants) if number not in idle]
    for arguments in ({}, {"path": value}, {"path": "b", "command": value}):
        asked = Call(imp=EMBER, tool=tool, trusted=trusted, arguments=arguments)
        assert decide(kept, asked).verdict is decide(grants, asked).verdict
