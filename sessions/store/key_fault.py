"""What can be wrong with the key store, and what the owner can do about it.

StoreUnavailable          (``sessions.errors``)
+-- KeysUnavailable       owner: the key store cannot be used; ``fault`` says why
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from sessions.errors import SessionErrorCode, StoreUnavailable

KEYS_FILE: Final = "keys.db"


class KeyFault(StrEnum):
    """Why the key store cannot be used."""

    MISSING = "missing"
    """The main database has records, and their key store is not there."""
    DAMAGED = "damaged"
    FOREIGN = "foreign"
    """It belongs to another main database."""
    TOO_NEW = "too_new"
    UNREADABLE = "unreadable"
    """It is locked, or cannot be opened by this user."""


_REMEDY: Final = "Until then I remember nothing new and use no notes."
_SENTENCES: Final = {
    KeyFault.MISSING: f"The key store {KEYS_FILE} is missing. Bring it back. {_REMEDY}",
    KeyFault.DAMAGED: (
        f"The key store {KEYS_FILE} is damaged. Bring back a copy of it, if there is one. {_REMEDY}"
    ),
    KeyFault.FOREIGN: (
        f"The key store {KEYS_FILE} belongs to another inglenook.db. Put the two files that "
        f"belong together in place. {_REMEDY}"
    ),
    KeyFault.TOO_NEW: (
        f"The key store {KEYS_FILE} was written by a newer release. Update the bot. {_REMEDY}"
    ),
    KeyFault.UNREADABLE: f"The key store {KEYS_FILE} cannot be opened. {_REMEDY}",
}


class KeysUnavailable(StoreUnavailable):
    """The key store has a fault; nothing was sealed, opened or destroyed."""

    def __init__(self, fault: KeyFault) -> None:
        self.fault = fault
        super().__init__(
            f"keys {fault.value}",
            code=SessionErrorCode.KEYS_UNAVAILABLE,
            safe_message=_SENTENCES[fault],
        )
