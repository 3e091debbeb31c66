"""What pi reads about models and behaviour: two files in the home, written from our settings.

Pure functions make their text; ``write_engine_files`` puts it in place. The provider's key is in
neither: models.json names the variable that holds it. Behind a gateway (``sessions.model_gateway``)
that variable holds a secret of the process instead, and the address is the gateway's; the file is
then the same for all runs of a host.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from sessions.limits import EngineSettings
from sessions.pi.errors import PiStartFailed
from sessions.wire.upstream import base_of

_OWN_PREFIX: Final = "inglenook-"
"""Keeps a provider with an address of its own apart from one that pi knows by that name."""
_PASSED_ON: Final = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
    "NODE_EXTRA_CA_CERTS",
)
_LOOPBACK: Final = "127.0.0.1,localhost,::1"
_NO_KEY: Final = "none"
"""pi wants a key for every provider; a server that needs none ignores this one."""
GATEWAY_KEY: Final = "INGLENOOK_MODEL_KEY"
"""What pi takes for its key behind a gateway: a secret that is of use there only."""
_COMPAT_COMMON: Final = {
    "supportsStore": False,
    "supportsDeveloperRole": False,
    "maxTokensField": "max_tokens",
}
"""What servers that speak OpenAI's form, but are not OpenAI's, agree on."""


def provider_of(engine: EngineSettings) -> str:
    """Name the provider as pi's files and flags do."""
    return f"{_OWN_PREFIX}{engine.provider}" if engine.url else engine.provider


def model_of(engine: EngineSettings) -> str:
    """Name the model as pi's ``--model`` does: ``provider/id``."""
    return f"{provider_of(engine)}/{engine.model}"


def models_document(engine: EngineSettings, *, gateway: str = "") -> dict[str, Any]:
    """Write models.json: our own provider, or the key's variable for one that pi knows.

    ``gateway`` is the base address that stands for the provider's; empty: pi asks it directly.
    """
    key_env = GATEWAY_KEY if gateway else engine.key_env
    key = {"apiKey": f"${key_env}"} if key_env else {}
    if not engine.url:
        known = {"baseUrl": gateway, **key} if gateway else key
        return {"providers": {engine.provider: known} if known else {}}
    provider = {
        "baseUrl": gateway or base_of(engine),
        "api": engine.api,
        "apiKey": _NO_KEY,
        **key,
        "compat": _compat_of(engine),
        "models": [_model_entry(engine)],
    }
    return {"providers": {provider_of(engine): provider}}


def _compat_of(engine: EngineSettings) -> dict[str, Any]:
    if engine.api != "openai-completions":
        return {}
    compat: dict[str, Any] = {"promptCacheKeyMode": "enabled"}
    if urlsplit(engine.url).hostname != "api.openai.com":
        compat |= _COMPAT_COMMON
        if engine.thinking == "off":
            compat["supportsReasoningEffort"] = False
    return compat


def _model_entry(engine: EngineSettings) -> dict[str, Any]:
    return {
        "id": engine.model,
        "contextWindow": engine.context_window,
        "maxTokens": engine.max_tokens,
        "reasoning": engine.thinking != "off",
        "input": ["text", "image"] if engine.images else ["text"],
        "cost": {
            "input": engine.cost_input,
            "output": engine.cost_output,
            "cacheRead": engine.cost_cache_read,
            "cacheWrite": engine.cost_cache_write,
        },
    }


def settings_document(engine: EngineSettings) -> dict[str, Any]:
    """Write settings.json: nothing that spends money or rewrites a context on its own.

    Warming would send paid requests from an idle process; compaction would rewrite the prefix.
    """
    return {
        "cacheWarming": "off",
        "compaction": {"enabled": False},
        "retry": {
            "enabled": engine.retries > 0,
            "maxRetries": engine.retries,
            "baseDelayMs": round(engine.retry_base_seconds * 1000),
        },
        "httpIdleTimeoutMs": round(engine.http_idle_seconds * 1000),
    }


def write_engine_files(directory: Path, engine: EngineSettings, *, gateway: str = "") -> None:
    """Put models.json and settings.json in place, owner-only, each whole or not at all.

    Files that already say the same are left alone. Blocks for some milliseconds.

    Raises:
        PiStartFailed: the directory cannot be written.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_json(directory / "models.json", models_document(engine, gateway=gateway))
        _write_json(directory / "settings.json", settings_document(engine))
    except OSError as error:
        raise PiStartFailed(f"cannot write engine files: {type(error).__name__}") from error


def _write_json(file: Path, document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if file.exists() and file.read_text(encoding="utf-8", errors="replace") == text:
        file.chmod(0o600)
        return
    # Sessions that start at once write side by side, so each has a draft of its own; 0600 already.
    descriptor, draft = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".new", dir=file.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    Path(draft).replace(file)


def engine_environment(engine: EngineSettings, host: Mapping[str, str]) -> dict[str, str]:
    """Pick what pi may see of the host's environment: the key, proxies, extra certificates.

    A proxy is never asked for loopback, where the embedded model lives.

    Raises:
        PiStartFailed: the key's variable is named in the settings and not set.
    """
    passed = {name: host[name] for name in _PASSED_ON if host.get(name)}
    if passed:
        asked = host.get("NO_PROXY") or host.get("no_proxy") or ""
        passed["NO_PROXY"] = ",".join(part for part in (asked, _LOOPBACK) if part)
    if engine.key_env:
        if not host.get(engine.key_env):
            raise PiStartFailed(f"the variable {engine.key_env} is not set")
        passed[engine.key_env] = host[engine.key_env]
    return passed


def gateway_environment(secret: str) -> dict[str, str]:
    """Give pi its secret for the gateway, and nothing of the host's: no key, no way outside."""
    return {GATEWAY_KEY: secret}
