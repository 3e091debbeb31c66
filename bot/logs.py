"""One form for all log lines, ours and the libraries', on standard error.

Lines hold ids, sizes, hashes and codes. What a library knows of messages stays out: discord.py's
debug lines quote them, so it is heard from ``info`` on, and of an exception only the kind and the
place are written, since its text may quote anything.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from config.settings import LogFormat, LogSettings

LIBRARIES: Final = ("discord", "aiohttp", "asyncio", "aiosqlite")


def configure_logging(settings: LogSettings) -> None:
    """Set up structlog and the standard library's logging; may be called again."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        drop_exception_text,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,  # a later call must reach loggers already in use
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _renderer(settings.format),
            ],
        )
    )
    level = getattr(logging, settings.level.value.upper())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(max(level, logging.INFO))


def describe(error: BaseException) -> dict[str, str]:
    """Give what the log may know of an unexpected error: its kind and where it was raised.

    Not its text, which may quote a message.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "unknown") if trace else "unknown"
    return {"kind": type(error).__name__, "at": f"{module}:{trace.tb_lineno if trace else 0}"}


def drop_exception_text(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Replace an exception by its kind and place."""
    found = event.pop("exc_info", None)
    if found is True:
        found = sys.exc_info()
    error = found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        event.update(describe(error))
    record = event.get("_record")
    if record is not None:
        record.exc_info = record.exc_text = None
    return event


def _renderer(form: LogFormat) -> Processor:
    if form is LogFormat.JSON:
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
