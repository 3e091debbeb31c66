"""``runs`` in the shell: the same reader and the same texts as ``/runs``."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from bot.cache_text import cache_document, cache_text
from bot.logs import configure_logging
from bot.runs import diff_text, inspect_json, inspect_proof, inspect_text, list_text, verify_text
from bot.runs.book import RunBook, open_book
from bot.runs.replay_settings import replay_against, replay_run
from bot.shell.terminal import write_out
from compiler.errors import SafeError
from compiler.request import ChannelId
from config.homedir import find_home
from config.settings import LogLevel, LogSettings
from sessions.review.prompts import Prompts, all_prompts, demand_turn, exact_prompts

Action = Callable[[RunBook, Namespace], Awaitable[int]]


def main(home: Path, options: Namespace) -> int:
    """Run one of the ``runs`` commands; 0 when all is well, 1 when something is not as it was."""
    return asyncio.run(_main(home, options))


async def _main(home: Path, options: Namespace) -> int:
    try:
        async with open_book(home) as book:
            return await _ACTIONS[options.action](book, options)
    except SafeError as error:
        if options.json:
            document = {"error": {"code": str(error.code), "message": error.safe_message}}
            write_out(inspect_json.dump(document))
        else:
            sys.stderr.write(f"{error.safe_message}\n")
        return 1


async def _list(book: RunBook, options: Namespace) -> int:
    channel = options.channel and ChannelId(f"discord:{options.channel}")
    rows = await book.rows(options.limit, channel=channel, telling=not options.all)
    document = inspect_json.list_document(rows)
    _tell(options, list_text.list_text(rows), document)
    return 0


async def _show(book: RunBook, options: Namespace) -> int:
    run = await book.open(options.run)
    if options.turn is not None:
        demand_turn(options.turn, len(run.view.turns))
    text = inspect_text.run_text(run.view, run.report, turn=options.turn)
    _tell(options, text, inspect_json.run_document(run.view, run.report))
    return 0 if run.sound else 1


async def _context(book: RunBook, options: Namespace) -> int:
    run = await book.open(options.run)
    run.demand_sound()
    one = () if options.all else (exact_prompts(run.trace, options.turn),)
    prompts = one or all_prompts(run.trace)
    _tell(options, _prompts_text(prompts), inspect_json.prompts_document(prompts))
    return 0


async def _diff(book: RunBook, options: Namespace) -> int:
    difference = await book.diff(await book.open(options.run), options.turn)
    _tell(options, diff_text.diff_text(difference), inspect_json.diff_document(difference))
    return 0


async def _receipt(book: RunBook, options: Namespace) -> int:
    run = await book.open(options.run)
    run.demand_sound()
    turn, receipt = inspect_proof.receipt_of_turn(run.trace, options.turn)
    run_id = run.view.run_id
    document = inspect_proof.receipt_document(run_id, turn, receipt)
    _tell(options, inspect_proof.receipt_text(run_id, turn, receipt), document)
    return 0


async def _replay(book: RunBook, options: Namespace) -> int:
    run = await book.open(options.run)
    run.demand_sound()
    home = find_home(options.home, os.environ)
    configure_logging(LogSettings(level=LogLevel.WARNING))  # standard output is for the answer
    if options.against:
        replanned = await asyncio.to_thread(
            replay_against, home, run.trace, options.turn, options.against
        )
        document = inspect_proof.replay_document(replanned)
        _tell(options, inspect_proof.replanned_text(replanned), document)
        return 0
    replay = await asyncio.to_thread(replay_run, home, run.trace, options.turn)
    _tell(options, inspect_proof.replay_text(replay), inspect_proof.replay_document(replay))
    return 0 if replay.ok else 1


async def _verify(book: RunBook, options: Namespace) -> int:
    report = await book.check(options.run)
    _tell(options, verify_text.verify_text(report), inspect_json.verify_document(report))
    return 0 if report.ok else 1


async def _cache(book: RunBook, options: Namespace) -> int:
    channel = options.channel and ChannelId(f"discord:{options.channel}")
    report = await book.cache(options.limit, channel=channel, run=options.run)
    _tell(options, cache_text(report), cache_document(report))
    return 0


_ACTIONS: Mapping[str, Action] = {
    "ls": _list,
    "cache": _cache,
    "show": _show,
    "context": _context,
    "diff": _diff,
    "receipt": _receipt,
    "replay": _replay,
    "verify": _verify,
}


def _prompts_text(prompts: tuple[Prompts, ...]) -> str:
    """Give prompts one below the other; the ruled lines between them are not part of them."""
    parts: list[str] = []
    last_system = ""
    for item in prompts:
        if item.system_prompt_sha256 != last_system:
            last_system = item.system_prompt_sha256
            parts.append(_ruled("system prompt", item.system_prompt, last_system))
        if item.input_prompt is not None:
            title = f"input of turn {item.turn}"
            parts.append(_ruled(title, item.input_prompt, item.input_prompt_sha256 or ""))
    return "\n\n".join(parts)


def _ruled(title: str, text: str, sha256: str) -> str:
    return f"=== {title}: {len(text):,} characters, sha256 {sha256} ===\n{text}"


def _tell(options: Namespace, text: str, document: dict[str, object]) -> None:
    write_out(inspect_json.dump(document) if options.json else text)
