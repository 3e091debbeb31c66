"""The lines that are written to pi: one JSON object each, LF at its end; pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sessions.pictures import Picture

BARE_COMMANDS: Final = frozenset(
    {"abort", "clear_queue", "get_commands", "get_session_stats", "get_state"}
)
"""All there are. ``bash`` is not among them: pi carries it out and asks no extension about it."""


def encode_prompt(command_id: str, text: str, pictures: Sequence[Picture] = ()) -> bytes:
    """Write the line that gives pi one prompt, with the pictures that go with it.

    Raises:
        UnicodeEncodeError: the text holds half a surrogate pair. pi would drop it, and what the
            model reads would no longer be what was traced.
    """
    return _encode_input("prompt", command_id, text, pictures)


def encode_steer(command_id: str, text: str, pictures: Sequence[Picture] = ()) -> bytes:
    """Write the line that puts a further input into the turn in flight, its pictures with it.

    Raises:
        UnicodeEncodeError: as ``encode_prompt``.
    """
    return _encode_input("steer", command_id, text, pictures)


def encode_command(command_id: str, command: str) -> bytes:
    """Write the line of a command without arguments.

    Raises:
        ValueError: it is none that is ever to be sent.
    """
    if command not in BARE_COMMANDS:
        raise ValueError("pi is never told to do this")
    return _encode({"id": command_id, "type": command})


def encode_ui_answer(request_id: str, value: str) -> bytes:
    """Write the line that answers an extension's question with a text."""
    return _encode({"type": "extension_ui_response", "id": request_id, "value": value})


def encode_ui_refusal(request_id: str) -> bytes:
    """Write the line that answers an extension's question with "cancelled"."""
    return _encode({"type": "extension_ui_response", "id": request_id, "cancelled": True})


def _encode_input(kind: str, command_id: str, text: str, pictures: Sequence[Picture]) -> bytes:
    command: dict[str, Any] = {"id": command_id, "type": kind, "message": text}
    if pictures:
        command["images"] = [
            {
                "type": "image",
                "data": base64.b64encode(each.data).decode("ascii"),
                "mimeType": each.media_type,
            }
            for each in pictures
        ]
    return _encode(command)


def _encode(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
