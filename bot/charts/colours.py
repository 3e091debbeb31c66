"""The colours of the inspector's dark theme, for pictures that are seen in Discord's dark one.

They read on a light ground as well, since each picture brings its own. A test keeps them equal to
``bot/inspector/static``, where the reasons for them stand.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

GROUND: Final = "#1c1816"
RAISED: Final = "#2d2723"
LINE: Final = "#3f3630"
TEXT: Final = "#ece4da"
SOFT: Final = "#b3a597"
EMBER: Final = "#f2996a"
BAD: Final = "#f08c82"
CACHED: Final = "#6fb98f"
FRESH: Final = "#dcaa48"
AUTHORITIES: Final = MappingProxyType(
    {
        "trusted-directive": "#e8874f",
        "trusted-runtime-directive": "#93a3b1",
        "trusted-channel-directive": "#6fb98f",
        "user-directive": "#a78bdc",
        "advisory": "#dcaa48",
        "content": "#5bbab1",
    }
)
CACHE_CLASSES: Final = MappingProxyType(
    {
        "imp-stable": "#d8c8b8",
        "channel-stable": "#a89685",
        "surface-stable": "#7f6f62",
        "volatile": "#574b43",
    }
)
