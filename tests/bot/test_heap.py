"""The garbage collector of a running bot."""

from __future__ import annotations

import gc
import subprocess
import sys

from bot.heap import THRESHOLDS, settled

PROGRAM = """
import gc
from bot.heap import THRESHOLDS, settle
before = len(gc.get_objects())
settle()
assert gc.get_threshold() == THRESHOLDS
assert len(gc.get_objects()) < before / 10, "what stood at the start is walked again"
class Ring: ...
ring = Ring(); ring.own = ring; freed = []
import weakref
weakref.finalize(ring, freed.append, 1)
del ring
gc.collect()
assert freed == [1], "later cycles are still found"
print("ok")
"""


def test_what_stands_stays_unwalked_and_later_cycles_are_found() -> None:
    """Issue "bench": no turn waits for a walk over all that the bot is made of."""
    done = subprocess.run(  # noqa: S603 - a process of its own, since this lasts as long as it
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.returncode) == ("ok\n", 0), done.stderr


def test_a_measurement_leaves_the_collector_as_it_was() -> None:
    """What else runs in the process of a benchmark is not touched."""
    before = gc.get_threshold()
    with settled():
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
