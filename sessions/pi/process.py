"""The life of one pi process: spawn, drain, and an end that leaves nothing behind.

``PiProcess`` is an async context manager. Leaving it closes stdin (pi then ends by itself, its
session file tidy), waits, terminates, waits, and kills what is left of the whole family. stdout and
stderr are read from the first byte to the last by the event loop itself, so a busy host never
makes pi stall and no task has to be looked after.

The environment is written from nothing: pi and its children see a path, a locale, a private home
and the one variable that holds the provider's key.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

from sessions.limits import SessionLimits
from sessions.pi.errors import PiStartFailed
from sessions.pi.family import (
    FAMILY_VARIABLE,
    FamilyRecord,
    end_family,
    forget_record,
    record_of,
    write_record,
)

SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where commands find programs, box or not; never what the host's own PATH says."""
_STDERR_TAIL_CHARS: Final = 8_000
"""Enough for Node's longest stack trace; pi is quiet otherwise."""
_EXIT_GRACE_SECONDS: Final = 0.25
"""After the exit is known, the time in which the last bytes of stdout are still awaited. Only a
stranger that holds the pipe open makes it pass in full."""

_HASTE_SECONDS: Final = 0.5
"""What descendants get between SIGTERM and SIGKILL when the host is in a hurry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PiInstall:
    """Where Node and pi's command line are."""

    node: Path
    cli: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PiSpec:
    """Everything that makes one pi process; equal flags and paths give an equal prefix.

    All paths are absolute: pi takes a prompt argument that is no existing path for the prompt
    itself.
    """

    install: PiInstall
    model: str
    """``provider/id`` as in the engine files."""
    session_id: str
    """The route key: pi hands it to the provider as cache affinity."""
    session_dir: Path
    workspace: Path
    """Working directory and home of pi. A resume needs the same one, else pi begins anew."""
    config_dir: Path
    """Holds models.json and settings.json."""
    system_prompt_file: Path
    preamble_file: Path | None = None
    """Replaces pi's own preamble; None keeps it."""
    extensions: tuple[Path, ...] = ()
    compile_cache: Path | None = None
    thinking: str = "off"
    env: Mapping[str, str] = field(default_factory=dict)
    """The key's variable, proxies and certificates (``engine_files.engine_environment``)."""
    tools: tuple[str, ...] = ()
    """Names of the tools offered, in the order of the model's list; none without."""
    tool_manifest: str = ""
    """What the extension registers (``sessions.tools.table.manifest``)."""
    record_file: Path | None = None
    """Where pid and start time are kept while the process lives (``family.end_leftover``)."""
    box: Confinement | None = None
    """What shuts it in; None lets it see what the host sees."""
    channel_files: Path | None = None
    """Files of the current channel that a box shows, read-only; None shows none."""
    script: Path | None = None
    """What Node runs in place of pi, given pi's command line; without a way to any model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """A command line as the system is given it, with the descriptors that it names."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    descriptors: tuple[int, ...] = ()
    undo: tuple[str, ...] = ()
    """Ends what does not end with the process, if it is still there: a container."""

    def close(self) -> None:
        """Close the host's own copies of the descriptors."""
        for descriptor in self.descriptors:
            os.close(descriptor)


class Confinement(Protocol):
    """Shuts processes in."""

    def confine(self, spec: PiSpec, *, family: str) -> Spawn:
        """Say how the process is started so that it sees only what ``spec`` names; blocks.

        Raises:
            PiStartFailed: it cannot be shut in, so it is not to be started.
        """


def argv_of(spec: PiSpec) -> list[str]:
    """Write the command line: nothing discovered, no tools but ours, no network of pi's own."""
    if spec.script is not None:
        return [str(spec.install.node), str(spec.script), str(spec.install.cli)]
    argv = [
        str(spec.install.node),
        str(spec.install.cli),
        *("--mode", "rpc", "--offline", "--no-approve"),
        *("-ne", "-ns", "-np", "-nc", "--no-themes"),
        *(("--tools", ",".join(spec.tools)) if spec.tools else ("-nt",)),
        *("--model", spec.model, "--thinking", spec.thinking),
        *("--session-dir", str(spec.session_dir), "--session-id", spec.session_id),
    ]
    if spec.preamble_file is not None:
        argv += ["--system-prompt", str(spec.preamble_file)]
    argv += ["--append-system-prompt", str(spec.system_prompt_file)]
    for extension in sorted(spec.extensions):
        argv += ["-e", str(extension)]
    return argv


