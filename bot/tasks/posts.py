"""What becomes of tasks, as messages in their conversations; a ``sessions.supervisor.TaskOutbox``.

A parcel is made while its task's end is written, and is a row of the outbox in the same
transaction. Posting it is then nobody's to wait for (``bot.parcels``).
"""

from __future__ import annotations

from dataclasses import replace

from bot import ingress
from bot.client import InglenookBot
from bot.delivery import Delivery, nonce
from bot.gates import texts as gate_texts
from bot.gates.answers import AnswerGates
from bot.parcels import Parcels
from bot.tasks.texts import post_of
from compiler.request import TurnId, UserId
from sessions.inbound import TurnOutcome
from sessions.store.outbox import Parcel
from sessions.supervisor import Ending
from sessions.tasks import Task


class TaskPosts:
    """See ``TaskOutbox``."""

    def __init__(self, bot: InglenookBot, *, delivery: Delivery, parcels: Parcels) -> None:
        self._bot = bot
        self._delivery = delivery
        self._parcels = parcels

    def parcel(self, ending: Ending) -> Parcel | None:
        """Say what is posted of a task; None where nothing is."""
        task, settings = ending.task, self._bot.live.current
        if task.scope.channel_id is None:
            return None
        post = post_of(ending, zone=settings.tasks.timezone, talk=settings.talk)
        if not post.contents:
            return None
        name = TurnId(f"{task.turn_id}:{task.result_code or 'well'}")
        return Parcel(
            key=name,
            channel_id=task.scope.channel_id,
            guild_id=task.scope.guild_id,
            turn_id=task.turn_id,
            run_id=task.run_id,
            contents=post.contents,
            nonces=tuple(nonce(name, part) for part in range(len(post.contents))),
            file_text=post.file_text,
            quotable=not task.result_code,
        )

    async def hold(self, task: Task, outcome: TurnOutcome) -> str:
        """Keep an answer back where its channel wants that (``AnswerGates``)."""
        holds = self._delivery.holds
        if not isinstance(holds, AnswerGates):
            return ""
        owners = self._bot.live.current.discord.owners
        asks = task.scope.user_id or (UserId(ingress.prefixed(int(owners[0]))) if owners else None)
        gate = await holds.keep(replace(task.scope, user_id=asks, message_id=None), outcome)
        if gate is None:
            return ""
        return gate_texts.HELD.format(chars=len(gate_texts.answer_of(gate)))

    def send(self, parcel: Parcel) -> None:
        """Post what is written in the outbox already."""
        self._parcels.post(parcel)
