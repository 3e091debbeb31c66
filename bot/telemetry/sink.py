"""OpenTelemetry's SDK and its exporter, imported only where the owner switched this on.

Neither comes with the bot. Where they are missing, or the address is not answering, a line in the
log says so and everything else goes on: spans are sent from a thread of the SDK's own.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from bot.telemetry.follower import Follower
from bot.telemetry.spans import SpanPlan
from config.settings import TelemetrySettings
from sessions.clock import Clock, timestamp
from sessions.run_feed import RunFeed
from sessions.store.database import Database
from sessions.store.runs import RunStore

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import SpanContext

SERVICE: Final = "inglenook"
CLOSE_SECONDS: Final = 5.0
"""How long the last spans may take to leave."""
EXPORTER: Final = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
_log = structlog.get_logger(__name__)


def is_installed() -> bool:
    """Tell whether SDK and exporter are here, without loading them."""
    try:
        return importlib.util.find_spec(EXPORTER) is not None
    except ModuleNotFoundError:  # of what it is in
        return False


class Sink:
    """Hands spans to a provider of the SDK."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry import trace  # noqa: PLC0415  (optional)

        self._trace = trace
        self._tracer = provider.get_tracer(SERVICE)

    def send(self, plan: SpanPlan) -> _Told:
        """Send a span with all within it."""
        return _Told(self, self._emit(plan, None))

    def _emit(self, plan: SpanPlan, parent: SpanContext | None) -> SpanContext:
        trace = self._trace
        around = (
            None if parent is None else trace.set_span_in_context(trace.NonRecordingSpan(parent))
        )
        span = self._tracer.start_span(
            plan.name, context=around, start_time=plan.start_ns, attributes=dict(plan.attributes)
        )
        if plan.error:
            span.set_status(trace.Status(trace.StatusCode.ERROR, plan.error))
        for each in plan.within:
            self._emit(each, span.get_span_context())
        span.end(plan.end_ns)
        return span.get_span_context()


class _Told:
    def __init__(self, sink: Sink, span: SpanContext) -> None:
        self._sink = sink
        self._span = span

    def add(self, plan: SpanPlan) -> None:
        self._sink._emit(plan, self._span)  # noqa: SLF001  (two halves of one thing)


@asynccontextmanager
async def open_telemetry(
    settings: TelemetrySettings,
    *,
    runs_dir: Path,
    database: Database,
    feed: RunFeed,
    clock: Clock,
    exporter: SpanExporter | None = None,
) -> AsyncIterator[bool]:
    """Follow the runs until the block ends; give whether spans are sent.

    ``exporter`` is OTLP over HTTP to the settings' address where none is given.
    """
    try:
        provider = _provider(settings, exporter)
    except ImportError as error:
        _log.error("telemetry.missing", package=error.name)
        yield False
        return
    since = timestamp(clock.utc_now())
    follower = Follower(runs_dir, RunStore(database), Sink(provider).send, since=since)
    _log.info("telemetry.open")
    try:
        with feed.listen() as listener:
            async with asyncio.TaskGroup() as tasks:
                following = tasks.create_task(follower.follow(listener), name="telemetry")
                try:
                    yield True
                finally:
                    following.cancel()
            await follower.take_in(listener)
    finally:
        await _close(provider)


async def _close(provider: TracerProvider) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await asyncio.to_thread(provider.shutdown)
    except TimeoutError:
        _log.warning("telemetry.unsent")


def _provider(settings: TelemetrySettings, exporter: SpanExporter | None) -> TracerProvider:
    resources = importlib.import_module("opentelemetry.sdk.resources")
    sdk = importlib.import_module("opentelemetry.sdk.trace")
    export = importlib.import_module("opentelemetry.sdk.trace.export")
    if exporter is None:
        otlp = importlib.import_module(EXPORTER)
        exporter = otlp.OTLPSpanExporter(endpoint=settings.endpoint or None)
    provider: TracerProvider = sdk.TracerProvider(
        resource=resources.Resource.create({"service.name": SERVICE}), shutdown_on_exit=False
    )
    provider.add_span_processor(export.BatchSpanProcessor(exporter))
    return provider
