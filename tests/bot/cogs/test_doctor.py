"""``/doctor`` as Discord sees it; its answer is proven end to end."""

from __future__ import annotations

from pathlib import Path

from bot.cogs.doctor import DoctorCog
from config.load import LiveConfig, ensure_home


def test_the_command_is_the_owners_and_hidden(tmp_path: Path) -> None:
    """Issue "Bot": hidden from others, in servers and direct messages."""
    ensure_home(tmp_path)
    (command,) = DoctorCog(LiveConfig(tmp_path, environ={})).get_app_commands()
    assert command.name == "doctor"
    assert command.default_permissions is not None
    assert command.default_permissions.value == 0
    assert command.allowed_contexts is not None
    assert command.allowed_contexts.dm_channel
