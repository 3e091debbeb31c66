"""``init`` against the local Discord: from nothing to an answer, broken off, and gone wrong."""

from __future__ import annotations

import asyncio
import io
import stat
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from bot.app import Wiring, serve
from bot.doctor.results import Check, fail, ok
from bot.init.asking import Terminal
from bot.init.given import EXIT_DONE, EXIT_LEFT, EXIT_USAGE, Given, Halt
from bot.init.imp_steps import HELLO, MAX_CHANNELS
from bot.init.keeper import Keeper
from bot.init.wizard import Wizard
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH, ORCHARD
from bot.playground.pointing import pointed_at
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from bot.shell import init_command
from bot.shell.arguments import build_parser
from config.load import LiveConfig, load_settings
from support.app_world import ANSWER_SECONDS, READY_SECONDS
from support.pi_world import INSTALL

CONTENT_INTENT = 1 << 15
KEY = "LANTERN_KEY"


class Ran:
    """What came of one wizard: its exit code, or the line that ended it, and what was shown."""

    def __init__(self, code: int, shown: str) -> None:
        self.code = code
        self.shown = shown


async def run(
    home: Path,
    environ: Mapping[str, str],
    typed: Sequence[str] = (),
    *,
    given: Given | None = None,
    trial: Check | None = None,
) -> Ran:
    """Run a wizard in a thread, as in a process of its own; nobody types more than ``typed``."""
    answers = deque(typed)
    out = io.StringIO()

    def read() -> str:
        if not answers:
            raise EOFError
        return answers.popleft()

    def read_hidden(prompt: str) -> str:
        out.write(prompt)
        return read()

    terminal = Terminal(Console(file=out, width=500), read=read, read_hidden=read_hidden)
    wizard = Wizard(
        Keeper(home, environ),
        given or Given(),
        terminal,
        trial=lambda _: trial or ok("Model", "answers"),
    )

    def whole() -> int:
        try:
            return wizard.run()
        except Halt as halt:
            out.write(f"{halt}\n")
            return halt.code
        except EOFError:
            return -1

    code = await asyncio.to_thread(whole)
    assert not answers, answers
    return Ran(code, out.getvalue())


def api_of(pg: Playground) -> dict[str, str]:
    return {"INGLENOOK_DISCORD__API": pg.api_base}


async def test_from_nothing_to_a_first_answer(tmp_path: Path) -> None:
    """Issue "Set up" and "Done when": a new owner types ten answers, and the imp answers."""
    home = tmp_path / "home"
    async with Playground() as pg, ScriptedModel(default=Answer.of("A spark.")) as model:
        typed = [
            "wrong-token-CANARY",
            pg.token,
            "",  # the owner whom the application names
            "address",
            model.url,
            "",  # the form
            KEY,
            "key-CANARY",
            "",  # the model that is offered
            "Flämmchen",
            "helper",
            "a garden of lanterns",
            "",
            "1",
            "mention",
        ]
        ran = await run(home, api_of(pg), typed)
        assert ran.code == EXIT_DONE, ran.shown
        assert "CANARY" not in ran.shown
        assert pg.token not in ran.shown
        assert "The token is not valid. Reset it" in ran.shown
        assert "give the new one here." in ran.shown  # and not into a file, in the midst of asking
        assert "permissions=274878008384" in ran.shown
        loaded = load_settings(home, api_of(pg))
        assert loaded.settings.discord.owners == (str(ADA),)
        assert loaded.settings.engine.url == model.url
        assert loaded.variables[KEY] == "key-CANARY"
        for name in (".env", "org.toml", "imps/flammchen/identity.md"):
            assert stat.S_IMODE((home / name).stat().st_mode) == 0o600
        greeting = pg.messages(HEARTH)[-1]
        assert (greeting.author_id, greeting.content) == (EMBER, HELLO.format(name="Flammchen"))

        live = LiveConfig(home, environ=api_of(pg))
        stop, wiring = asyncio.Event(), Wiring(set_up_logging=False)
        with pointed_at(pg):
            async with asyncio.TaskGroup() as tasks:
                served = tasks.create_task(
                    serve(live, home, install=INSTALL, stop=stop, wiring=wiring)
                )
                async with asyncio.timeout(READY_SECONDS):
                    await wiring.ready.wait()
                asked = await pg.say(BO, HEARTH, f"<@{EMBER}> hello")
                answer = await pg.wait_for_message(
                    HEARTH, lambda message: message.reply_to == asked.id, timeout=ANSWER_SECONDS
                )
                stop.set()
            assert await served == 0
        assert answer.content == "A spark."
        assert "a garden of lanterns" in model.requests[0].system_text

        again = await run(home, api_of(pg), ["y", "", "none"], given=Given(test=False))
        assert again.code == EXIT_DONE, again.shown
        assert "Welcome back" in again.shown
        assert load_settings(home, api_of(pg)).settings == loaded.settings


