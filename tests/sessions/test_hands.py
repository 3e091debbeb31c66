"""Which tools a session shows: a pure function of grants, imp, trust and box, in one order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sessions.grants import DEFAULT_GRANTS, Call, Grant, Trust, Verdict, decide
from sessions.hands import Hands, ToolChooser, ToolSet, choose_tools
from sessions.tools.table import BUILTIN_NAMES, BUILTIN_TOOLS, HOST_NAMES, MEMORY_TOOLS, TOOL_NAMES
from support.session_world import EMBER, scope_of

MEMORY = tuple(tool.name for tool in MEMORY_TOOLS)


def shown(*grants: Grant, trusted: bool = False, boxed: bool = True) -> ToolSet:
    rules = (*grants, *DEFAULT_GRANTS)
    return choose_tools(rules, MEMORY_TOOLS, imp=EMBER, trusted=trusted, boxed=boxed)


def test_by_default_an_imp_may_do_little() -> None:
    """Issue: "what the imp may do by default (little)"; nothing with consequences is shown."""
    assert shown().names == MEMORY
    consequential = {tool.name for tool in BUILTIN_TOOLS if tool.deed.consequential}
    assert not consequential & {grant.tool for grant in DEFAULT_GRANTS}
    assert {grant.tool for grant in DEFAULT_GRANTS} <= set(HOST_NAMES)


def test_the_owner_s_rules_come_before_the_defaults() -> None:
    """A rule adds to them or takes of them; they need not be written out to stay."""
    assert shown(Grant(tool="bash", verdict=Verdict.GATE)).names == ("bash", *MEMORY)
    assert "forget" not in shown(Grant(tool="forget", verdict=Verdict.DENY)).names
    assert shown(Grant(tool="*", verdict=Verdict.DENY)).names == ()


def test_without_a_box_there_are_no_file_and_shell_tools() -> None:
    """Issue "Box": never an unboxed fallback."""
    everything = Grant(tool="*", verdict=Verdict.ALLOW)
    assert shown(everything).builtin == BUILTIN_NAMES
    assert shown(everything, boxed=False).names == MEMORY


def test_trust_changes_what_is_shown_and_with_it_the_route_key() -> None:
    """Names, order and hashes are the tools' part of the engine's identity."""
    grant = Grant(tool="read", verdict=Verdict.ALLOW, trust=Trust.TRUSTED)
    inside, outside = shown(grant, trusted=True), shown(grant)
    assert inside.names == ("read", *MEMORY)
    assert inside.fingerprints[1:] == outside.fingerprints
    assert [name for name, _ in inside.fingerprints] == list(inside.names)


def test_the_choice_is_made_anew_only_when_the_owner_s_rules_are_others() -> None:
    """Every turn asks for it; a list of rules is the same until the settings are read again."""
    chooser = ToolChooser()
    mine = (Grant(tool="bash", verdict=Verdict.GATE, trust=Trust.TRUSTED),)

    def chosen(grants: tuple[Grant, ...], *, trusted: bool, boxed: bool = True) -> ToolSet:
        return chooser.choose(grants, MEMORY_TOOLS, imp=EMBER, trusted=trusted, boxed=boxed)

    first = chosen(mine, trusted=True)
    assert first == shown(*mine, trusted=True)
    assert chosen(mine, trusted=True) is first
    assert chosen(mine, trusted=False) == shown()
    assert chosen(mine, trusted=True, boxed=False).builtin == ()
    assert chosen((), trusted=True) == shown()
    assert chosen(mine, trusted=True) == first


def test_a_host_s_rules_are_the_owner_s_and_then_the_defaults() -> None:
    mine = (Grant(tool="bash", verdict=Verdict.GATE),)
    assert Hands(grants=lambda: mine).rules == (*mine, *DEFAULT_GRANTS)
    assert Hands().filer is None
    assert not Hands().trusted(scope_of())


GRANTS = st.lists(
    st.builds(
        Grant,
        tool=st.sampled_from([*TOOL_NAMES, "*"]),
        verdict=st.sampled_from(Verdict),
        imp=st.sampled_from(["*", "ember", "dusk"]),
        trust=st.sampled_from(Trust),
        arguments=st.dictionaries(st.just("path"), st.sampled_from(["*", "/workspace/*"])),
    ),
    max_size=5,
)


@given(GRANTS, st.booleans(), st.booleans())
def test_equal_grants_show_equal_tools_in_the_one_order(
    grants: list[Grant],
    trusted: bool,  # noqa: FBT001  (drawn)
    boxed: bool,  # noqa: FBT001  (drawn)
) -> None:
    """Whatever the order of the rules' own tools; and what is hidden no call of it passes."""
    tools = shown(*grants, trusted=trusted, boxed=boxed)
    assert tools == shown(*grants, trusted=trusted, boxed=boxed)
    assert list(tools.names) == [name for name in TOOL_NAMES if name in tools.names]
    for name in {*MEMORY, *(BUILTIN_NAMES if boxed else ())} - {*tools.names}:
        for arguments in ({}, {"path": "/workspace/a"}, {"path": "/session/a"}):
            call = Call(imp=EMBER, tool=name, trusted=trusted, arguments=arguments)
            assert decide((*grants, *DEFAULT_GRANTS), call).verdict is Verdict.DENY
