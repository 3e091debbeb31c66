"""The shape of the checkout: style.md's rules that a program can check.

An exception is a line here with its reason, so that it is a decision and not an accident.
"""

from __future__ import annotations

import ast
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("bot", "config", "sessions", "compiler")
MAX_LINES = 400
RUN_WHOLE = ("bot/bench/", "bot/drill/")
"""Benchmark and drill are tested by running them."""
WHOLE_BOT = ("tests/e2e/", *(f"tests/{folder}" for folder in RUN_WHOLE))
LONG_FILES = {
    "sessions/gates.py": "the state machine of a gate, with its essay",
    "sessions/pi/protocol.py": "every form of pi's, in one border",
    "sessions/store/migrations.py": "every change of the schema in its order",
}
"""Longer than ``MAX_LINES``, and why. A file that needs "and" to be described is two files."""
TESTED_BY = {
    "bot/init/desk.py": "tests/bot/init/test_wizard.py",
    "bot/init/discord.py": "tests/bot/init/test_wizard.py",
    "bot/init/discord_steps.py": "tests/bot/init/test_wizard.py",
    "bot/init/given.py": "tests/bot/init/test_wizard.py",
    "bot/init/imp_steps.py": "tests/bot/init/test_wizard.py",
    "bot/init/keeper.py": "tests/bot/init/test_wizard.py",
    "bot/init/model_steps.py": "tests/bot/init/test_wizard.py",
    "bot/init/rest.py": "tests/bot/init/test_wizard.py",
    "bot/help_texts.py": "tests/bot/test_cli.py",
    "bot/shell/arguments.py": "tests/bot/test_cli.py",
    "bot/shell/signals.py": "tests/bot/shell/test_run_command.py",
    "bot/shell/init_command.py": "tests/bot/init/test_wizard.py",
    "sessions/summing_up.py": "tests/sessions/test_summaries.py",
    "sessions/turn_account.py": "tests/sessions/test_take.py",
    "sessions/pi/commands.py": "tests/sessions/pi/test_protocol.py",
    "sessions/pi/exchange.py": "tests/sessions/pi/test_client.py",
    "bot/answering.py": "tests/e2e/test_live_answer.py",
    "bot/find_posted.py": "tests/e2e/test_loss.py",
    "bot/live_answer.py": "tests/e2e/test_live_answer.py",
    "bot/live_posts.py": "tests/e2e/test_live_answer.py",
    "bot/stop_button.py": "tests/e2e/test_live_answer.py",
    "bot/__main__.py": "tests/bot/test_bootstrap.py",
    "bot/shell/prune_command.py": "tests/bot/home/test_housekeeping.py",
    "bot/runs/forms.py": "tests/bot/runs/test_inspect_text.py",
    "bot/runs/pruned.py": "tests/bot/home/test_housekeeping.py",
    "sessions/store/person.py": "tests/bot/shell/test_export_command.py",
    "sessions/store/retention.py": "tests/sessions/test_pruning.py",
    "sessions/traces/chain.py": "tests/sessions/test_pruning.py",
    "sessions/traces/forms.py": "tests/sessions/traces/test_events.py",
    "bot/doctor/bots.py": "tests/bot/test_further_bots.py",
    "bot/imp_text.py": "tests/e2e/test_imps.py",
    "config/imp_files.py": "tests/config/test_imps.py",
    "bot/cache_text.py": "tests/sessions/review/test_cache_report.py",
    "bot/catch_up.py": "tests/e2e/test_loss.py",
    "bot/cogs/changes.py": "tests/e2e/test_changes.py",
    "bot/look_back.py": "tests/e2e/test_changes.py",
    "bot/cogs/gone_places.py": "tests/e2e/test_gone_places.py",
    "bot/cogs/cache.py": "tests/sessions/review/test_cache_report.py",
    "bot/cogs/gates.py": "tests/e2e/test_gates.py",
    "bot/cogs/pairing.py": "tests/e2e/test_pairing.py",
    "bot/cogs/conversation.py": "tests/e2e/test_conversation.py",
    "bot/cogs/tasks.py": "tests/e2e/test_tasks.py",
    "bot/cogs/stop.py": "tests/e2e/test_talk.py",
    "bot/charts/colours.py": "tests/bot/charts/test_canvas.py",
    "bot/cogs/usage.py": "tests/e2e/test_usage.py",
    "bot/gates/continuations.py": "tests/e2e/test_gates.py",
    "bot/follow_up.py": "tests/e2e/test_interactions.py",
    "bot/host.py": "tests/bot/test_app.py",
    "bot/gates/answers.py": "tests/e2e/test_gates.py",
    "bot/gates/buttons.py": "tests/e2e/test_gates.py",
    "bot/gates/cards.py": "tests/e2e/test_gates.py",
    "bot/gates/parts.py": "tests/e2e/test_gates.py",
    "bot/gates/service.py": "tests/e2e/test_gates.py",
    "bot/inspector/paper.py": "tests/bot/inspector/test_pages.py",
    "bot/interactions.py": "tests/e2e/test_interactions.py",
    "bot/leftovers.py": "tests/e2e/test_loss.py",
    "bot/login_faults.py": "tests/bot/test_app.py",
    "bot/long_message.py": "tests/e2e/test_long_message.py",
    "bot/loop_guard.py": "tests/e2e/test_talk.py",
    "bot/memory/texts.py": "tests/bot/cogs/test_memory.py",
    "bot/playground/__main__.py": "tests/bot/playground/test_main.py",
    "bot/playground/entities.py": "tests/bot/playground/world/test_state.py",
    "bot/engine_around.py": "tests/bot/metrics/test_figures.py",
    "bot/outlooks.py": "tests/bot/test_app.py",
    "bot/posts.py": "tests/bot/test_delivery.py",
    "bot/sending.py": "tests/bot/test_delivery.py",
    "bot/stop_word.py": "tests/e2e/test_talk.py",
    "bot/voice.py": "tests/e2e/test_hands.py",
    "bot/tasks/desk.py": "tests/e2e/test_tasks.py",
    "bot/tasks/posts.py": "tests/e2e/test_tasks.py",
    "bot/shell/task_home.py": "tests/bot/shell/test_ask_command.py",
    "bot/telemetry/follower.py": "tests/bot/telemetry/test_sink.py",
    "bot/threshold.py": "tests/e2e/test_loss.py",
    "bot/toy_model.py": "tests/bot/shell/test_run_command.py",
    "bot/wiring.py": "tests/bot/test_app.py",
    "compiler/directives/decision.py": "tests/compiler/directives/test_engine.py",
    "compiler/directives/grammar.py": "tests/compiler/directives/test_engine.py",
    "compiler/directives/state.py": "tests/compiler/directives/test_engine.py",
    "compiler/directives/values.py": "tests/compiler/directives/test_engine.py",
    "compiler/planning.py": "tests/compiler/test_plan.py",
    "config/findings.py": "tests/config/test_coherence.py",
    "config/rules/context.py": "tests/config/test_coherence.py",
    "config/rules/doors.py": "tests/config/test_coherence.py",
    "config/rules/engine.py": "tests/config/test_coherence.py",
    "config/rules/grants.py": "tests/config/test_coherence.py",
    "config/rules/keeping.py": "tests/config/test_coherence.py",
    "config/rules/talk.py": "tests/config/test_coherence.py",
    "config/rules/work.py": "tests/config/test_coherence.py",
    "sessions/boxes/host.py": "tests/sessions/test_box.py",
    "sessions/boxes/settings.py": "tests/sessions/boxes/test_plan.py",
    "sessions/boxes/trial.py": "tests/sessions/test_box.py",
    "sessions/boxes/warm.py": "tests/sessions/test_box.py",
    "sessions/memory/consents.py": "tests/sessions/memory/test_service.py",
    "sessions/gate_execution.py": "tests/sessions/test_gate_desk.py",
    "sessions/continuations.py": "tests/sessions/test_gate_desk.py",
    "sessions/inbound.py": "tests/bot/test_ingress.py",
    "sessions/limits.py": "tests/config/test_coherence.py",
    "sessions/memory/core.py": "tests/sessions/memory/test_service.py",
    "sessions/memory/index.py": "tests/sessions/memory/test_reader.py",
    "sessions/memory/results.py": "tests/sessions/memory/test_writer.py",
    "sessions/memory/runs.py": "tests/sessions/memory/test_forgetting.py",
    "sessions/memory/selection.py": "tests/sessions/memory/test_service.py",
    "sessions/memory/rules.py": "tests/sessions/memory/test_writer.py",
    "sessions/wire/call.py": "tests/sessions/test_model_gateway.py",
    "sessions/memory/notes.py": "tests/sessions/memory/test_writer.py",
    "sessions/run_files.py": "tests/sessions/test_start.py",
    "sessions/run_process.py": "tests/sessions/test_start.py",
    "sessions/run_holder.py": "tests/sessions/test_session.py",
    "sessions/store/burials.py": "tests/sessions/store/test_erasure.py",
    "sessions/store/connection.py": "tests/sessions/store/test_database.py",
    "sessions/store/note_rows.py": "tests/sessions/store/test_memory.py",
    "sessions/store/task_rows.py": "tests/sessions/store/test_tasks.py",
    "sessions/store/consent.py": "tests/sessions/memory/test_service.py",
    "sessions/store/erasure.py": "tests/sessions/memory/test_forgetting.py",
    "sessions/store/memory.py": "tests/sessions/memory/test_service.py",
    "sessions/store/kept.py": "tests/sessions/test_usage_book.py",
    "sessions/store/summaries.py": "tests/sessions/test_summaries.py",
    "sessions/web/settings.py": "tests/config/rules/test_web.py",
    "sessions/task_run.py": "tests/sessions/test_supervisor.py",
    "sessions/task_settings.py": "tests/sessions/test_task_service.py",
    "sessions/review/views.py": "tests/sessions/review/test_inspection.py",
    "sessions/review/tool_calls.py": "tests/sessions/tools/test_record.py",
    "sessions/wire/record.py": "tests/sessions/test_model_gateway.py",
    "sessions/zones.py": "tests/sessions/test_allowance.py",
    "sessions/review/wire_calls.py": "tests/sessions/review/test_inspection.py",
}
"""Modules without a test file of their name, and the one that tests them: values that say nothing
alone, and inner parts that are spoken to through another."""
TOPICS = {
    "tests/bot/playground/test_main.py": "bot/playground/__main__.py",
    "tests/config/test_deploy.py": "config/deploy/",
    "tests/config/test_locks.py": "config/locks/",
    "tests/sessions/test_turn_tokens.py": "tokens, from the message to the trace",
    "tests/test_docs.py": "the pages",
    "tests/test_layout.py": "this",
}
"""Test files that are no single module's, and of what they are."""
OF_NO_MODULE = re.compile(
    r"test_(?:\w+_)?(?:acceptance|promises|real|golden|determinism|matrix)(?:_\w+)?\.py$"
)
"""Acceptance tests by their numbers, promises over several parts, the real pi, exact bytes."""