def environment_of(spec: PiSpec, *, family: str) -> dict[str, str]:
    """Write the whole environment of the process; nothing of the host's own leaks in."""
    environment = {
        "PATH": f"{spec.install.node.parent}:{SYSTEM_PATH}",
        "HOME": str(spec.workspace),
        "LANG": "C.UTF-8",
        "PI_CODING_AGENT_DIR": str(spec.config_dir),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "PI_SKIP_VERSION_CHECK": "1",
        FAMILY_VARIABLE: family,
    }
    if spec.tool_manifest:
        environment["INGLENOOK_TOOLS"] = spec.tool_manifest
    if spec.compile_cache is not None:
        environment["NODE_COMPILE_CACHE"] = str(spec.compile_cache)
    return {**spec.env, **environment}


def _spawn_of(spec: PiSpec, family: str) -> Spawn:
    _make_private_dirs(spec)
    if spec.box is not None:
        return spec.box.confine(spec, family=family)
    env = environment_of(spec, family=family)
    return Spawn(argv=tuple(argv_of(spec)), cwd=spec.workspace, env=env)


class _Pipes(asyncio.SubprocessProtocol):
    """What the event loop calls: bytes go on at once, the end is told once.

    The end is told when the process has exited and its stdout has been read to the last byte.
    """

    def __init__(self, on_stdout: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_stdout = on_stdout
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._stderr: deque[bytes] = deque()
        self._stderr_bytes = 0
        self._stdout_open = True
        self._ended = False
        self.exited = asyncio.Event()

    @property
    def stderr_tail(self) -> str:
        """The last words on stderr."""
        return b"".join(self._stderr)[-_STDERR_TAIL_CHARS:].decode("utf-8", "replace")

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            if not self._ended:
                self._on_stdout(data)
            return
        self._stderr.append(data)
        self._stderr_bytes += len(data)
        while self._stderr_bytes - len(self._stderr[0]) >= _STDERR_TAIL_CHARS:
            self._stderr_bytes -= len(self._stderr.popleft())

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc  # a pipe's end is an end, however it came
        if fd == 1:
            self._stdout_open = False
            if self.exited.is_set():
                self._end()
            else:
                self._loop.call_later(_EXIT_GRACE_SECONDS, self._end)

    def process_exited(self) -> None:
        self.exited.set()
        if self._stdout_open:
            self._loop.call_later(_EXIT_GRACE_SECONDS, self._end)
        else:
            self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_end()


class PiProcess:
    """One pi process, from spawn to its last descendant's end."""

    def __init__(
        self,
        spec: PiSpec,
        limits: SessionLimits,
        *,
        on_stdout: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        """Take what is needed to spawn.

        Args:
            spec: the process.
            limits: ``shutdown_seconds`` bounds each step of the end.
            on_stdout: given each chunk of stdout as it comes.
            on_end: called once when nothing more will come.
        """
        self._spec = spec
        self._limits = limits
        self._on_stdout = on_stdout
        self._on_end = on_end
        self._family = secrets.token_hex(8)
        self._transport: asyncio.SubprocessTransport | None = None
        self._pipes: _Pipes | None = None
        self._spawn: Spawn | None = None
        self._record: FamilyRecord | None = None
        self._exit_code: int | None = None

    async def __aenter__(self) -> Self:
        spawn = await asyncio.to_thread(_spawn_of, self._spec, self._family)
        loop = asyncio.get_running_loop()
        try:
            transport, pipes = await loop.subprocess_exec(
                lambda: _Pipes(self._on_stdout, self._on_end),
                *spawn.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=spawn.cwd,
                env=spawn.env,
                pass_fds=spawn.descriptors,
                start_new_session=True,  # Ctrl-C in the host's terminal must not reach pi
                umask=0o077,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in a path or a value
            raise PiStartFailed(f"cannot run Node: {type(error).__name__}") from error
        finally:
            spawn.close()
        self._transport, self._pipes, self._spawn = transport, pipes, spawn
        self._record = record_of(transport.get_pid(), self._family)
        if self._spec.record_file is not None:
            await self._keep_record(self._spec.record_file, self._record)
        return self

    async def _keep_record(self, file: Path, record: FamilyRecord) -> None:
        try:
            await asyncio.to_thread(write_record, file, record)
        except BaseException as error:
            await self.end()
            if isinstance(error, OSError):
                raise PiStartFailed(f"cannot write its record: {type(error).__name__}") from error
            raise

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.end()

    @property
    def pid(self) -> int:
        """The process id."""
        return self.record.pid

    @property
    def record(self) -> FamilyRecord:
        """Pid and start time: together they name this process and no later one."""
        if self._record is None:
            raise RuntimeError("the process has not been started")
        return self._record

    @property
    def exit_code(self) -> int | None:
        """Exit code, negative for a signal; None while it runs."""
        transport = self._transport
        return self._exit_code if transport is None else transport.get_returncode()

    @property
    def stderr_tail(self) -> str:
        """The last words on stderr; may hold a provider's, so only for the owner's eyes."""
        return "" if self._pipes is None else self._pipes.stderr_tail

    def write(self, line: bytes) -> None:
        """Hand over bytes for stdin; they are written at once if the pipe takes them.

        A dead process swallows them: its end is told by ``on_end``.
        """
        stdin = None if self._transport is None else self._transport.get_pipe_transport(0)
        if isinstance(stdin, asyncio.WriteTransport) and not stdin.is_closing():
            stdin.write(line)

    def kill(self) -> None:
        """End the process at once; its context then ends what is left of its family."""
        if self._transport is not None:
            with contextlib.suppress(ProcessLookupError):
                self._transport.kill()

    async def end(self) -> None:
        """Close stdin, wait, terminate, wait, kill; then the same for what it left behind."""
        transport, pipes = self._transport, self._pipes
        if transport is None or pipes is None:  # never started, or ended before
            return
        try:
            await self._end_gently(transport, pipes)
            await asyncio.to_thread(end_family, self.record, self._limits.shutdown_seconds)
        except asyncio.CancelledError:
            self.kill()  # no time for manners, but for the exit code and the children
            await self._exits(pipes)
            await asyncio.to_thread(end_family, self.record, _HASTE_SECONDS)
            raise
        finally:
            self._exit_code = transport.get_returncode()
            transport.close()
            self._transport = None
            await self._undo()
            if self._spec.record_file is not None:
                forget_record(self._spec.record_file)

    async def _undo(self) -> None:
        """Have an engine end what it runs for us, whatever the process that asked for it does."""
        if self._spawn is None or not self._spawn.undo:
            return
        with contextlib.suppress(OSError, TimeoutError):
            undoing = await asyncio.create_subprocess_exec(
                *self._spawn.undo,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=self._spawn.env,
            )
            try:
                async with asyncio.timeout(self._limits.shutdown_seconds):
                    await undoing.wait()
            finally:
                if undoing.returncode is None:
                    undoing.kill()
                    await undoing.wait()

    async def _end_gently(self, transport: asyncio.SubprocessTransport, pipes: _Pipes) -> None:
        stdin = transport.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._exits(pipes):
                return
            with contextlib.suppress(ProcessLookupError):
                transport.send_signal(number)
        await self._exits(pipes)

    async def _exits(self, pipes: _Pipes) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.shutdown_seconds):
                await pipes.exited.wait()
        return pipes.exited.is_set()


def _make_private_dirs(spec: PiSpec) -> None:
    for directory in (spec.session_dir, spec.workspace):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
