"""One model call on its way through the host: read, check, forward, watch.

The bytes go through as they come, in both directions, a chunk at a time. What is looked up in them
is looked up beside that: a request is inspected while the provider reads it already, figures are
read from a copy of the stream's ends. Only where a mismatch is to stop the session does the
inspection come first.

A refusal of ours has the form of a provider's error of the kind that pi does not repeat; a
provider's own errors and failures reach pi as they are, so that its rules for repeating hold. One
is not repeated whatever pi makes of its words: a key that is refused is no better a second later.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Final, Protocol

import aiohttp
import structlog
from aiohttp import web
from yarl import URL

from sessions.allowance import Allowance, Spender, price_of
from sessions.clock import Clock, elapsed_us
from sessions.limits import EngineSettings
from sessions.pi.provider_fault import SAFE_SENTENCES, ProviderFault
from sessions.store.usage import SpentRow
from sessions.wire.ledger import Finding, WireLedger, WireProblem
from sessions.wire.record import ANSWERED, CallEnd, WireRecord
from sessions.wire.upstream import MESSAGES, Upstream, request_headers, response_headers
from sessions.wire.usage import StreamEnds, WireUsage, estimated

_log = structlog.get_logger(__name__)
INLINE_BYTES: Final = 256 * 1024
"""A larger body that must be read whole is read in a thread: it would hold up the loop."""
_FORBIDDEN: Final = 400
_UNAUTHORIZED: Final = 401
_BAD_GATEWAY: Final = 502
_GATEWAY_TIMEOUT: Final = 504


class WireAlarm(Protocol):
    """Told when a call does not hold what was compiled; must return at once."""

    def __call__(self, *, run_id: str, turn_id: str, problems: tuple[WireProblem, ...]) -> None:
        """Note it."""


class Stopped:
    """Why a session's calls are refused: a stable code, and a sentence fit for the channel."""

    def __init__(self, code: str, safe_message: str) -> None:
        self.code = code
        self.safe_message = safe_message


class CallHost(Protocol):
    """What a call needs of the session it belongs to."""

    upstream: Upstream
    engine: EngineSettings
    secret: str
    key: str
    proxy: str | None
    ledger: WireLedger
    spender: Spender
    stopped: Stopped | None
    inspecting: asyncio.Lock

    def alarm(self, finding: Finding) -> None:
        """Tell of a mismatch."""


