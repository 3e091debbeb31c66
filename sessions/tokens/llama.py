"""The tokenizer of a llama.cpp server, asked of the server itself: exact, template included.

``/tokenize`` gives the ids of a text, special tokens in it taken as ordinary text;
``/apply-template`` and ``/tokenize`` together give the very ids of a whole prompt. The server has
no name for its vocabulary, so the identity is made of what it says of its model and of how it
tokenizes a fixed text.

Blocks on HTTP: call it in a thread where a loop runs.
"""

from __future__ import annotations

import http.client
import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import structlog

from compiler.hashing import sha256_fields, sha256_text
from compiler.tokens import Counting, ModelIdentity, TokenizerIdentity, Tokens
from sessions.tokens.estimate import estimate_tokens
from sessions.tokens.tiktoken import little_endian

_log = structlog.get_logger(__name__)
ASK_SECONDS: Final = 5.0
"""Longest wait for one answer; a server that computes an answer still tokenizes at once."""
MAX_CHARS: Final = 1_000_000
MAX_ANSWER_BYTES: Final = 32 << 20
_KEPT_TEXTS: Final = 8
_PROBE: Final = (
    "The quick brown fox, 1234567890 times! \n\n\tdéjà vu — Привет, 你好, こんにちは 🔥👩‍🚀 "
    "<|im_start|> [INST] </s> def f(x): return {'a': x**2}\r\n    ...   zzzzzzzz"
)
"""Text in several scripts whose ids tell vocabularies apart."""


class LlamaUnavailable(RuntimeError):
    """The server does not answer, or is no llama.cpp server."""


class LlamaServerTokenizer:
    """The tokenizer behind one server."""

    def __init__(
        self, address: str, identity: TokenizerIdentity, model: ModelIdentity, *, key: str = ""
    ) -> None:
        """Take what ``connect`` found."""
        self._address = address
        self._key = key
        self._kept: OrderedDict[str, Tokens] = OrderedDict()
        self.identity = identity
        self.model = model
        """What the server says of its weights."""

    @classmethod
    def connect(cls, url: str, *, key: str = "") -> LlamaServerTokenizer:
        """Ask a server what it is; ``url`` is its OpenAI address, with or without ``/v1``.

        Raises:
            LlamaUnavailable: it does not answer as a llama.cpp server does.
        """
        address = url.rstrip("/").removesuffix("/v1")
        props = _ask(address, "/props", None, key)
        models = _ask(address, "/v1/models", None, key)
        template = props.get("chat_template")
        if not isinstance(template, str):
            raise LlamaUnavailable("no chat template")
        meta = _meta(models)
        facts = [f"{name}={meta[name]}" for name in sorted(meta) if name != "n_ctx"]
        probe = _ids(_ask(address, "/tokenize", _plain(_PROBE), key))
        special = [f"{name}={props.get(name)}" for name in ("bos_token", "eos_token")]
        identity = TokenizerIdentity(
            name="llama.cpp:server",
            vocabulary_sha256=sha256_fields(
                "inglenook-llama-vocabulary-v1", (*facts, little_endian(probe))
            ),
            special_tokens_sha256=sha256_fields("inglenook-special-tokens-v1", special),
            template_sha256=sha256_text(template),
            counting=Counting.EXACT,
        )
        model = ModelIdentity(
            model_id=str(props.get("model_alias", "")),
            artifact_sha256=sha256_fields(
                "inglenook-llama-model-v1", (*facts, str(props.get("model_ftype", "")))
            ),
        )
        return cls(address, identity, model, key=key)

    def tokenize(self, text: str) -> Tokens:
        """Tokenize a text; an estimate without ids if the server does not answer."""
        key = sha256_text(text)
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept
        if len(text) > MAX_CHARS:
            return Tokens(estimate_tokens(text), None)
        try:
            ids = _ids(_ask(self._address, "/tokenize", _plain(text), self._key))
        except LlamaUnavailable as error:
            _log.warning("tokenizer.unavailable", reason=str(error))
            return Tokens(estimate_tokens(text), None)
        tokens = self._kept[key] = Tokens(len(ids), little_endian(ids))
        if len(self._kept) > _KEPT_TEXTS:
            self._kept.popitem(last=False)
        return tokens

    def tokenize_prompt(self, system: str, user: str) -> Tokens:
        """Tokenize a whole first prompt as the server will: its template and special tokens.

        Raises:
            LlamaUnavailable: the server does not answer.
        """
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        ]
        applied = _ask(self._address, "/apply-template", {"messages": messages}, self._key)
        prompt = applied.get("prompt")
        if not isinstance(prompt, str):
            raise LlamaUnavailable("no prompt")
        asked = {"content": prompt, "add_special": True, "parse_special": True}
        ids = _ids(_ask(self._address, "/tokenize", asked, self._key))
        return Tokens(len(ids), little_endian(ids))

    def template_tokens(self) -> int:
        """Count what the chat template puts around a system prompt and a message.

        Raises:
            LlamaUnavailable: the server does not answer.
        """
        whole = self.tokenize_prompt("a", "b").count
        return whole - self.tokenize("a").count - self.tokenize("b").count


def _plain(text: str) -> dict[str, object]:
    return {"content": text, "add_special": False, "parse_special": False}


def _meta(models: Mapping[str, object]) -> Mapping[str, object]:
    listed = models.get("data")
    first = listed[0] if isinstance(listed, list) and listed else None
    meta = first.get("meta") if isinstance(first, dict) else None
    return meta if isinstance(meta, dict) else {}


def _ids(answer: Mapping[str, object]) -> list[int]:
    ids = answer.get("tokens")
    if not isinstance(ids, list) or not all(isinstance(number, int) for number in ids):
        raise LlamaUnavailable("no tokens")
    return ids


def _ask(
    address: str, path: str, body: Mapping[str, object] | None, key: str
) -> Mapping[str, object]:
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    connection = kind(parts.hostname or "", parts.port, timeout=ASK_SECONDS)
    try:
        data = None if body is None else json.dumps(body).encode("ascii")
        connection.request("GET" if data is None else "POST", parts.path + path, data, headers)
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise LlamaUnavailable(f"status {answer.status}")
        document = json.loads(answer.read(MAX_ANSWER_BYTES))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise LlamaUnavailable(type(error).__name__) from error
    finally:
        connection.close()
    if not isinstance(document, dict):
        raise LlamaUnavailable("no object")
    return document
