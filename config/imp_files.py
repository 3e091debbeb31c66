"""``imps/<imp>/imp.toml``: which imps there are, and what is written for each."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from config.channels import read_layer
from config.layers import Layer
from config.settings import is_imp_name

IMPS_DIR: Final = "imps"
IMP_FILE: Final = "imp.toml"


def imp_file(imp: str) -> str:
    """The path of an imp's overlay, relative to the home."""
    return f"{IMPS_DIR}/{imp}/{IMP_FILE}"


def imp_names(home: Path) -> tuple[str, ...]:
    """List the imps that have a folder, by name. Blocks for a moment."""
    try:
        entries = sorted(entry.name for entry in os.scandir(home / IMPS_DIR) if entry.is_dir())
    except OSError:
        return ()
    return tuple(name for name in entries if is_imp_name(name))


def read_imps(home: Path) -> tuple[Layer, ...]:
    """Read all overlays, each as a layer of its own. Blocks for a moment."""
    return tuple(
        _under(layer, imp)
        for imp in imp_names(home)
        if (layer := read_layer(home, imp_file(imp))) is not None
    )


def _under(layer: Layer, imp: str) -> Layer:
    place = ("imps", imp)
    return replace(
        layer,
        values={"imps": {imp: layer.values}} if layer.values else {},
        lines={(*place, *path): line for path, line in layer.lines.items()},
        under=place,
    )
