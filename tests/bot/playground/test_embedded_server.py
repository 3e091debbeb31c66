"""The process of the embedded model ends when nobody holds its input."""

from __future__ import annotations

import asyncio
import sys

import pytest

from bot.playground.embedded_model import PACKAGES
from bot.playground.embedded_server import _options


async def test_it_ends_at_once_when_its_input_is_closed() -> None:
    """Also before the model is loaded: the watch comes first."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot.playground.embedded_server", "--model", "none.gguf"),
        cwd=PACKAGES,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(120):
        out, _ = await process.communicate()
    assert out == b""
    assert process.returncode == 0  # not the end of a missing model


def test_it_uses_little_unless_told() -> None:
    options = _options(["--model", "a.gguf"])
    assert (options.slots, options.cache_mib, options.threads, options.port) == (2, 128, 2, 0)


def test_a_model_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _options([])
    assert "--model" in capsys.readouterr().err
