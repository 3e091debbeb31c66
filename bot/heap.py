"""The garbage collector of a process that is one bot's, from its start to its end.

Python's settings suit short scripts: every 700 new objects it looks for cycles, and now and then it
walks all there are, which stopped a turn for 50 ms and more. Compiling one turn makes some thousand
objects, and none of them is in a cycle.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THRESHOLDS: Final = (10_000, 20, 50)
"""New objects before the youngest are looked at, and how many such looks before the older ones."""


def settle() -> None:
    """Let what stands now stay unwalked for good, and look at new objects less often."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


@contextmanager
def settled() -> Iterator[None]:
    """Let a block measure what it costs in such a process."""
    before = gc.get_threshold()
    settle()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
