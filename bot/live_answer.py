"""The message that stands in the channel while a turn runs, and becomes its answer.

It appears when there is something to show: the first words of the answer where ``[talk] stream``
is on, or after ``stop_button_seconds`` a line that says that the turn runs still. Under it is the
Stop button. While the answer grows the message is edited, at most once a second, and what does not
fit into it goes on in further messages. The end of the turn is not shown here: ``Delivery`` makes
the same messages into the answer, whole, or into the one line that says why there is none.

Each of these messages is written down before it is sent, under a key of its turn, so that the next
start finds what a killed host left and turns it into an honest line.

A draft is worth one attempt: an edit that meets a rate limit or an outage is left out, and the
next one shows what has come meanwhile.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

import structlog

from bot.delivery import Delivery, Target
from bot.posts import compose
from bot.sending import FAILURES, describe_failure, is_passing
from bot.split import LIMIT_UNITS
from bot.stop_button import stop_view
from compiler.request import MessageId, TurnId
from sessions.draft import Draft
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.limits import TalkSettings
from sessions.ticket import Ticket

WORKING: Final = "Working on it ..."
EDIT_SECONDS: Final = 1.0
"""Between two changes of what is shown, however fast the answer grows."""
GIVE_UP_SECONDS: Final = 10.0
"""Longest wait for one edit, the library's own waits for rate limits included."""
HURRY_SECONDS: Final = 0.5
"""So long at most an edit on its way may hold up the answer itself."""
_log = structlog.get_logger(__name__)


def shown_of(text: str, talk: TalkSettings) -> tuple[str, ...]:
    """Give the messages that show a growing answer; none where it becomes a file."""
    if len(text) > talk.max_parts * LIMIT_UNITS:
        return ()
    draft = TurnOutcome(kind=OutcomeKind.REPLIED, run_id=None, turn_id=TurnId(""), text=text)
    post = compose(draft, addressed=False, talk=talk)
    return () if post.file_text is not None else post.contents


class LiveAnswer:
    """What is shown of one running turn."""

    def __init__(
        self,
        message: Target,
        ticket: Ticket,
        *,
        asker: int,
        delivery: Delivery,
        talk: TalkSettings,
        streams: bool,
    ) -> None:
        """Take what the turn answers, and how it may be shown.

        Args:
            message: the message that the turn answers.
            ticket: the promise of its outcome.
            asker: whose it is; he may press Stop.
            delivery: posts.
            talk: the settings, as they are for this turn to its end.
            streams: whether the answer may be shown before it is whole.
        """
        self._message = message
        self._ticket = ticket
        self._delivery = delivery
        self._talk = talk
        self._stop = (message.id, asker)
        self._news = asyncio.Event()
        self._shown: list[str] = []
        self._edit: asyncio.Timeout | None = None
        self.messages: list[MessageId] = []
        """The messages that stand for the turn, in order."""
        self.has_words = False
        """Whether words of the answer are shown, not only that it is being worked on."""
        self.unsure = False
        """Whether one more may stand there: it was sent, and nobody knows whether it arrived."""
        ticket.watch(self._wake)
        if streams and talk.stream:
            ticket.draft = Draft(self._news.set)

    async def follow(
        self,
        lane: Callable[[], AbstractAsyncContextManager[None]],
        on_post: Callable[[], Awaitable[None]],
    ) -> None:
        """Show the turn until it has its outcome; ``lane`` keeps the order of the channel.

        ``on_post`` is called before the first message: it takes the place of the typing sign.
        """
        while not (self._ticket.begun or self._ticket.done):
            await self._change(math.inf)
        due = time.monotonic() + (self._talk.stop_button_seconds or math.inf)
        while not (self._ticket.done or (contents := self._contents(due))):
            await self._change(due - time.monotonic())
        if self._ticket.done:
            return
        await on_post()
        goes_on = await self._post(contents[0], lane)
        while goes_on and self._ticket.draft is not None and not self._ticket.done:
            await self._rest()
            goes_on = await self._show(self._contents(due), lane)
            await self._change(math.inf)

    def _wake(self) -> None:
        self._news.set()
        if self._ticket.done and self._edit is not None and not self._edit.expired():
            self._edit.reschedule(asyncio.get_running_loop().time() + HURRY_SECONDS)

    async def _change(self, seconds: float) -> None:
        """Wait until something has changed, at most so long."""
        try:
            async with asyncio.timeout(None if seconds == math.inf else max(0.0, seconds)):
                await self._news.wait()
        except TimeoutError:
            return
        if not self._ticket.done:  # an end is told to whoever asks
            self._news.clear()

    async def _rest(self) -> None:
        """Let a moment pass before the next edit, but never after the end."""
        try:
            async with asyncio.timeout(EDIT_SECONDS):
                await self._ticket.outcome()
        except TimeoutError:
            return

    def _contents(self, due: float) -> tuple[str, ...]:
        draft = self._ticket.draft
        shown = shown_of(draft.text, self._talk) if draft is not None else ()
        return shown or ((WORKING,) if time.monotonic() >= due else ())

    async def _show(
        self, contents: tuple[str, ...], lane: Callable[[], AbstractAsyncContextManager[None]]
    ) -> bool:
        """Bring what is shown up to date; False if there is nothing more to be shown."""
        if self._ticket.done or not contents:
            return True
        goes_on = len(contents) > len(self._shown)
        for number, content in enumerate(contents[: len(self._shown)]):
            is_last = number == len(self._shown) - 1
            if content != self._shown[number] or (is_last and goes_on):
                button = is_last and not goes_on
                if not await self._change_message(number, content, button=button):
                    return False
        return not goes_on or await self._post(contents[len(self._shown)], lane)

    async def _post(
        self, content: str, lane: Callable[[], AbstractAsyncContextManager[None]]
    ) -> bool:
        async with lane():
            if self._ticket.done:
                return True
            inbound = self._ticket.inbound
            shown = await self._delivery.live.show(
                self._message,
                inbound.scope,
                inbound.turn_id,
                number=len(self._shown),
                text=content,
                button=stop_view(*self._stop),
                pings=self._talk.ping_asker and content != WORKING and not self._shown,
            )
        self.unsure = shown.unsure
        if shown.message_id is None:
            return False
        self._shown.append(content)
        self.has_words = content != WORKING
        self.messages.append(shown.message_id)
        return True

    async def _change_message(self, number: int, content: str, *, button: bool) -> bool:
        """Edit a message of ours, or leave that out; False if it is gone, or may not be edited."""
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS) as self._edit:
                await self._delivery.live.edit(
                    self._message.channel,
                    self.messages[number],
                    content,
                    stop_view(*self._stop) if button else None,
                )
        except FAILURES as failure:
            _log.info("draft.not_shown", failure=describe_failure(failure))
            return is_passing(failure)
        finally:
            self._edit = None
        self._shown[number], self.has_words = content, True
        return True
