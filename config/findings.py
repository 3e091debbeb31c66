"""What does not hold in settings, as a value."""

from __future__ import annotations

from dataclasses import dataclass

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that does not hold. ``paths``: the keys involved, the one at fault first."""

    paths: tuple[Path, ...]
    message: str
    hint: str = ""
