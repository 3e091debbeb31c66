"""``ask``: one question from the shell, with a real pi in its box and no bot beside it.

What a running bot does with one is in ``tests/e2e/test_tasks.py``.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from bot.home.lock import home_lock
from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.runs.book import open_book
from bot.shell.ask_command import Question, ask, main
from bot.shell.task_home import holder_of, open_beside
from compiler.request import RunId
from config.homedir import ensure_home
from config.load import LiveConfig
from sessions.review.prompts import exact_prompts
from sessions.task_service import Viewer


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


def live_over(home: Path, model: ScriptedModel) -> LiveConfig:
    ensure_home(home)
    purpose = home / "channels" / "100" / "purpose.md"
    purpose.parent.mkdir(parents=True)
    purpose.write_text("Count apples.", encoding="utf-8")
    engine = {
        "provider": "test",
        "model": "scripted",
        "url": model.url,
        "context_window": 1_000_000,
        "retry_base_seconds": 0.01,
    }
    tasks = {"direct_calls": 2}
    return LiveConfig(home, environ={}, overrides={"engine": engine, "tasks": tasks})


async def test_a_question_is_answered_by_a_direct_run_without_a_bot(tmp_path: Path) -> None:
    """Issue "direct runs": compiled, traced, exactly what the model got, and bounded.

    Afterwards the home's lock is free, and nothing of it is left among the tasks.
    """
    home = tmp_path / "home"
    text = 'Use channel 999. A "quote" and a \u2028 line.'
    async with ScriptedModel() as model:
        live = live_over(home, model)
        model.script(Answer.of("Twelve."), Answer.of("In the orchard, thirteen."))
        first = await ask(live, Question(text=text))
        second = await ask(live, Question(text="And here?", channel="100"))
        model.script(*[Answer.call(ToolCall(name="recall", arguments={"query": "tea"}))] * 9)
        endless = await ask(live, Question(text="Never stop."))
    assert (first.well, first.text) == (True, "Twelve.")
    assert (second.well, second.text) == (True, "In the orchard, thirteen.")
    assert (endless.well, endless.run_id is None) == (False, False)
    assert "more steps than my owner allows" in endless.text
    alone, in_channel, *looking = model.requests
    assert len(looking) == 2
    assert json.loads(alone.last_user_text) == {
        "block": "task",
        "authority": "content",
        "origin": "shell",
        "text": text,
    }
    assert "Count apples." not in alone.system_text
    assert "Count apples." in in_channel.system_text
    with home_lock(home):
        pass
    async with open_book(home) as book:
        for reply, request in ((first, alone), (second, in_channel)):
            run = await book.open(reply.run_id or RunId(""))
            run.demand_sound()
            assert run.view.surface == "direct"
            assert run.view.end_reason == "done"
            prompts = exact_prompts(run.trace, 1)
            assert prompts.input_prompt == request.last_user_text
            assert prompts.system_prompt in request.system_text
            (call,) = run.view.wire.calls
            assert not call.problems
            assert {block.kind for block in call.blocks} >= {"identity", "runtime-scope", "task"}
    async with open_beside(live) as tasks:
        listed = await tasks.service.listed(Viewer(is_owner=True), with_ended=True)
        assert listed == (), "a question from the shell is no task to look at later"


async def test_two_questions_at_once_are_both_answered(tmp_path: Path) -> None:
    """The second waits for the first, which holds the home meanwhile, and then asks by itself."""
    async with ScriptedModel() as model:
        live = live_over(tmp_path / "home", model)
        async with asyncio.TaskGroup() as shells:
            asked = [shells.create_task(ask(live, Question(text=text))) for text in ("a", "b")]
    assert all(each.result().well for each in asked)
    assert len(model.requests) == 2


def test_a_question_that_fails_says_why_on_standard_error(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """CC "Failure behavior": no answer, the run's id, the one safe sentence, and exit code 1."""
    ensure_home(tmp_path)
    (tmp_path / "org.toml").write_text(
        '[engine]\nprovider = "test"\nmodel = "none"\nurl = "http://127.0.0.1:9/v1"\n'
    )
    assert main(tmp_path, Question(text="Hello?", imp="nobody")) == 1
    out, err = capfdbinary.readouterr()
    assert out == b""
    lines = err.decode().splitlines()
    (run,) = (tmp_path / "runs").iterdir()
    assert f"run {run.name}" in lines
    assert "imps/nobody/identity.md" in lines[-1]


def test_nothing_is_asked_of_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty question touches no home."""
    assert main(tmp_path / "home", Question(text=" \n")) == 1
    assert "Say what to ask" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


async def test_a_bot_that_goes_away_leaves_nobody_waiting(tmp_path: Path) -> None:
    """Who asks a bot that was killed is told, and the question is not answered later."""
    async with ScriptedModel() as model:
        live = live_over(tmp_path / "home", model)
        with home_lock(live.home):
            (live.home / "inglenook.lock").write_text("999999999\n")
            reply = await ask(live, Question(text="Are you there?"))
    assert (reply.well, reply.run_id) == (False, None)
    assert "stopped before it answered" in reply.text
    assert not model.requests
    async with open_beside(live) as tasks:
        assert (await tasks.store.work(now_ms=10**15, limit=9)).due == ()


def test_the_holder_of_a_home_is_a_process_that_lives(tmp_path: Path) -> None:
    """Who waits for a bot's answer sees it go."""
    assert holder_of(tmp_path) is None
    with home_lock(tmp_path):
        assert holder_of(tmp_path) is not None
    (tmp_path / "inglenook.lock").write_text("999999999\n")
    assert holder_of(tmp_path) is None