def tracked() -> tuple[str, ...]:
    """The files of the checkout, as git knows them; elsewhere all that stand in the packages."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = listed.stdout.decode().split("\0")
        return tuple(sorted(name for name in names if name and (ROOT / name).is_file()))
    folders = [ROOT / name for name in (*PACKAGES, "tests", "docs")]
    found = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return tuple(sorted(path.relative_to(ROOT).as_posix() for path in found))


FILES = tracked()
SOURCES = tuple(name for name in FILES if name.endswith(".py") and name.split("/")[0] in PACKAGES)
MODULES = tuple(name for name in SOURCES if not name.endswith("__init__.py"))
TESTS = tuple(name for name in FILES if re.match(r"tests/(?:.*/)?test_\w+\.py$", name))


def mirror_of(module: str) -> str:
    """Where the test of a module stands."""
    folder, _, name = module.rpartition("/")
    return f"tests/{folder}/test_{name}"


def test_every_module_has_its_test_file() -> None:
    """Style "Tests": tests mirror the packages (mitmproxy's filename_matching)."""
    missing = {module for module in MODULES if mirror_of(module) not in TESTS}
    missing -= {name for name in missing if name.startswith(RUN_WHOLE)}
    assert not missing - TESTED_BY.keys(), sorted(missing - TESTED_BY.keys())
    assert TESTED_BY.keys() <= set(MODULES), "a module in TESTED_BY is gone"
    assert set(TESTED_BY.values()) <= set(TESTS), "a test in TESTED_BY is gone"


def test_every_test_file_has_its_module() -> None:
    """A test whose module was renamed away would be looked for in vain."""
    known = {mirror_of(module) for module in MODULES}
    stray = {name for name in TESTS if not name.startswith(WHOLE_BOT)}
    stray = {name for name in stray - known if not OF_NO_MODULE.search(name)}
    assert not stray - TOPICS.keys(), sorted(stray - TOPICS.keys())


def lines_of(name: str) -> int:
    return len((ROOT / name).read_text(encoding="utf-8").splitlines())


def test_no_file_is_long_without_a_reason() -> None:
    """Style "Docstrings, comments, size"."""
    long = {name for name in SOURCES if lines_of(name) > MAX_LINES}
    assert not long - LONG_FILES.keys(), sorted(long - LONG_FILES.keys())
    assert LONG_FILES.keys() <= long, "a file in LONG_FILES is gone, or short by now"


@pytest.mark.parametrize("name", [name for name in SOURCES if name.endswith("__init__.py")])
def test_a_package_file_is_a_map(name: str) -> None:
    """Style "Shape": a docstring and at most names handed on; a command's one way in."""
    body = ast.parse((ROOT / name).read_text(encoding="utf-8")).body
    assert body, "says nothing"
    assert isinstance(body[0], ast.Expr), "begins without a docstring"
    allowed = (ast.Import, ast.ImportFrom)
    for node in body[1:]:
        handed_on = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        way_in = isinstance(node, ast.FunctionDef) and node.name == "main" and len(node.body) <= 3
        assert isinstance(node, allowed) or handed_on or way_in, ast.unparse(node)


def members(package: str) -> list[str]:
    """The modules and packages that stand directly in a package."""
    folder = package.removesuffix("__init__.py")
    inside = [name.removeprefix(folder) for name in SOURCES if name.startswith(folder)]
    files = [name.removesuffix(".py") for name in inside if "/" not in name]
    folders = [name.split("/")[0] for name in inside if name.endswith("/__init__.py")]
    return sorted({*files, *folders} - {"__init__", "__main__"})


@pytest.mark.parametrize("name", [name for name in SOURCES if name.endswith("__init__.py")])
def test_a_package_s_map_names_what_is_in_it(name: str) -> None:
    """README: each package's ``__init__.py`` says which module does what."""
    text = ast.get_docstring(ast.parse((ROOT / name).read_text(encoding="utf-8"))) or ""
    words = re.findall(r"\w[\w*]*|\*\w+", text)
    missing = [each for each in members(name) if not any(fnmatch(each, word) for word in words)]
    assert not missing, missing


def texts() -> list[tuple[str, str]]:
    kinds = (".py", ".md", ".toml", ".txt", ".in", ".json", ".js", ".mjs", ".html", ".css", "run")
    names = [name for name in FILES if name.endswith((*kinds, ".npmrc", ".jsonl"))]
    return [(name, (ROOT / name).read_text(encoding="utf-8", errors="replace")) for name in names]


REGISTRIES = re.compile(
    r"(?:pypi\.org|pythonhosted\.org|registry\.npmjs|npmmirror|registry\.yarnpkg)"
    r"|--(?:extra-)?index-url[ =]|\"resolved\"\s*:\s*\"http",
    re.IGNORECASE,
)
OF_A_MACHINE = re.compile(r"(?<![\w.$}~])/(?:work|root|Users)/\w|(?<![\w.$}~])/home/(?!ada)\w+/\w")
HERE = "tests/test_layout.py"
WITH_ADDRESSES = {
    "tests/bot/installer/test_faults.py": "what pip and npm say when they are offline",
}


def test_no_registry_is_named() -> None:
    """Issue: no registry's address written anywhere in the project."""
    found = [
        name
        for name, text in texts()
        if REGISTRIES.search(text) and name not in {HERE, *WITH_ADDRESSES}
    ]
    assert found == []


def test_the_lock_of_pi_names_no_address() -> None:
    """npm asks the registry that the person's own npm is told of."""
    lock = (ROOT / "config/locks/pi/package-lock.json").read_text(encoding="utf-8")
    addresses = re.sub(r'"url": "[^"]*"', "", lock)  # where to support an author
    assert "://" not in addresses


def test_no_path_of_a_machine_is_named() -> None:
    """The project speaks of itself alone."""
    found = [
        (name, match.group())
        for name, text in texts()
        if name != HERE and (match := OF_A_MACHINE.search(text))
    ]
    assert found == []
