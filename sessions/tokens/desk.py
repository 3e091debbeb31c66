"""Which tokenizer counts for an engine, what its window is, and what stands around our texts.

A tokenizer is chosen once for each engine and kept, with the tokens of the system prompts. T, what
the engine and the provider put around our texts, is measured: at the first turn of a session the
provider counts the whole prompt, and what is more than our own texts is T. Before the first
measurement it is what our own preamble takes, and the chat template where that is known.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import structlog
import tiktoken

from compiler.compile import Model
from compiler.hashing import sha256_fields
from compiler.templates import ENGINE_PREAMBLE
from compiler.tokens import (
    Counting,
    ModelIdentity,
    StableTokens,
    TokenBudgets,
    Tokenizer,
    TokenScene,
)
from sessions.engine import settings_hash
from sessions.limits import EngineSettings
from sessions.tokens.estimate import EstimateTokenizer
from sessions.tokens.llama import LlamaServerTokenizer, LlamaUnavailable
from sessions.tokens.tiktoken import ENCODINGS, TiktokenTokenizer, VocabularyUnavailable

_log = structlog.get_logger(__name__)
CACHE_DIR: Final = "tokenizers"
ESTIMATE_MARGIN_PERCENT: Final = 10
"""Of the window, kept free where the count is only an estimate."""
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_CONFIG_FIELDS: Final = ("context_window", "max_tokens", "thinking", "preamble", "api")
_KEPT: Final = 8

Choose = Callable[[EngineSettings], Tokenizer]


@dataclass(slots=True)
class _Counter:
    """One engine's tokenizer and what was measured with it."""

    tokenizer: Tokenizer
    stable: StableTokens
    wrapper_tokens: int
    model: ModelIdentity


