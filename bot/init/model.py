"""Which model answers: one by its provider's name, by an address, or the small one from here."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.doctor.model import check_model
from bot.doctor.results import Check
from bot.doctor.system import find_install
from bot.init.characters import clean
from bot.init.rest import ask
from config.check import check_layers
from config.layers import Layer
from config.load import Loaded
from config.rules.engine import VARIABLE
from config.toml_edit import Value
from sessions.limits import EMBEDDED, EngineSettings

LOCAL: Final = "local"
"""The provider's name for an address of one's own."""
_NAMED_WINDOW, _NAMED_TOKENS = 128_000, 4_096
_OWN_WINDOW, _OWN_TOKENS = 32_768, 2_048
_MAX_MODELS: Final = 15
_USUAL_KEYS: Final[Mapping[str, str]] = {
    "huggingface": "HF_TOKEN",
    "vercel-ai-gateway": "AI_GATEWAY_API_KEY",
    "moonshotai": "MOONSHOT_API_KEY",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """What was chosen; ``url`` only for an address, ``key_env`` empty where no key is needed."""

    provider: str = EMBEDDED
    model: str = EngineSettings().model
    url: str = ""
    api: str = ""
    key_env: str = ""

    @property
    def is_embedded(self) -> bool:
        """Whether it is the model that comes along."""
        return self.provider == EMBEDDED and not self.url

    def settings(self) -> Mapping[str, Value]:
        """Give the keys of ``[engine]``, such that nothing of an earlier choice is left."""
        own, embedded = bool(self.url), self.is_embedded
        bare = EngineSettings()
        window, tokens = (_OWN_WINDOW, _OWN_TOKENS) if own else (_NAMED_WINDOW, _NAMED_TOKENS)
        return {
            "provider": self.provider,
            "model": self.model,
            "key_env": self.key_env,
            "url": self.url,
            "api": self.api or bare.api,
            "context_window": bare.context_window if embedded else window,
            "max_tokens": bare.max_tokens if embedded else tokens,
        }

    def fault(self) -> str:
        """Say what is wrong with it; empty when it can be used."""
        values = dict(self.settings())
        layer = Layer(name="answer", typed=True, values={"engine": values})
        return "; ".join(f"{item.key} {item.message}" for item in check_layers((layer,)).problems)


def chosen(engine: EngineSettings) -> ModelChoice:
    """Read the choice that stands in the settings."""
    return ModelChoice(
        provider=engine.provider,
        model=engine.model,
        url=engine.url,
        api=engine.api,
        key_env=engine.key_env,
    )


def label(engine: EngineSettings | ModelChoice) -> str:
    """Name a model in a line."""
    if engine.is_embedded:
        return "the small one on this machine (toy answers)"
    return f"{engine.provider}/{engine.model}" + (f" at {engine.url}" if engine.url else "")


def usual_key(provider: str) -> str:
    """Name the variable in which a provider's key usually stands."""
    plain = re.sub(r"[^A-Z0-9]", "_", provider.upper())
    return _USUAL_KEYS.get(provider, f"{plain}_API_KEY")


def check_variable(typed: str) -> str:
    """Take the name of a variable, or nothing.

    Raises:
        ValueError: it is none, and may be the key itself, so it is not repeated.
    """
    if typed and not VARIABLE.fullmatch(typed):
        raise ValueError("is not the name of a variable, such as OPENAI_API_KEY")
    return typed


def models_at(url: str, key: str) -> tuple[str, ...]:
    """Ask a server which models it has; nothing if it does not say. Blocks."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    reply = asyncio.run(ask("GET", f"{url.rstrip('/')}/models", headers=headers))
    listed = reply.fields.get("data")
    found = (
        [item.get("id") for item in listed if isinstance(item, dict)]
        if (isinstance(listed, list))
        else []
    )
    names = [name for name in found if isinstance(name, str) and name == clean(name, 200)]
    return tuple(name for name in names if " " not in name)[:_MAX_MODELS]


def try_model(loaded: Loaded) -> Check:
    """Ask the model that is set for one word. Blocks, up to a minute."""
    settings = loaded.settings
    return asyncio.run(
        check_model(settings.engine, find_install(), loaded.variables, settings.sessions)
    )
