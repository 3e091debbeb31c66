"""The exact bytes of every combination of blocks, as frozen in ``golden/``.

A difference here means that prompts change, and with them every cached prefix. If that is meant:
raise ``compiler.templates.SCHEMA_VERSION`` and write the next folder as told in
``support.compiler_golden``. Existing folders are never edited.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from compiler.blocks import BlockKind
from compiler.templates import SCHEMA_VERSION
from support import compiler_golden
from support.compiler_golden import FOLDER, build

CURRENT = FOLDER / f"v{SCHEMA_VERSION}"
EARLIER = sorted(FOLDER.glob("v*"))


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


@pytest.fixture(scope="module")
def built() -> dict[str, str]:
    return build()


@pytest.mark.parametrize("name", ["prompts.jsonl", "cases.jsonl", "digest.txt"])
def test_compiled_bytes_are_the_golden_ones(built: dict[str, str], name: str) -> None:
    """CC "Determinism", acceptance test 7."""
    expected = (CURRENT / name).read_text(encoding="ascii").splitlines()
    for now, then in zip(built[name].splitlines(), expected, strict=True):
        assert now == then


@pytest.mark.parametrize("folder", EARLIER, ids=lambda folder: folder.name)
def test_no_golden_folder_was_edited(folder: Path) -> None:
    """Each digest covers its folder's files, and each hash its prompt."""
    whole = b"".join((folder / name).read_bytes() for name in ("cases.jsonl", "prompts.jsonl"))
    assert (folder / "digest.txt").read_text() == f"{sha256(whole).hexdigest()}\n"
    for prompt in lines(folder / "prompts.jsonl"):
        assert prompt["sha256"] == sha256(str(prompt["text"]).encode()).hexdigest()


def test_the_corpus_has_every_combination_of_block_kinds() -> None:
    """CC "Build order": all block combinations; task and message exclude each other."""
    combinations: set[frozenset[str]] = set()
    for case in lines(CURRENT / "cases.jsonl"):
        if str(case["case"]).startswith("combination+"):
            compiled = case["compiled"]
            assert isinstance(compiled, list)
            combinations.add(frozenset(block[0] for each in compiled for block in each["blocks"]))
    assert len(combinations) == 2**8
    assert frozenset.union(*combinations) == {kind.value for kind in BlockKind}


def test_a_version_is_written_once(tmp_path: Path) -> None:
    compiler_golden.write(tmp_path / "v9")
    assert (tmp_path / "v9" / "digest.txt").read_bytes() == (CURRENT / "digest.txt").read_bytes()
    with pytest.raises(FileExistsError):
        compiler_golden.write(tmp_path / "v9")


def test_the_script_prints_the_digest(capsys: pytest.CaptureFixture[str]) -> None:
    compiler_golden.main([])
    assert capsys.readouterr().out == (CURRENT / "digest.txt").read_text()
