"""What people read of a gate: cards, lists, and the words for what became of it. Pure.

A card in a channel has the intent alone, which is in words that may be read there. What is in
private, for those who decide, has all; texts of a model stand in it as quotes, on lines of their
own, so that none of them passes for a word of the host's.

Spec: issue "Gateway of actions".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final, assert_never

from bot.ingress import one_line
from sessions.gates import EARNED, SHELL, Gate, GateState
from sessions.visible import is_seen

POST_ANSWER: Final = "post_answer"
"""The tool's name under which an answer waits that may not be posted yet."""
SHOWN_PAYLOAD_CHARS: Final = 700
"""A longer payload stands under Details alone."""
LINE_CHARS: Final = 200
_MARKS: Final = re.compile(r"[\\*_~|\[\]<>#]")
"""What Discord would show as something else: emphasis, hidden text, links under other words."""
NOTHING_WAITS: Final = "Nothing waits for you."
NOT_YOURS: Final = "That is for my owner to decide."
GONE: Final = "I know of no such gate."
LONG_DETAILS: Final = "Exactly this is what would be done. It is long, so here is a file."
HELD: Final = "My answer ({chars:,} characters) waits for an approval."
HELD_INTENT: Final = "post an answer of {chars:,} characters"
NOT_LET_THROUGH: Final = "My answer was not approved, so I keep it to myself."
NOBODY_HERE: Final = (
    "{end}\nI could not say so in {place}: the channel is gone or closed to me, or I do not talk "
    "there any more. ({gate})"
)


def card_text(gate: Gate, *, private: bool) -> str:
    """Give a card as it is now: the question, and below it what became of it."""
    lines = [
        f"**{_imp(gate)} asks: may I?** (`{gate.gate_id}`)",
        f"> {_quoted(gate.intent)}",
    ]
    if private:
        lines += _private_lines(gate)
    if gate.state is GateState.PENDING:
        lines.append(f"Open until <t:{gate.expires_ms // 1000}:f>.")
    else:
        lines.append(end_line(gate))
    return "\n".join(lines)


def _private_lines(gate: Gate) -> list[str]:
    origin = gate.origin
    lines = [f"> Why: {_quoted(gate.rationale)}"] if gate.rationale.strip() else []
    lines.append(f"For {_person(origin.requester)} in {place_of(gate)}, with `{gate.tool}`.")
    if gate.tool == POST_ANSWER:
        return [*lines, "The answer is in the file."]
    fits = len(gate.payload) <= SHOWN_PAYLOAD_CHARS and "`" not in gate.payload
    if fits and all(map(_is_plain, gate.payload)):
        lines.append(f"```json\n{gate.payload}\n```")
    else:
        lines.append(f"Exactly what ({len(gate.payload):,} characters): press Details.")
    return lines


def end_line(gate: Gate) -> str:
    """Say what became of a gate."""
    by = decider_of(gate)
    match gate.state:
        case GateState.PENDING:
            return "⏳ It waits."
        case GateState.APPROVED | GateState.EXECUTING:
            return f"✅ Approved {by}; I am on it."
        case GateState.EXECUTED:
            return f"✅ Approved {by}, and done."
        case GateState.FAILED:
            return f"⚠️ Approved {by}, but it did not work (`{gate.result_code}`)."
        case GateState.DENIED:
            return f"🚫 Denied {by}." if gate.decided_by else "🚫 Taken back."
        case GateState.EXPIRED:
            return "⌛ Nobody decided in time."
        case _:
            assert_never(gate.state)


def told_in_conversation(gate: Gate) -> str:
    """Say how a gate ended where it was asked for, when the imp does not say it itself."""
    return f"{end_line(gate)}\n> {_quoted(gate.intent)}"


def nobody_here(gate: Gate) -> str:
    """Tell the owner what could not be told in its conversation."""
    return NOBODY_HERE.format(end=end_line(gate), place=place_of(gate), gate=f"`{gate.gate_id}`")


def already(gate: Gate) -> str:
    """Tell whoever comes second what it had become."""
    return f"That is decided already. {end_line(gate)}"


