"""The JSON forms: stable keys, no content but in prompts."""

from __future__ import annotations

import json
from pathlib import Path

from bot.runs.book import open_book
from bot.runs.inspect_json import (
    diff_document,
    dump,
    list_document,
    prompts_document,
    run_document,
    verify_document,
)
from sessions.review.prompts import all_prompts
from support.recorded_runs import CANARY, RUN, record_run


async def test_the_keys_of_every_form(tmp_path: Path) -> None:
    """Programs rely on these; a key that goes or changes its name fails here."""
    await record_run(tmp_path)
    async with open_book(tmp_path) as book:
        run = await book.open(RUN)
        documents = {
            "list": list_document(await book.rows(5)),
            "run": run_document(run.view, run.report),
            "diff": diff_document(await book.diff(run, 2)),
            "verify": verify_document(run.report),
        }
    for document in documents.values():
        assert CANARY not in dump(document)
    assert set(documents["list"]["runs"][0]) >= {"run_id", "channel_id", "turns", "end_reason"}
    shown = json.loads(dump(documents["run"]))
    assert set(shown) == {
        "run_id", "imp", "surface", "place", "channel_id", "is_dm", "started_at", "ended_at",
        "end_reason", "start", "route_key", "boundaries", "turns", "resumed_at", "gaps", "usage",
        "verified", "trace", "wire", "house_rules", "tools", "unlisted",
    }  # fmt: skip
    assert set(shown["turns"][0]) == {
        "number", "turn_id", "user_id", "compilation", "outcome", "error_code", "reply_sha256",
        "usage", "times", "message_id", "joined", "passed", "steers",
    }  # fmt: skip
    assert set(shown["turns"][0]["compilation"]) == {
        "at", "blocks", "omissions", "budget", "system_prompt_sha256", "input_prompt_sha256",
        "compile_us", "waited_us", "failure", "tokens",
    }  # fmt: skip
    assert set(documents["diff"]) == {"before", "after", "stable_system", "blocks", "plan"}
    assert documents["diff"]["before"] == {"run_id": RUN, "turn": 1}
    verdict = json.loads(dump(documents["verify"]))
    assert verdict["ok"]
    assert verdict["problems"] == []


async def test_prompts_are_exact(tmp_path: Path) -> None:
    await record_run(tmp_path)
    async with open_book(tmp_path) as book:
        run = await book.open(RUN)
    prompts = all_prompts(run.trace)
    document = json.loads(dump(prompts_document(prompts)))
    assert document["verified"] is True
    assert document["prompts"][1]["input_prompt"] == prompts[1].input_prompt


async def test_the_first_turn_of_all_has_none_before(tmp_path: Path) -> None:
    await record_run(tmp_path)
    async with open_book(tmp_path) as book:
        assert diff_document(await book.diff(await book.open(RUN), 1))["before"] is None
