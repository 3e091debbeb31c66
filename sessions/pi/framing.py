r"""Bytes to records: one record a line, and only LF ends a line.

pi writes one JSON object a line. U+2028, U+2029, U+0085, form feed and a lone CR may stand inside
an object, so nothing but ``b"\n"`` may split (P21); lines of many megabytes are normal.
"""

from __future__ import annotations

from sessions.pi.errors import ProtocolError

MAX_RECORD_BYTES = 64 * 1024 * 1024
"""A prompt of 8 MB comes back whole in one record with its whole run; this leaves room for more."""


class LineFramer:
    """Cut a stream of byte chunks into records; any cutting of the same bytes gives the same.

    Every byte is looked at once: an unfinished line is kept as the chunks it came in, so a record
    of 8 MB in chunks of 64 KB is joined once and never searched again.
    """

    def __init__(self, *, limit_bytes: int = MAX_RECORD_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._pending_bytes = 0

    @property
    def pending_bytes(self) -> int:
        """Size of the record that has begun and not ended."""
        return self._pending_bytes

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes of the stream; give the records that they complete, without LF.

        Empty lines carry nothing and are left out.

        Raises:
            ProtocolError: a record is longer than the limit; the stream is lost from here on.
        """
        head, newline, rest = chunk.partition(b"\n")
        self._keep(head)
        if not newline:
            return []
        records = [self._take(), *rest.split(b"\n")]
        self._keep(records.pop())
        if any(len(record) > self._limit_bytes for record in records):
            raise self._too_long(max(map(len, records)))
        return [record for record in records if record]

    def _keep(self, part: bytes) -> None:
        if not part:
            return
        self._parts.append(part)
        self._pending_bytes += len(part)
        if self._pending_bytes > self._limit_bytes:
            raise self._too_long(self._pending_bytes)

    def _take(self) -> bytes:
        record = b"".join(self._parts)
        self._parts.clear()
        self._pending_bytes = 0
        return record

    @staticmethod
    def _too_long(size_bytes: int) -> ProtocolError:
        return ProtocolError("record too long", size_bytes=size_bytes)
