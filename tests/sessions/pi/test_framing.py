"""Only LF ends a record, however the bytes arrive (P21)."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.pi.errors import ProtocolError
from sessions.pi.framing import LineFramer

# Everything that some reader takes for the end of a line, and bytes that no decoder would take.
TRICKY = st.sampled_from(
    ["\u2028".encode(), "\u2029".encode(), b"\x85", b"\x0c", b"\x0b", b"\r", b"\x00", b"\xff", b"{"]
)
RECORD = st.lists(TRICKY | st.binary(max_size=8), max_size=8).map(
    lambda parts: b"".join(parts).replace(b"\n", b"")
)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    """Cut a stream at the given places."""
    ends = sorted({place % (len(stream) + 1) for place in places} | {0, len(stream)})
    return [stream[a:b] for a, b in pairwise(ends)]


@given(st.lists(RECORD, max_size=12), st.lists(st.integers(min_value=0), max_size=30))
def test_any_chunking_gives_the_same_records(records: list[bytes], places: list[int]) -> None:
    """Records come out as they went in, whatever the chunks; empty lines carry nothing."""
    framer = LineFramer()
    stream = b"".join(record + b"\n" for record in records)
    found = [record for chunk in cut(stream, places) for record in framer.feed(chunk)]
    assert found == [record for record in records if record]
    assert framer.pending_bytes == 0


def test_an_unfinished_record_waits() -> None:
    framer = LineFramer()
    assert framer.feed(b'{"a":') == []
    assert framer.pending_bytes == 5
    assert framer.feed(b"1}\n{") == [b'{"a":1}']
    assert framer.pending_bytes == 1


def test_a_record_at_the_limit_passes_and_one_above_does_not() -> None:
    assert LineFramer(limit_bytes=4).feed(b"abcd\n") == [b"abcd"]
    with pytest.raises(ProtocolError) as caught:
        LineFramer(limit_bytes=4).feed(b"abcde\n")
    assert caught.value.facts == {"reason": "record too long", "size_bytes": 5}


def test_the_limit_holds_before_the_record_ends() -> None:
    """A stream without an end must not fill the memory."""
    framer = LineFramer(limit_bytes=4)
    framer.feed(b"abc")
    with pytest.raises(ProtocolError):
        framer.feed(b"de")


def test_the_limit_holds_for_a_record_in_the_middle_of_a_chunk() -> None:
    with pytest.raises(ProtocolError):
        LineFramer(limit_bytes=4).feed(b"a\nabcde\nb\n")


def test_a_huge_record_in_small_chunks_takes_time_in_proportion() -> None:
    """Twice the bytes, about twice the time: nothing is searched again."""

    def seconds(chunks: int) -> float:
        framer, chunk = LineFramer(), b"x" * 4096
        begun = time.process_time()
        for _ in range(chunks):
            framer.feed(chunk)
        assert len(framer.feed(b"\n")[0]) == chunks * 4096
        return time.process_time() - begun

    assert min(seconds(4096) for _ in range(3)) < 0.2 + 8 * min(seconds(1024) for _ in range(3))
