"""The forms of ``/state``; what the commands do is proven end to end."""

from __future__ import annotations

from discord import app_commands

from bot.cogs.state import MAX_CONTENT, StateCog
from bot.permissions import is_for_everyone
from compiler.directives import decision as prompts


def test_the_group_is_everyones_and_complete() -> None:
    """Issue "Slash commands": each is there, and trust is asked by the command itself."""
    names = {command.name for command in StateCog.state.commands}
    assert names == {
        *("show", "set", "change", "use", "prohibit", "remove", "replace", "clear", "reset"),
        *("undo", "export", "import", "history"),
    }
    assert all(is_for_everyone(command) for command in StateCog.state.commands)
    assert StateCog.state.default_permissions is None


def test_a_question_about_the_longest_operand_fits_a_message() -> None:
    for command in StateCog.state.commands:
        assert isinstance(command, app_commands.Command)
        for parameter in command.parameters:
            if parameter.max_value is not None:
                item = "x" * int(parameter.max_value)
                assert len(prompts.use_of_prohibited(item)) <= MAX_CONTENT
                assert len(prompts.replacement_prohibited(item)) <= MAX_CONTENT
