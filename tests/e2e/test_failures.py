"""What people and owners hear when the model, pi or the network fails."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from bot.errors import SOMETHING_BROKE
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH
from bot.playground.scripted_model import Hang, HttpError
from sessions import trace
from sessions.exchange import ExchangeResult, TurnExchange
from sessions.house import keeper as rule_keeper
from support.app_world import AppWorld

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ME = f"<@{EMBER}>"


def answers(asked: Message) -> Callable[[Message], bool]:
    return lambda message: message.reply_to == asked.id


async def test_what_fails_is_told_and_passes(
    app: AppWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P24's kind: a full disk, a fault of ours: no model input, one line, and it passes by itself.

    svkozak/pi-acp#98: an error without text is a notice with a run id. A refused key is asked once,
    whatever its words, and the owner hears of it. Nothing of a fault's own words is shown.
    """

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "CANARY")

    def broken(*_: object) -> None:
        raise RuntimeError("CANARY")

    with monkeypatch.context() as patched:
        patched.setattr(trace, "_write_all", full)
        _, of_disk = await app.ask(BO, HEARTH, f"{ME} hello")
    with monkeypatch.context() as patched:
        patched.setattr(rule_keeper, "judge", broken)
        _, of_us = await app.ask(BO, HEARTH, f"{ME} use docker")
    assert app.prompts == []
    words = '{"error": {"message": "Provider returned error: overloaded CANARY"}}'
    app.model.script(HttpError(status=401, body=words))
    _, of_key = await app.ask(BO, HEARTH, f"{ME} hello again")
    assert len(app.model.requests) == 1
    to_owner = await app.pg.wait_for_message(DIRECT[ADA], after=0)
    _, answer = await app.ask(BO, HEARTH, f"{ME} and now?")
    assert "and now?" in answer.content
    told = (of_disk, of_us, of_key, to_owner)
    beginnings = (
        "I could not write my record of this",
        SOMETHING_BROKE,
        "My model does not let me in. The owner has to look at its key. (run `",
        "⚠️ `test` does not accept the key of my model (run `",
    )
    for each, beginning in zip(told, beginnings, strict=True):
        assert each.content.startswith(beginning)
        assert "CANARY" not in each.content


async def test_a_hung_or_dead_engine_is_told_and_what_waited_is_answered(
    app: AppWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P22, and earendil-works/pi#4764: a notice at the limit, and at once when it dies."""
    exchanges: list[TurnExchange] = []
    run = TurnExchange.run

    async def noted(self: TurnExchange, *given: Any) -> ExchangeResult:  # noqa: ANN401 - as they come
        exchanges.append(self)
        return await run(self, *given)

    monkeypatch.setattr(TurnExchange, "run", noted)
    app.model.script(Hang())
    hung = await app.pg.say(BO, HEARTH, f"{ME} first")
    await app.model.wait_for_requests(1)
    waiting = [await app.pg.say(BO, HEARTH, f"{ME} {word}") for word in ("second", "third")]
    timeout = exchanges[0]._timeout
    assert timeout is not None
    timeout.reschedule(0.0)  # the time of the turn is over
    said = ("That took too long", "second", "third")
    for each, words in zip((hung, *waiting), said, strict=True):
        told = await app.pg.wait_for_message(HEARTH, answers(each), after=hung)
        assert words in told.content
    replies = [m.reply_to for m in app.pg.messages(HEARTH) if m.author_id == EMBER]
    assert sorted(each or 0 for each in replies) == [hung.id, *(each.id for each in waiting)], (
        "nothing more"
    )
    assert ["second" in prompt for prompt in app.prompts] == [False, True, False], "in order"

    app.model.script(Hang())
    before = len(app.model.requests)
    asked = await app.pg.say(BO, HEARTH, f"{ME} hello")
    await app.model.wait_for_requests(before + 1)
    family = psutil.Process().children(recursive=True)
    engines = [each for each in family if not each.children()]  # what stands around it ends with it
    assert engines
    for engine in engines:
        engine.kill()
    told = await app.pg.wait_for_message(HEARTH, answers(asked), after=asked)
    assert "run `" in told.content
    _, answer = await app.ask(BO, HEARTH, f"{ME} and now?")
    assert "and now?" in answer.content
    traced = [
        json.loads(line)
        for path in app.home.glob("runs/*/context.jsonl")
        for line in path.read_text().splitlines()
    ]
    (died,) = (each for each in traced if each.get("error_code") == "pi_exited")
    assert died["exit_code"]
