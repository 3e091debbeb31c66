"""Frames that cannot be read; over the wire it is proven end to end."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from bot import frames


class Shard:
    """The library's shard, as far as it is touched."""

    id = 0
    _handled_exceptions: tuple[type[Exception], ...] = (OSError,)

    def __init__(self) -> None:
        self.done: list[object] = []
        self.ws = self

    async def close(self, code: int) -> None:
        self.done.append(code)

    async def _handle_disconnect(self, error: Exception) -> None:
        self.done.append(type(error))


@pytest.mark.parametrize("error", [ValueError(), AttributeError(), zlib.error()])
async def test_the_connection_that_broke_is_closed_before_the_next(error: Exception) -> None:
    """P05: once, however often the shard was ready."""
    shard: Any = Shard()
    frames.keep(shard)
    frames.keep(shard)
    assert isinstance(error, shard._handled_exceptions)
    await shard._handle_disconnect(error)
    assert shard.done == [4000, type(error)]


async def test_a_lost_connection_is_the_library_s() -> None:
    """P05: nothing is there to be closed."""
    shard: Any = Shard()
    frames.keep(shard)
    await shard._handle_disconnect(OSError())
    assert shard.done == [OSError]
