"""What the owner reads of a preview: what would be used, and what is left out and why. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bot.memory.texts import plain
from compiler.audience import Exclusion
from compiler.blocks import BlockKind, CompiledBlock, OmissionReason
from sessions.preview import Preview

NAMED_IDS: Final = 8
"""Ids behind one reason; more are counted."""
_WHY: Final[Mapping[str, str]] = {
    Exclusion.SCOPE: "belong elsewhere",
    Exclusion.AUDIENCE: "private, and others read here",
    Exclusion.CONSENT: "their person has not agreed",
    Exclusion.TOMBSTONED: "forgotten",
    Exclusion.RETRACTED: "withdrawn",
    Exclusion.SUPERSEDED: "replaced by a newer note",
    Exclusion.EXPIRED: "past their time",
    Exclusion.DUPLICATE: "say the same as another",
    Exclusion.RANK: "ranked too low",
    Exclusion.BUDGET: "no room left",
    OmissionReason.TOKEN_BUDGET: "no tokens left",
    OmissionReason.ITEM_LIMIT: "more than the limit",
    OmissionReason.OVERSIZED: "too long by itself",
    OmissionReason.SHORTENED: "given in part",
}


def preview_text(preview: Preview, *, who: str, where: str, answers: bool) -> str:
    """Tell what a message would be answered from; ``who`` and ``where`` are Discord's marks."""
    lines = [f"If {who} wrote {where} now, a fresh session would be given this. Nothing was sent."]
    if not answers:
        lines.append("I would not answer there: see `[allow]`, `/channel enable`.")
    blocks = (*preview.start.blocks, *preview.turn.blocks)
    lines += ["**Used**", f"```\n{_table(blocks)}\n```"]
    given = {each.note_id: each for each in preview.selection.notes}
    left = _left(preview)
    used = [note for note_id, note in given.items() if note_id not in left.get("memory", {})]
    for note in used:
        facts = f"{note.scope}, {note.status}" + (f", {note.conflict}" if note.conflict else "")
        lines.append(f"`{note.note_id}` {plain(note.text, 120)} · {facts}")
    if left:
        lines.append("**Left out**")
    for block, ids in left.items():
        lines += _reasons(block, ids)
    return "\n".join(lines)


def _table(blocks: Sequence[CompiledBlock]) -> str:
    width = max(len(block.kind.value) for block in blocks)
    rows = [f"{block.kind.value:<{width}}  {block.chars:>6,} characters" for block in blocks]
    total = sum(block.chars for block in blocks)
    return "\n".join([*rows, f"{'together':<{width}}  {total:>6,} characters"])


def _left(preview: Preview) -> Mapping[str, Mapping[str, str]]:
    """Give what is left out, by block: id and reason, each id once."""
    left: dict[str, dict[str, str]] = {}
    for omission in (*preview.start.omissions, *preview.turn.omissions):
        left.setdefault(omission.block.value, {})[omission.item_id] = omission.reason
    for note in preview.selection.excluded:
        left.setdefault(BlockKind.MEMORY.value, {}).setdefault(note.note_id, note.reason)
    return left


def _reasons(block: str, ids: Mapping[str, str]) -> Iterable[str]:
    by_reason: dict[str, list[str]] = {}
    for item_id, reason in ids.items():
        by_reason.setdefault(reason, []).append(item_id)
    for reason, found in sorted(by_reason.items()):
        named = ", ".join(f"`{each}`" for each in sorted(found)[:NAMED_IDS])
        more = f" and {len(found) - NAMED_IDS} more" if len(found) > NAMED_IDS else ""
        why = _WHY.get(reason, "")
        yield f"{block}: **{reason}** ({why or 'left out'}): {named}{more}"
