"""What the shell's commands print: exactly that, but to a terminal nothing that it would obey.

Answers, tasks and the output of actions hold whatever somebody wrote. Some signs in them move a
terminal's cursor, name its window or fill its clipboard; they are shown as escapes there. A file
or another program gets each byte.
"""

from __future__ import annotations

import re
import sys
from typing import Final

_OBEYED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but the end of a line and the tab."""


def write_out(text: str) -> None:
    """Write a text and the end of its line to the standard output."""
    shown = harmless(text) if sys.stdout.isatty() else text
    sys.stdout.flush()
    # Bytes: a text is exact whatever the terminal's encoding is.
    sys.stdout.buffer.write(shown.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def harmless(text: str) -> str:
    """Show what a terminal would obey as an escape."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
