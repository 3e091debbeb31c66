"""The pages: what an address asks for, read from the runs, written by the templates.

Every page is whole without a script. Content is on two pages alone, ``text`` and ``compare``, and
only when the whole trace verifies.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from bot.inspector import views
from bot.inspector.asked import OUTCOMES, Asked, read_asked
from bot.inspector.doors import Doors
from bot.inspector.guard import FILE_POLICY, form_of, session_of
from bot.inspector.live import LivePages
from bot.inspector.paper import THEMES, Cookies, Paper
from bot.names import Names
from bot.runs import inspect_proof, verify_text
from bot.runs.book import OpenRun, RunBook
from compiler.blocks import BlockKind
from compiler.errors import SafeError
from compiler.request import ChannelId, TurnId
from sessions.review.cache_report import CacheBreak, call_figures
from sessions.review.differences import Difference, blocks_of_turn
from sessions.review.inspection import InspectionError, InspectionErrorCode, turn_events
from sessions.review.views import CompilationView, TurnView
from sessions.store.run_list import Places, RunList, RunSummary
from sessions.traces.events import CompiledEvent
from sessions.traces.plan import TracedTokens
from sessions.traces.proof import VerifyReport
from sessions.traces.reader import TraceDamaged

PAGE_RUNS: Final = 50
LINK_USED: Final = (
    "This link has been used, or is too old. Each one opens once, and only for some minutes. Ask "
    "for another with /inspect in Discord."
)
_LOCAL: Final = re.compile(r"/(?![/\\])[\x21-\x7e]*")
_DIGITS: Final = re.compile(r"\d{1,7}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A turn on its page, with all that is drawn of it. ``number`` is None for a start alone."""

    number: int | None
    turn: TurnView | None
    compilation: CompilationView
    blocks: views.BlocksView
    account: TracedTokens | None
    omissions: tuple[views.OmissionGroup, ...]
    calls: tuple[views.CallLine, ...]
    difference: Difference | None
    receipt: str
    first_text_us: int | None
    """Of a turn that runs: when its first word came."""


