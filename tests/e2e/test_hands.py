"""What the imp does with its own tools, on the running bot with the real engine."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH, KINDLING
from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from sessions.tools import gates as gates_tool
from sessions.tools import purpose as purpose_tool
from sessions.tools import talk as talk_tools
from sessions.tools.table import PROPOSE_PURPOSE
from sessions.tools.talk import Said
from support.app_world import AppWorld, running
from support.session_world import eventually

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
MINE = DIRECT[ADA]


def call(tool: str, **arguments: object) -> Answer:
    return Answer.call(ToolCall(name=tool, arguments=arguments))


def said_by_ember(app: AppWorld, channel: int, after: Message) -> list[Message]:
    return [
        message
        for message in app.pg.messages(channel)
        if message.author_id == EMBER and message.id > after.id
    ]


def told(app: AppWorld) -> str:
    """What the host said to the model's last call."""
    return next(each.text for each in app.model.requests[-1].messages[::-1] if each.role == "tool")


def owed(app: AppWorld, asked: Message) -> str:
    with closing(sqlite3.connect(app.home / "inglenook.db")) as db:
        query = "SELECT state FROM inbox WHERE message_id = ?"
        row = db.execute(query, (f"discord:{asked.id}",)).fetchone()
    return str(row[0]) if row else ""


def outcome_of(app: AppWorld, asked: Message) -> tuple[str, Path]:
    """How the turn of a message ended, and where its run is."""
    with closing(sqlite3.connect(app.home / "inglenook.db")) as db:
        query = "SELECT outcome, run_id FROM turns WHERE turn_id LIKE ?"
        row = db.execute(query, (f"%{asked.id}",)).fetchone() or ("", "")
    return str(row[0]), app.home / "runs" / row[1]


async def test_what_has_consequences_waits_for_a_person(tmp_path: Path) -> None:
    """Issue "Tools": a purpose is proposed, approved, written and counts from the next session on.

    Tasks are this conversation's, gates too; a listed name that leads to this machine is not read.
    """
    async with Playground() as pg, ScriptedModel() as model:
        host = f"localhost:{urlsplit(model.url).port}"
        settings = {
            "allow": {"users": [str(BO)]},
            "web": {"hosts": [host]},
            "channels": {"default": {"enabled": True}, str(KINDLING): {"replies": "gate"}},
            "grants": [
                {"tool": tool, "verdict": "allow"}
                for tool in ("propose_purpose", "web_fetch", "file_task")
            ],
        }
        async with running(tmp_path / "home", pg, model, settings) as app:
            # The rule allows it, and still it waits.
            app.model.script(
                call("propose_purpose", text="Tend the fire.", reason="Bo asked."),
                call("check_gates"),
                Answer.of("I asked."),
            )
            asked, _ = await app.ask(BO, HEARTH, f"{ME} what are you for?")
            system = app.model.requests[-1].system_text
            assert f'"name":"web","hosts":["{host}"],"methods":["GET"]' in system
            (line,) = told(app).splitlines()
            gate = json.loads(line)
            assert PROPOSE_PURPOSE.deed is not None
            assert (gate["intent"], gate["state"]) == (PROPOSE_PURPOSE.deed.intent, "pending")
            purpose = app.home / "channels" / str(HEARTH) / "purpose.md"
            assert not purpose.exists()

            # Of another conversation nothing is told; in an untrusted channel a task waits too.
            app.model.script(
                call("check_gates"),
                call("web_fetch", url=f"http://{host}/v1/models"),
                call("file_task", text="Look after the fire.", at="in 20m"),
                Answer.of("Later."),
            )
            before = len(app.model.requests)
            await app.ask(ADA, MINE, "Anything waiting?")
            _, checked, read, filed = app.model.requests[before:]
            answers = [each.messages[-1].text for each in (checked, read, filed)]
            assert answers[0] == gates_tool.NONE
            assert "private network" in answers[1]
            assert "waits for a person's approval" in answers[2]

            # Where answers wait, nothing is said past the gate.
            app.model.script(call("reply", text="Psst."), Answer.of("Secret."))
            asked_there, notice = await app.ask(ADA, KINDLING, f"{ME} hello")
            assert told(app) == Said.HELD
            assert said_by_ember(app, KINDLING, asked_there) == [notice]
            assert not {"Psst.", "Secret."} & set(notice.content.split())

            # Approved: written, told, and the system prompt of the next session.
            app.model.script(Answer.of("So I tend the fire."))
            told_ada = await app.slash(ADA, HEARTH, "gates approve", gate=gate["gate"])
            assert told_ada.error is None
            heard = await pg.wait_for_message(
                HEARTH, lambda message: message.content == "So I tend the fire.", after=asked
            )
            assert heard.reply_to == asked.id
            assert purpose_tool.DONE in app.model.requests[-1].last_user_text
            assert purpose.read_text() == "Tend the fire.\n"
            assert "Tend the fire." not in app.model.requests[-1].system_text
            await app.slash(ADA, HEARTH, "sessions reset")
            await app.ask(BO, HEARTH, f"{ME} and now?")
            assert "Tend the fire." in app.model.requests[-1].system_text


