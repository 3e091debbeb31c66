"""A text that is too long for one turn, cut into parts that can be read one after the other.

Deterministic: the same text and policy give the same parts on every machine. A part ends at the
best boundary in the last half of its room: an empty line, a line end, the end of a sentence, a
blank; where there is none, between two characters that belong to none of these, never inside a
character that is written with several code points. Each part begins with the end of the one
before it, so that what stands across a boundary is read whole once.

We cut by ourselves: the text splitters that are maintained bring Unicode tables that change with
their versions, and the bytes of a part must not. Boundaries here are a handful of ASCII rules.

Spec: TR "Current-turn overflow".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compiler.hashing import sha256_fields, sha256_text

CHUNK_SCHEMA: Final = "inglenook.chunks.v1"
MIN_CHUNK_CHARS: Final = 200
"""A shorter part says nothing by itself."""
MAX_CHUNKS: Final = 64
"""More turns than that are no conversation; the person is told."""
_SENTENCE_END = re.compile(r"[.!?]['\")\]]?\s|[。！？]")
_JOINERS: Final = frozenset("\u200d\u20e3\ufe0e\ufe0f")
"""They belong to the character before them: emoji of several code points, key caps."""


class Boundary(StrEnum):
    """Where a part ends, best first."""

    END = "end"
    """Of the text."""
    PARAGRAPH = "paragraph"
    LINE = "line"
    SENTENCE = "sentence"
    BLANK = "blank"
    CHARACTER = "character"


class ChunkRefusal(StrEnum):
    """Why a text is not processed in parts."""

    NEEDS_WHOLE_TEXT = "needs_whole_text"
    """What is asked can only be done with all of it at once, and that has no room."""
    TOO_MANY = "too_many_chunks"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPolicy:
    """How a text is cut. ``limit_chars`` counts the part as it is rendered, overlap included."""

    limit_chars: int
    overlap_chars: int = 200

    @property
    def sha256(self) -> str:
        """The policy's identity."""
        return sha256_fields(CHUNK_SCHEMA, (str(self.limit_chars), str(self.overlap_chars)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One part. Spans are in characters and in UTF-8 bytes of the original, ends excluded.

    The part's text is ``original[start:end]``; its first ``overlap_chars`` stood in the part
    before.
    """

    index: int
    start: int
    end: int
    byte_start: int
    byte_end: int
    overlap_chars: int
    boundary: Boundary
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPlan:
    """All parts of one text, bound to its hash and length and to the policy that cut it."""

    original_sha256: str
    original_chars: int
    original_bytes: int
    policy: ChunkPolicy
    chunks: tuple[Chunk, ...]

    def binding(self, index: int) -> str:
        """Hash what ties a part to its original: hash, length, place, number, policy.

        TR: every chunk is bound to the original message hash, total byte length, chunk index and
        chunking-policy hash.
        """
        return sha256_fields(
            "inglenook-chunk-binding-v1",
            (
                self.original_sha256,
                str(self.original_bytes),
                str(index),
                str(len(self.chunks)),
                self.policy.sha256,
                self.chunks[index].sha256,
            ),
        )


def plan_chunks(
    text: str, policy: ChunkPolicy, measure: Callable[[str], int] = len
) -> ChunkPlan | ChunkRefusal:
    """Cut a text; ``measure`` gives the rendered size of a part, never less than its length.

    Raises:
        ValueError: the limit leaves no room for a part.
    """
    if policy.limit_chars < MIN_CHUNK_CHARS or policy.overlap_chars * 4 > policy.limit_chars:
        raise ValueError("the limit leaves no room for a part")
    chunks: list[Chunk] = []
    start, begins, byte_start = 0, 0, 0
    while True:
        if len(chunks) == MAX_CHUNKS:
            return ChunkRefusal.TOO_MANY
        end, boundary = _end_of(text, start, begins, policy.limit_chars, measure)
        body = text[start:end]
        octets = len(body.encode("utf-8", "surrogatepass"))
        chunks.append(
            Chunk(
                index=len(chunks),
                start=start,
                end=end,
                byte_start=byte_start,
                byte_end=byte_start + octets,
                overlap_chars=begins - start,
                boundary=boundary,
                sha256=sha256_text(body),
            )
        )
        if end == len(text):
            break
        following = _overlap_start(text, start, end, policy, measure)
        byte_start += len(text[start:following].encode("utf-8", "surrogatepass"))
        start, begins = following, end
    return ChunkPlan(
        original_sha256=sha256_text(text),
        original_chars=len(text),
        original_bytes=len(text.encode("utf-8", "surrogatepass")),
        policy=policy,
        chunks=tuple(chunks),
    )


def _end_of(
    text: str, start: int, begins: int, limit_chars: int, measure: Callable[[str], int]
) -> tuple[int, Boundary]:
    """Find where a part ends that starts at ``start`` and is new from ``begins`` on."""
    if len(text) - start <= limit_chars and measure(text[start:]) <= limit_chars:
        return len(text), Boundary.END
    furthest = _furthest(text, start, limit_chars, measure)
    furthest = max(_whole_characters(text, furthest, begins), begins + 1)
    earliest = begins + (furthest - begins) // 2
    room = text[earliest:furthest]
    for boundary, place in (
        (Boundary.PARAGRAPH, room.rfind("\n\n") + 2),
        (Boundary.LINE, room.rfind("\n") + 1),
        (Boundary.SENTENCE, _last_sentence_end(room)),
        (Boundary.BLANK, room.rfind(" ") + 1),
    ):
        if place > (1 if boundary is Boundary.PARAGRAPH else 0):
            return earliest + place, boundary
    return furthest, Boundary.CHARACTER


def _furthest(text: str, start: int, limit_chars: int, measure: Callable[[str], int]) -> int:
    """Find the longest part that renders within the limit, by halving."""
    low, high = start + 1, min(len(text), start + limit_chars)
    while low < high:
        middle = (low + high + 1) // 2
        if measure(text[start:middle]) <= limit_chars:
            low = middle
        else:
            high = middle - 1
    return low


def _whole_characters(text: str, place: int, least: int) -> int:
    """Go back to where no character is cut in two."""
    while least < place < len(text) and (
        text[place] in _JOINERS
        or text[place - 1] == "\u200d"
        or "\u0300" <= text[place] <= "\u036f"
        or "\U0001f3fb" <= text[place] <= "\U0001f3ff"
        or "\udc00" <= text[place] <= "\udfff"
    ):
        place -= 1
    return place


def _last_sentence_end(room: str) -> int:
    last = 0
    for match in _SENTENCE_END.finditer(room):
        last = match.end()
    return last


def _overlap_start(
    text: str, start: int, end: int, policy: ChunkPolicy, measure: Callable[[str], int]
) -> int:
    """Go back from the end of a part, to the beginning of a word where there is one.

    What renders far longer than it is (controls, six characters each) is repeated less: at most
    half of the next part may be what stood in this one.
    """
    place = max(end - policy.overlap_chars, start + 1)
    while place < end and measure(text[place:end]) > policy.limit_chars // 2:
        place = end - (end - place) // 2
    blank = text.find(" ", place, end)
    place = blank + 1 if 0 <= blank < end - 1 else place
    return min(_whole_characters(text, place, start), end)


_WHOLE = re.compile(
    r"\b(?:sort|rank|order|count|compare|contrast|deduplicate|reverse|shuffle|alphabeti[sz]e|"
    r"how (?:many|often)|(?:long|short|great|small|larg|old|new)est|most (?:frequent|common)|"
    r"duplicates?|contradict\w*|consisten\w*|overall)\b",
    re.IGNORECASE,
)
_INSTRUCTION_CHARS: Final = 400
"""What is asked stands at the beginning or at the end of a long paste."""


def needs_whole_text(text: str) -> bool:
    """Whether what is asked reads as if it could not be done part by part.

    A guess by words at both ends of the text, on the careful side: who is refused can ask for
    something else, and who is not asked twice gets an answer that no part alone could give.
    """
    ends = (text[:_INSTRUCTION_CHARS], text[-_INSTRUCTION_CHARS:])
    return any(_WHOLE.search(end) for end in ends)
