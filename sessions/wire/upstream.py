"""Where a session's model traffic leads: the provider's address, and what may be asked there.

Pure. An engine that has an address is followed there; of the providers that pi knows by name,
those with one address and one form are followed too, as long as the host holds their key. Any
other is asked by pi directly, only where the owner says so (``EngineSettings.unobserved``), and the
trace says that its wire was not observed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from sessions.limits import EngineSettings

COMPLETIONS: Final = "openai-completions"
RESPONSES: Final = "openai-responses"
MESSAGES: Final = "anthropic-messages"
_SUFFIXES: Final = MappingProxyType(
    {COMPLETIONS: "/chat/completions", RESPONSES: "/responses", MESSAGES: "/v1/messages"}
)
"""The one path that each form asks, below its base address."""
_QUERIES: Final = MappingProxyType({MESSAGES: ("", "beta=true")})
"""Anthropic's client marks its newer form so."""
_QWEN: Final = "https://token-plan.maas.qwencloudapi.com/compatible-mode/v1"
_QWEN_CN: Final = "https://token-plan.maas.qianwenaiapi.com/compatible-mode/v1"
_KNOWN: Final = MappingProxyType(
    {
        "ant-ling": (COMPLETIONS, "https://api.ant-ling.com/v1"),
        "anthropic": (MESSAGES, "https://api.anthropic.com"),
        "baseten": (COMPLETIONS, "https://inference.baseten.co/v1"),
        "cerebras": (COMPLETIONS, "https://api.cerebras.ai/v1"),
        "deepseek": (COMPLETIONS, "https://api.deepseek.com"),
        "groq": (COMPLETIONS, "https://api.groq.com/openai/v1"),
        "huggingface": (COMPLETIONS, "https://router.huggingface.co/v1"),
        "kimi-coding": (COMPLETIONS, "https://api.kimi.com/coding/v1"),
        "meta": (RESPONSES, "https://api.meta.ai/v1"),
        "minimax": (MESSAGES, "https://api.minimax.io/anthropic"),
        "minimax-cn": (MESSAGES, "https://api.minimaxi.com/anthropic"),
        "moonshotai": (COMPLETIONS, "https://api.moonshot.ai/v1"),
        "moonshotai-cn": (COMPLETIONS, "https://api.moonshot.cn/v1"),
        "nvidia": (COMPLETIONS, "https://integrate.api.nvidia.com/v1"),
        "openai": (RESPONSES, "https://api.openai.com/v1"),
        "openrouter": (COMPLETIONS, "https://openrouter.ai/api/v1"),
        "qwen-token-plan": (COMPLETIONS, _QWEN),
        "qwen-token-plan-cn": (COMPLETIONS, _QWEN_CN),
        "qwen-token-plan-individual": (COMPLETIONS, _QWEN),
        "qwen-token-plan-individual-cn": (COMPLETIONS, _QWEN_CN),
        "together": (COMPLETIONS, "https://api.together.ai/v1"),
        "vercel-ai-gateway": (MESSAGES, "https://ai-gateway.vercel.sh"),
        "xai": (RESPONSES, "https://api.x.ai/v1"),
        "xiaomi": (COMPLETIONS, "https://api.xiaomimimo.com/v1"),
        "xiaomi-token-plan-ams": (COMPLETIONS, "https://token-plan-ams.xiaomimimo.com/v1"),
        "xiaomi-token-plan-cn": (COMPLETIONS, "https://token-plan-cn.xiaomimimo.com/v1"),
        "xiaomi-token-plan-sgp": (COMPLETIONS, "https://token-plan-sgp.xiaomimimo.com/v1"),
        "zai": (COMPLETIONS, "https://api.z.ai/api/coding/paas/v4"),
        "zai-coding-cn": (COMPLETIONS, "https://open.bigmodel.cn/api/coding/paas/v4"),
    }
)
"""Providers by pi's names, from the catalogue of pi 1.6.0: those whose chat models share one
address and one form; a test holds them against the catalogue."""
PROVIDERS: Final = tuple(_KNOWN)
"""Those that the host can follow by name alone."""
_CLAUDE_BY_OPENROUTER: Final = re.compile(r"~?anthropic/(?!.*:batch$)")
"""The one exception: OpenRouter's models of Anthropic's are asked in their own form."""
_OPENROUTER_MESSAGES: Final = (MESSAGES, "https://openrouter.ai/api")
_VERSION: Final = "/v1"
_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""RFC 9110, 7.6.1: headers of one connection, not of the message."""
_OWN_REQUEST: Final = frozenset(
    {"host", "content-length", "accept-encoding", "cookie", "forwarded", "via", "expect"}
)
"""Written anew, or no business of a provider's. Compression is not asked for: the figures at the
end of the stream are read as they pass."""
_KEPT_BACK: Final = frozenset({"set-cookie", "alt-svc", "date", "server"})
"""Of a provider's answer: what would have pi remember or go elsewhere."""
_KEY_HEADERS: Final = ("authorization", "x-api-key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A provider's endpoint. ``base`` has no slash at its end."""

    api: str
    base: str

    @property
    def url(self) -> str:
        """The one address that is asked, without a query."""
        return f"{self.base}{_SUFFIXES[self.api]}"

    @property
    def local_base(self) -> str:
        """The path that stands for ``base`` on our side.

        pi tells providers' habits by their names in the address, so the name stays visible. Not
        for Anthropic's form: there pi would then send only what is new, and a body that holds
        half a conversation proves nothing.
        """
        if self.api == MESSAGES:
            return "/anthropic"
        parts = urlsplit(self.base)
        return f"/{parts.hostname}{parts.path}"

    @property
    def local_path(self) -> str:
        """The one path that pi may ask on our side."""
        return f"{self.local_base}{_SUFFIXES[self.api]}"

    def allows_query(self, query: str) -> bool:
        """Tell whether a query may stand behind the path."""
        return query in _QUERIES.get(self.api, ("",))


def base_of(engine: EngineSettings) -> str:
    """Give the base address that pi wants of an engine with an address of its own.

    Anthropic's client adds the version itself, so a base that ends with it loses it (owners copy
    addresses in either form).
    """
    base = engine.url.rstrip("/")
    return base.removesuffix(_VERSION) if engine.api == MESSAGES else base


def upstream_of(engine: EngineSettings) -> Upstream | None:
    """Say where an engine's traffic leads; None where only pi knows."""
    if engine.url:
        return Upstream(api=engine.api, base=base_of(engine)) if engine.api in _SUFFIXES else None
    known = _KNOWN.get(engine.provider)
    if known is None or not engine.key_env:  # without a key of ours pi has one of its own
        return None
    if engine.provider == "openrouter" and _CLAUDE_BY_OPENROUTER.match(engine.model):
        known = _OPENROUTER_MESSAGES
    return Upstream(api=known[0], base=known[1])


def request_headers(
    sent: Iterable[tuple[str, str]], *, secret: str, key: str
) -> list[tuple[str, str]]:
    """Give what goes on to the provider: pi's headers, with the key in the dummy's place.

    Without a key the dummy's header is left out.
    """
    kept: list[tuple[str, str]] = []
    for name, value in sent:
        lower = name.lower()
        if lower in _HOP_BY_HOP or lower in _OWN_REQUEST:
            continue
        if lower in _KEY_HEADERS:
            if key:
                kept.append((name, value.replace(secret, key)))
            continue
        kept.append((name, value))
    kept.append(("Accept-Encoding", "identity"))
    return kept


def response_headers(got: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Give what goes back to pi of a provider's headers."""
    return [
        (name, value)
        for name, value in got
        if name.lower() not in _HOP_BY_HOP and name.lower() not in _KEPT_BACK
    ]


def secret_of(headers: Mapping[str, str]) -> str:
    """Find what pi gave as its key; header names in any case."""
    authorization = headers.get("Authorization", "")
    kind, _, value = authorization.partition(" ")
    if value and kind.lower() == "bearer":
        return value.strip()
    return headers.get("x-api-key", "")


def proxy_of(url: str, environment: Mapping[str, str]) -> str | None:
    """Choose the proxy for an address, by the usual variables; loopback never has one."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return None
    name = f"{parts.scheme}_proxy"
    proxy = environment.get(name) or environment.get(name.upper())
    if not proxy:
        return None
    bypass = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    return None if _bypasses(host, bypass) else proxy


def _bypasses(host: str, bypass: str) -> bool:
    """Tell whether a host is named in ``NO_PROXY``, itself or by a domain above it."""
    names = [name.strip().lstrip("*.").lower() for name in bypass.split(",")]
    return "*" in bypass.split(",") or any(
        name and (host == name or host.endswith(f".{name}")) for name in names
    )
