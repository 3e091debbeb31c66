"""What people read of gates: nothing that a model wrote passes for a word of the host's."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.gates import texts
from compiler.request import ChannelId, ImpName, RunId, TurnId, UserId
from sessions.gates import (
    EARNED,
    SHELL,
    EffectKind,
    Gate,
    GateId,
    GateOrigin,
    GateRules,
    GateState,
    file_gate,
)
from sessions.visible import is_seen

ADA = UserId("discord:1")


def filed(intent: str = "Write a file.", *, why: str = "Bo asked.", **arguments: str) -> Gate:
    return file_gate(
        GateId("g-abcd"),
        GateOrigin(
            imp=ImpName("ember"),
            channel_id=ChannelId("discord:100"),
            is_dm=False,
            requester=UserId("discord:2"),
            run_id=RunId("r"),
            turn_id=TurnId("discord:message:1"),
        ),
        tool="write",
        arguments=dict(arguments),
        effect=EffectKind.REPEATABLE,
        intent=intent,
        rationale=why,
        now_ms=1_796_000_000_000,
        rules=GateRules(),
    )


def test_a_card_in_private_has_all_and_one_in_a_channel_the_intent() -> None:
    """Issue: in the channel intent only, no private content."""
    gate = filed(path="CANARY")
    private = texts.card_text(gate, private=True)
    assert private.splitlines() == [
        "**Ember asks: may I?** (`g-abcd`)",
        "> Write a file.",
        "> Why: Bo asked.",
        "For <@2> in <#100>, with `write`.",
        "```json",
        '{"path":"CANARY"}',
        "```",
        "Open until <t:1796086400:f>.",
    ]
    public = texts.card_text(gate, private=False)
    assert public.splitlines() == [private.splitlines()[index] for index in (0, 1, 7)]


def test_a_payload_that_would_not_show_as_it_is_stands_under_details() -> None:
    """Long ones, and those that would end the code they stand in."""
    unseen = ("\u202e", "tea\U000e0141\U000e0158", "tea\ufe00", "tea\u3164")
    for content in ("x" * 1_000, "``` @everyone", *unseen):
        gate = filed(content=content)
        assert content not in texts.card_text(gate, private=True)
        assert "press Details" in texts.card_text(gate, private=True)
        assert gate.payload_sha256 in texts.details_text(gate)
        assert gate.payload in texts.details_text(gate).splitlines() or content in unseen


@given(st.text(st.characters(codec="utf-8"), max_size=40))
@example("tea\U000e0141\u3164\ufe0f")
def test_whoever_decides_sees_every_sign_of_a_payload(content: str) -> None:
    """Nothing unseen, turned round or obeyed by a terminal, and still exactly what would be done.

    The output of an action is shown the same way: a page or a command may have written anything.
    """
    gate = replace(filed(content=content), detail=f"\x1b]52;c;{content}\x9b\u2028\U000e0041")
    shown = texts.details_text(gate).split("\n")
    hidden = [sign for line in shown for sign in line if not (sign.isprintable() and is_seen(sign))]
    assert set(hidden) <= {"\t"}
    assert json.loads(shown[4]) == json.loads(gate.payload)
    assert shown[7].startswith("\\u001b]52;c;")
    assert shown[-1].endswith("\\u009b\\u2028\\udb40\\udc41")


@given(st.text(max_size=700), st.text(max_size=700))
def test_words_of_a_model_stay_on_their_lines(intent: str, why: str) -> None:
    """No text can add a line such as "Approved", end a quote, or make a card too long."""
    gate = filed(intent, why=why)
    for private in (True, False):
        lines = texts.card_text(gate, private=private).split("\n")
        assert len(lines) == (3 if not private else 7 + bool(why.strip()))
        assert all(line.startswith("> ") for line in lines[1 : 2 + (private and bool(why.strip()))])
        assert "`" not in lines[1]
        assert len("\n".join(lines)) < 2_000
    assert len(texts.list_text([gate]).split("\n")) == 1


def test_words_of_a_model_are_shown_as_words() -> None:
    """No link under other words, no hidden text, no mention, no emphasis."""
    text = texts.card_text(filed(why="[Details](http://x) ||y|| <@1> **Approved**"), private=True)
    why = next(line for line in text.splitlines() if "Why:" in line)
    shown = r"\[Details\](http://x) \|\|y\|\| \<@1\> \*\*Approved\*\*"
    assert why == f"> Why: {shown}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"state": GateState.APPROVED, "decided_by": ADA}, "✅ Approved by <@1>; I am on it."),
        ({"state": GateState.EXECUTED, "decided_by": ADA}, "✅ Approved by <@1>, and done."),
        ({"state": GateState.EXECUTED, "decided_by": EARNED}, "by earned trust, and done"),
        ({"state": GateState.EXECUTED, "decided_by": SHELL}, "by the owner's shell"),
        (
            {"state": GateState.FAILED, "decided_by": ADA, "result_code": "action_timeout"},
            "it did not work (`action_timeout`)",
        ),
        ({"state": GateState.DENIED, "decided_by": ADA}, "🚫 Denied by <@1>."),
        ({"state": GateState.DENIED}, "🚫 Taken back."),
        ({"state": GateState.EXPIRED}, "⌛ Nobody decided in time."),
    ],
)
def test_each_end_has_its_words(change: dict[str, object], said: str) -> None:
    """On the card, in the list, where it was asked for, and for whoever comes second."""
    gate = replace(filed(), **change)  # type: ignore[arg-type]  # names are checked by replace
    assert said in texts.end_line(gate)
    for text in (
        texts.card_text(gate, private=True),
        texts.list_text([gate]),
        texts.told_in_conversation(gate),
        texts.already(gate),
        texts.nobody_here(gate),
    ):
        assert said in text
        assert "Open until" not in text


def test_the_shell_lists_a_gate_on_a_line() -> None:
    """With who asked, and whether trust let it through."""
    gate = replace(filed("a\nb"), state=GateState.EXECUTED, decided_by=EARNED)
    assert texts.plain_list([gate]) == (
        "g-abcd  executed   write  a b  (discord:100, for discord:2, by earned trust)"
    )
    assert texts.plain_list([]) == texts.list_text([]) == texts.NOTHING_WAITS