async def test_what_was_on_its_way_arrives_once(tmp_path: Path) -> None:
    """P06: a host killed in the middle of `reply` leaves nothing out and says nothing twice."""
    home = tmp_path / "home"
    async with Playground() as pg, ScriptedModel() as model:
        async with running(home, pg, model) as app:
            app.model.script(call("reply", text="Here."), Answer.of("Done."))
            asked, _ = await app.ask(ADA, MINE, "Go.")
            await pg.wait_for_message(MINE, lambda message: message.content == "Done.", after=asked)
            assert [each.content for each in said_by_ember(app, MINE, asked)] == ["Here.", "Done."]
        with closing(sqlite3.connect(home / "inglenook.db")) as db, db:
            # One message is in the channel and was not noted, another with its file is not there.
            db.execute(
                "UPDATE outbox SET state = 'pending', content = 'Here.', message_id = NULL"
                " WHERE parcel LIKE 'say:%'"
            )
            db.execute(
                "INSERT INTO outbox (parcel, part, channel_id, reply_to, turn_id, run_id, nonce,"
                " content, quotable, state, created_at) SELECT parcel || '0', part, channel_id,"
                " reply_to, turn_id, run_id, 'another', 'And this.', 1, 'pending', created_at"
                " FROM outbox WHERE parcel LIKE 'say:%'"
            )
            db.execute(
                "INSERT INTO outbox_files SELECT parcel, 0, 'plan.md', x'00ff' FROM outbox"
                " WHERE content = 'And this.'"
            )
        async with running(home, pg, model) as app:
            sent = await pg.wait_for_message(
                MINE, lambda message: message.content == "And this.", after=asked
            )
            assert [(each.filename, each.data) for each in sent.attachments] == [
                ("plan.md", b"\x00\xff")
            ]
            assert sent.reply_to == asked.id
            await app.settle()
            contents = [each.content for each in said_by_ember(app, MINE, asked)]
            assert contents[:-1] == ["Here.", "Done.", "And this."]
        with closing(sqlite3.connect(home / "inglenook.db")) as db:
            assert db.execute("SELECT count(*) FROM outbox_files").fetchone() == (0,)
            pending = "SELECT count(*) FROM outbox WHERE state = 'pending'"
            assert db.execute(pending).fetchone() == (0,)


async def test_it_says_more_or_nothing_where_it_was_asked(tmp_path: Path) -> None:
    """Issue "Tools": `reply` speaks in this conversation and is its answer, `stay_silent` none."""
    settings = {"talk": {"reply_messages": 2}, "allow": {"users": [str(BO)]}}
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, settings) as app,
    ):
        # A further message, before the answer; nobody is pinged by it, wherever it says to go.
        app.model.script(
            call("reply", text=f"Looking, @everyone and <@{BO}>."), Answer.of("Found it.")
        )
        asked, first = await app.ask(ADA, MINE, "Look it up.")
        answer = await app.pg.wait_for_message(
            MINE, lambda message: message.content == "Found it.", after=asked
        )
        assert [each.content for each in said_by_ember(app, MINE, asked)] == [
            f"Looking, @everyone and <@{BO}>.",
            "Found it.",
        ]
        assert first.id < answer.id
        assert (first.reply_to, answer.reply_to) == (asked.id, asked.id)
        assert (first.pinged, first.mention_everyone) == ((), False)
        names = app.model.requests[-1].tool_names
        assert {"reply", "stay_silent"} <= set(names)
        assert not {"web_fetch", "bash", "read"} & set(names)

        # Files of its own workspace, and with them the turn has answered.
        await eventually(lambda: outcome_of(app, asked)[0] == "replied")
        _, run = outcome_of(app, asked)
        (run / "workspace" / "plan.md").write_bytes(b"the plan\xff")
        (run / "workspace" / "sly.md").symlink_to(app.home / "org.toml")
        app.model.script(
            call("reply", files=["sly.md"]),
            call("reply", text="Here.", files=["/workspace/plan.md"]),
            call("reply", text="And more."),
            Answer.of(""),
        )
        asked, sent = await app.ask(ADA, MINE, "Send me the plan.")
        (file,) = sent.attachments
        assert (sent.content, file.filename, file.data) == ("Here.", "plan.md", b"the plan\xff")
        await eventually(lambda: owed(app, asked) == "done")
        assert said_by_ember(app, MINE, asked) == [sent]
        assert told(app) == talk_tools.ENOUGH
        await eventually(lambda: outcome_of(app, asked)[0] == "replied")

        # In a direct message somebody waits; in a group the model may leave it at that.
        app.model.script(call("stay_silent"), Answer.of("Well then."))
        _, answer = await app.ask(ADA, MINE, "Be quiet.")
        assert answer.content == "Well then."
        assert told(app) == talk_tools.SOMEBODY_WAITS
        requests = len(app.model.requests)
        app.model.script(call("stay_silent"))
        asked = await app.pg.say(BO, HEARTH, f"{ME} never mind")
        await eventually(lambda: owed(app, asked) == "done")
        await eventually(lambda: outcome_of(app, asked)[0] == "silent")
        _, run = outcome_of(app, asked)
        assert '"stay_silent"' in (run / "context.jsonl").read_text(encoding="utf-8")
        assert len(app.model.requests) == requests + 1  # the tool ends the turn
        assert said_by_ember(app, HEARTH, asked) == []
