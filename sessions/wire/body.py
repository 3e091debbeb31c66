r"""What a request's body says, and how it goes on from the one before it; pure.

A conversation only grows, so most of a body is the one before it. ``BodyReader`` keeps the former
body up to its last item (``head``). If the next one begins with these very bytes, nothing of them
is parsed or hashed again: comparing is one ``memcmp``, and only what follows is read::

    {"model":"m","messages":[{...},{...}   ],"stream":true,"tools":[...]}
    |---------------- head --------------| |---- rest of the object ----|
                                         ^ a new item begins here with ","

Where that does not hold (a first request, a break, or Anthropic's form, whose cache marks move
through the messages) the body is parsed whole, and items are compared by their hashes, marks left
out.

Spec: CC "Cache plan" (a stable prefix is judged by its bytes), issue "The wire".
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sessions.wire.upstream import COMPLETIONS, MESSAGES, RESPONSES

JsonObject = Mapping[str, Any]
_LISTS: Final = {COMPLETIONS: "messages", RESPONSES: "input", MESSAGES: "messages"}
"""The key of the conversation, by form."""
_FRONTS: Final = {RESPONSES: "instructions", MESSAGES: "system"}
"""Where a form holds the system prompt outside of the conversation; it is item 0 then."""
_MARK: Final = "cache_control"
_SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_TEXT_TYPES: Final = frozenset({"text", "input_text", "output_text"})
_PART_TYPES: Final = _TEXT_TYPES | {"image", "image_url", "input_image", "tool_result"}
"""Of what a person's item is made, results of tools in Anthropic's form included."""


class UnreadableBody(ValueError):
    """The body is not what the form prescribes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One body, without a word of what it says.

    ``kept`` items at its beginning are those of the former body. ``extends`` is None for a first
    body. ``difference_at`` is the first byte in which a body that does not extend the former one
    departs from it.
    """

    sha256: str
    size_bytes: int
    model: str
    items: int
    kept: int
    extends: bool | None
    difference_at: int | None
    prefix_bytes: int
    prefix_sha256: str
    tools: int
    tools_sha256: str | None


@dataclass(slots=True)
class BodyReader:
    """The bodies of one process, one after the other."""

    api: str
    head: bytes = b""
    """The last body up to the end of its last item; empty before the first, and where the form
    has no such place."""
    _hash: Any = field(default_factory=hashlib.sha256)
    """SHA-256 over ``head``, to go on from."""
    _digests: list[bytes] = field(default_factory=list)
    _model: str = ""
    _last: bytes = b""
    """The last body's bytes up to the end of its conversation, to find a first difference."""
    _seen: bool = False

    def read(self, body: bytes) -> tuple[Reading, tuple[Any, ...]]:
        """Read the next body.

        Returns:
            The account of it, and the items to be looked through: those after the kept ones, or
            all where the body does not extend the former one.

        Raises:
            UnreadableBody: it cannot be read; the reader is as it was.
        """
        try:
            if self.head and body.startswith(self.head):
                return self._read_on(body)
            return self._read_whole(body)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UnreadableBody(type(error).__name__) from error

    def _read_on(self, body: bytes) -> tuple[Reading, tuple[Any, ...]]:
        text = body[len(self.head) :].decode("utf-8")
        if text.startswith(","):
            fresh, end = _DECODER.raw_decode("[" + text[1:])
        elif text.startswith("]"):
            fresh, end = [], 1
        else:
            raise UnreadableBody("a conversation that does not go on")
        rest = _rest(text[end:])
        counts = {_LISTS[self.api], _FRONTS.get(self.api)}
        if counts & rest.keys() or rest.get("model", self._model) != self._model:
            return self._read_whole(body)  # what counts stands behind the conversation
        size = len(self.head) + len(text[: end - 1].encode("utf-8"))
        kept = len(self._digests)
        hashed = self._hash.copy()
        hashed.update(body[len(self.head) : size])
        whole = hashed.copy()
        whole.update(body[size:])
        self._digests.extend(map(_digest, fresh))
        self._keep(body[:size], hashed, can_go_on=True)
        reading = self._reading(
            body, rest, kept=kept, extends=True, difference=None, sha256=whole.hexdigest()
        )
        return reading, tuple(fresh)

    def _read_whole(self, body: bytes) -> tuple[Reading, tuple[Any, ...]]:
        text = body.decode("utf-8")
        document = _DECODER.decode(text)
        items = _items(self.api, document)
        digests = list(map(_digest, items))
        model = str(document["model"])
        kept = _common(self._digests, digests)
        extends = kept == len(self._digests) and model == self._model if self._seen else None
        difference = None if extends is not False else _first_difference(self._last, body)
        size, can_go_on = _end_of_items(self.api, text, document)
        hashed = hashlib.sha256(body[:size])
        whole = hashed.copy()
        whole.update(body[size:])
        self._digests, self._model, self._seen = digests, model, True
        self._keep(body[:size], hashed, can_go_on=can_go_on)
        reading = self._reading(
            body,
            document,
            kept=kept,
            extends=extends,
            difference=difference,
            sha256=whole.hexdigest(),
        )
        return reading, tuple(items if extends is False else items[kept:])

    def _keep(self, head: bytes, hashed: Any, *, can_go_on: bool) -> None:  # noqa: ANN401 - hashlib
        self.head = head if can_go_on else b""
        self._last = head
        self._hash = hashed

    def _reading(
        self,
        body: bytes,
        fields: JsonObject,
        *,
        kept: int,
        extends: bool | None,
        difference: int | None,
        sha256: str,
    ) -> Reading:
        tools = fields.get("tools") or []
        return Reading(
            sha256=sha256,
            size_bytes=len(body),
            model=self._model,
            items=len(self._digests),
            kept=kept,
            extends=extends,
            difference_at=difference,
            prefix_bytes=len(self._last),
            prefix_sha256=self._hash.hexdigest(),
            tools=len(tools),
            tools_sha256=_digest(tools).hex() if tools else None,
        )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its fields, each of which may stand in it once.

    Readers differ in which of two they take, so what was checked would not be what is read.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnreadableBody("a field stands twice")
    return found


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_once)


