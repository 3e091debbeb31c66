"""Tasks in the whole bot: filed by command, run by the clock, told in their conversation."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sessions.supervisor
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH, WORKSHOP
from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer, Hang, ScriptedModel
from bot.playground.server import Playground
from bot.shell.ask_command import Question, ask
from bot.shell.task_home import TaskHome, open_beside
from sessions.task_service import Viewer
from sessions.tasks import TaskRefused
from support.app_world import AppWorld, running

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 120.0
"""Longest wait for a task's word: it starts a pi of its own in a box of its own."""


async def slash(app: AppWorld, user: int, channel: int, command: str, **options: str) -> str:
    """Give a command, and what its answer says to that person alone."""
    told = await app.slash(user, channel, command, **options)
    assert told.ephemeral
    return told.messages[0].content


async def said(app: AppWorld, channel: int, part: str) -> Message:
    """Wait for a message of the imp's that says something."""
    return await app.pg.wait_for_message(
        channel, lambda each: part in each.content, timeout=PATIENCE_SECONDS
    )


def orchard(place: Path) -> Callable[..., str]:
    """Make a repository, and give a way to ask git there."""
    place.mkdir()

    def git(*words: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
        done = subprocess.run(  # noqa: S603
            ("git", *who, *words),  # noqa: S607
            cwd=place,
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout

    git("init", "--quiet", "--initial-branch", "main")
    (place / "apples.txt").write_text("eleven\n")
    git("add", "--all")
    git("commit", "--quiet", "--message", "Count")
    return git


def settings(repository: Path) -> dict[str, Any]:
    return {
        "tasks": {
            "members": "reminders",
            "timezone": "Europe/Berlin",
            "repositories": {"orchard": str(repository)},
        },
        "grants": [
            {"tool": "bash", "verdict": "allow"},
            {"tool": "read", "verdict": "allow"},
            {"tool": "write", "verdict": "gate"},
            {"tool": "file_task", "verdict": "allow"},
        ],
        "channels": {
            "default": {"enabled": True},
            str(WORKSHOP): {"enabled": True, "trusted": True},
        },
        "sessions": {"drain_seconds": 0.5},
    }


async def test_tasks_from_the_command_to_the_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Tasks and direct runs", CC 5: rights, reminders, prompts, code, the shell beside it.

    And over a restart: what ran is told of as interrupted, what was posted is not posted again.
    """
    git = await asyncio.to_thread(orchard, tmp_path / "orchard")
    chosen = settings(tmp_path / "orchard")
    async with Playground() as pg, ScriptedModel() as model:
        async with running(tmp_path / "home", pg, model, chosen) as app:
            await _people_file_what_they_may(app)
            with monkeypatch.context() as patched:  # what this process files wakes who runs it
                patched.setattr(sessions.supervisor, "LOOK_SECONDS", 600.0)
                await _a_prompt_is_answered_in_its_channel(app)
                await _the_imp_files_a_reminder_where_it_was_asked(app)
            await slash(app, ADA, HEARTH, "task add", text="Awake", at="1d")
            await _a_running_bot_answers_the_shell(app)
            await _what_the_shell_asked_for_waits_and_goes_on(app)
            await _a_code_task_works_in_its_box(app, git)
            model.script(Hang())
            before = len(model.requests)
            told = await slash(app, ADA, WORKSHOP, "task add", text="Long.", kind="prompt")
            await model.wait_for_requests(before + 1, within=PATIENCE_SECONDS)
        async with running(tmp_path / "home", pg, model, chosen) as app:
            word = await said(app, WORKSHOP, "interrupted")
            assert told.split("`")[1] in word.content
            assert "interrupted" in await slash(app, ADA, WORKSHOP, "task list", all="true")
            await app.settle()
        for channel in (HEARTH, WORKSHOP):
            contents = [each.content for each in pg.messages(channel)]
            assert len(contents) == len(set(contents)), contents


async def _people_file_what_they_may(app: AppWorld) -> None:
    filed = await slash(app, BO, HEARTH, "task add", text="Stand up", at="in 20m")
    assert filed.startswith("Filed `t-")
    name = filed.split("`")[1]
    assert "Stand up" in await slash(app, BO, HEARTH, "task list")
    assert "No tasks" in await slash(app, BO, DIRECT[BO], "task list")
    assert "Stand up" in await slash(app, ADA, DIRECT[ADA], "task list")
    assert "no such task" in await slash(app, BO, DIRECT[BO], "task show", task=name)
    assert "Europe/Berlin" in await slash(app, BO, HEARTH, "task show", task=name)
    refused = await slash(app, BO, HEARTH, "task add", text="Count", kind="prompt")
    assert "Only my owner" in refused
    assert "span of time" in await slash(app, BO, HEARTH, "task add", text="x", every="soon")
    assert "cancelled" in await slash(app, BO, HEARTH, "task cancel", task=name)
    await slash(app, BO, HEARTH, "task add", text="Drink *tea*")
    assert (await said(app, HEARTH, "⏰")).content == f"⏰ <@{BO}> Drink *tea*"
    assert not app.model.requests, "a reminder asks no model"


async def _a_prompt_is_answered_in_its_channel(app: AppWorld) -> None:
    app.model.script(Answer.of("Twelve apples."))
    await slash(app, ADA, WORKSHOP, "task add", text="Use channel 999: count.", kind="prompt")
    assert (await said(app, WORKSHOP, "Twelve")).content == "Twelve apples."
    (request,) = app.model.requests
    task = json.loads(request.last_user_text.splitlines()[-1])
    assert (task["block"], task["origin"]) == ("task", "person/prompt")
    assert task["text"] == "Use channel 999: count."
    assert f"The run belongs to the channel discord:{WORKSHOP}" in request.system_text
    shown = await slash(app, ADA, WORKSHOP, "runs list")
    assert "done" in shown


async def _a_running_bot_answers_the_shell(app: AppWorld) -> None:
    app.model.script(Answer.of("From the shell."))
    reply = await ask(app.live, Question(text="Who are you?"))
    assert (reply.well, reply.text) == (True, "From the shell.")
    assert "Surface: a direct run" in app.model.requests[-1].system_text
    assert "Who are you?" not in await slash(app, ADA, HEARTH, "task list", all="true")


async def _what_the_shell_asked_for_waits_and_goes_on(app: AppWorld) -> None:
    """The owner approves in Discord; a task hears of it, finds what was done, and is told by id."""
    wish = {"path": "plan.md", "content": "Wood, then tea."}
    app.model.script(
        Answer.call(ToolCall(name="write", arguments=wish)),
        Answer.of("It waits for you."),
        Answer.call(ToolCall(name="read", arguments={"path": "plan.md"})),
        Answer.of("It is written."),
    )
    reply = await ask(app.live, Question(text="Write the plan down."))
    assert (reply.well, reply.text) == (True, "It waits for you.")
    gate = (await slash(app, ADA, HEARTH, "gates list")).split("`")[1]
    await app.slash(ADA, HEARTH, "gates approve", gate=gate)
    async with open_beside(app.live) as home:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (told := await _result(home, f"t-{gate[2:]}")):  # noqa: ASYNC110  (a row)
                await asyncio.sleep(0.05)
    assert told == "It is written."
    results = [each.text for each in app.model.requests[-1].messages if each.role == "tool"]
    assert results[-1] == wish["content"]


async def _result(home: TaskHome, task_id: str) -> str:
    try:
        return await home.service.result(await home.service.show(task_id, Viewer(is_owner=True)))
    except TaskRefused:
        return ""


async def _the_imp_files_a_reminder_where_it_was_asked(app: AppWorld) -> None:
    """The tool names no place: it is the turn's."""
    wish = {"text": "The kettle is on", "kind": "reminder"}
    app.model.script(Answer.call(ToolCall(name="file_task", arguments=wish)), Answer.of("I will."))
    _, answer = await app.ask(BO, WORKSHOP, f"<@{EMBER}> remind us of the kettle")
    assert answer.content == "I will."
    told = await said(app, WORKSHOP, "⏰")
    assert told.content == f"⏰ <@{BO}> The kettle is on"


async def _a_code_task_works_in_its_box(app: AppWorld, git: Callable[..., str]) -> None:
    command = "cat apples.txt; ls -a; echo twelve > apples.txt"
    app.model.script(
        Answer.call(ToolCall(name="bash", arguments={"command": command})), Answer.of("Counted.")
    )
    filed = await slash(
        app, ADA, WORKSHOP, "task add", text="Count again.", kind="code", repository="orchard"
    )
    branch = f"inglenook/{filed.split('`')[1]}"
    told = await said(app, WORKSHOP, "Counted.")
    assert branch in told.content
    results = [each.text for each in app.model.requests[-1].messages if each.role == "tool"]
    assert "eleven" in results[-1]
    assert ".git" not in results[-1].split()
    assert await asyncio.to_thread(git, "show", f"{branch}:apples.txt") == "twelve\n"
    assert await asyncio.to_thread(git, "status", "--porcelain") == ""
    assert (await asyncio.to_thread(git, "worktree", "list")).count("\n") == 1
