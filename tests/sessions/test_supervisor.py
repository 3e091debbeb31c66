"""The supervisor: what is due runs, within its bounds, and each end is told once."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from compiler.request import Place, Role, RunScope
from sessions.continuations import follow_up
from sessions.engine import WORKSPACE_DIR
from sessions.gate_desk import Choice, GateDesk
from sessions.gate_execution import Action
from sessions.gates import SHELL as SHELL_ID
from sessions.gates import Decider, Gate, GateState, Tier
from sessions.gateway import NOT_LATER
from sessions.grants import Grant, Verdict
from sessions.hands import Hands
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.limits import GateSettings
from sessions.run_files import run_dir
from sessions.store.gates import GateStore
from sessions.store.outbox import OutboxStore, Parcel
from sessions.store.tasks import TaskStore
from sessions.supervisor import LOOK_SECONDS, Ending, Supervisor
from sessions.task_run import Standing
from sessions.task_service import IMP, PERSON, SHELL, Filing, TaskService, Viewer
from sessions.task_settings import TaskSettings
from sessions.tasks import Task, TaskKind, TaskState
from support.gateway_world import RecordingFiler
from support.session_world import (
    BOUND_SECONDS,
    EMBER,
    World,
    echo,
    eventually,
    hold,
    scope_of,
    session_world,
)

OWNER = Viewer(is_owner=True)
SCOPE = scope_of(100)


@dataclass(slots=True)
class Post:
    """An outbox whose words are facts, and what was sent of it."""

    sent: list[str] = field(default_factory=list)
    holding: str = ""

    def parcel(self, ending: Ending) -> Parcel | None:
        outcome = ending.done.outcome if ending.done else None
        held = ending.done.held if ending.done else ""
        said = "-" if outcome is None else held or outcome.text or outcome.error_code
        task = ending.task
        content = f"{task.kind} {task.state} {task.result_code or 'well'} {task.missed} {said}"
        note = ending.done.note if ending.done else ""
        return Parcel(
            key=f"{task.turn_id}:{task.state}",
            channel_id=SCOPE.channel_id,  # type: ignore[arg-type]  # it is in a channel
            contents=(f"{content} {note}".strip(),),
            nonces=("n",),
        )

    async def hold(self, task: Task, outcome: TurnOutcome) -> str:
        del task
        return self.holding if outcome.text else ""

    def send(self, parcel: Parcel) -> None:
        self.sent.append(parcel.contents[0])


@dataclass(slots=True)
class Bench:
    """A home with tasks, and supervisors over it."""

    world: World
    store: TaskStore
    outbox: OutboxStore
    post: Post
    settings: TaskSettings = field(default_factory=lambda: TaskSettings(least_minutes=1))
    role: Role = Role.OWNER
    open: bool = True
    supervisor: Supervisor | None = None

    @property
    def service(self) -> TaskService:
        supervisor = self.supervisor
        return TaskService(
            self.store,
            clock=self.world.clock,
            settings=lambda: self.settings,
            wake=supervisor.wake if supervisor else lambda: None,
        )

    async def file(
        self,
        text: str = "Count.",
        *,
        kind: TaskKind = TaskKind.PROMPT,
        scope: RunScope = SCOPE,
        origin: str = PERSON,
        **wish: str,
    ) -> Task:
        return await self.service.file(
            Filing(kind=kind, text=text, imp=EMBER, scope=scope, origin=origin, **wish)  # type: ignore[arg-type]
        )

    async def of(self, task: Task) -> Task:
        return await self.service.show(task.task_id, OWNER)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Supervisor]:
        async def keeper(scope: RunScope) -> Standing:
            assert scope == SCOPE
            return Standing(role=self.role, is_open=self.open)

        made = Supervisor(
            self.world.parts,
            self.store,
            settings=lambda: self.settings,
            outbox=self.post,
            keeper=keeper,
        )
        self.supervisor = made
        async with asyncio.TaskGroup() as tasks:
            served = tasks.create_task(made.serve())
            try:
                yield made
            finally:
                async with asyncio.timeout(BOUND_SECONDS):
                    await made.close()
                    await served
                self.supervisor = None

    async def reached(self, task: Task, state: TaskState) -> Task:
        await until(lambda: self._is(task, state))
        return await self.of(task)

    async def _is(self, task: Task, state: TaskState) -> bool:
        return (await self.of(task)).state is state

    async def settled(self) -> None:
        """Wait until nothing is due and nothing runs."""
        await until(self._is_settled)

    async def _is_settled(self) -> bool:
        now_ms = round(self.world.clock.utc_now().timestamp() * 1_000)
        work = await self.store.work(now_ms=now_ms, limit=1)
        idle = self.supervisor is None or not self.supervisor._running
        return not work.due and idle


async def until(check: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(BOUND_SECONDS):
        while not await check():  # noqa: ASYNC110 - a row has no event of its own
            await asyncio.sleep(0.001)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with session_world(tmp_path) as world:
        outbox = OutboxStore(world.database, clock=world.clock)
        store = TaskStore(world.database, outbox)
        yield Bench(world=world, store=store, outbox=outbox, post=Post())


async def test_a_due_task_runs_and_its_answer_is_written_before_it_is_sent(bench: Bench) -> None:
    """Issue "results go to the conversation through the outbox": a run, a row, one parcel."""
    async with bench.running():
        later = await bench.file("Later.", at="in 1h")
        task = await bench.file()
        done = await bench.reached(task, TaskState.DONE)
        assert (await bench.of(later)).state is TaskState.QUEUED
        await bench.settled()
    assert bench.post.sent == ["prompt done well 0 answer 1"]
    assert [piece.content for piece in await bench.outbox.pending()] == bench.post.sent
    run = await bench.world.parts.runs.get_run(done.run_id)  # type: ignore[arg-type]
    assert run is not None
    assert (run.surface, run.channel_id, run.end_reason) == ("queued-task", "discord:100", "done")
    (turn,) = await bench.world.parts.runs.turns(run.run_id)
    assert (turn.turn_id, turn.outcome) == (done.turn_id, OutcomeKind.REPLIED)


async def test_a_failed_compilation_fails_the_task_with_its_code(bench: Bench) -> None:
    """CC "One-shot runs": run and task are marked failed; no process, no other way to a prompt."""
    (bench.world.home / "imps" / "ember" / "identity.md").unlink()
    async with bench.running():
        task = await bench.file()
        failed = await bench.reached(task, TaskState.FAILED)
        await bench.settled()
    assert failed.result_code == "source_unreadable"
    assert not bench.world.engine.clients
    assert bench.post.sent == ["prompt failed source_unreadable 0 source_unreadable"]
    run = await bench.world.parts.runs.get_run(failed.run_id)  # type: ignore[arg-type]
    assert run is not None
    assert run.end_reason == "failed"


async def test_so_many_run_at_a_time_and_a_question_from_the_shell_has_its_own_place(
    bench: Bench,
) -> None:
    """Issue "a supervisor with a cap"."""
    engine = bench.world.engine
    engine.behave = hold
    bench.settings = replace(bench.settings, max_running=2)
    async with bench.running():
        tasks = [await bench.file(f"Task {number}.") for number in range(4)]
        await eventually(lambda: len(engine.prompts) == 2)
        asked = await bench.file(kind=TaskKind.DIRECT, origin=SHELL)
        await eventually(lambda: len(engine.prompts) == 3)
        states = [(await bench.of(task)).state for task in (*tasks, asked)]
        assert states.count(TaskState.QUEUED) == 2
        assert states[-1] is TaskState.RUNNING
        engine.behave = lambda client, _: client.reply("Done.")
        for client in tuple(engine.clients):
            client.reply("Done.")
        for task in tasks:
            await bench.reached(task, TaskState.DONE)
        await bench.settled()
    assert engine.most_living == 3
    assert await bench.store.result(asked.task_id) == "Done."
    assert len(bench.post.sent) == 4, "the shell's answer is not posted anywhere"


async def test_an_answer_that_must_wait_is_not_posted(bench: Bench) -> None:
    """Issue "``replies = gate`` may hold replies too": what stands in its place is."""
    bench.post.holding = "It waits."
    async with bench.running():
        task = await bench.file()
        await bench.reached(task, TaskState.DONE)
        await bench.settled()
    assert bench.post.sent == ["prompt done well 0 It waits."]


async def test_each_kind_has_its_ceiling(bench: Bench) -> None:
    """Issue "ceilings per kind": past it the run is cut off and the task has failed."""
    engine = bench.world.engine
    engine.behave = hold
    bench.settings = replace(bench.settings, prompt_seconds=0.01, research_seconds=3_600.0)
    async with bench.running():
        long = await bench.file(kind=TaskKind.RESEARCH)
        short = await bench.file()
        failed = await bench.reached(short, TaskState.FAILED)
        assert failed.result_code == "turn_timeout"
        running = await bench.reached(long, TaskState.RUNNING)
        await eventually(lambda: running.run_id in [name for name, _ in engine.prompts])
        (client,) = [each for each in engine.clients if each.launch.run_dir.name == running.run_id]
        client.reply("Found.")
        await bench.reached(long, TaskState.DONE)


async def test_a_cancelled_run_ends_and_posts_nothing_of_its_own(bench: Bench) -> None:
    """``/task cancel``, of one that runs and comes again."""
    bench.world.engine.behave = hold
    async with bench.running() as supervisor:
        task = await bench.file(every="1h")
        bench.world.clock.advance(3_600)
        await eventually(lambda: bool(bench.world.engine.prompts))
        await bench.service.cancel(task.task_id, OWNER)
        supervisor.wake()
        ended = await bench.reached(task, TaskState.CANCELLED)
    assert ended.result_code == "turn_stopped"


async def test_what_runs_when_the_host_stops_is_interrupted_as_its_kind_says(
    bench: Bench,
) -> None:
    """Issue "a task interrupted by a restart is retried or marked as the kind says"."""
    bench.world.engine.behave = hold
    bench.world.parts = replace(
        bench.world.parts, limits=replace(bench.world.parts.limits, drain_seconds=30.0)
    )
    async with asyncio.TaskGroup() as tasks, bench.running() as supervisor:
        prompt = await bench.file()
        research = await bench.file(kind=TaskKind.RESEARCH)
        await eventually(lambda: len(bench.world.engine.prompts) == 2)
        closing = tasks.create_task(supervisor.close())
        await eventually(lambda: supervisor._closing)
        bench.world.clock.advance(31)
        await closing
    assert (await bench.of(prompt)).state is TaskState.INTERRUPTED
    assert (await bench.of(research)).state is TaskState.QUEUED
    assert sorted(bench.post.sent) == [
        "prompt interrupted host_killed 0 -",
        "research queued host_killed 0 -",
    ]
    bench.world.engine.behave = lambda client, _: client.reply("Found.")
    async with bench.running():
        done = await bench.reached(research, TaskState.DONE)
        await bench.settled()
    assert done.runs == 2
    assert bench.post.sent[2:] == ["research done well 0 Found."]


async def test_what_a_killed_host_left_running_is_settled_first(bench: Bench) -> None:
    """Nothing tells the supervisor of a kill but the table."""
    task = await bench.file()
    reminder = await bench.file(kind=TaskKind.REMINDER)
    for each in (task, reminder):
        assert await bench.store.begin(each.task_id, None, now_ms=10**15) is not None
    async with bench.running():
        await bench.reached(task, TaskState.INTERRUPTED)
        await bench.reached(reminder, TaskState.DONE)
        await bench.settled()
    assert sorted(bench.post.sent) == [
        "prompt interrupted host_killed 0 -",
        "reminder done well 0 -",
        "reminder queued host_killed 0 -",
    ]
    assert not bench.world.engine.clients, "a reminder asks no model"


async def test_a_task_that_may_not_run_any_more_fails(bench: Bench) -> None:
    """Rights are those of now: an owner who is none any more, a channel that was closed."""
    bench.role = Role.MEMBER
    async with bench.running():
        task = await bench.file()
        failed = await bench.reached(task, TaskState.FAILED)
        assert failed.result_code == "task_not_allowed"
        bench.role, bench.open = Role.OWNER, False
        closed = await bench.file()
        await bench.reached(closed, TaskState.FAILED)
        shell = await bench.file(origin=SHELL)
        await bench.reached(shell, TaskState.DONE)
    assert len(bench.world.engine.clients) == 1


@pytest.mark.parametrize("night", [(2026, 3, 29), (2026, 10, 25)])
async def test_a_daily_reminder_comes_once_each_local_day_whatever_the_clock_does(
    bench: Bench, night: tuple[int, int, int]
) -> None:
    """P25: both nights, the wall clock +2 h and then -3 h, and a machine asleep for 60 hours."""
    zone, clock = ZoneInfo("Europe/Berlin"), bench.world.clock
    clock.wall = datetime(*night, 6, 0, tzinfo=zone).astimezone(UTC) - timedelta(days=1)
    days: list[str] = []

    async def look() -> None:
        before = len(bench.post.sent)
        supervisor.wake()
        await bench.settled()
        days.extend(
            f"{clock.wall.astimezone(zone):%d} {line.split()[3]}"
            for line in bench.post.sent[before:]
        )

    async with bench.running() as supervisor:
        await bench.file(kind=TaskKind.REMINDER, cron="30 8 * * *", zone="Europe/Berlin")
        for _ in range(4 * 24):
            clock.wall += timedelta(minutes=30)
            await look()
        clock.wall += timedelta(hours=2)  # somebody sets the clock
        await look()
        clock.wall += timedelta(minutes=45)
        await look()
        clock.wall -= timedelta(hours=3)
        for _ in range(6):
            await look()
            clock.wall += timedelta(minutes=45)
        clock.wall += timedelta(hours=60)
        await look()
    first = (datetime(*night, tzinfo=zone) - timedelta(days=1)).date()
    expected = [f"{first + timedelta(days=number):%d} 0" for number in range(3)]
    slept = f"{first + timedelta(days=4):%d} 1"
    assert days == [*expected, slept]


async def test_a_code_task_works_in_a_worktree_that_is_gone_afterwards(
    bench: Bench, tmp_path: Path
) -> None:
    """Issue "a code task gets a worktree of a configured repository in its box".

    Nothing waits for a person there: what was approved later would be done to nothing.
    """
    repository = tmp_path / "orchard"
    repository.mkdir()
    for words in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("-c", "user.name=Ada", "-c", "user.email=ada@localhost", "commit", "--quiet",
         "--allow-empty", "--message", "Begin"),
    ):  # fmt: skip
        subprocess.run(("git", *words), cwd=repository, check=True)  # noqa: S603, S607, ASYNC221

    engine, grants = bench.world.engine, (Grant(tool="bash", verdict=Verdict.GATE),)
    hands = Hands(grants=lambda: grants, boxed=lambda _: True, filer=RecordingFiler())
    bench.world.parts = replace(bench.world.parts, hands=hands)
    engine.behave = hold
    bench.settings = replace(bench.settings, repositories={"orchard": str(repository)})
    async with bench.running():
        task = await bench.file(kind=TaskKind.CODE, repository="orchard")
        await eventually(lambda: bool(engine.prompts))
        client = engine.last
        (client.launch.run_dir / WORKSPACE_DIR / "apples.txt").write_text("twelve")
        client.call("bash", builtin=True, command="ls")
        await eventually(lambda: bool(client.tool_answers))
        assert client.tool_answers == [{"verdict": "block", "text": NOT_LATER}]
        client.reply("Written.")
        done = await bench.reached(task, TaskState.DONE)
        await bench.settled()
        bench.settings = replace(bench.settings, repositories={})
    branch = f"inglenook/{task.task_id}"
    note = f"Its changes are on the branch `{branch}` of `orchard`."
    assert bench.post.sent == [f"code done well 0 Written. {note}"]
    assert not (bench.world.home / "runs" / str(done.run_id) / WORKSPACE_DIR).exists()
    shown = subprocess.run(  # noqa: S603, ASYNC221
        ("git", "show", f"{branch}:apples.txt"),  # noqa: S607
        cwd=repository, capture_output=True, check=True,
    )  # fmt: skip
    assert shown.stdout == b"twelve"


async def test_a_task_of_no_conversation_hears_what_became_of_its_gate(bench: Bench) -> None:
    """Issue: "a continuation turn in the conversation (or a continuation task)", briefing first.

    It works where the approved call was carried out, for the owner of the home, and its answer is
    told in the shell.
    """
    world, made = bench.world, list[str]()

    async def carry_out(gate: Gate) -> str:
        place = run_dir(world.home, gate.origin.run_id) / WORKSPACE_DIR
        place.mkdir(parents=True, exist_ok=True)
        (place / "made").write_text(gate.payload)
        made.append(gate.payload)
        return "It is made."

    desk = GateDesk(
        GateStore(world.database),
        clock=world.clock,
        settings=GateSettings,
        actions={"bash": Action(execute=carry_out)},
    )
    grants = (Grant(tool="bash", verdict=Verdict.GATE),)
    hands = Hands(grants=lambda: grants, boxed=lambda _: True, filer=desk)
    world.parts = replace(world.parts, hands=hands, gates=desk)
    world.engine.behave = hold
    nowhere = RunScope(provider="discord", place=Place.NONE, role=Role.OWNER)
    async with bench.running(), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(desk.run())
        task = await bench.file("Make it.", scope=nowhere, origin=SHELL)
        await eventually(lambda: bool(world.engine.prompts))
        client = world.engine.last
        client.call("bash", builtin=True, command="make")
        await eventually(lambda: bool(client.tool_answers))
        client.reply("It waits.")
        await bench.reached(task, TaskState.DONE)
        (gate,) = await desk.store.all_in(GateState.PENDING)
        assert gate.gate_id in str(client.tool_answers)
        world.engine.behave = echo
        await desk.decide(gate.gate_id, Decider(user_id=SHELL_ID, tier=Tier.OWNER), Choice.APPROVE)
        await until(lambda: _ended(desk, gate))
        world.clock.advance(LOOK_SECONDS)
        heard = follow_up(await desk.get(gate.gate_id))
        done = await bench.reached(heard, TaskState.DONE)
        await desk.close(seconds=BOUND_SECONDS)
        await running
    assert made == ['{"command":"make"}']
    _, prompt = world.engine.prompts[-1]
    briefing, task_line = prompt.splitlines()
    assert '"item":"continuation"' in briefing
    assert '"outcome":"executed"' in briefing
    assert "It is made." in briefing
    assert '"block":"task","authority":"content","origin":"shell/continuation"' in task_line
    assert await bench.service.result(done) == "answer 2"
    assert done.run_id is not None
    inherited = run_dir(world.home, done.run_id) / WORKSPACE_DIR / "made"
    assert inherited.read_text() == made[0]


async def _ended(desk: GateDesk, gate: Gate) -> bool:
    return (await desk.get(gate.gate_id)).ended_ms is not None


async def test_what_the_imp_filed_for_the_shell_may_run(bench: Bench) -> None:
    """A run of the shell's is for no person: what it files is the owner's, and runs as his."""
    nowhere = RunScope(provider="discord", place=Place.NONE, role=Role.OWNER)
    async with bench.running():
        task = await bench.file("Count.", scope=nowhere, origin=IMP)
        done = await bench.reached(task, TaskState.DONE)
    assert done.result_code == ""
