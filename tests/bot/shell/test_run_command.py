"""``run``: what stands around the bot, and what is said about it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from inline_snapshot import snapshot

from bot.home.lock import home_lock
from bot.playground.ids import ADA, DIRECT
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from bot.shell.run_command import (
    DEFAULT_PORT,
    Choices,
    Plan,
    PortTaken,
    introduction,
    main,
    open_playground,
    page_banner,
    plan_run,
    quieter,
)
from bot.toy_model import TOY_TOKENS, toy_context, toy_tokens
from compiler.budget import ContextBudgets
from config.coherence import find_incoherent
from config.homedir import ensure_home
from config.settings import LogSettings, Settings
from sessions.limits import EngineSettings
from support.free_ports import free_port
from support.run_process import SECONDS, ended, line_of, rest_of, run_process

ROOT = Path(__file__).resolve().parents[3]
TOKEN = {"discord": {"token": "t"}}
PROVIDER = {"engine": {"provider": "openai", "model": "m"}}
ADDRESS = {"engine": {"url": "http://127.0.0.1:5000/v1"}}


@pytest.mark.parametrize(
    ("settings", "headless", "plan"),
    [
        ({}, False, Plan(playground=True, embedded_model=True)),
        (PROVIDER, False, Plan(playground=True, embedded_model=False)),
        (TOKEN, False, Plan(playground=False, embedded_model=True)),
        (TOKEN | PROVIDER, True, Plan(playground=False, embedded_model=False)),
        (TOKEN | ADDRESS, False, Plan(playground=False, embedded_model=False)),
        (TOKEN, True, Plan(playground=False, embedded_model=True)),
        ({}, True, None),
    ],
)
def test_what_stands_around_the_bot(
    settings: dict[str, object],
    headless: bool,  # noqa: FBT001
    plan: Plan | None,
) -> None:
    """Issue: no token, playground; no provider chosen, embedded model; headless, neither page."""
    assert plan_run(Settings.model_validate(settings), headless=headless) == plan


def test_the_introduction_of_the_playground() -> None:
    settings = Settings.model_validate({"engine": {"model": "smollm2"}})
    plan = Plan(playground=True, embedded_model=True)
    assert introduction(settings, Path("home"), plan, "http://127.0.0.1:4300/") == snapshot("""\

Inglenook's playground: a local Discord with the real bot in it.

  Open     http://127.0.0.1:4300/
  You are  Ada, the owner; on the page you can also be Bo, Cy or Dee
  Model    smollm2, on this machine; it is tiny, so its answers are toys
  Home     home

To put the bot on Discord: python3 -m bot init. Nothing leaves this machine.
Stop with Ctrl-C.\
""")


def test_the_introduction_with_a_real_model() -> None:
    settings = Settings.model_validate(PROVIDER)
    plan = Plan(playground=True, embedded_model=False)
    text = introduction(settings, Path("home"), plan, "http://127.0.0.1:4300/")
    assert "openai/m" in text
    assert "Nothing leaves this machine" not in text


def test_the_introduction_of_the_bot_on_discord() -> None:
    settings = Settings.model_validate(
        PROVIDER | {"discord": {**TOKEN["discord"], "owners": ["123456789012345678"]}}
    )
    plan = Plan(playground=False, embedded_model=False)
    assert introduction(settings, Path("home"), plan, "") == snapshot("""\

Inglenook goes to Discord.

  Model    openai/m
  Home     home

