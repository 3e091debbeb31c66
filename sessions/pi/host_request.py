"""What our extension asks the host, read from pi's dialog; pure.

    host:recall#call_1   a tool of the host's was called, to be carried out by it
    call:bash#call_2     the engine is about to carry a call out itself, and asks whether it may

The dialog's placeholder holds the arguments. Any other dialog is none of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sessions.pi.protocol import UiRequest

_KINDS: Final = {"host": False, "call": True}
_ID_MARK: Final = "#"
"""Between a tool's name and the call's id; no tool's name has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRequest:
    """A call of a tool that the host has to answer; ``arguments`` are the model's own JSON.

    Of a ``builtin`` one the engine asks only whether it may.
    """

    id: str
    tool: str
    arguments: str
    builtin: bool = False
    call_id: str = ""


def host_request_of(asked: UiRequest) -> HostRequest | None:
    """Read a dialog; None if it is not one of the extension's."""
    kind, colon, named = asked.title.partition(":")
    if asked.method != "input" or not colon or kind not in _KINDS:
        return None
    tool, _, call_id = named.partition(_ID_MARK)
    return HostRequest(
        id=asked.id,
        tool=tool,
        arguments=asked.placeholder,
        builtin=_KINDS[kind],
        call_id=call_id,
    )