async def test_broken_off_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """Issue "Set up": resumable; each answer is kept before the next question."""
    async with Playground() as pg:
        first = await run(tmp_path, api_of(pg), [pg.token])
        assert first.code == -1
        second = await run(tmp_path, api_of(pg), ["7" * 18, str(BO)])
        assert "is nobody whom Discord knows" in second.shown
        third = await run(
            tmp_path,
            api_of(pg),
            ["embedded", "Ember", "host", "", "", "none"],
            trial=fail("Model", "does not answer", "Mend it."),
        )
        assert third.code == EXIT_LEFT
        assert "! Model does not answer. Mend it." in third.shown
        assert pg.messages(DIRECT[BO])[-1].content == HELLO.format(name="Ember")
    assert load_settings(tmp_path, {}).settings.discord.owners == (str(BO),)


async def test_what_discord_does_not_answer_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    """Issue 8 "Set up": trouble at Discord makes nobody unknown and no server missing."""
    path = f"/users/{ADA}"
    async with Playground() as pg:
        pg.faults.fail("GET", "/users/{user_id}", status=503)
        ran = await run(tmp_path, api_of(pg), [pg.token, str(ADA)])
        assert ran.code == EXIT_LEFT
        assert ran.shown.endswith(
            "Discord answers 503 just now. Start init again in a while; it goes on from here.\n"
        )
        assert "nobody" not in ran.shown
        pg.faults.drop("GET", "/users/@me/guilds", times=99)
        ran = await run(tmp_path, api_of(pg), [str(ADA)])
        assert "Discord does not answer just now." in ran.shown
        assert "on no server" not in ran.shown
        pg.faults.clear()
        pg.faults.rate_limit("GET", "/users/@me/guilds", retry_after=0.05, times=2)
        ran = await run(tmp_path, api_of(pg), ["embedded", "", "", "", "", "none"])
        assert ran.code == EXIT_DONE, ran.shown
        assert sum(request.path.endswith(path) for request in pg.requests) == 2


async def test_of_two_channels_with_one_name_the_chosen_one_is_taken(tmp_path: Path) -> None:
    """Discord lets names repeat: the number that was typed says which of them."""
    async with Playground() as pg:
        twin = pg.world.add_channel(ORCHARD, "hearth")
        names = [place.name for place in pg.world.channels_of(ORCHARD)]
        number = len(names)  # the last, as it was made last
        typed = [pg.token, str(ADA), "embedded", "", "", "", "", str(number), ""]
        ran = await run(tmp_path, api_of(pg), typed, given=Given(test=False))
        assert ran.code == EXIT_DONE, ran.shown
    assert list(load_settings(tmp_path, {}).channels) == [str(twin.id)]


async def test_a_long_list_of_channels_says_that_it_is_not_whole(tmp_path: Path) -> None:
    """Nobody is left to think that a channel is missing; ``/channel enable`` reaches all."""
    async with Playground() as pg:
        for number in range(MAX_CHANNELS):
            pg.world.add_channel(ORCHARD, f"row-{number}")
        typed = [pg.token, str(ADA), "embedded", "", "", "", "", str(MAX_CHANNELS + 1)]
        ran = await run(tmp_path, api_of(pg), typed, given=Given(test=False))
    assert ran.code == EXIT_DONE, ran.shown
    assert f"The first {MAX_CHANNELS} of " in ran.shown
    assert "No channel: it answers you alone" in ran.shown


async def test_a_key_that_is_missing_is_left_to_do_without_a_token_too(tmp_path: Path) -> None:
    """Handbook, exit codes: 0 means that a bot can answer, and the playground's would not."""
    given = Given(owner=str(ADA), provider="openai", model="gpt-5-mini", imp="Ember")
    asked = await run(tmp_path, {}, ["", "", ""], given=given)
    assert asked.code == EXIT_LEFT, asked.shown
    assert "Left to do:\n  - Put OPENAI_API_KEY=... into" in asked.shown
    again = await run(tmp_path, {"OPENAI_API_KEY": "k"}, ["", "y", "n"])
    assert again.code == EXIT_DONE, again.shown
    assert "No token yet: run opens the playground." in again.shown


