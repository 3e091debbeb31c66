"""Two imps in one bot, and an owner who edits while it runs."""

from __future__ import annotations

from pathlib import Path

from bot.playground.ids import ADA, BO, EMBER, HEARTH, WORKSHOP
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from config.homedir import ensure_home, write_private
from support.app_world import running

ORG = f'[channels."{WORKSHOP}"]\nimp = "scribe"\n'


def overlay(url: str) -> str:
    return f"""\
connections = ["stay_silent"]
[context]
task_max_chars = 900
[engine]
provider = "other"
model = "quill"
url = "{url}"
context_window = 100000
"""


async def test_imps_differ_in_model_limits_and_tools_and_are_edited_at_work(tmp_path: Path) -> None:
    """Issue "Set up": overlays, one token for all, ``/imp list|show|reload``, what changes when."""
    ensure_home(tmp_path)
    scribe = tmp_path / "imps" / "scribe"
    scribe.mkdir()
    (scribe / "identity.md").write_text("You are the scribe.")
    (tmp_path / "org.toml").write_text(ORG)
    async with (
        Playground() as pg,
        ScriptedModel(default=Answer.of("ember speaks")) as warm,
        ScriptedModel(default=Answer.of("scribe speaks"), name="quill") as quill,
    ):
        (scribe / "imp.toml").write_text(overlay(quill.url))
        async with running(tmp_path, pg, warm, {"box": {"mode": "off"}}) as app:
            _, first = await app.ask(BO, HEARTH, f"<@{EMBER}> who are you?")
            _, second = await app.ask(BO, WORKSHOP, f"<@{EMBER}> who are you?")
            assert (first.content, second.content) == ("ember speaks", "scribe speaks")
            assert quill.requests[0].body["model"] == "quill"
            assert "You are the scribe." in quill.requests[0].system_text
            assert quill.requests[0].tool_names == ("stay_silent",)
            assert "remember" in warm.requests[0].tool_names
            _, refused = await app.ask(BO, WORKSHOP, f"<@{EMBER}> {'x' * 1000}")
            assert "too long" in refused.content

            listed = (await app.slash(ADA, HEARTH, "imp list")).messages[0].content
            assert f"**scribe** (other/quill, imp.toml): <#{WORKSHOP}>" in listed
            assert "**ember** (test/scripted): wherever no other is named" in listed
            shown = (await app.slash(ADA, WORKSHOP, "imp show")).messages[0].content
            assert "other/quill" in shown

            write_private(scribe / "imp.toml", b"[context]\ntask_max_chars = 0\n")
            said = (await app.slash(ADA, HEARTH, "imp reload")).messages[0].content
            assert said.startswith("Refused: the settings as they were stay in force.")
            assert "imps/scribe/imp.toml, line 2: context.task_max_chars must be at least 1" in said
            _, still = await app.ask(BO, WORKSHOP, f"<@{EMBER}> still there?")
            assert still.content == "scribe speaks"

            write_private(scribe / "imp.toml", b"")
            write_private(tmp_path / "org.toml", f"{ORG}[sessions]\nmax_warm = 3\n".encode())
            said = (await app.slash(ADA, HEARTH, "imp reload")).messages[0].content
            assert said.startswith("Read again: everything is in force.")
            assert "`imps.scribe.engine`, from the next session on" in said
            assert "`imps.scribe.connections`, now" in said
            assert "`sessions.max_warm`, after a restart" in said
            await app.slash(ADA, WORKSHOP, "sessions reset")
            _, changed = await app.ask(BO, WORKSHOP, f"<@{EMBER}> and now?")
            assert changed.content == "ember speaks"
            assert "You are the scribe." in warm.requests[-1].system_text
