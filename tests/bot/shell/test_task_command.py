"""``task`` in the shell, over a home without a bot."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from bot.cli import main


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


def test_filing_looking_cancelling_and_retrying(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Issue "the shell's the same": as the owner, for no channel or a named one."""

    def task(action: str, *more: str, code: int = 0) -> str:
        assert main(["task", action, "--home", str(tmp_path), *more]) == code
        out, err = capfd.readouterr()
        return out if not code else err

    def listed(*more: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(task("list", "--json", *more))["tasks"]
        return found

    assert "No tasks" in task("list")
    filed = task("add", "Count apples", "--at", "in 20m")
    assert "No bot runs" in filed
    name = filed.split()[1].rstrip(":")
    task("add", "Water", "--kind", "reminder", "--every", "1d", "--channel", "77")
    task("add", "Then pears", "--after", name)
    first, second, third = listed()
    by_text = {str(each["text"]): each for each in (first, second, third)}
    assert by_text["Count apples"]["channel_id"] is None
    assert by_text["Water"]["channel_id"] == "discord:77"
    assert by_text["Then pears"]["state"] == "waiting"
    assert "every day" in task("show", str(by_text["Water"]["task_id"]))
    assert "is cancelled" in task("cancel", name)
    ended = {str(each["text"]): each["result_code"] for each in listed("--all")}
    assert ended["Then pears"] == "dependency_failed"
    assert "runs again" in task("retry", name)
    assert "no such task" in task("show", "t-zzzzzz", code=1)
    assert "channel" in task("add", "Water", "--kind", "reminder", code=1)
    assert "five fields" in task("add", "x", "--cron", "soon", code=1)
    refused = main(["task", "show", "t-zzzzzz", "--json", "--home", str(tmp_path)])
    assert refused == 1
    assert json.loads(capfd.readouterr().out)["error"]["code"] == "task_unknown"
