"""``doctor`` tells which tools the imp has, and why not others."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.doctor import tools
from bot.doctor.tools import judge_tools
from compiler.request import ImpName
from config.settings import Settings
from sessions.grants import DEFAULT_GRANTS, Grant, Trust, Verdict, offered
from sessions.tools.table import TOOL_NAMES

USUAL = "remember, recall, forget, correct, reply, stay_silent, check_gates"


def told(*grants: dict[str, Any], boxed: bool = True, **settings: Any) -> list[str]:  # noqa: ANN401  (sections)
    read = Settings.model_validate({"grants": grants, **settings})
    return judge_tools(read, boxed=boxed).summary.split("; ")


def test_little_is_allowed_by_default() -> None:
    """Issue: what the imp may do by default is little, and said."""
    assert told() == [
        f"ember uses {USUAL}",
        f"not read, bash, edit, write, ls, file_task, propose_purpose ({tools.NO_RULE})",
        f"not web_fetch ({tools.NO_HOSTS})",
    ]


def test_rules_trust_and_what_is_missing_are_told() -> None:
    found = told(
        {"tool": "read", "verdict": "allow"},
        {"tool": "bash", "verdict": "deny", "arguments": {"command": "rm *"}},
        {"tool": "bash", "verdict": "allow"},
        {"tool": "write", "verdict": "gate"},
        {"tool": "propose_purpose", "verdict": "allow"},
        {"tool": "edit", "verdict": "allow", "imp": "dusk"},
        {"tool": "forget", "verdict": "deny"},
        web={"hosts": ["example.org"]},
    )
    assert found == [
        "ember uses read, remember, recall, correct, reply, stay_silent, check_gates",
        "in trusted channels also bash",
        "asks a person before bash, write, propose_purpose",
        f"not edit, ls, forget, file_task, web_fetch ({tools.NO_RULE})",
    ]


def test_no_box_no_memory_no_replies() -> None:
    """Issue "Box": without a box there are no file and shell tools, and that is said."""
    found = told(
        {"tool": "*", "verdict": "allow"},
        boxed=False,
        memory={"enabled": False},
        talk={"reply_messages": 0},
    )
    assert found[0] == "ember uses stay_silent, check_gates"
    assert f"not read, bash, edit, write, ls ({tools.NO_BOX})" in found
    assert f"not remember, recall, forget, correct ({tools.NO_MEMORY})" in found
    assert f"not reply ({tools.NO_REPLIES})" in found


@given(
    st.lists(
        st.builds(
            Grant,
            tool=st.sampled_from([*TOOL_NAMES, "*"]),
            verdict=st.sampled_from(Verdict),
            trust=st.sampled_from(Trust),
        ),
        max_size=5,
    )
)
def test_what_is_told_as_missing_is_shown_to_no_model(grants: list[Grant]) -> None:
    """The page agrees with what sessions show."""
    settings = Settings(grants=tuple(grants)).model_copy(
        update={"web": Settings.model_validate({"web": {"hosts": ["example.org"]}}).web}
    )
    summary = judge_tools(settings, boxed=True).summary
    lacking = next((part for part in summary.split("; ") if part.startswith("not ")), "")
    missing = {name for name in TOOL_NAMES if name in lacking.replace(",", "").split()}
    rules = (*grants, *DEFAULT_GRANTS)
    shown = {
        name
        for trusted in (True, False)
        for name in offered(rules, TOOL_NAMES, imp=ImpName("ember"), trusted=trusted)
    }
    # A rule that gates what cannot wait lets nothing through, though the tool is shown.
    assert missing >= set(TOOL_NAMES) - shown
