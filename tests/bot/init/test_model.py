"""Which model the wizard writes down."""

from __future__ import annotations

import asyncio

import pytest

from bot.init.model import ModelChoice, check_variable, chosen, label, models_at, usual_key
from bot.init.model_steps import FAMILIAR
from bot.playground.scripted_model import ScriptedModel
from config.check import check_layers
from config.layers import parse_org
from config.settings import Settings
from config.toml_edit import set_keys
from sessions.limits import EngineSettings
from sessions.wire.upstream import PROVIDERS
from support.free_ports import free_port


@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_provider_can_be_set_and_is_followed(provider: str) -> None:
    """Issue "Set up": providers that pi knows; none is written that the settings refuse."""
    choice = ModelChoice(provider=provider, model="m", key_env=usual_key(provider))
    assert choice.fault() == ""
    written = check_layers((parse_org(set_keys("", "engine", choice.settings())),))
    assert written.settings is not None
    assert chosen(written.settings.engine).provider == provider


def test_those_that_are_named_first_are_there() -> None:
    assert set(FAMILIAR) <= set(PROVIDERS)


def test_a_later_choice_leaves_nothing_of_an_earlier_one() -> None:
    own = ModelChoice(provider="local", model="m", url="http://127.0.0.1:1/v1", key_env="K")
    text = set_keys("", "engine", own.settings())
    text = set_keys(text, "engine", ModelChoice().settings())
    settings = check_layers((parse_org(text),)).settings
    assert settings == Settings()
    assert "toy" in label(EngineSettings())


def test_what_cannot_be_used_is_named() -> None:
    assert "url" in ModelChoice(provider="local", model="m", url="ftp://x").fault()
    assert "model" in ModelChoice(provider="openai", model="a b", key_env="K").fault()
    with pytest.raises(ValueError, match="is not the name of a variable"):
        check_variable("sk-1234")


async def test_a_server_is_asked_for_its_models() -> None:
    async with ScriptedModel() as model:
        assert await asyncio.to_thread(models_at, model.url, "k") == ("scripted",)
    assert await asyncio.to_thread(models_at, f"http://127.0.0.1:{free_port()}/v1", "") == ()
