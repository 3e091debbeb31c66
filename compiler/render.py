r"""The form of every block: labelled markdown in the system prompt, JSON lines in the input.

JSON here has a fixed field order, no blanks, and keeps readable what people write in any script.
Escaped beyond what JSON demands are, as ``\uXXXX``:

- U+0080 to U+009F, U+2028 and U+2029, which some readers take for line ends;
- lone surrogates, which UTF-8 cannot carry (a high one followed by a low one is the character
  that the two encode, as everywhere in JSON);
- the first character of ``normalize.MARK``, so that neither our labels nor a chat template's
  role tokens ever occur in an input, and the text still parses back to what was written.

Optional fields that are empty are left out. Every function is text in, text out: nothing is
chosen here.

Spec: CC "Prompt representation", "Determinism"; WS "The blocks".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from operator import attrgetter

from compiler.blocks import AUTHORITY, BlockKind
from compiler.directives.values import STATE_VERSION
from compiler.hashing import sha256_text
from compiler.normalize import MARK, one_line
from compiler.request import (
    ChunkMark,
    Connection,
    HistoryMessage,
    HouseRules,
    MemoryNote,
    MessageInput,
    MessagePart,
    OpenGate,
    Place,
    ResolvedGate,
    RunScope,
    TaskInput,
)
from compiler.templates import CHUNK_ANSWER, CHUNK_NOTE, CONNECTIONS_INTRO, label

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=("\n", ":")).encode
"""No JSON string holds a raw LF, so a list in this form splits into its strings again."""

_UNSAFE = re.compile("[\x80-\x9f\u2028\u2029\ud800-\udfff]")

_PLAIN = bytes(code for code in range(0x20, 0x7F) if chr(code) not in '"\\<[')
"""ASCII that neither JSON nor the guard changes."""

_SHARED = attrgetter("scope", "status", "recorded_on", "conflict")
"""Of a note, what it has in common with others."""

_READERS = {
    Place.DM: "only this person",
    Place.GROUP: "everyone in the channel",
    Place.THREAD: "everyone in the thread",
    Place.PRIVATE_THREAD: "everyone in the thread",
    Place.NONE: "the person who started the run",
}


def quote(text: str) -> str:
    """Give a JSON string that holds the exact text in one safe line."""
    return f'"{text}"' if _is_plain(text) else _guard(_ENCODE(text))


def quote_all(texts: Sequence[str]) -> list[str]:
    """Quote many texts in one pass; the same as ``quote`` of each."""
    if _is_plain("".join(texts)):
        return [f'"{text}"' for text in texts]
    return _guard(_ENCODE(texts)[1:-1]).split("\n")


def system_block(kind: BlockKind, body: str) -> str:
    """Put a body under its label; the body stands below and never in the label."""
    return f"{label(kind)}\n{body}"


def connections_body(connections: Iterable[Connection]) -> str:
    """List connections by name, hosts and methods sorted, since config has no order of its own."""
    lines = sorted(_connection(connection) for connection in connections)
    return "\n".join((CONNECTIONS_INTRO, *lines))


def _connection(connection: Connection) -> str:
    fields = [
        f'"name":{quote(one_line(connection.name))}',
        f'"hosts":{_strings(sorted(set(connection.hosts)))}',
        f'"methods":{_strings(sorted(set(connection.methods)))}',
    ]
    if connection.env:
        fields.append(f'"env":{quote(connection.env)}')
    if connection.usage:
        fields.append(f'"usage":{quote(connection.usage)}')
    return _object(fields)


def list_block(kind: BlockKind, items: Sequence[str], *, omitted: int | None = None) -> str:
    """Give an input block of rendered items, with the count of those left out where it has one."""
    counted = "" if omitted is None else f'"omitted":{omitted},'
    return f'{{{_head(kind)},{counted}"items":[{",".join(items)}]}}'


def memory_items(notes: Sequence[MemoryNote]) -> list[str]:
    """Give each note: id, scope, status, date of its record and conflict where it has one, text."""
    ids = quote_all([note.note_id for note in notes])
    texts = quote_all([note.text for note in notes])
    shared = list(map(_SHARED, notes))
    middles = {values: _shared_fields(*values) for values in set(shared)}
    return [
        f'{{"id":{note_id},{middles[values]},"text":{text}}}'
        for note_id, values, text in zip(ids, shared, texts, strict=True)
    ]


def _shared_fields(scope: str, status: str, recorded_on: str, conflict: str) -> str:
    fields = [f'"scope":{quote(scope)}', f'"status":{quote(status)}']
    if recorded_on:
        fields.append(f'"recorded_on":{quote(recorded_on)}')
    if conflict:
        fields.append(f'"conflict":{quote(conflict)}')
    return ",".join(fields)


def continuation_item(gate: ResolvedGate, kept_chars: int | None = None) -> str:
    """Give the outcome that caused a continuation; ``kept_chars`` cuts its detail alone."""
    fields = [
        '"item":"continuation"',
        f'"gate":{quote(gate.gate_id)}',
        f'"intent":{quote(gate.intent)}',
        f'"outcome":{quote(gate.outcome)}',
    ]
    if gate.detail:
        fields += _text_fields("detail", gate.detail, kept_chars)
    return _object(fields)


def gate_item(gate: OpenGate, kept_chars: int | None = None) -> str:
    """Give one gate that awaits a decision; ``kept_chars`` cuts its intent."""
    return _object(
        [
            '"item":"open-gate"',
            f'"gate":{quote(gate.gate_id)}',
            f'"filed_at":{quote(gate.filed_at)}',
            *_text_fields("intent", gate.intent, kept_chars),
        ]
    )


def history_item(message: HistoryMessage, kept_chars: int | None = None) -> str:
    """Give one earlier message; ``kept_chars`` keeps only the beginning of its text."""
    fields = [
        f'"id":{quote(message.message_id)}',
        f'"from":"{"imp" if message.is_imp else "person"}"',
        *_author(message.author_label, message.author_id),
        *_text_fields("text", message.text, kept_chars),
    ]
    return _object(fields)


def state_block(rules: HouseRules) -> str:
    """Give the house rules in the form of DG 11, the policies sorted by item.

    An item that stands twice, which no engine's state holds, counts as prohibited.
    """
    # Of an item that stands twice the last one stays, and that is "prohibit".
    found = dict(sorted(rules.policies, reverse=True))
    policies = [f"{quote(item)}:{quote(found[item])}" for item in sorted(found)]
    fields = [
        _head(BlockKind.STATE),
        f'"premise":{"null" if rules.premise is None else quote(rules.premise)}',
        f'"policies":{_object(policies)}',
        f'"version":{STATE_VERSION}',
    ]
    return _object(fields)


def task_block(task: TaskInput) -> str:
    """Give the envelope of a task; its text is exact."""
    fields = [_head(BlockKind.TASK), f'"origin":{quote(task.origin)}']
    if task.task_id is not None:
        fields.append(f'"id":{quote(task.task_id)}')
    fields.append(f'"text":{quote(task.text)}')
    return _object(fields)


def message_block(message: MessageInput, scope: RunScope) -> str:
    """Give the envelope of a message: its text is exact, what the host adds is in other fields."""
    fields = [
        _head(BlockKind.MESSAGE),
        f'"provider":{quote(message.provider)}',
        f'"place":{quote(scope.place)}',
    ]
    if message.message_id is not None:
        fields.append(f'"id":{quote(message.message_id)}')
    fields += _author(message.author_label, message.author_id)
    fields.append(f'"role":{quote(message.role)}')
    fields.append(f'"reply_read_by":{quote(_READERS[scope.place])}')
    fields.append(f'"text":{quote(message.text)}')
    if message.mentions:
        fields.append(f'"mentions":[{",".join(_mention(*pair) for pair in message.mentions)}]')
    if message.parts:
        fields.append(f'"parts":[{",".join(_part(part) for part in message.parts)}]')
    if message.chunk is not None:
        fields.append(f'"chunk":{_chunk(message.chunk)}')
    return _object(fields)


def _chunk(mark: ChunkMark) -> str:
    """Give the host's word on a part of a message that is too long for one turn."""
    if mark.index == mark.count:
        fields = [f'"parts_read":{mark.count}', f'"then":{quote(CHUNK_ANSWER)}']
    else:
        span = f"{mark.start} to {mark.end} of {mark.original_chars}"
        fields = [
            f'"part":{mark.index + 1}',
            f'"of":{mark.count}',
            f'"characters":{quote(span)}',
            f'"then":{quote(CHUNK_NOTE)}',
        ]
    fields.append(f'"original_sha256":{quote(mark.original_sha256)}')
    if mark.binding:
        fields.append(f'"binding":{quote(mark.binding)}')
    return _object(fields)