class TokenDesk:
    """Gives a compilation what it must know of tokens. Safe to use from several threads."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._counters: dict[str, _Counter] = {}
        self._lock = threading.Lock()

    async def model(self, settings: EngineSettings, *, held_tokens: int = 0) -> Model:
        """Give model and tokens for a compilation under these settings.

        ``held_tokens`` is what the engine's session holds, 0 for an empty one.
        """
        counter = self._counters.get(settings_hash(settings))
        if counter is None:
            counter = await asyncio.to_thread(self._made, settings)
        return Model(
            identity=counter.model,
            scene=TokenScene(
                stable=counter.stable,
                budgets=budgets_of(settings, counter.tokenizer),
                wrapper_tokens=counter.wrapper_tokens,
                held_tokens=held_tokens,
            ),
        )

    def measured(self, settings: EngineSettings, *, own_tokens: int, prompt_tokens: int) -> None:
        """Learn T from the first model call of a session.

        ``own_tokens`` are system prompt and input by our count, ``prompt_tokens`` the whole prompt
        by the provider's. A provider that counts less than our own texts tells nothing.
        """
        counter = self._counters.get(settings_hash(settings))
        if counter is not None and prompt_tokens >= own_tokens > 0:
            counter.wrapper_tokens = prompt_tokens - own_tokens

    def asks_elsewhere(self, settings: EngineSettings) -> bool:
        """Whether counting waits for somebody else, so that it has to be done in a thread."""
        counter = self._counters.get(settings_hash(settings))
        return counter is not None and isinstance(counter.tokenizer, LlamaServerTokenizer)

    def _made(self, settings: EngineSettings) -> _Counter:
        with self._lock:
            key = settings_hash(settings)
            if key not in self._counters:
                tokenizer = self._choose(settings)
                identity = tokenizer.identity
                _log.info("tokenizer.chosen", name=identity.name, counting=identity.counting.value)
                while len(self._counters) >= _KEPT:
                    del self._counters[next(iter(self._counters))]
                self._counters[key] = _Counter(
                    tokenizer=tokenizer,
                    stable=StableTokens(tokenizer),
                    wrapper_tokens=_known_wrapper(settings, tokenizer),
                    model=model_identity(settings, tokenizer),
                )
            return self._counters[key]


def choosing(home_engine_dir: Path, environment: Mapping[str, str]) -> Choose:
    """Give the real choice, by ``[engine] tokenizer``; vocabularies are kept in the home.

    ``auto``: a llama.cpp server on this machine is asked, a model that tiktoken knows by name gets
    its vocabulary, all others an estimate. A tokenizer that cannot be had becomes an estimate, and
    the log says so.
    """
    cache_dir = home_engine_dir / CACHE_DIR

    def choose(settings: EngineSettings) -> Tokenizer:
        wanted = settings.tokenizer
        try:
            if wanted in ENCODINGS:
                return TiktokenTokenizer.load(wanted, cache_dir)
            key = environment.get(settings.key_env, "") if settings.key_env else ""
            if wanted == "llama" or (wanted == "auto" and _is_local(settings.url)):
                return LlamaServerTokenizer.connect(settings.url, key=key)
            if wanted == "auto" and (name := _known(settings.model)):
                return TiktokenTokenizer.load(name, cache_dir)
        except (LlamaUnavailable, VocabularyUnavailable) as error:
            _log.warning("tokenizer.unavailable", wanted=wanted, reason=str(error))
        return EstimateTokenizer()

    return choose


def tokenizer_of_plan(
    tokenizer_id: str, settings: EngineSettings, home_engine_dir: Path, key: str = ""
) -> Tokenizer | None:
    """Give the tokenizer that a plan names, to count once more; None if it is not to be had.

    A server's tokenizer is asked where the engine is now; whether it is the same, its identity
    tells.
    """
    kind, _, name = tokenizer_id.partition(":")
    try:
        if kind == "tiktoken" and name in ENCODINGS:
            return TiktokenTokenizer.load(name, home_engine_dir / CACHE_DIR)
        if kind == "llama.cpp" and settings.url:
            return LlamaServerTokenizer.connect(settings.url, key=key)
    except (LlamaUnavailable, VocabularyUnavailable) as error:
        _log.info("tokenizer.unavailable", wanted=kind, reason=str(error))
    return None


def budgets_of(settings: EngineSettings, tokenizer: Tokenizer) -> TokenBudgets:
    """Divide a window: the answer's room, then the margin; an estimate has a wider one."""
    window, margin = settings.context_window, settings.token_margin
    if tokenizer.identity.counting is Counting.ESTIMATE:
        margin = max(margin, window * ESTIMATE_MARGIN_PERCENT // 100)
    return TokenBudgets(
        context_window=window, output_reservation=settings.max_tokens, safety_margin=margin
    )


def model_identity(settings: EngineSettings, tokenizer: Tokenizer) -> ModelIdentity:
    """Name the model as exactly as can be.

    A local server knows its weights; of others a provider's name is all that there is.
    """
    named = f"{settings.provider}/{settings.model}"
    artifact = sha256_fields("inglenook-model-name-v1", (settings.provider, settings.model))
    if isinstance(tokenizer, LlamaServerTokenizer):
        artifact = tokenizer.model.artifact_sha256
    facts = {name: getattr(settings, name) for name in _CONFIG_FIELDS}
    config = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return ModelIdentity(model_id=named, artifact_sha256=artifact, config_sha256=config)


def _known_wrapper(settings: EngineSettings, tokenizer: Tokenizer) -> int:
    """Count what is known of T before the first measurement: our preamble, the chat template."""
    preamble = ENGINE_PREAMBLE if settings.preamble == "inglenook" else ""
    tokens = tokenizer.tokenize(preamble).count
    if isinstance(tokenizer, LlamaServerTokenizer):
        with contextlib.suppress(LlamaUnavailable):
            tokens += tokenizer.template_tokens()
    return tokens


def _is_local(url: str) -> bool:
    return bool(url) and urlsplit(url).hostname in _LOOPBACK


def _known(model: str) -> str:
    try:
        name = tiktoken.encoding_name_for_model(model.rpartition("/")[2])
    except KeyError:
        return ""
    return name if name in ENCODINGS else ""
