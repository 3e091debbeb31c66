"""What differs for one imp, and what holds for it then. Pure.

An overlay states differences: its ``context`` begins from ``[context]``, its ``engine`` from
``[engine]``. Another provider or address is another model, so that then nothing of the old model
holds on: its key, its size, its price. ``[imps.<imp>]`` in ``org.toml`` wins over the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from config.settings import Settings
from sessions.grants import Grant, Verdict
from sessions.tools.table import TOOL_NAMES

_MODELS_OWN: Final = frozenset(
    {
        *("provider", "model", "url", "api", "key_env", "unobserved", "context_window"),
        *("max_tokens", "images", "tokenizer", "thinking"),
        *("cost_input", "cost_output", "cost_cache_read", "cost_cache_write"),
    }
)
"""Keys of ``[engine]`` that speak of one model."""
_OTHER_MODEL: Final = frozenset({"provider", "url"})


def fill_overlays(merged: Mapping[str, object]) -> dict[str, object]:
    """Let each imp's sections begin from the general ones; raw values in and out."""
    imps = merged.get("imps")
    if not isinstance(imps, Mapping):
        return dict(merged)
    full: dict[str, object] = {}
    for imp, overlay in imps.items():
        full[imp] = overlay
        if isinstance(overlay, Mapping):
            filled = {
                section: {**base, **own}
                for section in ("context", "engine")
                if isinstance(own := overlay.get(section, {}), Mapping)
                and isinstance(base := _base(merged, section, own), Mapping)
            }
            full[imp] = {**overlay, **filled}
    return {**merged, "imps": full}


def _base(merged: Mapping[str, object], section: str, own: Mapping[str, object]) -> object:
    base = merged.get(section, {})
    if section != "engine" or _OTHER_MODEL.isdisjoint(own) or not isinstance(base, Mapping):
        return base
    return {key: value for key, value in base.items() if key not in _MODELS_OWN}


def all_grants(settings: Settings) -> tuple[Grant, ...]:
    """Give all rules in the order in which they are asked: each imp's own come first."""
    own = [rule for imp, overlay in settings.imps.items() for rule in _rules(imp, overlay.grants)]
    closed = [
        Grant(tool=tool, verdict=Verdict.DENY, imp=imp)
        for imp, overlay in settings.imps.items()
        if overlay.connections is not None
        for tool in TOOL_NAMES
        if tool not in overlay.connections
    ]
    return (*closed, *own, *settings.grants)


def _rules(imp: str, grants: Iterable[Grant]) -> Iterable[Grant]:
    return (replace(rule, imp=imp) for rule in grants)
