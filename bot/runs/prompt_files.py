"""Exact prompts as files: one each, named so that they sort in order. Pure.

A file holds the exact UTF-8 bytes that the trace's hash covers and nothing else, so that anybody
can check it with ``sha256sum``.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

from sessions.review.prompts import Prompts

MAX_FILES = 10
"""Discord takes so many in one message; more are put into one archive."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The least time that an archive can hold: the same prompts give the same bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFile:
    """One file and what it holds, for the line that goes with it."""

    name: str
    data: bytes
    sha256: str


def prompt_files(prompts: Sequence[Prompts]) -> tuple[PromptFile, ...]:
    """Give the system prompt once (each time it changes) and the input of each turn."""
    files: list[PromptFile] = []
    last_system = ""
    for item in prompts:
        if item.system_prompt_sha256 != last_system:
            last_system = item.system_prompt_sha256
            number = "" if not files else f"-{item.turn}"
            files.append(
                PromptFile(
                    name=f"system{number}.md", data=item.system_prompt.encode(), sha256=last_system
                )
            )
        if item.input_prompt is not None:
            files.append(
                PromptFile(
                    name=f"input-turn-{item.turn}.txt",
                    data=item.input_prompt.encode(),
                    sha256=item.input_prompt_sha256 or "",
                )
            )
    return tuple(files)


def packed(files: Sequence[PromptFile], *, name: str) -> tuple[str, bytes]:
    """Put files into one archive; gives its name and bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.writestr(zipfile.ZipInfo(file.name, _EPOCH), file.data, zipfile.ZIP_DEFLATED)
    return f"{name}.zip", buffer.getvalue()
