"""Tasks in words: what a channel reads of one, and what people read of their list. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bot.errors import with_run
from bot.posts import Post, compose
from compiler.canonical_json import JsonValue
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.limits import TalkSettings
from sessions.schedule import MAX_MISSED, moment_words, schedule_words
from sessions.supervisor import Ending
from sessions.task_run import Done
from sessions.tasks import (
    DEPENDENCY_FAILED,
    HOST_KILLED,
    Task,
    TaskKind,
    TaskState,
    says_nothing,
)
from sessions.turn import HaltReason

LATE_MS: Final = 10 * 60_000
"""What comes later than this says for when it was."""
TEXT_CHARS: Final = 60
NO_TASKS: Final = "No tasks. File one with /task add."
NO_SHELL_TASKS: Final = "No tasks. File one with: task add"
INTERRUPTED: Final = (
    "A restart interrupted task `{task}`, and it was not run again. `/task retry` runs it."
)
NOT_RUN: Final = "Task `{task}` was not run: a task that it comes after did not end well."
FAILED: Final = "Task `{task}` failed: {reason}"
NOTHING_FOUND: Final = "Task `{task}` is done; there is nothing to say."


def post_of(ending: Ending, *, zone: str, talk: TalkSettings) -> Post:
    """Decide what a channel reads of a task that has just changed."""
    task, done = ending.task, ending.done
    if task.result_code == DEPENDENCY_FAILED:
        return _line(NOT_RUN.format(task=task.task_id))
    if done is None:
        interrupted = task.state is TaskState.INTERRUPTED
        return _line(INTERRUPTED.format(task=task.task_id)) if interrupted else Post(contents=())
    if task.state is TaskState.CANCELLED or task.result_code == HaltReason.STOPPED:
        return Post(contents=())
    if done.held:
        return _line(done.held)
    if done.outcome is None:
        return compose(_reminder(task, done, zone), talk=talk)
    if done.outcome.kind is OutcomeKind.REPLIED:
        return _answer(task, done, done.outcome, talk)
    if done.outcome.kind is OutcomeKind.SILENT:
        quiet = task.kind is TaskKind.HEARTBEAT or done.outcome.chose_silence or done.outcome.said
        nothing = " ".join(filter(None, (NOTHING_FOUND.format(task=task.task_id), done.note)))
        return Post(contents=()) if quiet else _line(nothing)
    if task.repeats and done.before == task.result_code:
        return Post(contents=())  # it was told when it began to fail so
    reason = done.outcome.safe_message or task.result_code
    return _line(with_run(FAILED.format(task=task.task_id, reason=reason), task.run_id))


def _answer(task: Task, done: Done, outcome: TurnOutcome, talk: TalkSettings) -> Post:
    if task.kind is TaskKind.HEARTBEAT and says_nothing(outcome.text):
        return Post(contents=())
    text = f"{outcome.text}\n\n{done.note}" if done.note else outcome.text
    return compose(_said(task, text), talk=talk)


def _reminder(task: Task, done: Done, zone: str) -> TurnOutcome:
    person = task.scope.user_id
    to = "" if task.scope.is_dm or person is None else f"<@{person.rpartition(':')[2]}> "
    text = f"⏰ {to}{task.text}"
    if done.late_ms > LATE_MS or task.missed:
        more = ""
        if task.missed:
            count = f"{task.missed} or more" if task.missed >= MAX_MISSED else str(task.missed)
            more = f", and {count} more time{'' if task.missed == 1 else 's'} since"
        text += f"\n-# This was for {moment_words(done.due_ms, zone)}{more}; I was away."
    return _said(task, text)


def _said(task: Task, text: str) -> TurnOutcome:
    return TurnOutcome(
        kind=OutcomeKind.REPLIED, run_id=task.run_id, turn_id=task.turn_id, text=text
    )


def _line(text: str) -> Post:
    return Post(contents=(text,))


# For those who look.


def list_text(tasks: Sequence[Task], zone: str, *, none: str = NO_TASKS) -> str:
    """Tell tasks, one a line."""
    if not tasks:
        return none
    rows = [("TASK", "KIND", "STATE", "NEXT", "TEXT")]
    rows += [
        (
            task.task_id,
            task.kind.value,
            state_words(task),
            moment_words(task.due_ms, zone).removesuffix(f" ({zone})"),
            _short(task.text),
        )
        for task in tasks
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    lines = [
        " ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]))
        for row in rows
    ]
    return "\n".join((*lines, f"Times are of {zone}."))


def state_words(task: Task) -> str:
    """Say what a task is; of one that repeats, how its last run went."""
    if task.state is TaskState.QUEUED and task.result_code:
        return "retrying" if task.result_code == HOST_KILLED else "failing"
    if task.state is TaskState.RUNNING and task.cancelled:
        return "ending"
    return task.state.value


def show_text(task: Task, zone: str, *, result: str = "") -> str:
    """Tell one task whole."""
    rows = [
        ("Task", f"{task.task_id}, {task.kind.value}"),
        ("State", state_words(task)),
        ("When", schedule_words(task.schedule, zone)),
        ("Next" if task.state is TaskState.QUEUED else "Due", moment_words(task.due_ms, zone)),
        ("Imp", task.imp),
        ("Where", _where(task)),
        ("Filed", f"{moment_words(task.filed_ms, zone)}, by {_filer(task)}"),
        ("Runs", str(task.runs)),
    ]
    optional = (
        ("After", ", ".join(task.after)),
        ("In", task.repository),
        ("Run", task.run_id or ""),
        ("Ended", moment_words(task.ended_ms, zone) if task.ended_ms else ""),
        ("Failed", task.result_code),
        ("Missed", str(task.missed) if task.missed else ""),
    )
    rows += [row for row in optional if row[1]]
    told = "\n".join(f"{name:<7} {value}" for name, value in rows)
    return "\n\n".join(filter(None, (told, task.text, result and f"Result:\n{result}")))


def filed_text(task: Task, zone: str) -> str:
    """Answer whoever filed a task."""
    when = "now" if task.due_ms <= task.filed_ms else moment_words(task.due_ms, zone)
    if task.state is TaskState.WAITING:
        when = "after " + ", ".join(f"`{each}`" for each in task.after)
    elif task.repeats:
        when = f"{schedule_words(task.schedule, zone)}; next {moment_words(task.due_ms, zone)}"
    return f"Filed `{task.task_id}`: {when}."


def changed_text(task: Task, zone: str) -> str:
    """Answer whoever cancelled or retried a task."""
    if task.state is TaskState.QUEUED:
        return f"`{task.task_id}` runs again: {moment_words(task.due_ms, zone)}."
    if task.state is TaskState.CANCELLED:
        return f"`{task.task_id}` is cancelled."
    return f"`{task.task_id}` runs just now; it ends soon."


def task_document(task: Task) -> dict[str, JsonValue]:
    """Give one task for programs."""
    return {
        "task_id": task.task_id,
        "kind": task.kind.value,
        "state": task.state.value,
        "imp": task.imp,
        "channel_id": task.scope.channel_id,
        "user_id": task.scope.user_id,
        "origin": task.origin,
        "text": task.text,
        "schedule": schedule_words(task.schedule, "UTC"),
        "due": moment_words(task.due_ms, "UTC"),
        "after": list(task.after),
        "repository": task.repository,
        "runs": task.runs,
        "run_id": task.run_id,
        "result_code": task.result_code,
    }


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS else f"{line[: TEXT_CHARS - 1]}…"


def _where(task: Task) -> str:
    channel = task.scope.channel_id
    if channel is None:
        return "no channel"
    return f"direct message {channel}" if task.scope.is_dm else f"channel {channel}"


def _filer(task: Task) -> str:
    person = task.scope.user_id
    return task.origin if person is None else f"{task.origin} for {person}"
