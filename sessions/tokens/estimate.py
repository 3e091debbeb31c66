"""A count for models whose vocabulary nobody here has: declared, and meant to be too high.

Most vocabularies take three to four letters of English a token, one to three bytes of other
scripts. Three bytes a token is above the true count of almost all prose; dense code and digits can
have more, which is what the margin is for (``desk.budgets_of``).
"""

from __future__ import annotations

from typing import Final

from compiler.tokens import Counting, TokenizerIdentity, Tokens

BYTES_PER_TOKEN: Final = 3


def estimate_tokens(text: str) -> int:
    """Give the estimate for a text: its UTF-8 bytes by three, rounded up."""
    octets = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-octets // BYTES_PER_TOKEN)


class EstimateTokenizer:
    """Estimates; has no ids and no vocabulary."""

    identity: Final = TokenizerIdentity(
        name=f"estimate:utf8/{BYTES_PER_TOKEN}",
        vocabulary_sha256="",
        special_tokens_sha256="",
        template_sha256="",
        counting=Counting.ESTIMATE,
    )

    def tokenize(self, text: str) -> Tokens:
        """Estimate a text."""
        return Tokens(estimate_tokens(text), None)
