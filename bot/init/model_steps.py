"""The steps of the model: which one, its key, one word of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bot.doctor.results import Check, Verdict
from bot.init.characters import clean
from bot.init.desk import Desk
from bot.init.given import EXIT_USAGE, Halt
from bot.init.model import (
    LOCAL,
    ModelChoice,
    check_variable,
    chosen,
    label,
    models_at,
    usual_key,
)
from config.load import Loaded
from config.rules.engine import ENGINE_APIS
from sessions.limits import EMBEDDED
from sessions.wire.upstream import PROVIDERS

FAMILIAR: Final = ("openai", "anthropic", "openrouter", "deepseek", "groq", "xai")
"""Providers to be named first; all of them are told once somebody chooses one."""


class ModelSteps:
    """What has to stand for a model to answer; ``trial`` asks it."""

    def __init__(self, desk: Desk, trial: Callable[[Loaded], Check]) -> None:
        self._desk = desk
        self._trial = trial

    def choose(self) -> None:
        """See that a model is chosen, and that its key is there."""
        self._desk.terminal.heading("4. The model")
        loaded = self._desk.keeper.load()
        present = chosen(loaded.settings.engine)
        wanted = self._given_model(present)
        if wanted is None and not self._desk.given.interactive:
            wanted = present
        if wanted is None:
            is_set = present != ModelChoice(api=present.api)
            if is_set and self._desk.terminal.confirm(f"Keep {label(present)}?", default=True):
                return self._key(present)
            wanted = self._asked_model()
        elif present not in (wanted, ModelChoice(api=present.api)) and not self._desk.may_replace(
            f"the model {label(present)}",
        ):
            wanted = present
        fault = wanted.fault()
        if fault:
            raise Halt(f"That model cannot be used: {fault}.", code=EXIT_USAGE)
        if wanted != present:
            self._desk.keeper.set("engine", wanted.settings())
        self._desk.done(f"Model: {label(wanted)}")
        return self._key(wanted)

    def _given_model(self, present: ModelChoice) -> ModelChoice | None:
        given = self._desk.given
        if given.provider == EMBEDDED:
            return ModelChoice()
        if not (given.provider or given.url or given.model):
            return None
        provider = given.provider or (LOCAL if given.url else present.provider)
        if not given.model:
            raise Halt("Give --model as well.", code=EXIT_USAGE)
        key = given.key_env or ("" if given.url else usual_key(provider))
        return ModelChoice(
            provider=provider, model=given.model, url=given.url, api=given.api, key_env=key
        )

    def _asked_model(self) -> ModelChoice:
        terminal = self._desk.terminal
        how = terminal.choose(
            "Which one",
            (
                ("provider", "known by name, with your key: " + ", ".join(FAMILIAR) + " ..."),
                ("address", "a server that speaks OpenAI's or Anthropic's form"),
                (EMBEDDED, "the tiny one from here, for a look around; its answers are toys"),
            ),
            default=EMBEDDED,
        )
        if how == EMBEDDED:
            return ModelChoice()
        if how == "provider":
            provider = self._one_of("Provider", PROVIDERS, default="openai")
            model = terminal.ask("Model, by the provider's name for it", _filled)
            key = terminal.ask(
                "Variable that holds the key", check_variable, default=usual_key(provider)
            )
            return ModelChoice(provider=provider, model=model, key_env=key)
        url = terminal.ask("Address", _address, default="http://127.0.0.1:8080/v1")
        api = self._one_of("Form", ENGINE_APIS, default=ENGINE_APIS[0])
        key = terminal.ask("Variable that holds the key (empty: no key)", check_variable)
        self._key(ModelChoice(provider=LOCAL, url=url, key_env=key))
        offered = models_at(url, self._desk.keeper.load().variables.get(key, ""))
        if offered:
            terminal.say(f"It offers {', '.join(offered)}.")
        model = terminal.ask("Model", _filled, default=offered[0] if offered else "")
        return ModelChoice(provider=LOCAL, model=model, url=url, api=api, key_env=key)

    def _one_of(self, question: str, names: tuple[str, ...], *, default: str) -> str:
        """Show names and ask for one of them."""

        def check(typed: str) -> str:
            if typed not in names:
                raise ValueError("is none of them")
            return typed

        self._desk.terminal.say(", ".join(names))
        return self._desk.terminal.ask(question, check, default=default)

    def _key(self, choice: ModelChoice) -> None:
        """See that the key is in ``.env`` or the environment."""
        name = choice.key_env
        if not name:
            return
        if self._desk.keeper.load().variables.get(name):
            self._desk.done(f"{name} is set")
            return
        key = ""
        if self._desk.given.interactive:
            key = self._desk.terminal.ask(f"{name} (hidden; empty for later)", str, hidden=True)
        if key:
            self._desk.keeper.set_secret(name, key)
            self._desk.done(f"{name} is in .env")
        else:
            self._desk.leave(f"Put {name}=... into {self._desk.keeper.home}/.env.")

    def attempt(self) -> None:
        """Ask the model for one word."""
        loaded = self._desk.keeper.load()
        name = loaded.settings.engine.key_env
        if name and not loaded.variables.get(name):
            return  # told already
        self._desk.terminal.say("Asking the model for one word ...")
        check = self._trial(loaded)
        if check.verdict is Verdict.FAIL:
            self._desk.leave(f"{check.name} {check.summary}. {check.advice}")
        else:
            self._desk.done(f"{check.name}: {check.summary}")


def _filled(typed: str) -> str:
    if not typed:
        raise ValueError("must not be empty")
    if typed != clean(typed) or " " in typed:
        raise ValueError("must be one word")
    return typed


def _address(typed: str) -> str:
    fault = ModelChoice(provider=LOCAL, model="any", url=typed).fault()
    if fault:
        raise ValueError(fault.partition(" ")[2])
    return typed