class Pages:
    """Everything behind the door; ``runs`` is None where the database cannot be read.

    ``spoken`` tells of a running turn when its first word came.
    """

    def __init__(
        self,
        book: RunBook,
        runs: RunList | None,
        *,
        paper: Paper,
        names: Names,
        doors: Doors,
        live: LivePages,
        cookies: Cookies,
        spoken: Callable[[TurnId], int | None],
    ) -> None:
        self._book = book
        self._runs = runs
        self._names = names
        self._doors = doors
        self._live = live
        self._cookies = cookies
        self._paper = paper
        self._spoken = spoken

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Say which address leads where; a run's id, a turn and a kind have one form each."""
        run = r"/runs/{run:\d{4}(?:-\d\d){5}-[a-z0-9]{1,16}}"
        block = run + r"/turns/{turn:\d{1,7}}/{what}/{kind:[a-z-]{1,20}}"
        router.add_get("/sign-in", self.sign_in)
        router.add_post("/sign-in", self.enter)
        router.add_post("/sign-out", self.leave)
        router.add_post("/theme", self.theme)
        router.add_get("/static/{name:[a-z.]{1,40}}", self.static)
        router.add_get("/live", self.live, allow_head=False)
        router.add_get("/", self.list)
        router.add_get(run, self.run)
        router.add_post(run + "/verify", self.verify)
        router.add_get(block.replace("{what}", "text"), self.text)
        router.add_get(block.replace("{what}", "difference"), self.compare)

    # --- coming and going

    async def sign_in(self, request: web.Request) -> web.Response:
        """Show a link's one button: a link alone, looked at by whatever, uses nothing up."""
        ticket = request.query.get("ticket", "")
        if not self._doors.is_open(ticket):
            return self._paper.plain(410, "This link does not open", LINK_USED)
        return await self._paper.page(request, "sign_in.html", ticket=ticket)

    async def enter(self, request: web.Request) -> web.Response:
        """Use a link up, and let this browser in."""
        entered = self._doors.enter((await form_of(request)).get("ticket", ""))
        if entered is None:
            return self._paper.plain(410, "This link does not open", LINK_USED)
        cookie, _ = entered
        response = _see_other("/")
        response.set_cookie(
            self._cookies.session, cookie, httponly=True, samesite="Strict", path="/"
        )
        return response

    async def leave(self, request: web.Request) -> web.Response:
        """Sign out."""
        self._doors.leave(session_of(request))
        response = self._paper.plain(200, "Signed out", "This browser is signed out.")
        response.del_cookie(self._cookies.session, path="/")
        return response

    async def theme(self, request: web.Request) -> web.Response:
        """Remember the colours that are wanted, and go back."""
        form = await form_of(request)
        wanted, back = form.get("theme", ""), form.get("back", "")
        response = _see_other(back if _LOCAL.fullmatch(back) else "/")
        if wanted in THEMES:
            response.set_cookie(
                self._cookies.theme, wanted, httponly=True, samesite="Strict", path="/"
            )
        return response

    async def static(self, request: web.Request) -> web.Response:
        """Give one of the page's own files; there is no way to any other."""
        found = self._paper.own_file(request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound
        headers = {"ETag": found.tag, "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == found.tag:
            return web.Response(status=304, headers=headers)
        headers["Content-Type"] = found.content_type
        return web.Response(body=found.body, headers=headers)

    async def live(self, request: web.Request) -> web.StreamResponse:
        """Tell of changes as they come."""
        session = session_of(request)
        run = request.query.get("run", "")
        return await self._live.serve(request, run, lasts=lambda: self._doors.lasts(session))

    # --- runs

    async def list(self, request: web.Request) -> web.Response:
        """List runs, the latest first."""
        asked = read_asked(request.query)
        found, places = await self._find(asked)
        more = found[PAGE_RUNS - 1].row.run_id if len(found) > PAGE_RUNS else None
        return await self._paper.page(
            request,
            "runs.html",
            asked=asked,
            found=found[:PAGE_RUNS],
            places=places,
            outcomes=OUTCOMES,
            older=None if more is None else f"/?{asked.query(before=more)}",
            newest=f"/?{asked.query(before=None)}" if asked.before else None,
            searchable=self._runs is not None,
            follow="/live",
        )

    async def _find(self, asked: Asked) -> tuple[tuple[RunSummary, ...], Places]:
        if self._runs is not None:
            wanted = asked.filter(self._names.channels_named(asked.text))
            found = await self._runs.page(wanted, PAGE_RUNS + 1, before=asked.before)
            return found, await self._runs.places()
        channel = ChannelId(asked.channel) if asked.channel else None
        rows = await self._book.rows(
            PAGE_RUNS + 1, channel=channel, before=asked.before, telling=not asked.idle
        )
        nothing = Places(channels=(), imps=())
        return tuple(RunSummary.of_row(row) for row in rows), nothing

    async def run(self, request: web.Request) -> web.Response:
        """Show a run and one of its turns."""
        run_id = request.match_info["run"]
        try:
            opened = await self._book.open(run_id)
        except TraceDamaged as error:
            return await self._damaged(request, run_id, error)
        view = opened.view
        turn = await self._turn(opened, _wanted_turn(request, opened))
        upto = _number(request.query.get("upto", "")) or len(view.turns)
        first = max(0, upto - views.LISTED_TURNS)
        return await self._paper.page(
            request,
            "run.html",
            run=view,
            report=opened.report,
            sound=opened.sound,
            verdict=verify_text.verdict_line(opened.report),
            lines=views.timeline(view.turns[first:upto], self._spoken),
            earlier=first or None,
            later=upto < len(view.turns),
            shown=turn,
            breaks=await self._breaks(opened),
            follow=f"/live?run={view.run_id}",
        )

    async def _turn(self, opened: OpenRun, number: int | None) -> Opened:
        view = opened.view
        turn = None if number is None else view.turns[number - 1]
        compilation = view.start if turn is None else turn.compilation
        if compilation is None:
            raise InspectionError(InspectionErrorCode.NOT_COMPILED, "Nothing was compiled here.")
        event = None if number is None else turn_events(opened.trace)[number - 1]
        account = event.tokens if isinstance(event, CompiledEvent) else None
        provable = opened.sound and compilation.failure is None and number is not None
        calls = view.wire.of_turn(turn.turn_id) if turn and turn.turn_id else ()
        figures = await asyncio.to_thread(call_figures, opened.trace) if calls else {}
        return Opened(
            number=number,
            turn=turn,
            compilation=compilation,
            blocks=views.draw_blocks(views.blocks_of(view, compilation), view.boundaries, account),
            account=account,
            omissions=views.omissions_of(view.start if number is not None else None, compilation),
            calls=views.draw_calls(calls, view.boundaries, account, figures),
            difference=await self._book.diff(opened, number) if provable else None,
            receipt=_receipt(opened, number) if provable else "",
            first_text_us=views.first_word(turn, self._spoken) if turn else None,
        )

    async def _breaks(self, opened: OpenRun) -> tuple[CacheBreak, ...]:
        if not opened.sound:
            return ()
        try:
            return (await self._book.cache_of(opened)).breaks
        except SafeError:
            return ()  # the conversation's run before it cannot be read; that run says so itself

    async def verify(self, request: web.Request) -> web.Response:
        """Work everything in a run's trace out anew, and tell each flaw."""
        run_id = request.match_info["run"]
        return await self._verified(request, run_id, await self._book.check(run_id))

    async def _damaged(
        self, request: web.Request, run_id: str, error: TraceDamaged
    ) -> web.Response:
        report = await self._book.check(run_id)
        return await self._verified(
            request, run_id, report, sentence=error.safe_message, status=409
        )

    async def _verified(
        self,
        request: web.Request,
        run_id: str,
        report: VerifyReport,
        *,
        sentence: str = "",
        status: int = 200,
    ) -> web.Response:
        page = {"run_id": run_id, "report": report, "flaws": verify_text.FLAWS}
        return await self._paper.page(
            request, "verify.html", status=status, sentence=sentence, **page
        )

    # --- exact texts

    async def text(self, request: web.Request) -> web.Response:
        """Show the exact text of one block, or give it as a file."""
        opened, number, kind = await self._block_asked(request)
        blocks = await asyncio.to_thread(blocks_of_turn, opened.trace, number)
        block = blocks.get(kind)
        if block is None:
            raise InspectionError(InspectionErrorCode.TURN_UNKNOWN, "This turn has no such block.")
        if request.query.get("as") == "file":
            name = f"{opened.view.run_id}-{number}-{kind.value}.txt"
            return web.Response(
                body=block.content.encode(),
                headers={
                    "Content-Type": "text/plain; charset=utf-8",
                    "Content-Disposition": f'attachment; filename="{name}"',
                    "Content-Security-Policy": FILE_POLICY,
                },
            )
        return await self._paper.page(
            request, "text.html", run_id=opened.view.run_id, number=number, block=block
        )

    async def compare(self, request: web.Request) -> web.Response:
        """Show where a block begins to differ from the turn before, in both."""
        opened, number, kind = await self._block_asked(request)
        difference = await self._book.diff(opened, number)
        found = next((each for each in difference.blocks if each.kind == kind), None)
        if found is None or found.first_difference is None or difference.before is None:
            raise InspectionError(
                InspectionErrorCode.TURN_UNKNOWN, "This block did not change in this turn."
            )
        earlier = await self._book.before(opened, difference)
        old = await asyncio.to_thread(blocks_of_turn, earlier, difference.before[1])
        new = await asyncio.to_thread(blocks_of_turn, opened.trace, number)
        return await self._paper.page(
            request,
            "compare.html",
            run_id=opened.view.run_id,
            number=number,
            before=difference.before,
            found=found,
            old=views.excerpt(old[kind].content, found.first_difference),
            new=views.excerpt(new[kind].content, found.first_difference),
        )

    async def _block_asked(self, request: web.Request) -> tuple[OpenRun, int, BlockKind]:
        named = request.match_info
        try:
            kind = BlockKind(named["kind"])
        except ValueError:
            raise web.HTTPNotFound from None
        opened = await self._book.open(named["run"])
        opened.demand_sound()
        return opened, int(named["turn"]), kind


def _see_other(path: str) -> web.Response:
    return web.Response(status=303, headers={"Location": path})


def _number(text: str) -> int | None:
    return int(text) if _DIGITS.fullmatch(text) else None


def _wanted_turn(request: web.Request, opened: OpenRun) -> int | None:
    """Read which turn is shown: the one named, else the latest; None where there is no turn."""
    turns = opened.view.turns
    named = request.query.get("turn", "")
    if not named:
        return len(turns) or None
    number = _number(named)
    if number is None or not 1 <= number <= len(turns):
        raise InspectionError(
            InspectionErrorCode.TURN_UNKNOWN,
            f"There is no such turn; this run has {len(turns)}.",
        )
    return number


def _receipt(opened: OpenRun, number: int | None) -> str:
    turn, receipt = inspect_proof.receipt_of_turn(opened.trace, number)
    return inspect_proof.receipt_text(opened.view.run_id, turn, receipt)