class ModelCall:
    """One call, from its whole body to its record."""

    def __init__(
        self,
        host: CallHost,
        body: bytes,
        *,
        number: int,
        client: aiohttp.ClientSession,
        allowance: Allowance | None,
        clock: Clock,
    ) -> None:
        """Take the body and the collaborators."""
        self._host = host
        self._body = body
        self._number = number
        self._client = client
        self._allowance = allowance
        self._clock = clock
        self._began_ns = clock.monotonic_ns()
        self._at = clock.utc_now()
        self._finding: Finding | None = None
        self._ends = StreamEnds()
        self._status = 0
        self._first_byte_us = 0
        self._refusal = ""
        self._end = CallEnd.LEFT
        self._billed: WireUsage | None = None

    async def run(self, request: web.BaseRequest, query: str) -> web.StreamResponse:
        """Carry the call out and give pi its answer."""
        stopped = await self._stopped()
        if stopped is not None:
            self._end, self._refusal = CallEnd.REFUSED, stopped.code
            return refused(self._host.upstream.api, _FORBIDDEN, stopped.code)
        try:
            return await self._forward(request, query)
        except (aiohttp.ServerTimeoutError, TimeoutError):
            return self._broken(request, CallEnd.SILENT, _GATEWAY_TIMEOUT)
        except (aiohttp.ClientError, OSError):
            started = self._status != 0
            end = CallEnd.DROPPED if started else CallEnd.UNREACHABLE
            return self._broken(request, end, _BAD_GATEWAY)

    async def record(self) -> WireRecord:
        """Give the account of the call; it was inspected at the latest now."""
        if self._finding is None:
            await self._inspect()
        finding = self._finding or _unread(self._host.ledger)
        reading = finding.reading
        return WireRecord(
            number=self._number,
            at=self._at,
            api=self._host.upstream.api,
            body_sha256=reading.sha256 if reading else hashlib.sha256(self._body).hexdigest(),
            body_bytes=len(self._body),
            finding=finding,
            end=self._end,
            refusal=self._refusal,
            status=self._status,
            response_bytes=self._ends.size_bytes,
            usage=self._usage(),
            first_byte_us=self._first_byte_us,
            total_us=elapsed_us(self._clock, self._began_ns),
        )

    def spend(self) -> tuple[SpentRow, ...]:
        """Count what the call took against the limits, and give the rows to be kept of it."""
        usage, allowance = self._usage(), self._allowance
        if usage is None or allowance is None:
            return ()
        return allowance.spend(
            self._host.spender,
            tokens=usage.total_tokens,
            micro_usd=price_of(usage, self._host.engine),
            input_tokens=0 if usage.is_estimate else usage.input_tokens,
            cached_tokens=0 if usage.is_estimate else usage.cached_tokens,
        )

    async def _stopped(self) -> Stopped | None:
        host = self._host
        if host.stopped is None and self._allowance is not None:
            refusal = self._allowance.refusal(host.spender)
            if refusal is not None:
                # Only this turn's calls: a session outlives the end of the day.
                return self._stop(Stopped(refusal.code, refusal.safe_message))
        if host.stopped is None and host.engine.on_mismatch == "stop":
            await self._inspect()
        return host.stopped

    def _stop(self, stopped: Stopped) -> Stopped:
        self._host.stopped = stopped
        return stopped

    async def _inspect(self) -> None:
        """Look the body through; whatever fails there is a mismatch, never a lost call."""
        host, body = self._host, self._body
        async with host.inspecting:
            if self._finding is not None:
                return
            if len(body) <= INLINE_BYTES or host.ledger.goes_on(body):
                self._finding = host.ledger.inspect(body)
            else:
                self._finding = await asyncio.to_thread(host.ledger.inspect, body)
        if self._finding.problems:
            host.alarm(self._finding)

    async def _sent(self) -> AsyncIterator[bytes]:
        """Give the body, and inspect it when it is out."""
        yield self._body
        if self._finding is None:
            await self._inspect()

    async def _forward(self, request: web.BaseRequest, query: str) -> web.StreamResponse:
        host, engine = self._host, self._host.engine
        headers = request_headers(request.headers.items(), secret=host.secret, key=host.key)
        headers.append(("Content-Length", str(len(self._body))))
        url = f"{host.upstream.url}?{query}" if query else host.upstream.url
        async with (
            asyncio.timeout(engine.request_seconds),
            self._client.post(
                URL(url, encoded=True),
                data=self._sent(),
                headers=headers,
                proxy=host.proxy,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    sock_connect=engine.connect_seconds,
                    sock_read=engine.http_idle_seconds,
                ),
            ) as answer,
        ):
            self._status = answer.status
            if answer.status == _UNAUTHORIZED and host.stopped is None:
                self._stop(Stopped(ProviderFault.AUTH, SAFE_SENTENCES[ProviderFault.AUTH]))
            response = web.StreamResponse(
                status=answer.status,
                reason=answer.reason,
                headers=response_headers(answer.headers.items()),
            )
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                if not self._first_byte_us:
                    self._first_byte_us = elapsed_us(self._clock, self._began_ns)
                self._ends.feed(chunk)
                await response.write(chunk)
            self._end = CallEnd.COMPLETE
            return response

    def _broken(self, request: web.BaseRequest, end: CallEnd, status: int) -> web.StreamResponse:
        """End what the provider did not: with an error, or where an answer had begun, by a cut."""
        self._end = end
        if self._status and request.transport is not None:
            request.transport.abort()
        return refused(self._host.upstream.api, status, f"upstream connection {end.value}")

    def _usage(self) -> WireUsage | None:
        if self._billed is None and self._status in ANSWERED:
            self._billed = self._ends.usage() or estimated(
                request_bytes=len(self._body), response_bytes=self._ends.size_bytes
            )
        return self._billed


def _unread(ledger: WireLedger) -> Finding:
    return Finding(
        turn=ledger.turn,
        reading=None,
        system=None,
        input=None,
        problems=(WireProblem.UNREADABLE,),
    )


def refused(api: str, status: int, message: str) -> web.Response:
    """Refuse in a provider's form. ``message`` is a code of ours, never content."""
    error = {"type": "inglenook", "message": f"inglenook: {message}"}
    document = {"type": "error", "error": error} if api == MESSAGES else {"error": error}
    return web.Response(
        status=status,
        text=json.dumps(document),
        content_type="application/json",
        headers={"x-should-retry": "false"} if status == _FORBIDDEN else {},
    )
