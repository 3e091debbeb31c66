"""Errors that are safe to show, and the ones a compilation can end with.

    SafeError
    +-- CompileError            no prompt leaves a failed compilation (CC "Failure behavior")
        +-- BlockTooLarge       owner or user: a mandatory block exceeds its own limit
        |   +-- CurrentTurnOverflow     user: it is the message; whole, in chunks, or not at all
        +-- ContextTooLarge     owner: the mandatory blocks together exceed the total
        +-- TokensTooLarge      owner: the model's window is too small for what must be in it
        +-- WindowFull          host: the session holds too much; a fresh one would do
        +-- SourceUnreadable    owner: a required trusted source is missing or unreadable
        +-- InvalidRequest      host: the request breaks the contract of its phase

Spec: CC "Failure behavior": messages may name a source path and sizes, never text or memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

BlockSizes: TypeAlias = tuple[tuple[str, int], ...]


class CompileErrorCode(StrEnum):
    """Stable names of the ways in which a compilation fails."""

    BLOCK_TOO_LARGE = "block_too_large"
    CONTEXT_TOO_LARGE = "context_too_large"
    SOURCE_UNREADABLE = "source_unreadable"
    INVALID_REQUEST = "invalid_request"
    TOKENS_TOO_LARGE = "tokens_too_large"
    WINDOW_FULL = "window_full"
    CURRENT_TURN_OVERFLOW = "CURRENT_TURN_OVERFLOW"
    """TR's own name for it."""


class SafeError(Exception):
    """An error whose message may be shown in a shared channel.

    ``code`` is stable and meant for programs. ``safe_message`` is one plain sentence.
    ``facts`` go to the owner's log: sizes, codes, source paths; never content.
    """

    def __init__(
        self,
        code: StrEnum,
        safe_message: str,
        *,
        facts: Mapping[str, str | int] | None = None,
    ) -> None:
        super().__init__(safe_message)
        self.code = code
        self.safe_message = safe_message
        self.facts: Mapping[str, str | int] = MappingProxyType(dict(facts or {}))


class CompileError(SafeError):
    """A compilation that must not reach the model.

    ``source`` names what failed, where one source did. ``sizes`` are the blocks that were
    rendered before the failure, as kind and characters in canonical order, so that the failed
    compilation can be traced (CC "Trace and owner interface").
    """

    def __init__(
        self,
        code: StrEnum,
        safe_message: str,
        *,
        facts: Mapping[str, str | int] | None = None,
        source: str = "",
        sizes: BlockSizes = (),
    ) -> None:
        super().__init__(code, safe_message, facts=facts)
        self.source = source
        self.sizes: BlockSizes = tuple(sizes)


class BlockTooLarge(CompileError):
    """A mandatory block exceeds its limit; nothing is ever cut to make it fit."""

    def __init__(
        self, *, block: str, source: str, chars: int, limit_chars: int, sizes: BlockSizes = ()
    ) -> None:
        super().__init__(
            CompileErrorCode.BLOCK_TOO_LARGE,
            f"The {block} block is too long: {chars} characters, and the limit is {limit_chars}.",
            facts={"block": block, "source": source, "chars": chars, "limit_chars": limit_chars},
            source=source,
            sizes=sizes,
        )


class CurrentTurnOverflow(BlockTooLarge):
    """What was asked is longer than can be taken at once; it is never cut.

    ``unit`` is ``characters`` or ``tokens``; ``size`` is that of the whole message.

    Spec: TR "Current-turn overflow".
    """

    def __init__(
        self, *, block: str, source: str, unit: str, size: int, limit: int, sizes: BlockSizes = ()
    ) -> None:
        super().__init__(block=block, source=source, chars=size, limit_chars=limit, sizes=sizes)
        self.code = CompileErrorCode.CURRENT_TURN_OVERFLOW
        self.safe_message = (
            f"That {block} is too long to read at once: {size:,} {unit}, and the limit is "
            f"{limit:,}. I have not answered it, and I will not pretend to have read it all."
        )
        self.args = (self.safe_message,)
        self.unit = unit
        self.size = size
        self.limit = limit
        self.facts = MappingProxyType(
            {"block": block, "source": source, "unit": unit, "size": size, "limit": limit}
        )


class ContextTooLarge(CompileError):
    """The mandatory blocks fit one by one, but not together."""

    def __init__(self, *, chars: int, limit_chars: int, sizes: BlockSizes = ()) -> None:
        super().__init__(
            CompileErrorCode.CONTEXT_TOO_LARGE,
            "The required context is too long together: "
            f"{chars} characters, and the limit is {limit_chars}.",
            facts={"chars": chars, "limit_chars": limit_chars},
            sizes=sizes,
        )


class TokensTooLarge(CompileError):
    """S + T + U + K exceed I, and the message is not to blame (TR "Token-budget equations")."""

    def __init__(self, *, tokens: int, limit_tokens: int, sizes: BlockSizes = ()) -> None:
        super().__init__(
            CompileErrorCode.TOKENS_TOO_LARGE,
            "The required context is too long for my model: "
            f"{tokens:,} tokens, and the limit is {limit_tokens:,}.",
            facts={"tokens": tokens, "limit_tokens": limit_tokens},
            sizes=sizes,
        )


class WindowFull(CompileError):
    """The message would fit a fresh session, but no longer this one."""

    def __init__(self, *, held_tokens: int, tokens: int, limit_tokens: int) -> None:
        super().__init__(
            CompileErrorCode.WINDOW_FULL,
            "This conversation has filled my model's memory. Please say it once more.",
            facts={"held_tokens": held_tokens, "tokens": tokens, "limit_tokens": limit_tokens},
        )


class SourceUnreadable(CompileError):
    """A required source is missing or cannot be read safely."""

    def __init__(self, *, block: str, source: str, reason: str, sizes: BlockSizes = ()) -> None:
        super().__init__(
            CompileErrorCode.SOURCE_UNREADABLE,
            f"The {block} source {source} cannot be read ({reason}).",
            facts={"block": block, "source": source, "reason": reason},
            source=source,
            sizes=sizes,
        )


class InvalidRequest(CompileError):
    """The request breaks the contract of its phase, for example task and message together."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            CompileErrorCode.INVALID_REQUEST,
            f"The context request is not valid ({reason}).",
            facts={"reason": reason},
        )
