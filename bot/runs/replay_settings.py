"""The settings of a replay: the home's own, with those that the owner names in their place.

Blocks on files and on the tokenizer; call it in a thread.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from compiler.compile import Model
from config.homedir import ENGINE_DIR
from config.load import LiveConfig
from sessions.review.inspection import turn_events
from sessions.review.prompts import compiled_turn, latest_compiled
from sessions.review.replay import Replanned, Replay, plan_again, replay_turn
from sessions.tokens.desk import TokenDesk, choosing, tokenizer_of_plan
from sessions.traces.reader import TracedEvent, planned

SECTIONS: Final = ("context", "engine")
"""What a replay can be made against; nothing else shapes a compilation."""


def replay_run(home: Path, trace: tuple[TracedEvent, ...], turn: int | None) -> Replay:
    """Replay a turn with the tokenizer that its plan names, if it is to be had.

    Raises:
        SafeError: no such turn, or strings that do not match; or the settings cannot be read.
    """
    live = LiveConfig(home, environ=os.environ)
    engine = live.current.engine
    turns = turn_events(trace)
    plan = planned(compiled_turn(turns, turn or latest_compiled(turns) or 1))
    tokenizer = None
    if plan is not None and plan.tokenizer_id:
        key = live.environ.get(engine.key_env, "") if engine.key_env else ""
        tokenizer = tokenizer_of_plan(plan.tokenizer_id, engine, home / ENGINE_DIR, key)
    return replay_turn(trace, turn, tokenizer)


def replay_against(
    home: Path, trace: tuple[TracedEvent, ...], turn: int | None, wanted: Sequence[str]
) -> Replanned:
    """Plan a turn anew; ``wanted`` are settings as ``section.key=value``.

    Raises:
        SafeError: a setting is none, or the turn does not fit under them.
    """
    live = LiveConfig(home, environ=os.environ, overrides=overrides(wanted))
    turns = turn_events(trace)
    event = compiled_turn(turns, turn or latest_compiled(turns) or 1)
    model = Model()
    if event.tokens is not None or any(each.startswith("engine.") for each in wanted):
        held = event.tokens
        reused = 0
        if held is not None and held.held_tokens:
            reused = held.system_tokens + held.wrapper_tokens + held.held_tokens
        desk = TokenDesk(choosing(home / ENGINE_DIR, live.environ))
        model = asyncio.run(desk.model(live.engine(event.imp), held_tokens=reused))
    return plan_again(trace, turn, live.budgets(event.imp), model)


def overrides(wanted: Sequence[str]) -> Mapping[str, Mapping[str, object]]:
    """Read ``section.key=value``, the value as text: the settings make of it what they need."""
    found: dict[str, dict[str, object]] = {}
    for each in wanted:
        name, _, value = each.partition("=")
        section, _, key = name.strip().partition(".")
        found.setdefault(section, {})[key] = value.strip()
    return found
