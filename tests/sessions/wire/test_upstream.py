"""Where model traffic leads, and what passes on the way."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sessions.limits import EngineSettings
from sessions.wire.upstream import (
    Upstream,
    base_of,
    proxy_of,
    request_headers,
    response_headers,
    secret_of,
    upstream_of,
)

DUMMY = "dummy"


@pytest.mark.parametrize(
    ("api", "url", "asked", "local"),
    [
        (
            "openai-completions",
            "https://api.deepseek.com/v1/",
            "https://api.deepseek.com/v1/chat/completions",
            "/api.deepseek.com/v1/chat/completions",
        ),
        (
            "openai-responses",
            "http://127.0.0.1:5000/v1",
            "http://127.0.0.1:5000/v1/responses",
            "/127.0.0.1/v1/responses",
        ),
        (
            "anthropic-messages",
            "https://api.anthropic.com/v1",
            "https://api.anthropic.com/v1/messages",
            "/anthropic/v1/messages",
        ),
        (
            "anthropic-messages",
            "https://api.anthropic.com",
            "https://api.anthropic.com/v1/messages",
            "/anthropic/v1/messages",
        ),
    ],
)
def test_an_address_leads_to_one_path(api: str, url: str, asked: str, local: str) -> None:
    """Both forms of Anthropic's base mean the same; others keep theirs."""
    upstream = upstream_of(EngineSettings(provider="p", model="m", api=api, url=url))
    assert upstream is not None
    assert (upstream.url, upstream.local_path) == (asked, local)


def test_pi_still_tells_a_provider_by_its_name() -> None:
    """pi's habits follow names in the address; Anthropic's would send half a conversation."""
    deepseek = Upstream(api="openai-completions", base="https://api.deepseek.com")
    assert "deepseek.com" in deepseek.local_base
    anthropic = Upstream(api="anthropic-messages", base="https://api.anthropic.com")
    assert "api.anthropic.com" not in anthropic.local_base


def test_a_known_provider_is_followed_where_the_host_has_the_key() -> None:
    """Without a key of ours pi has its own, which the gateway could not replace."""
    engine = EngineSettings(provider="openai", model="m", key_env="OPENAI_API_KEY")
    upstream = upstream_of(engine)
    assert upstream is not None
    assert upstream.url == "https://api.openai.com/v1/responses"
    assert upstream_of(EngineSettings(provider="openai", model="m")) is None
    assert upstream_of(EngineSettings(provider="google", model="m", key_env="K")) is None


def test_known_addresses_are_those_of_pi_s_catalogue() -> None:
    """Each chat model of each provider that is followed, as the installed pi would ask it."""
    catalogue = Path(sys.prefix) / "pi/node_modules/@earendil-works/pi-ai/dist/providers/data"
    if not catalogue.is_dir():
        pytest.skip("pi is not installed")
    followed = 0
    for file in sorted(catalogue.glob("[a-z]*.json")):
        forms = json.loads(file.read_text(encoding="utf-8"))
        models = [each for form in forms.values() for each in form.values()]
        for each in (each for each in models if each.get("type", "chat") == "chat"):
            engine = EngineSettings(provider=file.stem, model=each["id"], key_env="K")
            upstream = upstream_of(engine)
            if upstream is not None:
                followed += 1
                assert (upstream.api, upstream.base) == (each["api"], each["baseUrl"]), each["id"]
    assert followed > 1_000


def test_only_anthropic_may_be_asked_with_its_mark() -> None:
    """Nothing else rides behind the path."""
    messages = Upstream(api="anthropic-messages", base="https://a.test")
    assert messages.allows_query("beta=true")
    assert messages.allows_query("")
    assert not messages.allows_query("beta=true&debug=1")
    assert not Upstream(api="openai-completions", base="https://a.test").allows_query("beta=true")


def test_the_base_that_pi_wants() -> None:
    """Also where pi asks by itself."""
    engine = EngineSettings(url="https://a.test/v1/", api="anthropic-messages")
    assert base_of(engine) == "https://a.test"
    assert base_of(EngineSettings(url="https://a.test/v1/")) == "https://a.test/v1"


def test_the_key_takes_the_dummys_place_and_connections_stay_apart() -> None:
    """End-to-end headers pass; those of the connection, and cookies, do not."""
    sent = [
        ("Host", "127.0.0.1:1"),
        ("Authorization", "Bearer dummy"),
        ("Connection", "keep-alive"),
        ("Cookie", "a=b"),
        ("Accept-Encoding", "gzip, br"),
        ("X-Session-Affinity", "route"),
        ("Content-Length", "12"),
    ]
    assert request_headers(sent, secret=DUMMY, key="sk-real") == [
        ("Authorization", "Bearer sk-real"),
        ("X-Session-Affinity", "route"),
        ("Accept-Encoding", "identity"),
    ]


def test_a_server_without_a_key_sees_no_dummy() -> None:
    """Our secret is for our own gateway alone."""
    sent = [("x-api-key", "dummy"), ("authorization", "Bearer dummy")]
    assert request_headers(sent, secret=DUMMY, key="") == [("Accept-Encoding", "identity")]


def test_an_answer_brings_nothing_to_remember() -> None:
    got = [
        ("Content-Type", "text/event-stream"),
        ("Set-Cookie", "a=b"),
        ("Transfer-Encoding", "chunked"),
        ("Retry-After", "3"),
    ]
    assert response_headers(got) == [("Content-Type", "text/event-stream"), ("Retry-After", "3")]


@pytest.mark.parametrize(
    ("headers", "secret"),
    [
        ({"Authorization": "Bearer one"}, "one"),
        ({"Authorization": "bearer  one "}, "one"),
        ({"Authorization": "Basic one", "x-api-key": "two"}, "two"),
        ({"x-api-key": "two"}, "two"),
        ({"Authorization": "Bearer"}, ""),
        ({}, ""),
    ],
)
def test_the_secret_stands_where_a_key_would(headers: dict[str, str], secret: str) -> None:
    assert secret_of(headers) == secret


@pytest.mark.parametrize(
    ("url", "bypass", "proxy"),
    [
        ("https://api.test/v1", "", "http://proxy:1"),
        ("http://api.test/v1", "", None),
        ("https://127.0.0.1:5000/v1", "", None),
        ("https://localhost/v1", "", None),
        ("https://api.test/v1", "other.test,.test", None),
        ("https://api.test/v1", "pi.test", "http://proxy:1"),
        ("https://api.test/v1", "*", None),
    ],
)
def test_a_proxy_is_asked_as_usual(url: str, bypass: str, proxy: str | None) -> None:
    """The usual variables hold for the host now; loopback never leaves."""
    assert proxy_of(url, {"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": bypass}) == proxy
