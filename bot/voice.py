"""The imp's further messages of a turn (``reply``), posted while the turn goes on.

Each is a parcel of its own, named by its turn and its number in it, so that it is posted once over
any restart. It goes where the turn's own scope says, as a reply to the message that the turn
answers, in the lane of that channel's answers: what was said first stands first. Posting is work of
the bot's, not of the call: a call that ends early leaves no half-sent message behind.
"""

from __future__ import annotations

import asyncio
from typing import Final

from bot.delivery import nonce
from bot.parcels import Parcels
from bot.split import split
from config.load import LiveConfig
from sessions.store.outbox import Parcel
from sessions.tools.call import ToolTurn
from sessions.tools.talk import Said
from sessions.visible import is_visible
from sessions.workspace_files import WorkspaceFile

PATIENCE_SECONDS: Final = 4.0
"""A Discord in trouble is waited for by the message, not by the model; its call ends sooner."""


class DiscordVoice:
    """See ``sessions.tools.talk.Voice``."""

    def __init__(self, live: LiveConfig, parcels: Parcels) -> None:
        self._live = live
        self._parcels = parcels

    async def say(
        self, turn: ToolTurn, number: int, text: str, files: tuple[WorkspaceFile, ...]
    ) -> Said:
        """Post a message in the turn's conversation."""
        scope, settings = turn.scope, self._live.current
        if scope.channel_id is None:
            return Said.FAILED
        here = self._live.channel(scope.channel_id, scope.parent_channel_id, is_dm=scope.is_dm)
        if here.holds_replies and not scope.is_dm:
            return Said.HELD
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        contents = tuple(part.text for part in split(text) if is_visible(part.body))
        if len(contents) > settings.talk.max_parts:
            return Said.TOO_LONG
        contents = contents or ("",)  # files alone
        parcel = Parcel(
            key=f"say:{turn.turn_id}:{number}",
            channel_id=scope.channel_id,
            guild_id=scope.guild_id,
            reply_to=scope.message_id,
            turn_id=turn.turn_id,
            run_id=turn.run_id,
            contents=contents,
            nonces=tuple(
                nonce(turn.turn_id, f"say {number} {part}") for part in range(len(contents))
            ),
            files=files,
            quotable=is_visible(text),
            settles=False,
        )
        posting = self._parcels.post(parcel)
        done, _ = await asyncio.wait({posting}, timeout=PATIENCE_SECONDS)
        if not done:
            return Said.ON_ITS_WAY
        return Said.POSTED if posting.result() else Said.FAILED
