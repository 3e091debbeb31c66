"""A tokenizer of the standard library alone: it counts as any Python does, and is exact.

A token is a run of letters and digits, or one other character; its id is a hash of it. Real
vocabularies differ in everything but what the compiler relies on: same text, same ids.
"""

from __future__ import annotations

import re
import zlib
from array import array
from dataclasses import dataclass, field, replace

from compiler.tokens import (
    Counting,
    StableTokens,
    TokenBudgets,
    TokenizerIdentity,
    Tokens,
    TokenScene,
)

_PIECES = re.compile(r"[0-9A-Za-z]+|[^0-9A-Za-z]")
IDENTITY = TokenizerIdentity(
    name="test:words",
    vocabulary_sha256="1" * 64,
    special_tokens_sha256="2" * 64,
    template_sha256="3" * 64,
    counting=Counting.EXACT,
)


@dataclass(slots=True)
class WordTokenizer:
    """Counts words; remembers the texts that it was given."""

    identity: TokenizerIdentity = IDENTITY
    seen: list[str] = field(default_factory=list)

    def tokenize(self, text: str) -> Tokens:
        self.seen.append(text)
        pieces = _PIECES.findall(text)
        if self.identity.counting is Counting.ESTIMATE:
            return Tokens(len(pieces), None)
        ids = array("I", (zlib.crc32(piece.encode("utf-8", "replace")) for piece in pieces))
        return Tokens(len(pieces), ids.tobytes())


def word_scene(
    window: int = 100_000,
    *,
    output: int = 0,
    margin: int = 0,
    wrapper: int = 0,
    held: int = 0,
    counting: Counting = Counting.EXACT,
    tokenizer: WordTokenizer | None = None,
) -> TokenScene:
    """Give a scene with a window of so many words."""
    made = tokenizer or WordTokenizer(identity=replace(IDENTITY, counting=counting))
    return TokenScene(
        stable=StableTokens(made),
        budgets=TokenBudgets(
            context_window=window, output_reservation=output, safety_margin=margin
        ),
        wrapper_tokens=wrapper,
        held_tokens=held,
    )
