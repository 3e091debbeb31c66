"""An interaction acts once: replayed after a reconnect or seen by the next start, it does nothing.

The library hands each one straight to its command, button or form. In front of that stands a note
in the store by the interaction's id; asking takes a moment of the three seconds that there are,
and a store that does not answer in time must not cost the answer, so then the memory of this
process alone decides. Autocomplete changes nothing and passes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import structlog

from compiler.errors import SafeError
from sessions.store.cursors import CursorStore

CLAIM_SECONDS: Final = 0.8
MAX_REMEMBERED: Final = 5_000
_AUTOCOMPLETE: Final = 4
Parse: TypeAlias = Callable[[Any], None]
_log = structlog.get_logger(__name__)


class OnceOnly:
    """Lets each interaction through once."""

    def __init__(self, store: CursorStore, tasks: asyncio.TaskGroup) -> None:
        self._store = store
        self._tasks = tasks
        self._seen: dict[str, None] = {}

    def around(self, parse: Parse) -> Parse:
        """Put the guard in front of the library's own handling of an event's data."""

        def guarded(data: Any) -> None:  # noqa: ANN401  (Discord's JSON)
            if data["type"] == _AUTOCOMPLETE:
                parse(data)
                return
            interaction_id = str(data["id"])
            if interaction_id in self._seen:
                _log.info("interaction.repeated", interaction_id=interaction_id)
                return
            if len(self._seen) >= MAX_REMEMBERED:
                del self._seen[next(iter(self._seen))]
            self._seen[interaction_id] = None
            self._tasks.create_task(self._claim(interaction_id, parse, data), name="interaction")

        return guarded

    async def _claim(self, interaction_id: str, parse: Parse, data: Any) -> None:  # noqa: ANN401
        try:
            async with asyncio.timeout(CLAIM_SECONDS):
                is_new = await self._store.claim_interaction(
                    interaction_id, now_ms=time.time_ns() // 1_000_000
                )
        except (SafeError, TimeoutError):
            _log.warning("interaction.unrecorded", interaction_id=interaction_id)
            is_new = True
        if not is_new:
            _log.info("interaction.repeated", interaction_id=interaction_id)
            return
        try:
            parse(data)
        except Exception as error:  # noqa: BLE001  (logged; one broken event must not end the bot)
            _log.error("interaction.broken", kind=type(error).__name__)
