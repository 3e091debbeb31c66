"""What ``[engine]`` must say so that a model can be asked, and followed while it is. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from config.findings import Finding
from config.rules import bounds
from sessions.limits import EMBEDDED, EngineSettings
from sessions.wire.upstream import upstream_of

ENGINE_APIS: Final = ("openai-completions", "openai-responses", "anthropic-messages")
PREAMBLES: Final = ("inglenook", "pi")
ON_MISMATCH: Final = ("alarm", "stop")
TOKENIZERS: Final = ("auto", "o200k_base", "cl100k_base", "llama", "estimate")
THINKING_LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
MAX_RETRIES: Final = 10
"""Each waits twice as long as the one before."""
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROVIDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # it is half of pi's "provider/model"
_MODEL = re.compile(r"[^\s\x00-\x1f]{1,200}")


def check_engine(engine: EngineSettings) -> Iterator[Finding]:
    """Find what no model could be asked with."""
    yield from _choices(engine)
    yield from _texts(engine)
    yield from _numbers(engine)
    yield from _window(engine)
    yield from _wire(engine)


def _choices(engine: EngineSettings) -> Iterator[Finding]:
    for key, value, choices in (
        ("api", engine.api, ENGINE_APIS),
        ("preamble", engine.preamble, PREAMBLES),
        ("on_mismatch", engine.on_mismatch, ON_MISMATCH),
        ("tokenizer", engine.tokenizer, TOKENIZERS),
        ("thinking", engine.thinking, THINKING_LEVELS),
    ):
        yield from bounds.one_of(("engine", key), value, choices)
    if engine.images and engine.is_embedded:
        yield Finding(paths=(("engine", "images"),), message="the embedded model takes no pictures")


def _texts(engine: EngineSettings) -> Iterator[Finding]:
    if not _PROVIDER.fullmatch(engine.provider):
        yield Finding(paths=(("engine", "provider"),), message="must be a name without blanks")
    if not _MODEL.fullmatch(engine.model):
        yield Finding(paths=(("engine", "model"),), message="must be a model's name without blanks")
    if engine.url:
        yield from bounds.address(("engine", "url"), engine.url)
    if engine.key_env and not VARIABLE.fullmatch(engine.key_env):
        # The value is not shown: a key pasted here by mistake must not reach a log.
        yield Finding(
            paths=(("engine", "key_env"),),
            message="must be the name of an environment variable, not the key itself",
            hint='For example key_env = "OPENAI_API_KEY", with the key in .env.',
        )


def _numbers(engine: EngineSettings) -> Iterator[Finding]:
    for key in ("context_window", "max_tokens", "max_request_bytes"):
        yield from bounds.at_least(("engine", key), getattr(engine, key), 1)
    for key in ("http_idle_seconds", "connect_seconds", "request_seconds"):
        yield from bounds.seconds(("engine", key), getattr(engine, key))
    base = engine.retry_base_seconds
    yield from bounds.between(
        ("engine", "retry_base_seconds"), base, 0, bounds.MAX_SECONDS, "seconds"
    )
    yield from bounds.between(("engine", "retries"), engine.retries, 0, MAX_RETRIES)
    for key in ("cost_input", "cost_output", "cost_cache_read", "cost_cache_write"):
        yield from bounds.not_negative(("engine", key), getattr(engine, key))


def _window(engine: EngineSettings) -> Iterator[Finding]:
    if engine.tokenizer == "llama" and not engine.url:
        yield Finding(
            paths=(("engine", "tokenizer"),), message='"llama" needs the url of its server'
        )
    if engine.context_window < 1:
        return
    room = engine.context_window - engine.max_tokens
    if room <= 0:
        yield Finding(
            paths=(("engine", "max_tokens"), ("engine", "context_window")),
            message=f"must be less than context_window ({engine.context_window})",
        )
    elif not 0 <= engine.token_margin <= room // 2:
        yield Finding(
            paths=(("engine", "token_margin"), ("engine", "context_window")),
            message="must be between 0 and half of what max_tokens leaves of context_window",
        )


def _wire(engine: EngineSettings) -> Iterator[Finding]:
    """Let no model traffic pass the host by without the owner's word."""
    if engine.unobserved or engine.provider == EMBEDDED or upstream_of(engine) is not None:
        return
    if engine.api not in ENGINE_APIS or not _PROVIDER.fullmatch(engine.provider):
        return  # told already
    yield Finding(
        paths=(("engine", "provider"), ("engine", "url"), ("engine", "key_env")),
        message="the host cannot follow this provider's traffic",
        hint="Name the variable of its key in key_env, or its url and api. Or set unobserved = "
        "true: then nothing is proven at the wire, no limit holds beforehand, and pi has no box.",
    )
