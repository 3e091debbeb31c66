"""What the owner reads of an imp."""

from __future__ import annotations

from pathlib import Path

from bot.cogs.imp import ImpCog
from compiler.request import TextSource, UnreadableSource
from config.load import LiveConfig, ensure_home
from sessions.sources import Sources


def cog(home: Path) -> ImpCog:
    ensure_home(home)
    return ImpCog(LiveConfig(home, environ={}), Sources(home))


def test_an_identity_is_shown_by_source_size_and_hash(tmp_path: Path) -> None:
    """CC "Identity": it is told which file was used; sizes are characters."""
    text = cog(tmp_path)._table("ember", TextSource(source="imps/ember/charter.md", text="é" * 9))
    assert "imps/ember/charter.md" in text
    assert "9 of 12000 characters" in text
    assert "next session" in text


def test_an_unreadable_identity_is_named_with_its_reason(tmp_path: Path) -> None:
    """Bad input: a missing identity of a named imp is plain to the owner."""
    missing = UnreadableSource(source="imps/ember/identity.md", reason="missing")
    text = cog(tmp_path)._table("ember", missing)
    assert "problem   missing" in text
