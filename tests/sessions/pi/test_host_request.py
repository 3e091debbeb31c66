"""What our extension asks, told from every other dialog."""

from __future__ import annotations

import pytest

from sessions.pi.host_request import HostRequest, host_request_of
from sessions.pi.protocol import UiRequest


def asked(title: str, method: str = "input") -> HostRequest | None:
    return host_request_of(
        UiRequest(type="extension_ui_request", id="q", method=method, title=title, placeholder="{}")
    )


def test_a_call_of_the_host_s_and_one_of_the_engine_s_are_told_apart() -> None:
    """The first is carried out by the host; the second is only judged."""
    assert asked("host:recall#call_1") == HostRequest(
        id="q", tool="recall", arguments="{}", call_id="call_1"
    )
    assert asked("call:bash#a#b:c") == HostRequest(
        id="q", tool="bash", arguments="{}", builtin=True, call_id="a#b:c"
    )
    assert asked("host:recall") == HostRequest(id="q", tool="recall", arguments="{}")


@pytest.mark.parametrize("title", ["", "host", "Host:recall", " host:recall", "tell:bash", ":bash"])
def test_other_titles_are_none_of_ours(title: str) -> None:
    assert asked(title) is None


@pytest.mark.parametrize("method", ["confirm", "select", "editor", "notify"])
def test_other_dialogs_are_none_of_ours(method: str) -> None:
    assert asked("host:recall#1", method) is None