def list_text(gates: Iterable[Gate]) -> str:
    """List gates, one a line, without what they are about in detail."""
    return "\n".join(_listed(gate) for gate in gates) or NOTHING_WAITS


def _listed(gate: Gate) -> str:
    line = (
        f"`{gate.gate_id}` <t:{gate.filed_ms // 1000}:R> `{gate.tool}` {_quoted(gate.intent, 80)}"
    )
    return f"{line} ({place_of(gate)}, for {_person(gate.origin.requester)}) {end_line(gate)}"


def show_text(gate: Gate) -> str:
    """Give all that is known of a gate but its payload, for those who decide."""
    origin = gate.origin
    lines = [
        card_text(gate, private=True),
        f"Payload sha256 `{gate.payload_sha256}`",
        f"Run `{origin.run_id}`, turn `{origin.turn_id}`.",
    ]
    if gate.detail:
        lines.append(f"It gave {len(gate.detail):,} characters.")
    return "\n".join(lines)


def details_text(gate: Gate) -> str:
    """Give the exact payload with its hash, in one text that is no markdown.

    What nobody would see of it, and what a terminal would obey, stands as JSON's escape: the same
    value, and open to the eye.
    """
    parts = [
        f"gate {gate.gate_id}",
        f"tool {gate.tool}",
        f"payload sha256 {gate.payload_sha256}",
        "",
        _seen(gate.payload),
    ]
    if gate.detail:
        parts += ["", "What it gave:", _seen(gate.detail)]
    return "\n".join(parts)


def _seen(text: str) -> str:
    return "".join(sign if sign in "\n\t" or _is_plain(sign) else _escape(sign) for sign in text)


def _is_plain(sign: str) -> bool:
    """Tell whether a sign is seen for what it is, a blank of another kind not among them."""
    return sign.isprintable() and is_seen(sign)


def _escape(sign: str) -> str:
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def plain_list(gates: Iterable[Gate]) -> str:
    """List gates for the shell."""
    lines = [
        f"{gate.gate_id}  {gate.state.value:9}  {gate.tool}  {_line(gate.intent, 80)}"
        f"  ({gate.origin.channel_id or 'no conversation'}, for {gate.origin.requester}"
        f"{', by earned trust' if gate.decided_by == EARNED else ''})"
        for gate in gates
    ]
    return "\n".join(lines) or NOTHING_WAITS


def answer_of(gate: Gate) -> str:
    """Give the words of an answer that waits (``POST_ANSWER``)."""
    read = json.loads(gate.payload)
    return str(read["text"])


def place_of(gate: Gate) -> str:
    """Name the conversation of a gate."""
    origin = gate.origin
    if origin.channel_id is None:
        return "no conversation"
    if origin.is_dm:
        return "a direct message"
    return f"<#{origin.channel_id.rpartition(':')[2]}>"


def decider_of(gate: Gate) -> str:
    """Name who decided."""
    if gate.decided_by == EARNED:
        return "by earned trust"
    if gate.decided_by is None:
        return "by nobody"
    return f"by {_person(gate.decided_by)}"


def _person(user_id: str) -> str:
    if user_id == SHELL:
        return "the owner's shell"
    return f"<@{user_id.rpartition(':')[2]}>"


def _imp(gate: Gate) -> str:
    return gate.origin.imp.capitalize()


def _quoted(text: str, chars: int = LINE_CHARS) -> str:
    """Put foreign words on one line, as nothing but words."""
    return _MARKS.sub(r"\\\g<0>", _line(text, chars))


def _line(text: str, chars: int = LINE_CHARS) -> str:
    """Put foreign words on one line, without marks that would end a code."""
    plain = one_line_of(text)
    return plain if len(plain) <= chars else f"{plain[: chars - 1]}…"


def one_line_of(text: str) -> str:
    """Give words in one line, unlike ``one_line`` in full length."""
    return " ".join(filter(None, (one_line(word) for word in text.split()))).replace("`", "'")
