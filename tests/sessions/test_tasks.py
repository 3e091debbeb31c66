"""The machine of a task: every move of its table, and what holds whatever happens to it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.request import ChannelId, ImpName, Place, RunId, RunScope
from sessions.schedule import Every, Once, Schedule, next_after
from sessions.tasks import (
    DEPENDENCY_FAILED,
    ENDED,
    HEARTBEAT_NOTE,
    HOST_KILLED,
    KINDS,
    MOVES,
    OPEN,
    Task,
    TaskId,
    TaskKind,
    TaskMove,
    TaskRefused,
    TaskState,
    begin,
    cancel,
    file_task,
    finish,
    interrupt,
    is_due,
    moved,
    release,
    retry,
    says_nothing,
)

SCOPE = RunScope(provider="discord", place=Place.GROUP, channel_id=ChannelId("discord:100"))
NOWHERE = RunScope(provider="discord", place=Place.NONE)
HOURLY = Every(seconds=3_600, first_ms=3_600_000)
FIRST, SECOND = TaskId("t-first"), TaskId("t-second")


def filed(
    kind: TaskKind = TaskKind.PROMPT,
    schedule: Schedule = Once(at_ms=1_000),  # noqa: B008  (frozen)
    *,
    after: tuple[TaskId, ...] = (),
    repository: str = "",
    text: str = "Count.",
) -> Task:
    return file_task(
        TaskId("t-1"),
        kind=kind,
        imp=ImpName("ember"),
        scope=SCOPE,
        origin="person",
        text=text,
        schedule=schedule,
        now_ms=500,
        after=after,
        repository=repository,
    )


def running(kind: TaskKind = TaskKind.PROMPT, schedule: Schedule = Once(at_ms=1_000)) -> Task:  # noqa: B008
    task = filed(kind, schedule, repository="orchard" if kind is TaskKind.CODE else "")
    return begin(task, RunId("r1"), now_ms=task.due_ms)


@pytest.mark.parametrize(("state", "move"), list(product(TaskState, TaskMove)))
def test_every_move_is_in_the_table_or_refused(state: TaskState, move: TaskMove) -> None:
    """An illegal move raises and leaves the task as it was."""
    task = replace(filed(), state=state)
    if (state, move) in MOVES:
        assert moved(task, move).state is MOVES[state, move]
    else:
        with pytest.raises(TaskRefused, match=state.value):
            moved(task, move)
    assert task.state is state


def test_what_is_done_never_moves_again() -> None:
    """A result that was posted is not made a second time."""
    assert not [move for (state, move) in MOVES if state is TaskState.DONE]
    assert frozenset(TaskState) == OPEN | ENDED


def test_a_task_runs_when_it_is_due_and_not_before() -> None:
    """Its time is by the wall clock."""
    task = filed()
    assert (task.state, task.due_ms) == (TaskState.QUEUED, 1_000)
    assert not is_due(task, now_ms=999)
    assert is_due(task, now_ms=1_000)
    begun = begin(task, RunId("r1"), now_ms=1_500)
    assert (begun.state, begun.runs, begun.run_id) == (TaskState.RUNNING, 1, "r1")
    assert begun.turn_id == "task:t-1:1"
    assert not is_due(begun, now_ms=2_000)


def test_an_end_is_done_or_failed_with_its_code() -> None:
    """One that runs once ends."""
    assert finish(running(), now_ms=2_000).state is TaskState.DONE
    failed = finish(running(), now_ms=2_000, failure="start_failed")
    assert (failed.state, failed.result_code) == (TaskState.FAILED, "start_failed")


def test_missed_times_are_made_up_by_one_run() -> None:
    """Issue "coalesced catch-up after downtime"; and a failure does not end what repeats."""
    task = filed(schedule=HOURLY)
    begun = begin(task, RunId("r1"), now_ms=5 * 3_600_000 + 1)
    assert begun.missed == 4
    ended = finish(begun, now_ms=5 * 3_600_000 + 9, failure="start_failed")
    assert (ended.state, ended.due_ms) == (TaskState.QUEUED, 6 * 3_600_000)
    assert (ended.result_code, ended.attempts) == ("start_failed", 0)


def test_a_clock_that_was_set_back_repeats_nothing() -> None:
    """P25: wall clock +2 h, then -3 h: the time that was served does not come again."""
    begun = begin(filed(schedule=HOURLY), RunId("r1"), now_ms=3_600_000)
    ended = finish(begun, now_ms=3_600_000 - 3 * 3_600_000)
    assert ended.due_ms == 2 * 3_600_000


@pytest.mark.parametrize("kind", list(TaskKind))
def test_an_interrupted_run_goes_on_as_its_kind_says(kind: TaskKind) -> None:
    """What may be done twice is queued for the same time once more; people are told of others."""
    schedule: Schedule = HOURLY if kind is TaskKind.HEARTBEAT else Once(at_ms=1_000)
    task = running(kind, schedule)
    after = interrupt(task, now_ms=task.due_ms + 5, most_attempts=2)
    assert after.result_code == HOST_KILLED
    if KINDS[kind].retried:
        assert (after.state, after.due_ms) == (TaskState.QUEUED, task.due_ms)
        again = begin(after, RunId("r2"), now_ms=task.due_ms + 9)
        assert again.turn_id != task.turn_id
        last = interrupt(again, now_ms=task.due_ms + 10, most_attempts=2)
        assert last.state is (TaskState.QUEUED if last.repeats else TaskState.INTERRUPTED)
        assert not last.repeats or last.due_ms > task.due_ms
    else:
        assert after.state is TaskState.INTERRUPTED


def test_an_interrupted_prompt_that_repeats_waits_for_its_next_time() -> None:
    """Its tools may have done something already."""
    after = interrupt(running(TaskKind.PROMPT, HOURLY), now_ms=3_600_005, most_attempts=2)
    assert (after.state, after.due_ms) == (TaskState.QUEUED, 2 * 3_600_000)


def test_cancelling() -> None:
    """At once where it does not run; where it does, its run ends, and nothing comes after."""
    assert cancel(filed(), now_ms=700).state is TaskState.CANCELLED
    wanted = cancel(running(TaskKind.PROMPT, HOURLY), now_ms=700)
    assert wanted.state is TaskState.RUNNING
    assert finish(wanted, now_ms=800).state is TaskState.CANCELLED
    assert interrupt(wanted, now_ms=800, most_attempts=9).state is TaskState.CANCELLED
    with pytest.raises(TaskRefused):
        cancel(finish(running(), now_ms=2_000), now_ms=2_001)


def test_retrying() -> None:
    """Now, or at the next time of one that repeats; not what is done."""
    failed = finish(running(), now_ms=2_000, failure="x")
    again = retry(failed, now_ms=3_000)
    assert (again.state, again.due_ms, again.attempts) == (TaskState.QUEUED, 3_000, 0)
    stopped = finish(cancel(running(TaskKind.PROMPT, HOURLY), now_ms=1), now_ms=2)
    later = retry(stopped, now_ms=5 * 3_600_000 + 1)
    assert (later.due_ms, later.cancelled) == (6 * 3_600_000, False)
    with pytest.raises(TaskRefused, match="done"):
        retry(finish(running(), now_ms=2_000), now_ms=3_000)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({FIRST: TaskState.DONE, SECOND: TaskState.DONE}, TaskState.QUEUED),
        ({FIRST: TaskState.DONE, SECOND: TaskState.RUNNING}, TaskState.WAITING),
        ({FIRST: TaskState.DONE, SECOND: TaskState.FAILED}, TaskState.FAILED),
        ({FIRST: TaskState.QUEUED, SECOND: TaskState.CANCELLED}, TaskState.FAILED),
        ({FIRST: TaskState.DONE, SECOND: TaskState.INTERRUPTED}, TaskState.FAILED),
        ({FIRST: TaskState.DONE}, TaskState.FAILED),
    ],
)
def test_a_waiting_task_follows_those_before_it(
    states: dict[TaskId, TaskState], expected: TaskState
) -> None:
    """All done: it is queued; one failed, cancelled, interrupted or unknown: it fails."""
    task = filed(after=(FIRST, SECOND))
    assert task.state is TaskState.WAITING
    after = release(task, states, now_ms=900)
    assert after.state is expected
    assert (after.result_code == DEPENDENCY_FAILED) is (expected is TaskState.FAILED)
    assert release(filed(), states, now_ms=900) == filed()


@pytest.mark.parametrize(
    ("kind", "schedule", "after", "repository", "text", "part"),
    [
        (TaskKind.PROMPT, Once(at_ms=1), (), "", " \n", "text"),
        (TaskKind.REMINDER, Once(at_ms=1), (), "", "\u200b\u3164\U000e0141", "text"),
        (TaskKind.DIRECT, HOURLY, (), "", "x", "once"),
        (TaskKind.HEARTBEAT, Once(at_ms=1), (), "", "x", "every or cron"),
        (TaskKind.PROMPT, HOURLY, (FIRST,), "", "x", "wait for another"),
        (TaskKind.CODE, Once(at_ms=1), (), "", "x", "repository"),
        (TaskKind.PROMPT, Once(at_ms=1), (), "orchard", "x", "repository"),
    ],
)
def test_parts_that_do_not_go_together(  # noqa: PLR0917
    kind: TaskKind,
    schedule: Schedule,
    after: tuple[TaskId, ...],
    repository: str,
    text: str,
    part: str,
) -> None:
    """Refused with a sentence."""
    with pytest.raises(TaskRefused, match=part):
        filed(kind, schedule, after=after, repository=repository, text=text)


def test_a_reminder_needs_a_place_to_be_posted_in() -> None:
    """Nobody would read it."""
    with pytest.raises(TaskRefused, match="channel"):
        file_task(
            TaskId("t-1"),
            kind=TaskKind.REMINDER,
            imp=ImpName("ember"),
            scope=NOWHERE,
            origin="shell",
            text="Stand up",
            schedule=Once(at_ms=1),
            now_ms=0,
        )


def test_a_heartbeat_says_how_to_stay_silent_where_everybody_sees_it() -> None:
    """The text is what the model is given, exactly; so the note is a part of it from the filing."""
    assert filed(TaskKind.HEARTBEAT, HOURLY).text == "Count." + HEARTBEAT_NOTE
    assert filed().text == "Count."
    for answer in ("", "NOTHING", " nothing. ", "**Nothing**", '"NOTHING"'):
        assert says_nothing(answer), answer
    for answer in ("Nothing to see but the kettle", "no", "NOTHING!\nBut the tea is ready."):
        assert not says_nothing(answer), answer


class Clockwork:
    """A task under random times and events, for the property below."""

    def __init__(self, kind: TaskKind, schedule: Schedule) -> None:
        self.task = filed(kind, schedule)
        self.now_ms = 0
        self.served: list[int] = []

    def step(self, event: str, minutes: int) -> None:
        self.now_ms += minutes * 60_000
        task = self.task
        if task.state is TaskState.RUNNING:
            self.task = {
                "end": lambda: finish(task, now_ms=self.now_ms),
                "fail": lambda: finish(task, now_ms=self.now_ms, failure="x"),
                "kill": lambda: interrupt(task, now_ms=self.now_ms, most_attempts=2),
            }[event]()
        elif is_due(task, now_ms=self.now_ms):
            if task.attempts == 0:
                self.served.append(task.due_ms)
            self.task = begin(task, RunId("r"), now_ms=self.now_ms)


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from([TaskKind.REMINDER, TaskKind.PROMPT, TaskKind.HEARTBEAT]),
    events=st.lists(
        st.tuples(st.sampled_from(["end", "fail", "kill"]), st.integers(-240, 600)), max_size=40
    ),
)
def test_each_time_is_served_once_and_in_order_whatever_the_clock_does(
    kind: TaskKind, events: list[tuple[str, int]]
) -> None:
    """P25: restarts, failures and a clock set to and fro serve no time twice and go on for ever."""
    clockwork = Clockwork(kind, HOURLY)
    for event, minutes in events:
        clockwork.step(event, minutes)
        task = clockwork.task
        assert task.state in {TaskState.QUEUED, TaskState.RUNNING}
        assert next_after(HOURLY, task.due_ms - 1) == task.due_ms
    assert clockwork.served == sorted(set(clockwork.served))
