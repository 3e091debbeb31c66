"""From a trace back to what a turn was compiled from, so that it can be compiled anew.

The texts of everything that was in are in the trace, exact. Of what was left out there are ids,
reasons and sizes: a record of the same size stands in for it, so that a new plan under other
limits names the right records, though not their words. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from compiler.blocks import CURRENT_KINDS, SYSTEM_KINDS, BlockKind, RenderedBlock
from compiler.embedded import reads_like_instructions
from compiler.render import gate_item, history_item, memory_items
from compiler.request import (
    Briefing,
    ContextPhase,
    ContextRequest,
    EngineIdentity,
    ExcludedNote,
    HistoryMessage,
    ImpName,
    MemoryNote,
    MemorySelection,
    MessageId,
    MessageInput,
    MessagePart,
    OpenGate,
    PartKind,
    ResolvedGate,
    RunId,
    RunScope,
    SourceSnapshot,
    UserId,
)
from sessions.traces.events import CompiledEvent
from sessions.traces.forms import TracedOmission, TracedScope

_KEPT = re.compile(r"kept (\d+) of (\d+) characters")
_FILLER: Final = "x"
_NO_ENGINE: Final = EngineIdentity(engine="", engine_version="", model="", preamble="")
_ADVISORY: Final = frozenset({BlockKind.MEMORY, BlockKind.HISTORY, BlockKind.BRIEFING})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSources:
    """What a turn can be compiled from again."""

    request: ContextRequest
    snapshot: SourceSnapshot
    mandatory: tuple[RenderedBlock, ...]
    stand_ins: int
    """How many records are there by their size alone."""


def sources_of(event: CompiledEvent) -> ReplayedSources:
    """Take a compiled turn apart."""
    contents = {block.kind: block.content for block in event.blocks}
    left: dict[BlockKind, list[TracedOmission]] = {}
    for omission in event.omissions:
        left.setdefault(omission.block, []).append(omission)
    ranks = _ranks(event)
    notes = _notes(contents, left.get(BlockKind.MEMORY, ()), ranks)
    history = _history(contents, left.get(BlockKind.HISTORY, ()))
    snapshot = SourceSnapshot(
        engine=_NO_ENGINE,
        memory=notes,
        history=history,
        briefing=_briefing(contents, left.get(BlockKind.BRIEFING, ())),
    )
    return ReplayedSources(
        request=_request(event),
        snapshot=snapshot,
        mandatory=tuple(
            RenderedBlock(kind=block.kind, source=block.source, content=block.content)
            for block in event.blocks
            if block.kind not in SYSTEM_KINDS and block.kind not in _ADVISORY
        ),
        stand_ins=sum(1 for each in event.omissions if each.chars and each.reason != "shortened"),
    )


def _items(contents: Mapping[BlockKind, str], kind: BlockKind) -> list[dict[str, Any]]:
    content = contents.get(kind)
    return [] if content is None else list(json.loads(content)["items"])


def _ranks(event: CompiledEvent) -> dict[tuple[str, str], int]:
    """Give the place among the offered ones of each item that was in."""
    rows = event.plan.selected if event.plan else ()
    return {
        (row[0][:4], row[1]): int(row[0][5:])
        for row in rows
        if row[0].count(".") == 2  # noqa: PLR2004  (an item's key)
    }


def _notes(
    contents: Mapping[BlockKind, str],
    left: Sequence[TracedOmission],
    ranks: Mapping[tuple[str, str], int],
) -> MemorySelection:
    """Put the notes in their rank again: those that were in know theirs, others fill the gaps."""
    key = f"1.{list(BlockKind).index(BlockKind.MEMORY):02}"
    placed = {
        ranks.get((key, str(item["id"])), place): MemoryNote(
            note_id=str(item["id"]),
            scope=str(item["scope"]),
            text=str(item["text"]),
            status=str(item["status"]),
            recorded_on=str(item.get("recorded_on", "")),
            conflict=str(item.get("conflict", "")),
            reads_like_instructions=reads_like_instructions(str(item["text"])),
        )
        for place, item in enumerate(_items(contents, BlockKind.MEMORY))
    }
    offered = [each for each in left if each.chars]
    waiting = iter(offered)
    for place in range(len(placed) + len(offered)):
        if place not in placed:
            placed[place] = _note_of_size(next(waiting))
    return MemorySelection(
        notes=tuple(placed[place] for place in sorted(placed)),
        excluded=tuple(
            ExcludedNote(note_id=each.item_id, reason=each.reason)
            for each in left
            if not each.chars
        ),
    )


def _note_of_size(omission: TracedOmission) -> MemoryNote:
    note = MemoryNote(note_id=omission.item_id, scope="channel", text="")
    (form,) = memory_items((note,))
    return replace(note, text=_FILLER * max(0, omission.chars - len(form)))


def _history(
    contents: Mapping[BlockKind, str], left: Sequence[TracedOmission]
) -> tuple[HistoryMessage, ...]:
    """Oldest first: those that were left out, then those that were in."""
    kept = [
        HistoryMessage(
            message_id=MessageId(str(item["id"])),
            author_label=str(item["author"]),
            text=_whole(item, "text"),
            author_id=None if "author_id" not in item else UserId(str(item["author_id"])),
            is_imp=item["from"] == "imp",
        )
        for item in _items(contents, BlockKind.HISTORY)
    ]
    out = [_message_of_size(each) for each in left if each.reason != "shortened"]
    return (*out[::-1], *kept)


def _message_of_size(omission: TracedOmission) -> HistoryMessage:
    message = HistoryMessage(
        message_id=MessageId(omission.item_id), author_label="(left out)", text=""
    )
    room = max(0, omission.chars - len(history_item(message)))
    return replace(message, text=_FILLER * room)


def _briefing(contents: Mapping[BlockKind, str], left: Sequence[TracedOmission]) -> Briefing:
    continuation: ResolvedGate | None = None
    gates: list[OpenGate] = []
    for item in _items(contents, BlockKind.BRIEFING):
        if item["item"] == "continuation":
            continuation = ResolvedGate(
                gate_id=str(item["gate"]),
                intent=str(item["intent"]),
                outcome=str(item["outcome"]),
                detail=_whole(item, "detail") if "detail" in item else "",
            )
        else:
            gates.append(
                OpenGate(
                    gate_id=str(item["gate"]),
                    filed_at=str(item["filed_at"]),
                    intent=_whole(item, "intent"),
                )
            )
    last = gates[-1].filed_at if gates else ""
    gates += [_gate_of_size(each, f"{last}~") for each in left if each.reason != "shortened"]
    return Briefing(continuation=continuation, open_gates=tuple(gates))


def _gate_of_size(omission: TracedOmission, filed_at: str) -> OpenGate:
    """They left from the end, so they were filed after those that stayed."""
    gate = OpenGate(gate_id=omission.item_id, filed_at=filed_at, intent="")
    return replace(gate, intent=_FILLER * max(0, omission.chars - len(gate_item(gate))))


def _whole(item: Mapping[str, Any], field: str) -> str:
    """Give a text in its whole length; what was not kept of it is stood in for."""
    text = str(item[field])
    match = _KEPT.fullmatch(str(item.get("shortened", "")))
    return text if match is None else text.ljust(int(match.group(2)), _FILLER)


def _request(event: CompiledEvent) -> ContextRequest:
    return ContextRequest(
        run_id=RunId(event.run_id),
        phase=ContextPhase.TURN,
        surface=event.surface,
        imp=ImpName(event.imp),
        scope=_scope(event.scope),
        message=_message(event),
    )


def _message(event: CompiledEvent) -> MessageInput | None:
    """Give the message as far as a plan names it: its id and what it carries."""
    content = next((each.content for each in event.blocks if each.kind is BlockKind.MESSAGE), None)
    if content is None:
        return None
    fields = json.loads(content)
    return MessageInput(
        provider=str(fields["provider"]),
        author_label=str(fields["author"]),
        role=event.scope.role,
        text=str(fields["text"]),
        message_id=None if "id" not in fields else MessageId(str(fields["id"])),
        parts=tuple(
            MessagePart(
                kind=PartKind(part["kind"]),
                text=str(part["text"]),
                total_chars=_total(part),
            )
            for part in fields.get("parts", ())
        ),
    )


def _total(part: Mapping[str, Any]) -> int | None:
    match = _KEPT.fullmatch(str(part.get("shortened", "")))
    return None if match is None else int(match.group(2))


def _scope(scope: TracedScope) -> RunScope:
    return RunScope(provider=scope.provider, place=scope.place, role=scope.role)


def has_input(event: CompiledEvent) -> bool:
    """Whether an event is a turn that can be taken apart."""
    return any(block.kind in CURRENT_KINDS for block in event.blocks)