Stop with Ctrl-C.\
""")


def test_a_bot_without_an_owner_says_so() -> None:
    """Nobody could use its commands, and nothing else would tell."""
    plan = Plan(playground=False, embedded_model=False)
    text = introduction(Settings.model_validate(TOKEN | PROVIDER), Path("home"), plan, "")
    assert "Nobody is its owner yet" in text
    assert "home/org.toml" in text


def test_the_page_says_where_words_go() -> None:
    """Nobody takes a page on this machine for a promise that a provider hears nothing."""
    toy = page_banner(Settings(), Plan(playground=True, embedded_model=True))
    assert "nothing leaves this machine" in toy
    real = page_banner(
        Settings.model_validate(PROVIDER), Plan(playground=True, embedded_model=False)
    )
    assert "openai/m" in real
    assert "leaves" not in real


def test_the_log_is_quieter_beside_the_playground_unless_set() -> None:
    assert quieter(LogSettings())["level"] == "warning"
    assert quieter(LogSettings.model_validate({"level": "debug"}))["level"] == "debug"


def test_toy_answers_are_short_unless_a_length_is_set() -> None:
    assert toy_tokens(EngineSettings()) == TOY_TOKENS
    assert toy_tokens(EngineSettings(max_tokens=900)) == 900


def test_toy_context_fits_the_small_window_unless_set() -> None:
    """What an owner set stays; the rest leaves room for an answer."""
    limits = toy_context(ContextBudgets(history_max_chars=3_000))
    assert "history_max_chars" not in limits
    assert limits["max_injected_chars"] == 20_000
    settings = Settings.model_validate({"context": {**toy_context(ContextBudgets())}})
    assert find_incoherent(settings) == ()


def test_headless_without_a_token_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISCORD_TOKEN", raising=False)
    assert main(tmp_path / "home", Choices(headless=True)) == 2
    assert "DISCORD_TOKEN" in capsys.readouterr().err


def test_broken_settings_are_told_at_once_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "org.toml").write_text("[chanels]\n[sessions]\nmax_warm = 0\n")
    assert main(tmp_path, Choices()) == 1
    err = capsys.readouterr().err
    assert "The settings have 2 problems." in err
    assert "org.toml, line 1: chanels" in err
    assert "org.toml, line 3: sessions.max_warm" in err


def test_a_home_that_cannot_be_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(tmp_path / "file" / "home", Choices()) == 1
    assert "cannot be used as the home" in capsys.readouterr().err


@asynccontextmanager
async def _opened(port: int) -> AsyncIterator[Playground]:
    async with AsyncExitStack() as stack:
        yield await open_playground(stack, port, "banner")


async def test_the_page_is_served_at_the_port_asked_for() -> None:
    port = free_port()
    async with _opened(port) as pg, aiohttp.ClientSession() as http:
        assert pg.port == port
        async with http.get(f"{pg.origin}/") as response:
            assert response.status == 200
            assert "text/html" in response.headers["Content-Type"]


async def test_a_taken_port_that_was_asked_for_is_told() -> None:
    async with _opened(0) as pg:
        with pytest.raises(PortTaken, match=str(pg.port)):
            async with _opened(pg.port):
                pass


async def test_another_port_is_taken_when_the_usual_one_is() -> None:
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind(("127.0.0.1", DEFAULT_PORT))
        except OSError:
            pass  # somebody else has it, which is the same to us
        else:
            held.listen()
        async with _opened(0) as pg:
            assert pg.port not in {0, DEFAULT_PORT}


async def test_the_playground_from_the_first_line_to_an_orderly_end(tmp_path: Path) -> None:
    """One command: a home, a page, an imp that wakes; Ctrl-C ends it with code 0."""
    async with ScriptedModel() as model:
        environ = {"INGLENOOK_ENGINE__URL": model.url, "INGLENOOK_HOME": str(tmp_path / "home")}
        port = str(free_port())
        async with run_process(environ, "--port", port, "--no-browser") as process:
            lines = await line_of(process, "Ember is awake.")
            assert any(f"http://127.0.0.1:{port}/" in line for line in lines)
            (link,) = (line.split()[1] for line in lines if "/sign-in?ticket=" in line)
            async with aiohttp.ClientSession() as http, http.get(link) as page:
                assert "Sign in with this browser" in await page.text()
            assert (tmp_path / "home" / "imps/ember/identity.md").is_file()
            assert await ended(process, signal.SIGINT) == 0, await rest_of(process.stderr)
            assert "Traceback" not in await rest_of(process.stderr)


async def _answer_in_the_page(origin: str, bot: str) -> str:
    """Write to a bot from the page as Ada, and give what it answers."""
    page = f"{origin}/playground/api"
    async with aiohttp.ClientSession() as http, asyncio.timeout(SECONDS):
        async with http.get(f"{page}/world", params={"as": str(ADA)}) as answer:
            dms = {dm["name"]: dm["id"] for dm in (await answer.json())["dms"]}
        form = {"as": str(ADA), "channel": dms[bot], "content": "hello"}
        async with http.post(f"{page}/say", json=form, headers={"Origin": origin}) as answer:
            asked = (await answer.json())["message"]
        where = {"as": str(ADA), "channel": dms[bot]}
        while True:
            async with http.get(f"{page}/messages", params=where) as answer:
                messages = (await answer.json())["messages"]
            answers = [m for m in messages if _answers(m, asked)]
            if answers:
                return str(answers[0]["author"]["username"])
            await asyncio.sleep(0.05)  # between two looks


def _answers(message: dict[str, Any], asked: str) -> bool:
    return (message.get("message_reference") or {}).get("message_id") == asked


async def test_further_bots_are_in_the_playground_too(tmp_path: Path) -> None:
    """[discord.bots]: tried on this machine before they go to Discord, each in its own messages."""
    ensure_home(tmp_path)
    (tmp_path / "imps" / "scribe").mkdir()
    (tmp_path / "imps" / "scribe" / "identity.md").write_text("You are the scribe.")
    org = '[discord.bots.scribe]\ntoken_env = "SCRIBE_TOKEN"\nimp = "scribe"\n'
    (tmp_path / "org.toml").write_text(org)
    async with ScriptedModel() as model:
        environ = {
            "INGLENOOK_ENGINE__URL": model.url,
            "INGLENOOK_HOME": str(tmp_path),
            "SCRIBE_TOKEN": "t",
        }
        port = str(free_port())
        async with run_process(environ, "--port", port, "--no-browser") as process:
            awake = [(await line_of(process, "is awake."))[-1] for _ in range(2)]
            assert set(awake) == {"Ember is awake.", "[scribe] Scribe is awake."}
            assert await _answer_in_the_page(f"http://127.0.0.1:{port}", "Scribe") == "scribe"
            assert "You are the scribe." in model.requests[-1].system_text
            assert await ended(process) == 0, await rest_of(process.stderr)


async def test_headless_is_the_bot_alone_on_the_discord_that_it_is_told(tmp_path: Path) -> None:
    """The names that others rely on: INGLENOOK_HOME, discord.api, DISCORD_TOKEN, engine.url."""
    async with Playground() as pg, ScriptedModel() as model:
        environ = {
            "INGLENOOK_ENGINE__URL": model.url,
            "INGLENOOK_HOME": str(tmp_path / "home"),
            "INGLENOOK_DISCORD__API": pg.api_base,
            "INGLENOOK_DISCORD__OWNERS": str(ADA),
            "DISCORD_TOKEN": pg.token,
        }
        async with run_process(environ, "--headless") as process:
            await line_of(process, "Ember is awake.")
            asked = await pg.say(ADA, DIRECT[ADA], "hello")
            answer = await pg.wait_for_message(
                DIRECT[ADA], lambda message: message.reply_to == asked.id, after=asked
            )
            assert answer.content
            assert await ended(process) == 0
        assert (tmp_path / "home" / "runs").is_dir()


def test_a_home_in_use_is_one_line_before_anything_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is greeted by a bot that cannot start."""
    monkeypatch.setenv("DISCORD_TOKEN", "t")
    ensure_home(tmp_path)
    with home_lock(tmp_path):
        assert main(tmp_path, Choices(headless=True)) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("Another Inglenook already runs with this home (process ")
    assert said.err.count("\n") == 1
