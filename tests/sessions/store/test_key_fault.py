"""Each fault of the key store has its plain remedy."""

from __future__ import annotations

import pytest

from sessions.errors import StoreUnavailable
from sessions.store.key_fault import KEYS_FILE, KeyFault, KeysUnavailable


@pytest.mark.parametrize("fault", list(KeyFault))
def test_every_fault_names_the_file_and_what_follows(fault: KeyFault) -> None:
    error = KeysUnavailable(fault)
    assert isinstance(error, StoreUnavailable)
    assert (error.fault, error.code) == (fault, "keys_unavailable")
    assert KEYS_FILE in error.safe_message
    assert error.safe_message.endswith("I remember nothing new and use no notes.")
