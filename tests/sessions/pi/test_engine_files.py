"""What pi reads of our settings; the key is in no file."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sessions.limits import EngineSettings
from sessions.pi.engine_files import (
    engine_environment,
    gateway_environment,
    model_of,
    models_document,
    provider_of,
    settings_document,
    write_engine_files,
)
from sessions.pi.errors import PiStartFailed

LOCAL = EngineSettings(
    provider="local", model="m1", url="http://127.0.0.1:5000/v1", key_env="MY_KEY", cost_input=2.5
)


def test_a_provider_with_an_address_is_our_own() -> None:
    """Its name never changes one that pi knows."""
    assert provider_of(LOCAL) == "inglenook-local"
    assert model_of(LOCAL) == "inglenook-local/m1"
    assert models_document(LOCAL) == {
        "providers": {
            "inglenook-local": {
                "baseUrl": "http://127.0.0.1:5000/v1",
                "api": "openai-completions",
                "apiKey": "$MY_KEY",
                "compat": {
                    "supportsStore": False,
                    "supportsDeveloperRole": False,
                    "supportsReasoningEffort": False,
                    "maxTokensField": "max_tokens",
                    "promptCacheKeyMode": "enabled",
                },
                "models": [
                    {
                        "id": "m1",
                        "contextWindow": 8192,
                        "maxTokens": 512,
                        "reasoning": False,
                        "input": ["text"],
                        "cost": {"input": 2.5, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                    }
                ],
            }
        }
    }


def test_openais_own_address_needs_no_concessions() -> None:
    engine = EngineSettings(provider="o", model="m", url="https://api.openai.com/v1")
    provider = models_document(engine)["providers"]["inglenook-o"]
    assert provider["compat"] == {"promptCacheKeyMode": "enabled"}
    assert provider["apiKey"] == "none"


def test_effort_is_asked_for_only_when_the_owner_wants_thinking() -> None:
    engine = EngineSettings(provider="o", model="m", url="http://127.0.0.1:1/v1", thinking="low")
    provider = models_document(engine)["providers"]["inglenook-o"]
    assert "supportsReasoningEffort" not in provider["compat"]
    assert provider["models"][0]["reasoning"] is True


@pytest.mark.parametrize("api", ["openai-responses", "anthropic-messages"])
def test_other_apis_send_their_cache_key_by_themselves(api: str) -> None:
    engine = EngineSettings(provider="o", model="m", url="http://127.0.0.1:1/v1", api=api)
    assert models_document(engine)["providers"]["inglenook-o"]["compat"] == {}


def test_a_provider_that_pi_knows_keeps_its_catalogue() -> None:
    engine = EngineSettings(provider="anthropic", model="m", key_env="MY_KEY")
    assert model_of(engine) == "anthropic/m"
    assert models_document(engine) == {"providers": {"anthropic": {"apiKey": "$MY_KEY"}}}
    assert models_document(EngineSettings(provider="anthropic", model="m")) == {"providers": {}}


def test_pi_neither_spends_nor_rewrites_on_its_own() -> None:
    """Warming sends paid requests from an idle process; compaction rewrites the prefix."""
    engine = EngineSettings(retries=0, retry_base_seconds=0.5, http_idle_seconds=7)
    assert settings_document(engine) == {
        "cacheWarming": "off",
        "compaction": {"enabled": False},
        "retry": {"enabled": False, "maxRetries": 0, "baseDelayMs": 500},
        "httpIdleTimeoutMs": 7000,
    }


def test_the_files_are_owner_only_whole_and_written_once(tmp_path: Path) -> None:
    directory = tmp_path / "home" / "engine"
    write_engine_files(directory, LOCAL)
    files = sorted(directory.iterdir())
    assert [file.name for file in files] == ["models.json", "settings.json"]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert directory.stat().st_mode & 0o777 == 0o700
    assert json.loads(files[0].read_text()) == models_document(LOCAL)
    before = [file.stat().st_ino for file in files]
    files[0].chmod(0o644)
    write_engine_files(directory, LOCAL)
    assert [file.stat().st_ino for file in files] == before
    assert files[0].stat().st_mode & 0o777 == 0o600
    write_engine_files(directory, EngineSettings(provider="p", model="m"))
    assert json.loads(files[0].read_text()) == {"providers": {}}


def test_sessions_that_start_at_once_do_not_take_each_others_draft(tmp_path: Path) -> None:
    """Each writer's files land whole, whoever else writes them meanwhile."""
    settings = [EngineSettings(model=f"m{number % 2}") for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda engine: write_engine_files(tmp_path, engine), settings))
    assert json.loads((tmp_path / "models.json").read_text(encoding="utf-8"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models.json", "settings.json"]


def test_a_directory_that_cannot_be_written_is_a_start_failure(tmp_path: Path) -> None:
    (tmp_path / "engine").write_text("a file")
    with pytest.raises(PiStartFailed) as caught:
        write_engine_files(tmp_path / "engine", LOCAL)
    assert str(tmp_path) not in str(caught.value.facts)


def test_pi_sees_the_key_proxies_and_certificates_and_nothing_else() -> None:
    host = {
        "MY_KEY": "sk-x",
        "DISCORD_TOKEN": "secret",
        "HTTPS_PROXY": "http://proxy:1",
        "no_proxy": "intra",
        "NODE_EXTRA_CA_CERTS": "/ca.pem",
        "SHELL": "/bin/sh",
    }
    assert engine_environment(LOCAL, host) == {
        "MY_KEY": "sk-x",
        "HTTPS_PROXY": "http://proxy:1",
        "NODE_EXTRA_CA_CERTS": "/ca.pem",
        "NO_PROXY": "intra,127.0.0.1,localhost,::1",
    }
    assert engine_environment(EngineSettings(), {"SHELL": "/bin/sh"}) == {}


def test_a_missing_key_is_named() -> None:
    """The owner reads which variable; nothing starts without it."""
    with pytest.raises(PiStartFailed) as caught:
        engine_environment(LOCAL, {})
    assert caught.value.facts["reason"] == "the variable MY_KEY is not set"


def test_behind_a_gateway_pi_knows_its_address_and_a_dummy() -> None:
    """Issue "The wire": the file names neither the provider nor its key's variable."""
    document = models_document(LOCAL, gateway="http://127.0.0.1:9999/127.0.0.1/v1")
    provider = document["providers"]["inglenook-local"]
    assert provider["baseUrl"] == "http://127.0.0.1:9999/127.0.0.1/v1"
    assert provider["apiKey"] == "$INGLENOOK_MODEL_KEY"
    direct = models_document(LOCAL)["providers"]["inglenook-local"]
    assert provider["compat"] == direct["compat"]
    assert provider["models"] == direct["models"]
    assert "MY_KEY" not in json.dumps(document)
    assert gateway_environment("a-secret") == {"INGLENOOK_MODEL_KEY": "a-secret"}


def test_a_known_provider_goes_through_the_gateway_with_its_catalogue() -> None:
    engine = EngineSettings(provider="anthropic", model="m", key_env="MY_KEY")
    assert models_document(engine, gateway="http://127.0.0.1:9999/anthropic") == {
        "providers": {
            "anthropic": {
                "baseUrl": "http://127.0.0.1:9999/anthropic",
                "apiKey": "$INGLENOOK_MODEL_KEY",
            }
        }
    }


@pytest.mark.parametrize("url", ["https://a.test/v1", "https://a.test", "https://a.test/v1/"])
def test_anthropics_base_is_without_the_version(url: str) -> None:
    """pi adds it; owners copy either form."""
    engine = EngineSettings(provider="a", model="m", url=url, api="anthropic-messages")
    assert models_document(engine)["providers"]["inglenook-a"]["baseUrl"] == "https://a.test"
