"""Exact counts without a network (packages: tiktoken's own pins)."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions.tokens import tiktoken as tokenizer_tiktoken
from sessions.tokens.tiktoken import (
    ENCODINGS,
    PIECE_CHARS,
    TiktokenTokenizer,
    VocabularyUnavailable,
    little_endian,
    seed,
)


@cache
def tokenizer(name: str, folder: Path) -> TiktokenTokenizer:
    return TiktokenTokenizer.load(name, folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokenizers")


@pytest.fixture(params=ENCODINGS)
def loaded(request: pytest.FixtureRequest, folder: Path) -> TiktokenTokenizer:
    return tokenizer(request.param, folder)


def test_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    # The library keeps what it loaded; a name of its own asks for the file once more.
    assert seed("cl100k_base", tmp_path).stat().st_size > 1_000_000


def test_a_damaged_rank_file_is_put_right(tmp_path: Path) -> None:
    """The library itself would go to the network."""
    file = seed("o200k_base", tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert seed("o200k_base", tmp_path) == file
    assert file.read_bytes() == whole
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_a_package_with_another_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The carrier need not be trusted."""
    monkeypatch.setattr(tokenizer_tiktoken, "_carried", lambda _: b"IQ== 0\n")
    with pytest.raises(VocabularyUnavailable, match="pins"):
        seed("o200k_base", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_environment_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "mine")
    TiktokenTokenizer.load("cl100k_base", tmp_path)
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "mine"


def test_known_counts(loaded: TiktokenTokenizer) -> None:
    assert loaded.tokenize("").count == 0
    assert loaded.tokenize("hello world") == loaded.tokenize("hello world")
    assert loaded.tokenize("hello world").count == 2


def test_special_tokens_in_a_text_are_ordinary_text(loaded: TiktokenTokenizer) -> None:
    """Issue "Tokens"; a special token would be one id."""
    assert loaded.tokenize("<|endoftext|>").count > 3
    assert loaded.tokenize("<|im_start|>system").count > 3


def test_ids_are_little_endian() -> None:
    assert little_endian([1, 256, 199_999]) == bytes.fromhex("01000000000100003f0d0300")


WORDS = st.sampled_from(
    ["word", "Wörter", " ", "\n", "\n\n", "  \n", "你好", "don't", "'s", "1234567", "/", "!?", "\t",
     "🔥", "a\n", " b", "\r\n", "İ", "e\u0301"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(words=st.lists(WORDS, min_size=1, max_size=60), size=st.integers(4, 40))
def test_pieces_have_the_tokens_of_the_whole(words: list[str], size: int, folder: Path) -> None:
    """Where ids are given at all, cutting changed nothing."""
    text = "".join(words)
    for name in ENCODINGS:
        whole = tokenizer(name, folder)
        exact = whole.tokenize(text)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tokenizer_tiktoken, "PIECE_CHARS", size)
            cut = whole.tokenize(text)
        if cut.ids is not None:
            assert cut == exact


@pytest.mark.parametrize(
    "text", [" " * 1_000_000, "\t" * 1_000_000, "a" * 1_000_000, "\xa0" * 1_000_000, "🔥" * 300_000]
)
def test_a_million_of_one_character_is_bounded_and_only_estimated(
    loaded: TiktokenTokenizer, text: str
) -> None:
    """Unbounded, blanks end in an exception that is no Exception."""
    tokens = loaded.tokenize(text)
    assert tokens.ids is None
    assert 0 < tokens.count <= len(text.encode())


def test_a_long_text_with_places_to_cut_stays_exact(loaded: TiktokenTokenizer) -> None:
    text = "Plan the harvest supper of the Orchard.\n" * (3 * PIECE_CHARS // 40)
    tokens = loaded.tokenize(text)
    assert tokens.ids is not None
    assert len(tokens.ids) == 4 * tokens.count


def test_identities_tell_vocabularies_apart(folder: Path) -> None:
    one, two = (tokenizer(name, folder).identity for name in ENCODINGS)
    assert one.sha256 != two.sha256
    assert one.special_tokens_sha256 != two.special_tokens_sha256
    assert (one.counting, one.template_sha256) == ("exact", "")


@pytest.mark.parametrize("text", ["\ud83d", "a\ud83d\ude00b", "\x00", "İ" * 10])
def test_odd_text_is_counted_too(loaded: TiktokenTokenizer, text: str) -> None:
    assert loaded.tokenize(text).count > 0
