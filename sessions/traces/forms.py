"""The values inside the lines of a trace, as they stand in the file: closed, strict and frozen.

Field names of a compilation are CC's ("Trace and owner interface").
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from compiler.blocks import BlockAuthority, BlockKind, CacheClass
from compiler.request import Place, Role

Sha256: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count: TypeAlias = Annotated[int, Field(ge=0)]


class Form(BaseModel):
    """Closed and frozen: what is not known here is damage."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class TracedScope(Form):
    """Where and for whom, from the platform's ids."""

    provider: str
    place: Place
    channel_id: str | None
    parent_channel_id: str | None
    guild_id: str | None
    user_id: str | None
    message_id: str | None
    role: Role
    is_dm: bool


class TracedBudget(Form):
    """Characters of system prompt and input together."""

    limit_chars: Count
    used_chars: Count
    remaining_chars: Count


class TracedBlock(Form):
    """One admitted block, its exact text included."""

    kind: BlockKind
    authority: BlockAuthority
    cache_class: CacheClass
    source: str
    chars: Count
    sha256: Sha256
    content: str


class TracedOmission(Form):
    """Something that was offered and is not, or not wholly, in the prompt."""

    block: BlockKind
    item_id: str
    reason: str
    chars: Count


class TracedBoundary(Form):
    """The end of a stable prefix; ``class`` in the file."""

    cache_class: CacheClass = Field(alias="class")
    after_block: BlockKind
    prefix_chars: Count
    prefix_sha256: Sha256


class TracedCache(Form):
    """The cache plan of the system prompt."""

    schema_version: int
    route_key: str
    boundaries: tuple[TracedBoundary, ...]


class TracedMark(Form):
    """A line of the trace: its number and its hash in the chain."""

    seq: Count
    sha256: Sha256


class TracedMessage(Form):
    """One of several messages of a turn: its id, and the hash of its text and of each edit."""

    message_id: str
    texts_sha256: tuple[Sha256, ...]


class TracedSize(Form):
    """A block that was rendered before the failure."""

    kind: str
    chars: Count


class TracedError(Form):
    """Why a compilation failed, in words fit for anybody; ``source`` is empty if none failed."""

    code: str
    message: str
    source: str


class TracedUsage(Form):
    """Provider figures of a turn."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float
    model_calls: int


class TracedPlace(Form):
    """Where a compiled text stands in a request: item, from 0, and character in its text."""

    item: Count
    at_chars: Count
    chars: Count
    sha256: Sha256


class TracedWireUsage(Form):
    """Provider figures of one model call; ``input_tokens`` is the whole prompt, cached or not."""

    input_tokens: Count
    cached_tokens: Count
    cache_write_tokens: Count
    output_tokens: Count
    is_estimate: bool


class TracedPicture(Form):
    """A picture that was shown with an input; its bytes lie beside the trace under its hash."""

    sha256: Sha256
    media_type: str
    size_bytes: Count
    width: Count
    height: Count


def clean(text: str) -> str:
    r"""Make a label writable: a file name that is no UTF-8 shows its odd bytes as ``\udce9``."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