def _rest(text: str) -> JsonObject:
    """Read the fields of an object from behind one of its values."""
    tail = text.lstrip()
    rest = _DECODER.decode("{" + tail.removeprefix(","))
    return rest if isinstance(rest, dict) else {}


def _items(api: str, document: JsonObject) -> list[Any]:
    items = document[_LISTS[api]]
    if not isinstance(items, list):
        raise UnreadableBody("no conversation")
    front = document.get(_FRONTS.get(api, ""))
    return items if front is None else [{"role": "system", "content": front}, *items]


def _end_of_items(api: str, text: str, document: JsonObject) -> tuple[int, bool]:
    """Find the byte after the last item, and whether a next body can go on from there."""
    key = f'"{_LISTS[api]}":['
    at = text.find(key)
    if at < 0:
        return len(text.encode("utf-8")), False
    items, end = _DECODER.raw_decode(text, at + len(key) - 1)
    size = len(text[: end - 1].encode("utf-8"))
    has_front = document.get(_FRONTS.get(api, "")) is not None
    # Tools ahead of the conversation would be missed by who reads only what follows.
    tools_follow = not document.get("tools") or text.find('"tools":', end) >= 0
    can_go_on = not has_front and tools_follow and bool(items)
    return size, can_go_on and items == document[_LISTS[api]]


def _digest(item: Any) -> bytes:  # noqa: ANN401 - foreign JSON
    text = json.dumps(_unmarked(item), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _unmarked(value: Any) -> Any:  # noqa: ANN401 - foreign JSON
    """Leave out Anthropic's cache marks, and the form that a text takes only to carry one."""
    if isinstance(value, dict):
        kept = {name: _unmarked(each) for name, each in value.items() if name != _MARK}
        content = kept.get("content")
        if isinstance(content, str):
            kept["content"] = [{"type": "text", "text": content}]
        return kept
    if isinstance(value, list):
        return [_unmarked(each) for each in value]
    return value


def _common(former: Sequence[bytes], latter: Sequence[bytes]) -> int:
    count = 0
    for one, other in zip(former, latter, strict=False):
        if one != other:
            break
        count += 1
    return count


def _first_difference(former: bytes, body: bytes) -> int:
    """Find the first byte that differs: by halving, since comparing is cheap and looping is not."""
    low, high = 0, min(len(former), len(body))
    if body.startswith(former):
        return len(former)
    while low < high:
        middle = (low + high + 1) // 2
        if former[low:middle] == body[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def role_of(item: object) -> str:
    """Give an item's role; a system prompt is ``system`` in every form."""
    role = str(item.get("role", "")) if isinstance(item, dict) else ""
    return "system" if role in _SYSTEM_ROLES else role


def text_of(item: object) -> str | None:
    """Join an item's texts; None where it has none (a call of a tool, its result, a picture)."""
    content = item.get("content") if isinstance(item, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [
        part["text"]
        for part in content
        if isinstance(part, dict)
        and part.get("type") in _TEXT_TYPES
        and isinstance(part.get("text"), str)
    ]
    return "".join(texts) if texts else None


def is_plain(item: object) -> bool:
    """Tell whether an item is made of texts, pictures and results of tools, and nothing else."""
    content = item.get("content") if isinstance(item, dict) else None
    if not isinstance(content, list):
        return True
    return all(isinstance(part, dict) and part.get("type") in _PART_TYPES for part in content)


def pictures_of(item: object) -> tuple[str, ...]:
    """Give the hashes of an item's pictures; what is no Base64 has a hash of its own."""
    content = item.get("content") if isinstance(item, dict) else None
    if not isinstance(content, list):
        return ()
    return tuple(
        _picture_sha256(data)
        for part in content
        if isinstance(part, dict) and (data := _picture_data(part)) is not None
    )


def _picture_data(part: JsonObject) -> str | None:
    """Find the Base64 of a picture, in each form's own place."""
    source = part.get("source")
    if part.get("type") == "image" and isinstance(source, dict):
        return str(source.get("data", ""))
    address = part.get("image_url")
    if isinstance(address, dict):
        address = address.get("url")
    return None if address is None else str(address).partition(",")[2]


def _picture_sha256(data: str) -> str:
    try:
        return hashlib.sha256(base64.b64decode(data, validate=True)).hexdigest()
    except ValueError:
        return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()
