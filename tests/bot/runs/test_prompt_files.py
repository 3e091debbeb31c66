"""Exact prompts as files."""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import replace

from bot.runs.prompt_files import packed, prompt_files
from compiler.hashing import sha256_text
from sessions.review.prompts import Prompts


def _prompts(turn: int, system: str = "Sys \u2028 é") -> Prompts:
    text = f'{{"text":"{turn}"}}\r\n'
    return Prompts(
        run_id="r",
        turn=turn,
        turn_id=f"t{turn}",
        system_prompt=system,
        system_prompt_sha256=sha256_text(system),
        input_prompt=text,
        input_prompt_sha256=sha256_text(text),
    )


def test_each_file_holds_exactly_the_bytes_of_its_hash() -> None:
    """Anybody can check a file with any SHA-256 tool."""
    for file in prompt_files([_prompts(1), _prompts(2)]):
        assert hashlib.sha256(file.data).hexdigest() == file.sha256


def test_an_unchanged_system_prompt_is_given_once() -> None:
    names = [file.name for file in prompt_files([_prompts(1), _prompts(2), _prompts(3)])]
    assert names == ["system.md", "input-turn-1.txt", "input-turn-2.txt", "input-turn-3.txt"]


def test_a_changed_system_prompt_has_its_own_file() -> None:
    names = [file.name for file in prompt_files([_prompts(1), _prompts(2, "other")])]
    assert names == ["system.md", "input-turn-1.txt", "system-2.md", "input-turn-2.txt"]


def test_a_start_alone_is_one_file() -> None:
    start = replace(_prompts(1), turn=None, input_prompt=None, input_prompt_sha256=None)
    assert [file.name for file in prompt_files([start])] == ["system.md"]


def test_an_archive_holds_the_same_bytes_each_time() -> None:
    files = prompt_files([_prompts(number) for number in range(1, 15)])
    name, data = packed(files, name="run")
    assert (name, data) == packed(files, name="run")
    assert name == "run.zip"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {item: archive.read(item) for item in archive.namelist()} == {
            file.name: file.data for file in files
        }
