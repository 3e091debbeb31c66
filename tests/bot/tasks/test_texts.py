"""Tasks in words: what a channel reads of an end, and what it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.tasks.texts import changed_text, filed_text, list_text, post_of, show_text, task_document
from compiler.request import ChannelId, ImpName, Place, RunId, RunScope, UserId
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.limits import TalkSettings
from sessions.schedule import Every, Once, Schedule
from sessions.supervisor import Ending
from sessions.task_run import Done
from sessions.tasks import Task, TaskId, TaskKind, TaskState, begin, cancel, file_task, finish

GROUP = RunScope(
    provider="discord",
    place=Place.GROUP,
    channel_id=ChannelId("discord:100"),
    user_id=UserId("discord:8"),
)
DM = replace(GROUP, place=Place.DM)
HALF_PAST_EIGHT = 1_796_023_800_000
HOURLY = Every(seconds=3_600, first_ms=HALF_PAST_EIGHT)
ZONE = "Europe/Berlin"


def filed(
    kind: TaskKind = TaskKind.REMINDER,
    schedule: Schedule = Once(at_ms=HALF_PAST_EIGHT),  # noqa: B008  (frozen)
    *,
    scope: RunScope = GROUP,
    after: tuple[TaskId, ...] = (),
) -> Task:
    return file_task(
        TaskId("t-abc"),
        kind=kind,
        imp=ImpName("ember"),
        scope=scope,
        origin="person",
        text="Drink *tea*",
        schedule=schedule,
        now_ms=HALF_PAST_EIGHT - 1_000,
        after=after,
        repository="orchard" if kind is TaskKind.CODE else "",
    )


def said(text: str, kind: OutcomeKind = OutcomeKind.REPLIED, **more: object) -> TurnOutcome:
    return TurnOutcome(
        kind=kind,
        run_id=RunId("run-1"),
        turn_id=filed().turn_id,
        text=text if kind is OutcomeKind.REPLIED else "",
        safe_message="" if kind is OutcomeKind.REPLIED else text,
        **more,  # type: ignore[arg-type]
    )


def read(task: Task, done: Done | None, *, failure: str = "", late_ms: int = 0) -> str:
    """What the channel reads of a task that was begun so late and ended so."""
    begun = begin(task, RunId("run-1"), now_ms=task.due_ms + late_ms)
    ended = finish(begun, now_ms=begun.due_ms + late_ms, failure=failure)
    if done is not None:
        done = replace(done, due_ms=begun.due_ms, late_ms=late_ms)
    return "\n".join(
        post_of(Ending(task=ended, done=done), zone=ZONE, talk=TalkSettings()).contents
    )


def test_a_reminder_reads_well_where_it_is_read() -> None:
    """Issue: "⏰ …"; with its person's name in a channel, and with its time when that is past."""
    assert read(filed(), Done()) == "⏰ <@8> Drink *tea*"
    assert read(filed(scope=DM), Done()) == "⏰ Drink *tea*"
    late = read(filed(scope=DM), Done(), late_ms=3 * 3_600_000)
    assert late.splitlines() == [
        "⏰ Drink *tea*",
        "-# This was for 2026-11-30 08:30 (Europe/Berlin); I was away.",
    ]
    missed = read(filed(scope=DM, schedule=HOURLY), Done(), late_ms=3 * 3_600_000 + 1)
    assert missed.endswith("and 3 more times since; I was away.")


def test_answers_are_posted_and_silence_is_not() -> None:
    """Heartbeat tasks are "silent when nothing to say"."""
    assert read(filed(TaskKind.PROMPT), Done(outcome=said("Twelve."))) == "Twelve."
    noted = Done(outcome=said("Twelve."), note="It changed no file.")
    assert read(filed(TaskKind.CODE), noted) == "Twelve.\n\nIt changed no file."
    for answer in ("NOTHING", "nothing."):
        assert not read(filed(TaskKind.HEARTBEAT, HOURLY), Done(outcome=said(answer)))
    assert read(filed(TaskKind.HEARTBEAT, HOURLY), Done(outcome=said("Tea!"))) == "Tea!"
    silent = said("", OutcomeKind.SILENT)
    assert "nothing to say" in read(filed(TaskKind.PROMPT), Done(outcome=silent))
    assert not read(filed(TaskKind.HEARTBEAT, HOURLY), Done(outcome=silent))
    chosen = said("", OutcomeKind.SILENT, chose_silence=True)
    assert not read(filed(TaskKind.PROMPT), Done(outcome=chosen))


