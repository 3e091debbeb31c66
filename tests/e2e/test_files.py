"""Attached files, as people send them (P12, P17)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.playground.entities import Upload
from bot.playground.ids import ADA, DIRECT
from support.app_world import AppWorld

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


async def prompt_of(app: AppWorld, *files: Upload, text: str = "") -> str:
    """Send files and give what the model was asked."""
    count = len(app.prompts)
    asked = await app.pg.say(ADA, DIRECT[ADA], text, attachments=files)
    await app.pg.wait_for_message(DIRECT[ADA], lambda m: m.reply_to == asked.id, after=asked)
    assert len(app.prompts) == count + 1
    return app.prompts[-1]


def paste(data: bytes, name: str = "message.txt", content_type: str = "text/plain") -> Upload:
    return Upload(filename=name, data=data, content_type=content_type)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
async def test_a_paste_is_read_as_the_words_it_is(app: AppWorld, encoding: str) -> None:
    """P17: message.txt in any usual encoding."""
    text = "Grüße aus dem Garten, schöne Äpfel für alle."
    prompt = await prompt_of(app, paste(text.encode(encoding)))
    assert text in prompt
    assert '"name":"message.txt"' in prompt


async def test_a_paste_over_the_bound_is_kept_in_part_with_a_hash(app: AppWorld) -> None:
    """P17: within budget, with "kept n of m characters" and a hash."""
    with app.owner_sets("[files]\nmax_chars = 12_000"):
        prompt = await prompt_of(app, paste(b"x" * 30_000))
    assert "kept 12000 of 30000 characters" in prompt
    assert '"sha256":"' in prompt


@pytest.mark.parametrize(
    "data", [b"", b"a\x00\x00b", PNG + bytes(200)], ids=["empty", "nuls", "picture"]
)
async def test_what_is_no_text_is_described(app: AppWorld, data: bytes) -> None:
    """P17: never raw bytes, whatever the name says."""
    prompt = await prompt_of(app, paste(data), text="look")
    assert '"kind":"attachment"' in prompt
    assert "file-text" not in prompt
    assert "\\u0000" not in prompt


async def test_a_file_over_the_limit_is_not_fetched(app: AppWorld) -> None:
    """P17: nothing is downloaded past the cap."""
    prompt = await prompt_of(app, paste(b"y" * 1_000_001), text="look")
    assert "file-text" not in prompt
    assert "1.0 MB" in prompt


async def test_a_file_name_is_made_safe(app: AppWorld) -> None:
    """P17: no folders and no direction marks."""
    prompt = await prompt_of(app, paste(b"words", "../../x\u202egpj.txt"))
    assert '"name":"xgpj.txt"' in prompt
    assert "words" in prompt


async def test_a_file_that_is_gone_does_not_stop_the_message(app: AppWorld) -> None:
    """P17: the download answers 404; the message is answered with the description."""
    app.pg.world.attachments.clear()
    asked = await _say_and_lose(app, [paste(b"words")])
    assert "message.txt" in asked
    assert "file-text" not in asked


async def _say_and_lose(app: AppWorld, files: Sequence[Upload]) -> str:
    message = await app.pg.say(ADA, DIRECT[ADA], "look", attachments=files)
    app.pg.world.attachments.clear()
    await app.pg.wait_for_message(DIRECT[ADA], lambda m: m.reply_to == message.id, after=message)
    return app.prompts[-1]


async def test_eleven_files_are_too_many_to_read(app: AppWorld) -> None:
    """P17: a cap in count; the rest are described."""
    files = [paste(f"words {number}".encode(), f"f{number}.txt") for number in range(10)]
    prompt = await prompt_of(app, *files)
    assert prompt.count('"kind":"file-text"') == 5
    assert prompt.count('"kind":"attachment"') == 10
