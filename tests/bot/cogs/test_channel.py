"""The purpose file of a channel."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import create_autospec

import discord
import pytest

from bot.cogs.channel import NO_CHANNEL, _channel_of, _read, _write
from bot.errors import Refused


def test_a_purpose_is_written_for_the_owner_only_and_read_back(tmp_path: Path) -> None:
    """The home's files are the owner's alone, from their first moment on."""
    path = tmp_path / "channels" / "10" / "purpose.md"
    (tmp_path / "channels").mkdir()
    assert _read(path) == ""
    _write(path, "Talk of tea.\n\u2028")
    assert _read(path) == "Talk of tea.\n\u2028"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_blank_purpose_is_none(tmp_path: Path) -> None:
    """CC "Purpose": present when non-empty; an emptied form takes the file away."""
    path = tmp_path / "purpose.md"
    _write(path, "Talk of tea.")
    _write(path, " \n")
    assert not path.exists()
    _write(path, "")


def test_a_kind_of_channel_that_is_not_known_is_said_plainly() -> None:
    """Discord has kinds that the library knows nothing of; it then gives no channel at all."""
    interaction = create_autospec(discord.Interaction, instance=True)
    interaction.channel_id = None
    with pytest.raises(Refused, match="kind of channel") as refused:
        _channel_of(interaction)
    assert refused.value.safe_message == NO_CHANNEL