def _mention(mark: str, meaning: str) -> str:
    return f'{{"mark":{quote(mark)},"means":{quote(one_line(meaning))}}}'


def _part(part: MessagePart) -> str:
    fields = [f'"kind":{quote(part.kind)}']
    if part.name:
        fields.append(f'"name":{quote(one_line(part.name))}')
    if part.author_label or part.author_id is not None:
        fields += _author(part.author_label, part.author_id)
    fields.append(f'"text":{quote(part.text)}')
    if part.total_chars is not None:
        fields.append(f'"shortened":{_kept(len(part.text), part.total_chars)}')
    if part.sha256 is not None:
        fields.append(f'"sha256":{quote(part.sha256)}')
    return _object(fields)


def _author(name: str, author_id: str | None) -> list[str]:
    fields = [f'"author":{quote(one_line(name) or "(no name)")}']
    if author_id is not None:
        fields.append(f'"author_id":{quote(author_id)}')
    return fields


def _text_fields(key: str, text: str, kept_chars: int | None) -> list[str]:
    if kept_chars is None:
        return [f'"{key}":{quote(text)}']
    return [
        f'"{key}":{quote(text[:kept_chars])}',
        f'"shortened":{_kept(kept_chars, len(text))}',
        f'"sha256":"{sha256_text(text)}"',
    ]


def _kept(kept_chars: int, total_chars: int) -> str:
    return f'"kept {kept_chars} of {total_chars} characters"'


def _head(kind: BlockKind) -> str:
    """Give the fields that every input block begins with."""
    return f'"block":"{kind}","authority":"{AUTHORITY[kind]}"'


def _object(fields: Iterable[str]) -> str:
    return "{" + ",".join(fields) + "}"


def _strings(values: Iterable[str]) -> str:
    return "[" + ",".join(map(quote, values)) + "]"


def _is_plain(text: str) -> bool:
    """Whether neither JSON nor the guard changes anything: most text, and a tenth of the time."""
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN)


def _guard(quoted: str) -> str:
    """Escape in finished JSON what the module's docstring names; the rest is cheap to look at."""
    if not quoted.isascii():
        quoted = _UNSAFE.sub(_escape, quoted)
    if "<" in quoted or "[" in quoted:
        quoted = MARK.sub(_escape, quoted)
    return quoted


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