async def test_another_token_in_the_environment_is_told(tmp_path: Path) -> None:
    """The environment goes before ``.env``: the next ``run`` would take the refused token."""
    async with Playground() as pg:
        environ = {**api_of(pg), "DISCORD_TOKEN": "an-old-token"}
        ran = await run(tmp_path, environ, [pg.token, str(ADA), "embedded", "", "", "", "", "none"])
    assert ran.code == EXIT_LEFT
    assert "  - DISCORD_TOKEN in your environment is another token" in ran.shown
    assert pg.token not in ran.shown


async def test_nobody_is_asked_and_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    """Issue "Set up": ``--non-interactive`` by flags and environment; never overwrites."""
    options = [
        *("init", "--non-interactive", "--owner", str(ADA), "--provider", "openai"),
        *("--model", "gpt-5-mini", "--imp", "Ember", "--character", "companion"),
        *("--channel", str(HEARTH), "--mode", "all"),
    ]
    given = init_command.given_of(build_parser().parse_args(options))
    async with Playground() as pg:
        bare = api_of(pg)
        missing = await run(tmp_path, bare, given=given)
        assert (missing.code, "Give the environment's DISCORD_TOKEN" in missing.shown) == (
            EXIT_USAGE,
            True,
        )
        full = {**bare, "DISCORD_TOKEN": pg.token, "OPENAI_API_KEY": "k"}
        done = await run(tmp_path, full, given=given)
        assert done.code == EXIT_DONE, done.shown
        files = [tmp_path / name for name in (".env", "org.toml", "imps/ember/identity.md")]
        before = [path.read_bytes() for path in files]
        assert f"DISCORD_TOKEN={pg.token}".encode() in before[0]

        pg.intents_allowed &= ~CONTENT_INTENT
        options[3], options[7] = str(BO), "other"
        other = init_command.given_of(build_parser().parse_args([*options, "--no-test"]))
        kept = await run(tmp_path, full, given=other)
        assert kept.code == EXIT_LEFT
        assert 'Switch on "Message Content Intent"' in kept.shown
        assert kept.shown.count("with --overwrite it is replaced") >= 2
        assert [path.read_bytes() for path in files] == before
        options.append("--overwrite")
        options += ["--home", "my home"]
        forced = init_command.given_of(build_parser().parse_args([*options, "--no-test"]))
        ran = await run(tmp_path, full, given=forced)
    assert "look with: python3 -m bot doctor --home 'my home'\n" in ran.shown
    assert "Start the bot: python3 -m bot run --home 'my home'\n" in ran.shown
    assert load_settings(tmp_path, {}).settings.discord.owners == (str(BO),)


async def test_what_cannot_be_used_ends_in_one_plain_line(tmp_path: Path) -> None:
    """Issue "Bad input": broken settings, an unusable home; nothing is spoiled."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "org.toml").write_text("[discord\n")
    ran = await run(broken, {})
    assert ran.code == EXIT_LEFT
    assert "org.toml, line 1: is not valid TOML" in ran.shown
    assert "start again: python3 -m bot init" in ran.shown
    assert (broken / "org.toml").read_text() == "[discord\n"

    (tmp_path / "file").write_text("")
    ran = await run(tmp_path / "file" / "home", {})
    assert ran.code == EXIT_LEFT
    assert "cannot be used as the home" in ran.shown

    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / "org.toml").write_text('discord = {imp = "ember"}\n')
    ran = await run(odd, {}, ["", str(ADA)])
    assert "in a way that I do not dare to change" in ran.shown
    assert (odd / "org.toml").read_text() == 'discord = {imp = "ember"}\n'


async def test_a_full_disk_is_told_and_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Bad input": a home on a full or read-only disk."""
    keeper = Keeper(tmp_path, {})
    keeper.open()
    before = (tmp_path / "org.toml").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("config.homedir.os.fsync", full)
    told = "cannot be written .no space left on device."
    with pytest.raises(Halt, match=told):
        keeper.set("discord", {"imp": "bo"})
    with pytest.raises(Halt, match=told):
        keeper.set_secret("DISCORD_TOKEN", "x")
    with pytest.raises(Halt, match=told):
        keeper.set_identity("ember", "x")
    assert (tmp_path / "org.toml").read_bytes() == before
