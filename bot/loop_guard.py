"""How often bots are answered in one channel, so that two of them never thank each other for ever.

Pure but for its memory: times come in. People's messages do not count and open nothing: a bot that
was answered as often as it may be waits until the window has passed (P10).
"""

from __future__ import annotations

from collections import deque

MAX_CHANNELS = 1_000
"""Channels remembered; the one that was quiet for longest is forgotten first."""


class LoopGuard:
    """Counts turns of bots by channel."""

    def __init__(self) -> None:
        self._turns: dict[int, deque[float]] = {}

    def admits(self, channel_id: int, *, now: float, turns: int, window_seconds: float) -> bool:
        """Count one more turn of a bot if it is within the limit, and say whether it is."""
        times = self._turns.pop(channel_id, deque())
        while times and now - times[0] >= window_seconds:
            times.popleft()
        self._turns[channel_id] = times
        if len(self._turns) > MAX_CHANNELS:
            del self._turns[next(iter(self._turns))]
        if len(times) >= turns:
            return False
        times.append(now)
        return True
