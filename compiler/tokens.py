r"""Tokens: who counts them, how many there may be, and the identity of the exact model input.

TR's equations, with C the context window, O the output reservation and M the safety margin::

    I = C - O - M                   what an input may take
    B = I - (S + T + U + K)         what is left for everything advisory

S is the system prompt; T what the engine wraps around it (its own words, tools, the chat
template), measured by the host; U the current message or task; K what must go with it (house
rules; a continuation counts with the briefing in which it stands). What the engine holds of the
conversation already is D: it counts, and nothing of it can be taken back within a session. O is
reserved before anything else.

Characters (CC) and tokens (TR) both hold, and the tighter one wins. A tokenizer that can only
estimate says so; then there are no token ids and no hash of them.

Spec: TR "Token-budget equations", "Context-plan contract".
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from compiler.hashing import sha256_fields

PROMPT_TOKENS_TAG: Final = b"trlm-prompt-tokens-v1\x00"
STABLE_TEXTS: Final = 64
"""System prompts whose tokens are remembered: more than there are warm sessions."""


class Counting(StrEnum):
    """How far a count can be trusted."""

    EXACT = "exact"
    ESTIMATE = "estimate"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerIdentity:
    """What decides the token ids of a text. Hashes are hex SHA-256, empty where there is none.

    ``template_sha256`` is empty where the chat template is the provider's secret; its tokens are
    then part of T, which is measured.
    """

    name: str
    vocabulary_sha256: str
    special_tokens_sha256: str
    template_sha256: str
    counting: Counting

    @property
    def sha256(self) -> str:
        """TR's H_T, the complete tokenizer identity without the template."""
        return sha256_fields(
            "inglenook-tokenizer-v1",
            (self.name, self.vocabulary_sha256, self.special_tokens_sha256, self.counting),
        )


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenized text: how many, and the ids as little-endian 32-bit numbers where exact."""

    count: int
    ids: bytes | None


class Tokenizer(Protocol):
    """Counts tokens as one model does. Text that looks like a special token is ordinary text."""

    @property
    def identity(self) -> TokenizerIdentity:
        """What it is."""
        ...

    def tokenize(self, text: str) -> Tokens:
        """Tokenize a text by itself."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudgets:
    """The window of a model, divided. All in tokens."""

    context_window: int
    output_reservation: int
    safety_margin: int = 0

    @property
    def input_limit(self) -> int:
        """TR's I."""
        return self.context_window - self.output_reservation - self.safety_margin


class StableTokens:
    """Tokens of texts that stay, by their hash: a session's system prompt is tokenized once.

    Bounded; the text used longest ago leaves first. One tokenizer each: ids of different
    vocabularies never meet.
    """

    def __init__(self, tokenizer: Tokenizer, *, limit: int = STABLE_TEXTS) -> None:
        self.tokenizer = tokenizer
        self._limit = limit
        self._kept: OrderedDict[str, Tokens] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def tokenize(self, text: str, sha256: str) -> Tokens:
        """Give the tokens of a text with this hash; tokenize it if it is new."""
        found = self._kept.get(sha256)
        if found is None:
            found = self._kept[sha256] = self.tokenizer.tokenize(text)
            if len(self._kept) > self._limit:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(sha256)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenScene:
    """What the host knows of tokens before it compiles.

    ``wrapper_tokens`` is T, measured at an earlier turn (0 while nothing was measured: then M has
    to cover it). ``held_tokens`` is all that the engine holds before this turn, system prompt and
    wrapper included, by its own figures; 0 for a session without turns.
    """

    stable: StableTokens
    budgets: TokenBudgets
    wrapper_tokens: int = 0
    held_tokens: int = 0

    @property
    def tokenizer(self) -> Tokenizer:
        """Whose counts these are."""
        return self.stable.tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAccount:
    """What one compilation takes of the window; letters as in the module's docstring."""

    counting: Counting
    budgets: TokenBudgets
    system_tokens: int
    """S."""
    wrapper_tokens: int
    """T."""
    held_tokens: int
    """D: the conversation that the engine holds, without S and T."""
    current_tokens: int
    """U."""
    required_tokens: int
    """K."""
    advisory_tokens: int
    """Briefing, history and memory together; at most B."""
    prompt_sha256: str | None
    """TR's H_tokens over system prompt and input; None for an estimate."""

    @property
    def input_limit(self) -> int:
        """I."""
        return self.budgets.input_limit

    @property
    def fixed_tokens(self) -> int:
        """S + T + D + U + K: what the compilation cannot do without."""
        return (
            self.system_tokens
            + self.wrapper_tokens
            + self.held_tokens
            + self.current_tokens
            + self.required_tokens
        )

    @property
    def discretionary_tokens(self) -> int:
        """B."""
        return self.input_limit - self.fixed_tokens

    @property
    def used_tokens(self) -> int:
        """All of it."""
        return self.fixed_tokens + self.advisory_tokens

    @property
    def remaining_tokens(self) -> int:
        """What is left of I."""
        return self.input_limit - self.used_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIdentity:
    """TR's exact model composition, as far as the host can know it.

    ``artifact_sha256`` is the hash of the weights where they are on this machine, else of what the
    provider calls them; ``config_sha256`` covers the settings that shape an answer.
    """

    model_id: str = ""
    artifact_sha256: str = ""
    config_sha256: str = ""

    @property
    def sha256(self) -> str:
        """TR's H_M."""
        return sha256_fields(
            "inglenook-model-v1", (self.model_id, self.artifact_sha256, self.config_sha256)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptIdentities:
    """The four identities that stand in front of the ids in H_tokens; hex SHA-256 each."""

    model_sha256: str
    tokenizer_sha256: str
    template_sha256: str
    policy_sha256: str


def prompt_tokens_sha256(identities: PromptIdentities, parts: tuple[bytes, ...]) -> str:
    """Give TR's H_tokens: domain, four identities of 32 octets, then the ids, little end first.

    ``parts`` are the ids of the system prompt and of the input; they are hashed one behind the
    other, so ids that are kept are not copied.
    """
    digest = hashlib.sha256(PROMPT_TOKENS_TAG)
    for sha256 in (
        identities.model_sha256,
        identities.tokenizer_sha256,
        identities.template_sha256,
        identities.policy_sha256,
    ):
        digest.update(bytes.fromhex(sha256))
    for ids in parts:
        digest.update(ids)
    return digest.hexdigest()
