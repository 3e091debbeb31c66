"""The forms of a model endpoint agree on what they say."""

from __future__ import annotations

import pytest

from bot.playground.dialects.forms import ANTHROPIC, COMPLETIONS, DIALECTS, RESPONSES, Dialect
from bot.playground.model_wire import WireAnswer


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_same_script_gives_the_same_bytes(dialect: Dialect) -> None:
    def make() -> bytes:
        return b"".join(
            dialect.stream(WireAnswer(model="m", answer_id="a", texts=["x", "ü\u2028"]))
        )

    assert make() == make()
    assert make().isascii()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_first_event_says_only_that_it_begins(dialect: Dialect) -> None:
    """What is held "between" comes after the first piece, which is the second event or later."""
    first = next(iter(dialect.stream(WireAnswer(model="m", answer_id="a", texts=["canary"]))))
    assert b"canary" not in first


def test_a_prompt_is_rendered_in_cache_order() -> None:
    """Tools come before system and messages, so a changed tool loses the whole prefix."""
    tools = [{"name": "t"}]
    said = [{"role": "user", "content": "ü"}]
    line = '{"role": "user", "content": "ü"}'
    assert COMPLETIONS.render_prompt({"messages": said, "tools": tools}) == (
        f'[{{"name": "t"}}]\n{line}'
    )
    assert ANTHROPIC.render_prompt({"messages": said, "system": "S"}) == f'[]\n"S"\n{line}'
    assert RESPONSES.render_prompt({"input": "hi"}) == '[]\n[]\n"hi"'
    assert RESPONSES.render_prompt({}) == '[]\n[]\n""'
