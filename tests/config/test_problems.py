"""The texts of configuration problems."""

from __future__ import annotations

import pytest

from config.problems import ConfigError, ConfigErrorCode, Problem, dotted


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("context", "task_max_chars"), "context.task_max_chars"),
        (("channels", "123", "mode"), 'channels."123".mode'),
        (("discord", "owners", 1), "discord.owners[1]"),
        ((), ""),
    ],
)
def test_dotted(path: tuple[str | int, ...], text: str) -> None:
    assert dotted(path) == text


def test_an_error_lists_every_problem_and_says_how_many() -> None:
    problems = [
        Problem(file="org.toml", line=3, key="a.b", message="is not a setting", hint="Try c."),
        Problem(file=".env", line=None, key="", message="cannot be read"),
    ]
    error = ConfigError(problems)
    assert error.code is ConfigErrorCode.INVALID
    assert error.safe_message == "The settings have 2 problems."
    assert str(error).splitlines() == [
        "The settings have 2 problems.",
        "  org.toml, line 3: a.b is not a setting. Try c.",
        "  .env: cannot be read.",
    ]
    assert error.facts == {"problems": 2}


def test_one_problem_is_one() -> None:
    error = ConfigError([Problem(file="org.toml", line=1, key="", message="x")])
    assert error.safe_message == "The settings have one problem."
