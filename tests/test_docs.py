"""The pages tell of everything that there is, and of nothing else.

Each failure names what is missing where, so that whoever adds a setting, a command or a code knows
which row to write.
"""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import discord
import pytest
from pydantic import BaseModel

import bot
import compiler
import config
import sessions
from bot.playground.ids import ADA, HEARTH
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from bot.shell.arguments import build_parser
from config.settings import ChannelOverlay, Settings, merge_channel
from sessions.grants import Grant, Verdict
from support.app_world import READY_SECONDS, running
from support.reference_page import UNTOLD, Facts, discord_options, shell_options, written

EXAMPLE_SECONDS = 120.0
ROOT = Path(__file__).resolve().parents[1]
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
ELSEWHERE = {"DISCORD_TOKEN": ("discord", "token")}
"""Settings that are no key of ``org.toml``, and what the page calls them."""
OTHER_CODES = frozenset({"ProviderFault", "HaltReason", "TraceReadCode"})
"""Enumerations of error codes whose name does not end in ``ErrorCode``."""
NEEDED = (
    "view_channel",
    "send_messages",
    "send_messages_in_threads",
    "read_message_history",
    "attach_files",
    "add_reactions",
)
"""What the bot may do on Discord, for the invitation in the README."""


def section(title: str) -> str:
    """The text of one section of the reference, up to the next heading of its level."""
    marks = title.split(maxsplit=1)[0]
    rest = REFERENCE.partition(f"\n{title}\n")[2]
    assert rest, f'docs/reference.md has no section "{title}"'
    return re.split(rf"\n#{{2,{len(marks)}}} ", rest)[0]


def keys_of(settings: object) -> dict[str, object]:
    kind = type(settings)
    if is_dataclass(settings):
        names = [field.name for field in fields(settings)]
    else:
        assert issubclass(kind, BaseModel)
        names = list(kind.model_fields)
    return {name: getattr(settings, name) for name in names}


def all_settings() -> Iterator[tuple[str, str, object]]:
    """Section, key and default of every setting."""
    settings = Settings()
    for name in Settings.model_fields:
        if name == "imps":  # what differs from [context] for one imp: no keys of its own
            continue
        if name == "grants":  # a list of rules; "" stands where each must say something
            for field in fields(Grant):
                bare = Grant(tool="", verdict=Verdict.DENY)
                given = field.name in {"tool", "verdict"}
                yield "[grants]", field.name, "" if given else getattr(bare, field.name)
            continue
        if name == "channels":
            here = merge_channel((), imp=settings.discord.imp)
            for key in ChannelOverlay.model_fields:
                yield "channels.default", key, getattr(here, key)
            continue
        for key, value in keys_of(getattr(settings, name)).items():
            if (name, key) not in ELSEWHERE.values():
                yield name, key, value


def as_toml(value: object) -> object:
    """A default as TOML reads it."""
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def test_every_section_of_settings_is_one_that_exists() -> None:
    titles = set(re.findall(r"^### \[(.+)\]$", REFERENCE, re.MULTILINE))
    assert titles == {name for name, _, _ in all_settings()}
    assert all(f"`{name}`" in section("## Settings") for name in ELSEWHERE)


def commands_of(form: Mapping[str, object], path: str = "") -> Iterator[str]:
    """The names of a command as people give them; a menu entry has no slash."""
    name = f"{path} {form['name']}".strip()
    options = form.get("options")
    below = [one for one in options if one["type"] in {1, 2}] if isinstance(options, list) else []
    for one in below:
        yield from commands_of(one, name)
    if not below:
        yield name if form.get("type", 1) == 3 and not path else f"/{name}"


