"""From when on an edit counts."""

from __future__ import annotations

import re
from pathlib import Path

from config.effects import FILES, KEYS, SECTIONS, Change, Effect, changes
from config.settings import Settings

REFERENCE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")


def test_every_section_has_its_time() -> None:
    """Issue "Set up": a plain list of what changes when; a new section without one fails here."""
    missing = set(Settings.model_fields) - set(SECTIONS)
    assert not missing, missing


def test_the_list_is_told_as_it_is() -> None:
    """One truth: the page's table is that of the code."""
    place = REFERENCE.partition("\n### What changes when\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (now|next session|restart) \|", place, re.MULTILINE)
    told = {key: Effect(cell) for names, cell in rows for key in re.findall(r"`([^`]+)`", names)}
    sections = {
        f"[{name}]" if name != "grants" else "[[grants]]": when for name, when in SECTIONS.items()
    }
    keys = {
        ("[imps.<imp>] " if key.startswith("imps.") else f"[{key.partition('.')[0]}] ")
        + key.partition(".")[2]: when
        for key, when in KEYS.items()
        if key != "discord.token"
    }
    assert told == {**sections, **keys, **FILES}


def test_changes_are_named_and_never_shown() -> None:
    """CC "Privacy": which key, and when; no value."""
    new = Settings.model_validate(
        {
            "discord": {"owners": ["1"], "api": "http://x"},
            "engine": {"model": "CANARY"},
            "imps": {"scribe": {"context": {"memory_max_chars": 1}, "connections": []}},
            "channels": {"1": {"enabled": True}},
        }
    )
    found = changes(Settings(), new)
    assert {change.key: change.effect.value for change in found} == {
        "discord.api": "restart",
        "discord.owners": "now",
        "engine.model": "next session",
        "channels": "now",
        "imps.scribe.context": "next session",
        "imps.scribe.connections": "now",
    }
    assert "CANARY" not in str(found)
    assert changes(new, new) == ()
    assert Change(key="channels", effect=Effect.NOW) in changes(new, Settings())
