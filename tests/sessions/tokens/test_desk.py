"""Who counts for which engine, and what is measured (TR "Token-budget equations")."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compiler.compile import Model
from compiler.templates import ENGINE_PREAMBLE
from compiler.tokens import Counting, Tokenizer, TokenScene
from sessions.limits import EngineSettings
from sessions.tokens.desk import TokenDesk, budgets_of, choosing, model_identity
from sessions.tokens.estimate import EstimateTokenizer
from support.word_tokens import WordTokenizer

SETTINGS = EngineSettings(provider="elsewhere", model="m", context_window=8192, max_tokens=512)


PREAMBLE_TOKENS = WordTokenizer().tokenize(ENGINE_PREAMBLE).count


def scene_of(model: Model) -> TokenScene:
    assert model.scene is not None
    return model.scene


async def test_a_tokenizer_is_chosen_once_for_an_engine() -> None:
    chosen: list[EngineSettings] = []

    def choose(settings: EngineSettings) -> Tokenizer:
        chosen.append(settings)
        return WordTokenizer()

    desk = TokenDesk(choose)
    first = await desk.model(SETTINGS)
    second = await desk.model(SETTINGS, held_tokens=900)
    assert scene_of(first).stable is scene_of(second).stable
    assert scene_of(second).held_tokens == 900
    await desk.model(replace(SETTINGS, model="other"))
    assert len(chosen) == 2


def test_the_window_is_divided_by_the_settings() -> None:
    """O and M are reserved; an estimate keeps a tenth of the window free."""
    exact = budgets_of(SETTINGS, WordTokenizer())
    assert (exact.context_window, exact.output_reservation, exact.safety_margin) == (8192, 512, 64)
    assert budgets_of(SETTINGS, EstimateTokenizer()).safety_margin == 819
    wide = replace(SETTINGS, token_margin=2000)
    assert budgets_of(wide, EstimateTokenizer()).safety_margin == 2000


async def test_the_wrapper_is_measured_at_the_first_call() -> None:
    """T is what the provider counts beyond our own texts."""
    desk = TokenDesk(lambda _: WordTokenizer())
    assert scene_of(await desk.model(SETTINGS)).wrapper_tokens == PREAMBLE_TOKENS
    desk.measured(SETTINGS, own_tokens=1_000, prompt_tokens=1_037)
    assert scene_of(await desk.model(SETTINGS)).wrapper_tokens == 37
    other = replace(SETTINGS, model="other")
    assert scene_of(await desk.model(other)).wrapper_tokens == PREAMBLE_TOKENS
    of_pi = replace(SETTINGS, preamble="pi")
    assert scene_of(await desk.model(of_pi)).wrapper_tokens == 0


@pytest.mark.parametrize(("own", "prompt"), [(1_000, 900), (0, 50)])
async def test_a_provider_that_counts_less_tells_nothing(own: int, prompt: int) -> None:
    desk = TokenDesk(lambda _: WordTokenizer())
    await desk.model(SETTINGS)
    desk.measured(SETTINGS, own_tokens=own, prompt_tokens=prompt)
    assert scene_of(await desk.model(SETTINGS)).wrapper_tokens == PREAMBLE_TOKENS


@pytest.mark.parametrize(
    ("model", "tokenizer", "expected"),
    [
        ("gpt-4o-mini", "auto", "tiktoken:o200k_base"),
        ("openai/gpt-4o", "auto", "tiktoken:o200k_base"),
        ("gpt-4", "auto", "tiktoken:cl100k_base"),
        ("gpt-4", "o200k_base", "tiktoken:o200k_base"),
        ("some-model", "auto", "estimate:utf8/3"),
        ("gpt-4o", "estimate", "estimate:utf8/3"),
    ],
)
def test_the_choice_follows_the_settings(
    model: str, tokenizer: str, expected: str, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, model=model, tokenizer=tokenizer)
    assert choosing(tmp_path, {})(settings).identity.name == expected


def test_a_server_that_is_none_becomes_a_declared_estimate(tmp_path: Path) -> None:
    settings = replace(SETTINGS, url="http://127.0.0.1:9/v1", tokenizer="llama")
    assert choosing(tmp_path, {})(settings).identity.counting is Counting.ESTIMATE


def test_a_place_that_cannot_be_written_becomes_a_declared_estimate(tmp_path: Path) -> None:
    (tmp_path / "tokenizers").write_text("a file")
    settings = replace(SETTINGS, tokenizer="cl100k_base")
    assert choosing(tmp_path, {})(settings).identity.counting is Counting.ESTIMATE


def test_a_remote_server_is_never_asked_by_itself(tmp_path: Path) -> None:
    """``auto`` sends texts nowhere but to the model and to this machine."""
    settings = replace(SETTINGS, url="https://models.example/v1")
    assert choosing(tmp_path, {})(settings).identity.counting is Counting.ESTIMATE


def test_what_shapes_an_answer_is_in_the_models_identity() -> None:
    base = model_identity(SETTINGS, WordTokenizer())
    assert base.model_id == "elsewhere/m"
    for changed in (
        replace(SETTINGS, model="n"),
        replace(SETTINGS, provider="p"),
        replace(SETTINGS, thinking="high"),
        replace(SETTINGS, max_tokens=600),
        replace(SETTINGS, preamble="pi"),
    ):
        assert model_identity(changed, WordTokenizer()).sha256 != base.sha256
    assert model_identity(replace(SETTINGS, retries=5), WordTokenizer()) == base