async def test_the_reference_is_what_the_program_says(tmp_path: Path) -> None:
    """Issue "Keep running": the reference is generated from the code; what people wrote stays.

    The commands are the running bot's own list, and no name is there twice (python-discord's
    check).
    """
    async with Playground() as pg, ScriptedModel() as model, running(tmp_path, pg, model) as app:
        async with asyncio.timeout(READY_SECONDS):
            await app.commands.wait()
        forms = [command.body for command in pg.commands_for(ADA, HEARTH)]
    names = [name for form in forms for name in commands_of(form)]
    assert len(names) == len(set(names))
    settings: dict[str, dict[str, object]] = {}
    for section_name, key, value in all_settings():
        settings.setdefault(section_name, {})[key] = as_toml(value)
    facts = Facts(
        settings=settings,
        discord=discord_options(forms),
        shell=dict(shell_options(build_parser())),
        codes=frozenset(error_codes()),
    )
    anew = tmp_path / "reference.md"
    anew.write_text(written(REFERENCE, facts), encoding="utf-8")
    same = anew.read_text(encoding="utf-8") == REFERENCE
    assert same, f"docs/reference.md is not what the program says: take {anew}, tell what is new"
    assert UNTOLD not in REFERENCE, "docs/reference.md does not tell what something is"


def modules() -> Iterator[ModuleType]:
    for package in (bot, config, sessions, compiler):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def error_codes() -> set[str]:
    kinds = {
        kind
        for module in modules()
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and issubclass(kind, StrEnum)
        and (name.endswith("ErrorCode") or name in OTHER_CODES)
    }
    return {code.value for kind in kinds for code in kind}


def test_the_invitation_asks_for_what_is_needed() -> None:
    """Issue "Proofs": invite permissions, as the number that Discord wants."""
    wanted = discord.Permissions(**dict.fromkeys(NEEDED, True)).value
    assert f"permissions={wanted}" in README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Links and pictures inside the repository; the rest is not ours to check."""
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text):
        assert (page.parent / target).exists(), target


def test_each_fault_has_the_test_that_is_named_for_it() -> None:
    """Issue "Done when": P01 to P26 and the spares; the table names tests that there are."""
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    cases = re.findall(r"^\| (P\d\d|\S+#\d+) \|.*\|(.*)\|$", page, re.MULTILINE)
    names = [case for case, _ in cases]
    assert names[:26] == [f"P{number:02}" for number in range(1, 27)]
    assert len(names) == len(set(names)) == 26 + 14
    for file, test in re.findall(r"`([\w/]+\.py)::(\w+)`", page):
        path = ROOT / (file if "/" in file else f"tests/e2e/{file}")
        assert f"def {test}(" in path.read_text(encoding="utf-8"), (file, test)
    assert all("::" in tests for _, tests in cases)


def test_every_page_is_linked_from_the_readme() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert f"(docs/{page.name})" in README, page.name


def test_pictures_are_small() -> None:
    """A clone stays light."""
    for picture in (ROOT / "docs" / "pictures").iterdir():
        assert picture.suffix == ".png"
        assert picture.stat().st_size < 200_000, picture.name


def test_every_picture_is_shown_and_every_page_at_two_widths_in_both_themes() -> None:
    """Issue 8 "Done when": screenshots of every page; none lies about that no page shows."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = set(re.findall(r"pictures/([\w-]+)\.png", text))
    taken = {picture.stem for picture in (ROOT / "docs" / "pictures").iterdir()}
    assert shown == taken
    pages = {re.sub(r"(-phone)?-(light|dark)$", "", name) for name in taken if "-" in name}
    forms = [f"{width}-{theme}" for width in ("", "-phone") for theme in ("light", "dark")]
    assert {f"{page}{form}" for page in pages for form in forms} <= taken


def test_the_example_of_the_playground_runs_as_printed() -> None:
    """Issue "Two commands": the playground is documented as usable by others who write bots."""
    page = (ROOT / "docs" / "playground.md").read_text(encoding="utf-8")
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", page, re.DOTALL)
    ended = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=EXAMPLE_SECONDS,
        check=False,
    )
    assert (ended.stdout, ended.returncode) == (printed, 0), ended.stderr
