"""Log lines: one form, no content."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from bot.logs import configure_logging
from config.settings import LogFormat, LogLevel, LogSettings


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    libraries = {name: logging.getLogger(name).level for name in ("discord", "aiohttp", "asyncio")}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, was in libraries.items():
        logging.getLogger(name).setLevel(was)
    structlog.reset_defaults()


def test_our_lines_and_the_librarys_have_one_form(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of discord.py are JSON as ours are."""
    configure_logging(LogSettings(format=LogFormat.JSON))
    structlog.get_logger("bot.x").info("turn.delivered", run_id="r1")
    logging.getLogger("discord.gateway").warning("Shard ID %s is late", 3)
    ours, theirs = map(json.loads, capsys.readouterr().err.splitlines())
    assert (ours["event"], ours["run_id"], ours["level"]) == ("turn.delivered", "r1", "info")
    assert (theirs["event"], theirs["logger"]) == ("Shard ID 3 is late", "discord.gateway")


def test_exceptions_leave_their_kind_and_place_only(capsys: pytest.CaptureFixture[str]) -> None:
    """The text of an exception may quote a message, so it is never written."""
    configure_logging(LogSettings(format=LogFormat.JSON))
    try:
        int("CANARY")
    except ValueError:
        logging.getLogger("discord.client").exception("Ignoring exception in %s", "on_message")
        structlog.get_logger("bot.x").exception("event.failed")
    written = capsys.readouterr().err
    assert "CANARY" not in written
    assert [json.loads(line)["kind"] for line in written.splitlines()] == ["ValueError"] * 2


def test_the_librarys_debug_lines_are_not_heard(capsys: pytest.CaptureFixture[str]) -> None:
    """discord.py quotes messages in its debug lines, whatever level the owner asks for."""
    configure_logging(LogSettings(level=LogLevel.DEBUG))
    logging.getLogger("discord.http").debug("content CANARY")
    structlog.get_logger("bot.x").debug("typing.failed")
    written = capsys.readouterr().err
    assert "CANARY" not in written
    assert "typing.failed" in written
