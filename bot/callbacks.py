"""Discord's answers to what is said to an interaction: read as far as they are needed (P15).

The library makes objects of them before it goes on, and takes a click or a command for failed when
one cannot be made, though Discord has taken our answer and the person has it before him.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import aiohttp
import discord
from discord.webhook.async_ import AsyncWebhookAdapter, async_context

Json: TypeAlias = dict[str, Any]
_ANSWERED: Final = 40060


class Adapter(AsyncWebhookAdapter):
    """The library's way to Discord for interactions."""

    def __init__(self, readable: Callable[[Json], Json]) -> None:
        """Take what gives a message as far as it can be read."""
        super().__init__()  # type: ignore[no-untyped-call]  # the library's
        self._readable = readable

    async def request(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  (the library's)
        """Ask, and give messages as far as they can be read."""
        answer: object = await super().request(*args, **kwargs)
        return self._readable(answer) if isinstance(answer, dict) and "id" in answer else answer

    async def create_interaction_response(  # type: ignore[override]  # the same, awaited here
        self,
        interaction_id: int,
        *args: Any,  # noqa: ANN401  (passed on)
        **kwargs: Any,  # noqa: ANN401  (as well)
    ) -> Json:
        """Answer an interaction; what was made of our answer is nothing that we need to know.

        Where no answer of Discord's can be read, it is asked again: it takes one answer and says
        whether it has it. Nobody waits for ever for what was taken and not known to be.
        """
        answer: object = None
        try:
            answer = await super().create_interaction_response(interaction_id, *args, **kwargs)
        except (aiohttp.ClientError, OSError, ValueError):
            for each in kwargs["params"].files or ():
                each.reset()
            try:
                answer = await super().create_interaction_response(interaction_id, *args, **kwargs)
            except discord.HTTPException as refusal:
                if refusal.code != _ANSWERED:
                    raise
        about = answer.get("interaction") if isinstance(answer, dict) else None
        return {"interaction": {"id": interaction_id, **(about if isinstance(about, dict) else {})}}


def install(readable: Callable[[Json], Json]) -> None:
    """Let what begins from here on use it."""
    async_context.set(Adapter(readable))
