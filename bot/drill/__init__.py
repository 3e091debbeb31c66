"""``python3 -m bot drill``: kill the bot again and again under load, and count what got lost.

``world``    Discord, the model and the people who write, in this process
``victim``   the bot as a process of its own, which is killed
``account``  what became of each message
``command``  the command line
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the drill; exit code 0 when nothing was lost, doubled or untraced."""
    from bot.drill.command import main as run  # noqa: PLC0415  (a package has no logic)

    return run(argv)
