"""Errors of a compilation: safe to show, and enough to trace."""

from __future__ import annotations

import pytest

from compiler.errors import (
    BlockTooLarge,
    CompileError,
    CompileErrorCode,
    ContextTooLarge,
    InvalidRequest,
    SafeError,
    SourceUnreadable,
)

SIZES = (("identity", 120), ("runtime-policy", 2000))


def test_a_block_too_large_names_block_source_and_sizes() -> None:
    """CC "Failure behavior": a source path and sizes may be named."""
    error = BlockTooLarge(
        block="purpose", source="channels/2001/purpose.md", chars=9, limit_chars=8, sizes=SIZES
    )
    assert error.code is CompileErrorCode.BLOCK_TOO_LARGE
    assert error.safe_message == "The purpose block is too long: 9 characters, and the limit is 8."
    assert error.source == "channels/2001/purpose.md"
    assert error.sizes == SIZES
    assert error.facts["chars"] == 9


def test_a_context_too_large_gives_the_sum() -> None:
    error = ContextTooLarge(chars=50, limit_chars=40, sizes=SIZES)
    assert error.safe_message == (
        "The required context is too long together: 50 characters, and the limit is 40."
    )
    assert (error.source, error.sizes) == ("", SIZES)


def test_an_unreadable_source_is_named() -> None:
    error = SourceUnreadable(block="identity", source="imps/ember/identity.md", reason="missing")
    assert str(error) == "The identity source imps/ember/identity.md cannot be read (missing)."
    assert (error.source, error.sizes) == ("imps/ember/identity.md", ())


def test_an_invalid_request_gives_its_reason() -> None:
    error = InvalidRequest("a start has no task")
    assert error.safe_message == "The context request is not valid (a start has no task)."
    assert error.facts == {"reason": "a start has no task"}


@pytest.mark.parametrize(
    "error",
    [
        BlockTooLarge(block="task", source="task:1", chars=2, limit_chars=1),
        ContextTooLarge(chars=2, limit_chars=1),
        SourceUnreadable(block="identity", source="a", reason="b"),
        InvalidRequest("c"),
    ],
)
def test_all_are_safe_compile_errors_with_fixed_facts(error: CompileError) -> None:
    assert isinstance(error, SafeError)
    with pytest.raises(TypeError):
        error.facts["chars"] = 3  # type: ignore[index]  # the point of the test


def test_a_plain_safe_error_has_no_facts() -> None:
    assert dict(SafeError(CompileErrorCode.INVALID_REQUEST, "Something.").facts) == {}
