"""What people allow, with the defaults where they have said nothing.

In direct messages notes are the person's own, so remembering is on; in a channel each note about a
person waits for his click; private notes are used in no channel. Answers are held in memory, since
every selection asks.

A word may end by itself, and the wall clock may jump. Once it was seen to be over, a word that
allows more than the default stays over, wherever the clock goes; one that allows less holds at
every moment before its end.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from compiler.request import ChannelId, ImpName, UserId
from sessions.store.consent import Consent, ConsentLevel, ConsentStore, Purpose

_HELD: Final = 4_096
_ORDER: Final = (ConsentLevel.OFF, ConsentLevel.ASK, ConsentLevel.ON)
"""From what allows least to what allows most."""
_Key = tuple[ImpName, UserId, ChannelId | None, Purpose]


class ConsentBook:
    """Answers what holds now; every method raises ``StoreUnavailable``."""

    def __init__(self, store: ConsentStore) -> None:
        self._store = store
        self._last: OrderedDict[_Key, Consent | None] = OrderedDict()

    async def word(
        self,
        imp: ImpName,
        user_id: UserId,
        channel_id: ChannelId | None,
        purpose: Purpose,
        now_ms: int,
    ) -> Consent | None:
        """Give the person's last word, if it still holds."""
        key = (imp, user_id, channel_id, purpose)
        if key not in self._last:
            # A word that was given while this was read counts, not what was read.
            self._last.setdefault(key, await self._store.last(*key))
        self._last.move_to_end(key)
        last = self._last[key]
        while len(self._last) > _HELD:
            self._last.popitem(last=False)
        if last is None or last.holds(now_ms):
            return last
        if _ORDER.index(last.level) > _ORDER.index(default_level(channel_id, purpose)):
            self._last[key] = None
        return None

    async def level(
        self,
        imp: ImpName,
        user_id: UserId,
        channel_id: ChannelId | None,
        purpose: Purpose,
        now_ms: int,
    ) -> ConsentLevel:
        """Give what holds, the default included."""
        word = await self.word(imp, user_id, channel_id, purpose, now_ms)
        return default_level(channel_id, purpose) if word is None else word.level

    async def put(self, consent: Consent) -> None:
        """Take a person's word."""
        await self._store.put(consent)
        key = (consent.imp, consent.user_id, consent.channel_id, consent.purpose)
        self._last[key] = consent


def default_level(channel_id: ChannelId | None, purpose: Purpose) -> ConsentLevel:
    """Say what holds for somebody who has said nothing."""
    if purpose is Purpose.SHARE:
        return ConsentLevel.OFF
    return ConsentLevel.ON if channel_id is None else ConsentLevel.ASK