def test_a_failure_is_told_once_in_a_row() -> None:
    """One that repeats does not fill its channel with the same line."""
    failed = Done(outcome=said("The source is gone.", OutcomeKind.FAILED))
    line = "Task `t-abc` failed: The source is gone. (run `run-1`)"
    assert read(filed(TaskKind.PROMPT), failed, failure="x") == line
    first = filed(TaskKind.PROMPT, HOURLY)
    assert read(first, failed, failure="x") == line
    again = replace(failed, before="x")
    assert not read(first, again, failure="x")
    assert read(first, again, failure="y") == line


def test_what_was_cut_off_held_or_never_begun() -> None:
    """Nothing of a cancelled task; one line of each other."""
    task = filed(TaskKind.PROMPT)
    stopped = replace(cancel(begin(task, None, now_ms=1), now_ms=2))
    ended = finish(stopped, now_ms=3, failure="turn_stopped")
    done = Done(outcome=said("Cut off.", OutcomeKind.CUT_OFF))
    talk = TalkSettings()
    assert not post_of(Ending(task=ended, done=done), zone=ZONE, talk=talk).contents
    held = Done(outcome=said("Secret."), held="My answer waits.")
    assert read(task, held) == "My answer waits."
    lost = replace(task, state=TaskState.INTERRUPTED, result_code="host_killed")
    (line,) = post_of(Ending(task=lost), zone=ZONE, talk=talk).contents
    assert "/task retry" in line
    blocked = replace(task, state=TaskState.FAILED, result_code="dependency_failed")
    (line,) = post_of(Ending(task=blocked), zone=ZONE, talk=talk).contents
    assert "comes after" in line
    queued = replace(task, result_code="host_killed")
    assert not post_of(Ending(task=queued), zone=ZONE, talk=talk).contents


@pytest.mark.parametrize(
    ("schedule", "after", "told"),
    [
        (Once(at_ms=1), (), "Filed `t-abc`: now."),
        (Once(at_ms=HALF_PAST_EIGHT), (), "Filed `t-abc`: 2026-11-30 08:30 (Europe/Berlin)."),
        (
            HOURLY,
            (),
            "Filed `t-abc`: every hour; next 2026-11-30 08:30 (Europe/Berlin).",
        ),
        (Once(at_ms=1), (TaskId("t-x"),), "Filed `t-abc`: after `t-x`."),
    ],
)
def test_a_filing_is_answered(schedule: Schedule, after: tuple[TaskId, ...], told: str) -> None:
    """With the time at which it comes, by the owner's clock."""
    assert filed_text(filed(schedule=schedule, after=after), ZONE) == told


def test_lists_and_pages() -> None:
    """One a line; how the last run of one that repeats went; the whole of one."""
    assert list_text((), ZONE).startswith("No tasks")
    failing = replace(filed(schedule=HOURLY), result_code="x")
    text = list_text((filed(), failing), ZONE)
    assert text.splitlines()[1] == "t-abc reminder queued  2026-11-30 08:30 Drink *tea*"
    assert "failing" in text.splitlines()[2]
    page = show_text(replace(failing, missed=2, run_id=RunId("run-1")), ZONE, result="Twelve.")
    for part in ("every hour", "channel discord:100", "Failed  x", "Missed  2", "Result:\nTwelve."):
        assert part in page
    assert task_document(failing)["result_code"] == "x"


def test_changes_are_answered() -> None:
    """What follows of them."""
    running = begin(filed(), None, now_ms=HALF_PAST_EIGHT)
    assert "ends soon" in changed_text(cancel(running, now_ms=1), ZONE)
    ended = cancel(filed(), now_ms=1)
    assert changed_text(ended, ZONE) == "`t-abc` is cancelled."
    assert changed_text(filed(), ZONE) == "`t-abc` runs again: 2026-11-30 08:30 (Europe/Berlin)."
