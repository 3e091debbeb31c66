"""What a crash left of a turn is cut, what was answered keeps its bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.pi.errors import PiStartFailed
from sessions.pi.session_file import repair, repair_session

HEAD: list[dict[str, object]] = [
    {"type": "session", "version": 3, "id": "key", "cwd": "/x"},
    {"type": "model_change", "id": "a", "parentId": None},
    {"type": "message", "id": "b", "message": {"role": "system", "content": ""}},
]


def user(text: str = "hi \u2028") -> dict[str, object]:
    content = [{"type": "text", "text": text}]
    return {"type": "message", "message": {"role": "user", "content": content}}


def assistant(stop: str = "stop") -> dict[str, object]:
    return {"type": "message", "message": {"role": "assistant", "stopReason": stop}}


RESULT: dict[str, object] = {"type": "message", "message": {"role": "toolResult", "content": []}}
EDIT: dict[str, object] = {"type": "context_edit", "targetId": "x", "replacement": None}
OTHER: dict[str, object] = {"type": "thinking_level_change", "thinkingLevel": "off"}


def bytes_of(*entries: dict[str, object]) -> bytes:
    return b"".join(
        json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        for entry in entries
    )


ANSWERED: list[dict[str, object]] = [*HEAD, user(), assistant()]


@pytest.mark.parametrize(
    "tail",
    [
        [user("two")],
        [user("two"), assistant("error")],
        [user("two"), assistant("error"), EDIT],
        [user("two"), assistant("error"), EDIT, assistant("error")],
        [user("two"), assistant("aborted")],
        [user("two"), assistant("toolUse")],
        [user("two"), assistant("toolUse"), RESULT],
        [user("two"), OTHER],
        [user("two"), user("three")],
    ],
)
def test_an_unanswered_message_and_all_after_it_is_cut(tail: list[dict[str, object]]) -> None:
    repaired = repair(bytes_of(*ANSWERED, *tail))
    assert repaired.content == bytes_of(*ANSWERED)
    assert (repaired.answers, repaired.expected_messages) == (1, 2)


@pytest.mark.parametrize(
    "entries",
    [
        HEAD,
        ANSWERED,
        [*ANSWERED, OTHER],
        [*ANSWERED, user(), assistant("error"), EDIT, assistant()],
        [*ANSWERED, user(), assistant("toolUse"), RESULT, assistant()],
        [*ANSWERED, user(), assistant("error"), user(), assistant("length"), EDIT],
    ],
)
def test_a_file_that_ends_answered_keeps_its_bytes(entries: list[dict[str, object]]) -> None:
    content = bytes_of(*entries)
    assert repair(content).content == content


def test_a_first_turn_without_an_answer_leaves_the_head() -> None:
    repaired = repair(bytes_of(*HEAD, user()))
    assert repaired.content == bytes_of(*HEAD)
    assert repaired.expected_messages == 0


@pytest.mark.parametrize("torn", [b'{"type":"mess', b'{"type":"x"}', b"\x00\x00\n", b"null\n"])
def test_a_torn_last_line_is_cut(torn: bytes) -> None:
    """A whole line without its LF is torn too: pi would read it, a later one would join it."""
    assert repair(bytes_of(*ANSWERED) + torn).content == bytes_of(*ANSWERED)


ENTRY = st.sampled_from(
    [user(), assistant(), assistant("error"), assistant("toolUse"), RESULT, EDIT, OTHER]
)


@given(st.lists(ENTRY, max_size=12), st.binary(max_size=6))
def test_a_repaired_file_is_a_beginning_that_repairs_to_itself(
    entries: list[dict[str, object]], torn: bytes
) -> None:
    content = bytes_of(*HEAD, *entries) + torn
    repaired = repair(content)
    assert content.startswith(repaired.content)
    assert repair(repaired.content) == repaired
    roles = [json.loads(line) for line in repaired.content.split(b"\n")[:-1]]
    after = [each for each in roles if each.get("message", {}).get("role") == "user"]
    assert len(after) >= repaired.answers


def test_the_file_is_mended_in_place_and_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "2026-11-29T23-16-35-000Z_key.jsonl"
    file.write_bytes(bytes_of(*ANSWERED, user()))
    other = tmp_path / "2026-11-29T23-16-35-000Z_another.jsonl"
    other.write_bytes(b"torn")
    assert repair_session(tmp_path, "key") == 2
    assert file.read_bytes() == bytes_of(*ANSWERED)
    assert file.stat().st_mode & 0o777 == 0o600
    assert other.read_bytes() == b"torn"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_needs_no_mending_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "x_key.jsonl"
    file.write_bytes(bytes_of(*ANSWERED))
    before = file.stat()
    assert repair_session(tmp_path, "key") == 2
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_no_file_means_that_nothing_was_said(tmp_path: Path) -> None:
    assert repair_session(tmp_path, "key") == 0
    assert repair_session(tmp_path / "missing", "key") == 0


def test_an_unreadable_file_is_a_start_failure(tmp_path: Path) -> None:
    (tmp_path / "x_key.jsonl").mkdir()
    with pytest.raises(PiStartFailed) as caught:
        repair_session(tmp_path, "key")
    assert str(tmp_path) not in str(caught.value)
