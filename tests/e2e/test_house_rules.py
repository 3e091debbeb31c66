"""House rules on the running bot: real discord.py, real pi, a scripted model."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.cogs.state import FILE_TOO_LARGE, KEEPERS_ONLY, SWITCHED_OFF
from bot.place import NOT_A_CONVERSATION
from bot.playground.entities import Message, Upload
from bot.playground.ids import ADA, BO, CY, DEE, DIRECT, EMBER, HEARTH, KINDLING, WORKSHOP
from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer, HttpError, ScriptedModel
from bot.playground.server import Playground
from bot.rule_notices import RULE_DELETED, RULE_EDITED, RULE_TAKEN
from bot.state_text import NO_RULES
from compiler.directives import decision as prompts
from sessions.gateway import WITHHELD
from sessions.house.keeper import NOTHING_TO_UNDO
from sessions.house.reading import QUESTIONS, Doubt
from sessions.house.ruling import NOT_TRUSTED
from support.app_world import AppWorld, housed, running

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ME = f"<@{EMBER}>"
HOME = DIRECT[ADA]
REACT = "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me"


@pytest_asyncio.fixture(loop_scope="module")
async def app(app: AppWorld) -> AppWorld:
    """The module's bot, without rules in Ada's direct messages and in #hearth."""
    for place in (HOME, HEARTH):
        await app.slash(ADA, place, "state clear", what="everything")
    return app


def state_in(prompt: str) -> dict[str, Any] | None:
    """The state block of an input, without its label; None where there is none."""
    blocks = [json.loads(line) for line in prompt.splitlines()]
    kinds = [block["block"] for block in blocks]
    if "state" not in kinds:
        return None
    assert kinds.index("state") == kinds.index("message") - 1, "right before the message"
    found: dict[str, Any] = blocks[kinds.index("state")]
    assert found.pop("block") == "state"
    assert found.pop("authority") == "user-directive"
    return found


async def reacted(app: AppWorld, message: Message, emoji: str = "✅") -> None:
    """Wait for the bot's reaction to a message."""
    await app.pg.until(lambda: EMBER in message.reactions.get(emoji, []) or None)


async def test_the_five_examples(app: AppWorld) -> None:
    """Issue "Done when": each is taken with a reaction, and every later turn carries the rules."""
    for text in (
        "set premise We ship on Friday",
        "use docker",
        "prohibit peanuts",
        "use podman instead of docker",
        "remove policy peanuts",
    ):
        asked, _ = await app.ask(ADA, HOME, text)
        await reacted(app, asked)
    await app.ask(ADA, HOME, "so what do we use?")
    premise = "We ship on Friday"
    expected: list[dict[str, str]] = [
        {},
        {"docker": "use"},
        {"docker": "use", "peanuts": "prohibit"},
        {"podman": "use", "peanuts": "prohibit"},
        {"podman": "use"},
        {"podman": "use"},
    ]
    assert [state_in(prompt) for prompt in app.prompts] == [
        {"premise": premise, "policies": policies, "version": 2} for policies in expected
    ]
    assert '"text":"use docker"' in app.prompts[1], "the message itself is forwarded, exact"


async def test_rules_leave_every_earlier_byte_alone(app: AppWorld) -> None:
    """Issue: never in the system prompt; a change leaves the conversation's prefix as it was."""
    for text in ("hello", "use docker", "and?", "clear state", "still?"):
        await app.ask(ADA, HOME, text)
    bodies = [request.body["messages"] for request in app.model.requests]
    for before, after in itertools.pairwise(bodies):
        assert json.dumps(after[: len(before)]) == json.dumps(before)
    assert len({request.system_text for request in app.model.requests}) == 1
    assert "docker" not in app.model.requests[0].system_text
    assert [state_in(prompt) is not None for prompt in app.prompts] == [
        False,
        True,
        True,
        False,
        False,
    ]


CLASHES = (
    (1, ("set premise a",), "set premise b", prompts.PREMISE_ALREADY_SET),
    (2, (), "change premise to b", prompts.PREMISE_NOT_SET),
    (3, (), "set premise ", prompts.SET_PREMISE_EMPTY),
    (4, (), "change premise to", prompts.CHANGE_PREMISE_EMPTY),
    (5, ("prohibit Tea",), "use the tea", prompts.use_of_prohibited("tea")),
    (6, ("use tea",), "prohibit TEA", prompts.prohibit_of_used("tea")),
    (7, (), "use cocoa instead of milk", prompts.not_in_use("milk")),
    (8, ("prohibit milk",), "use cocoa instead of milk", prompts.replacement_prohibited("milk")),
    (
        9,
        ("prohibit cocoa", "use milk"),
        "use cocoa instead of milk",
        prompts.replacement_prohibited("cocoa"),
    ),
    (12, (), "remove policy", prompts.REMOVE_EMPTY),
    (13, (), "use the", prompts.USE_EMPTY),
    (14, (), "prohibit", prompts.PROHIBIT_EMPTY),
    (15, ("use milk",), "use instead of milk", prompts.REPLACEMENT_INCOMPLETE),
    (16, (), "use tea and prohibit milk", prompts.COMPOUND),
)


async def test_each_clash_gets_its_exact_question_and_no_model(tmp_path: Path) -> None:
    """DG 9: every case that a person can meet, in its DM; ``prompt_to_user`` and nothing else."""
    async with housed(tmp_path / "home") as app:
        await _clash_in_every_way(app)


async def _clash_in_every_way(app: AppWorld) -> None:
    for case, before, text, question in CLASHES:
        await app.slash(ADA, HOME, "state clear", what="everything")
        for rule in before:
            told = await app.slash(ADA, HOME, f"state {rule.split()[0]}", **_option(rule))
            assert "is in use" in told.text or "prohibited" in told.text or "set" in told.text
        shown = (await app.slash(ADA, HOME, "state show")).text
        asked, answer = await app.ask(ADA, HOME, text)
        assert answer.content == question, case
        assert answer.reply_to == asked.id
        assert asked.reactions == {}
        assert (await app.slash(ADA, HOME, "state show")).text == shown, case
    assert app.prompts == []
    assert list((app.home / "runs").iterdir()) == [], "no run was begun, so no process"


def _option(rule: str) -> dict[str, str]:
    word, _, rest = rule.partition(" ")
    return {"premise": rest.removeprefix("premise ")} if word == "set" else {"item": rest}


async def test_a_clash_waits_for_no_running_turn(app: AppWorld) -> None:
    """A question in fixed words is there while the model still thinks about something else."""
    release = asyncio.Event()
    app.model.script(Answer(chunks=("done",), before=release))
    asked = await app.pg.say(ADA, HOME, "think about it")
    await app.model.wait_for_requests(1)
    _, answer = await app.ask(ADA, HOME, "change premise to b")
    assert answer.content == prompts.PREMISE_NOT_SET
    release.set()
    await app.pg.wait_for_message(HOME, lambda m: m.reply_to == asked.id, after=asked)


async def test_messages_are_answered_under_the_rules_of_their_moment(app: AppWorld) -> None:
    """The order of messages is the order of rules, also for those that had to wait."""
    release = asyncio.Event()
    app.model.script(Answer(chunks=("done",), before=release))
    await app.pg.say(ADA, HOME, "first")
    await app.model.wait_for_requests(1)
    await app.pg.say(ADA, HOME, "second")
    third = await app.pg.say(ADA, HOME, "use docker")
    await reacted(app, third)
    release.set()
    await app.pg.wait_for_message(HOME, lambda m: m.reply_to == third.id, after=third)
    assert [state_in(prompt) is not None for prompt in app.prompts] == [False, False, True]


async def test_only_addressed_messages_are_read(app: AppWorld) -> None:
    """Issue: in a channel by mention or reply; not in passing, not in quotes, code or forwards."""
    place = app.place()
    await app.slash(ADA, place, "channel mode", mode="all")
    for text in ("prohibit peanuts", "prohibit nuts"):
        await app.ask(ADA, place, text)
    spoken, answer = await app.ask(ADA, place, f"{ME} use docker")
    await reacted(app, spoken)
    replied, _ = await app.ask(ADA, place, "use tea", reply_to=answer)
    await reacted(app, replied)
    quoted = await app.pg.say(BO, place, "use gin")
    sent_on = await app.pg.forward(ADA, HOME, quoted)
    await app.pg.wait_for_message(HOME, lambda m: m.reply_to == sent_on.id, after=sent_on)
    await app.ask(ADA, place, f"{ME} what of this?", reply_to=quoted)
    for text in ("> use gin", "```\nuse gin\n```", '"use gin"'):
        await app.ask(ADA, place, f"{ME} {text}")
    last = state_in(app.prompts[-1])
    assert last == {"premise": None, "policies": {"docker": "use", "tea": "use"}, "version": 2}
    assert (await app.slash(ADA, HOME, "state show")).text == NO_RULES


async def test_hidden_characters_and_enclosed_text_are_asked_back(app: AppWorld) -> None:
    """Issue "Bad input": never silently ignored or applied; nothing crashes."""
    _, answer = await app.ask(ADA, HOME, "pro\u200bhibit docker")
    assert answer.content == QUESTIONS[Doubt.HIDDEN]
    _, answer = await app.ask(ADA, HOME, "use docker\n> prohibit nuts")
    assert answer.content == QUESTIONS[Doubt.ENCLOSED]
    assert app.prompts == []
    for text in ("use e" + "\u0301" * 1900, "\u202euse docker", "use \ud800"):
        _, answer = await app.ask(ADA, HOME, text)
        assert answer.content
    assert (await app.slash(ADA, HOME, "state show")).text.count("\n- ") <= 1


async def test_who_is_not_trusted_is_refused_and_may_look(app: AppWorld) -> None:
    """Issue: a plain refusal by the fixed text and no state change; everyone may look."""
    await app.ask(ADA, HEARTH, f"{ME} use docker")
    asked, answer = await app.ask(BO, HEARTH, f"{ME} prohibit peanuts")
    assert answer.content == NOT_TRUSTED
    assert asked.reactions == {}
    refused = await app.slash(BO, HEARTH, "state prohibit", item="peanuts")
    assert (refused.text, refused.ephemeral) == (NOT_TRUSTED, True)
    assert (await app.slash(BO, HEARTH, "state undo")).text == NOT_TRUSTED
    shown = await app.slash(BO, HEARTH, "state show")
    assert shown.ephemeral
    assert "`docker`" in shown.text
    assert f"<@{ADA}>" in shown.text
    assert "peanuts" not in shown.text
    assert "refused" in (await app.slash(BO, HEARTH, "state history")).text
    assert (await app.slash(BO, HEARTH, "state export")).text == KEEPERS_ONLY
    assert (await app.slash(DEE, DIRECT[DEE], "state show")).text == NOT_A_CONVERSATION


async def test_a_trusted_channel_takes_rules_of_everybody(app: AppWorld) -> None:
    place = app.place()
    await app.slash(ADA, place, "channel trust", mode="on")
    asked, _ = await app.ask(BO, place, f"{ME} prohibit peanuts")
    await reacted(app, asked)
    told = await app.slash(CY, place, "state use", item="docker")
    assert (told.text, told.ephemeral) == ("`docker` is in use.", False)
    assert f"<@{BO}>" in (await app.slash(DEE, place, "state show")).text


async def test_command_only_and_off(app: AppWorld) -> None:
    """Issue: the channel setting; rules that stand go on to hold."""
    with app.owner_sets(
        f'[channels."{HEARTH}"]\ndirectives = "command-only"\n'
        f'[channels."{WORKSHOP}"]\ndirectives = "off"'
    ):
        await app.ask(ADA, HEARTH, f"{ME} use docker")
        assert state_in(app.prompts[0]) is None
        await app.slash(ADA, HEARTH, "state use", item="tea")
        await app.ask(ADA, HEARTH, f"{ME} prohibit docker")
        assert state_in(app.prompts[1]) == {
            "premise": None,
            "policies": {"tea": "use"},
            "version": 2,
        }
        off = await app.slash(ADA, WORKSHOP, "state use", item="tea")
        assert (off.text, off.ephemeral) == (SWITCHED_OFF, True)
        await app.ask(ADA, WORKSHOP, f"{ME} use docker")
        assert state_in(app.prompts[2]) is None


async def test_the_owner_chooses_how_rules_are_set(app: AppWorld) -> None:
    """``/channel directives`` writes the setting; ``/channel show`` tells it."""
    place = app.place()
    told = await app.slash(ADA, place, "channel directives", mode="command-only")
    assert "`/state` alone" in told.text
    await app.ask(ADA, place, f"{ME} use docker")
    assert state_in(app.prompts[0]) is None
    assert "command-only" in (await app.slash(ADA, place, "channel show")).text
    await app.slash(ADA, place, "channel directives", mode="addressed")
    await app.ask(ADA, place, f"{ME} use docker")
    assert state_in(app.prompts[1]) is not None


async def test_a_prohibited_tool_is_closed_in_this_conversation_alone(app: AppWorld) -> None:
    """Issue: held by more than words; the imp is told why, and ``use`` opens nothing."""
    call = ToolCall(name="remember", arguments={"text": "Bo likes tea."})
    with app.owner_sets('[directives.aliases]\nnotes = "remember"'):
        await app.ask(ADA, HOME, "prohibit the notes")
        app.model.script(Answer.call(call), Answer.of("I may not."))
        await app.ask(ADA, HOME, "remember that Bo likes tea")
        assert WITHHELD in _tool_result(app)
        app.model.script(Answer.call(call), Answer.of("I did."))
        await app.ask(ADA, HEARTH, f"{ME} remember that Bo likes tea")
        assert WITHHELD not in _tool_result(app)
        await app.slash(ADA, HOME, "state remove", item="notes")
        app.model.script(Answer.call(call), Answer.of("I did."))
        await app.ask(ADA, HOME, "and now?")
        assert WITHHELD not in _tool_result(app)


def _tool_result(app: AppWorld) -> str:
    """What the model was told of its last tool call."""
    (text,) = [each.text for each in app.model.requests[-1].messages if each.role == "tool"][-1:]
    return text


async def test_an_update_may_be_answered_without_the_model(app: AppWorld) -> None:
    """Issue: ``forward_updates = false`` answers with one line; the emoji is the owner's."""
    with app.owner_sets('[directives]\nforward_updates = false\nemoji = "🫖"'):
        asked, answer = await app.ask(ADA, HOME, "use docker")
        await reacted(app, asked, "🫖")
        assert answer.content == "`docker` is in use."
        assert app.prompts == []
        await app.ask(ADA, HOME, "hello")
        assert state_in(app.prompts[0]) is not None


async def test_a_failed_turn_keeps_the_rule(app: AppWorld) -> None:
    """The rule is the host's: the model may fail, what was set is set."""
    app.model.script(*[HttpError(status=401, body="{}")] * 3)
    asked, answer = await app.ask(ADA, HOME, "use docker")
    assert "run `" in answer.content
    await reacted(app, asked)
    assert "`docker`" in (await app.slash(ADA, HOME, "state show")).text


async def test_a_reaction_that_may_not_be_is_a_line(app: AppWorld) -> None:
    """Discord refuses the reaction: the person is told all the same."""
    app.pg.faults.fail("PUT", REACT, status=403, code=50013)
    asked = await app.pg.say(ADA, HOME, "use docker")
    told = await app.pg.wait_for_message(HOME, lambda m: m.content == RULE_TAKEN, after=asked)
    assert told.reply_to == asked.id


async def test_a_thread_starts_from_a_copy(app: AppWorld) -> None:
    """Issue: a thread starts from a copy of its parent's state and then is its own."""
    await app.ask(ADA, HEARTH, f"{ME} use docker")
    thread = await app.pg.create_thread(BO, HEARTH, "sparks")
    await app.settle()
    await app.ask(ADA, HEARTH, f"{ME} prohibit peanuts")
    await app.ask(ADA, thread.id, f"{ME} use tea")
    await app.ask(ADA, HEARTH, f"{ME} hello")
    await app.ask(ADA, KINDLING, f"{ME} hello")
    found = [state_in(prompt) for prompt in app.prompts]
    assert [each and each["policies"] for each in found] == [
        {"docker": "use"},
        {"docker": "use", "peanuts": "prohibit"},
        {"docker": "use", "tea": "use"},
        {"docker": "use", "peanuts": "prohibit"},
        {"docker": "use", "peanuts": "prohibit"},
    ]
    assert "began with" in (await app.slash(ADA, thread.id, "state history")).text


async def test_rules_survive_the_bot_the_session_and_a_repeated_event(tmp_path: Path) -> None:
    """Issue: restarts, session ends, resets; P04: a repeated event is no second directive."""
    home = tmp_path / "home"
    async with Playground() as pg, ScriptedModel() as model:
        async with running(home, pg, model) as app:
            asked, _ = await app.ask(ADA, HOME, "set premise We ship on Friday")
            await app.slash(ADA, HOME, "sessions reset")
        async with running(home, pg, model) as app:
            pg.redeliver(asked)
            await app.settle()
            await app.ask(ADA, HOME, "hello")
            assert state_in(app.prompts[-1]) == {
                "premise": "We ship on Friday",
                "policies": {},
                "version": 2,
            }
            history = (await app.slash(ADA, HOME, "state history")).text
            assert history.count("The premise is set.") == 1


async def test_edits_and_deletions_rewrite_nothing_and_name_undo(app: AppWorld) -> None:
    """Issue: "Editing or deleting the message later does not silently rewrite it"."""
    asked, _ = await app.ask(ADA, HOME, "use docker")
    edited = await app.pg.edit(ADA, asked, "use podman")
    told = await app.pg.wait_for_message(HOME, lambda m: m.content == RULE_EDITED, after=asked)
    assert told.reply_to == asked.id
    await app.pg.edit(ADA, edited, "use gin")
    await app.pg.delete(ADA, asked)
    await app.settle()
    said = [m.content for m in app.pg.messages(HOME)]
    assert said.count(RULE_EDITED) == 1, "told once for a message"
    assert RULE_DELETED not in said
    other, _ = await app.ask(ADA, HOME, "prohibit peanuts")
    await app.pg.delete(ADA, other)
    await app.pg.wait_for_message(HOME, lambda m: m.content == RULE_DELETED, after=other)
    plain, _ = await app.ask(ADA, HOME, "hello")
    await app.pg.delete(ADA, plain)
    await app.settle()
    assert [m.content for m in app.pg.messages(HOME)].count(RULE_DELETED) == 1
    shown = (await app.slash(ADA, HOME, "state show")).text
    assert "`docker`" in shown
    assert "`peanuts`" in shown


async def test_undo_takes_back_change_by_change(app: AppWorld) -> None:
    """Issue "Slash commands": undo, itself recorded."""
    place = app.place()
    await app.ask(ADA, place, f"{ME} use docker")
    await app.ask(ADA, place, f"{ME} use podman instead of docker")
    undone = await app.slash(ADA, place, "state undo")
    assert undone.text == "Taken back. `docker` is in use. `podman` is no longer a rule."
    assert not undone.ephemeral
    await app.slash(ADA, place, "state undo")
    assert (await app.slash(ADA, place, "state undo")).text == NOTHING_TO_UNDO
    assert (await app.slash(ADA, place, "state show")).text == NO_RULES
    history = (await app.slash(ADA, place, "state history")).text
    assert history.count("took back") == 2
    assert history.count("taken back since") == 2


async def test_every_change_has_its_command(app: AppWorld) -> None:
    """Issue "Slash commands": each through the same step, so with the same prompts."""
    steps: tuple[tuple[str, dict[str, str], str], ...] = (
        ("set", {"premise": "Tea first"}, "The premise is set."),
        ("set", {"premise": "Cocoa"}, prompts.PREMISE_ALREADY_SET),
        ("change", {"premise": "Cocoa"}, "The premise is changed."),
        ("use", {"item": "The Docker"}, "`docker` is in use."),
        ("prohibit", {"item": "docker"}, prompts.prohibit_of_used("docker")),
        ("replace", {"new": "podman", "old": "docker"}, "`docker` is no longer a rule."),
        ("prohibit", {"item": "peanuts"}, "`peanuts` is prohibited."),
        ("remove", {"item": "peanuts"}, "`peanuts` is no longer a rule."),
        ("use", {"item": "a and prohibit b"}, prompts.COMPOUND),
        ("clear", {"what": "premise"}, "The premise is cleared."),
        ("reset", {}, "`podman` is no longer a rule."),
        ("clear", {"what": "everything"}, "Nothing changed: that already holds."),
    )
    for command, options, text in steps:
        told = await app.slash(ADA, HOME, f"state {command}", **options)
        assert text in told.text, (command, options)
        assert told.deferred
    assert app.prompts == []


async def test_export_and_import_by_file(app: AppWorld) -> None:
    """Issue: a checkpoint as a file, all or nothing; bad ones are refused whole in one line."""
    await app.ask(ADA, HOME, "set premise We ship on Friday")
    await app.ask(ADA, HOME, "prohibit peanuts")
    exported = await app.slash(ADA, HOME, "state export")
    assert exported.ephemeral
    (file,) = exported.messages[0].attachments
    assert json.loads(file.data)["authoritative_state"] == {
        "premise": "We ship on Friday",
        "policies": {"peanuts": "prohibit"},
        "version": 2,
    }
    told = await _import(app, file.data)
    assert told.startswith("Imported.")
    shown = (await app.slash(ADA, HEARTH, "state show")).text
    assert "`peanuts`" in shown
    bad = (b"\xff", b"[" * 50_000, file.data.replace(b'"version":2', b'"version":1'), b"{}")
    for data in bad:
        told = await _import(app, data)
        assert "was not imported" in told
        assert "\n" not in told
    assert await _import(app, b" " * 10_000_000) == FILE_TOO_LARGE
    assert (await app.slash(ADA, HEARTH, "state show")).text == shown


async def _import(app: AppWorld, data: bytes) -> str:
    upload = Upload(filename="rules.json", data=data, content_type="application/json")
    result = await app.pg.slash(ADA, HEARTH, "state import", file=upload, timeout=120.0)
    return result.text


async def test_a_rule_without_room_is_refused(app: AppWorld) -> None:
    """Issue: ``state_max_chars`` refuses a directive, with a clear answer and no state change."""
    with app.owner_sets("[context]\nstate_max_chars = 150"):
        await app.ask(ADA, HOME, "use docker")
        _, answer = await app.ask(ADA, HOME, f"use {'x' * 200}")
        assert "no room" in answer.content
        assert "150" in answer.content
        assert len(app.prompts) == 1
        assert "xxx" not in (await app.slash(ADA, HOME, "state show")).text


async def test_the_owner_sees_the_state_block_of_a_turn(app: AppWorld) -> None:
    """Issue "Done when": the compiled state block in /runs context, with what befell the run."""
    place = app.place()
    await app.ask(ADA, place, f"{ME} hello")
    await app.ask(ADA, place, f"{ME} use docker")
    await app.ask(ADA, place, f"{ME} prohibit docker")
    listed = (await app.slash(ADA, place, "runs list")).text
    found = re.search(r"\d{4}(?:-\d\d){5}-[a-z0-9]{4}", listed)
    assert found is not None
    context = await app.slash(ADA, place, "runs context", run=found[0])
    texts = [file.data.decode() for message in context.messages for file in message.attachments]
    assert any('"policies":{"docker":"use"}' in text for text in texts)
    told = await app.slash(ADA, place, "runs show", run=found[0])
    files = [
        file.data.decode()
        for message in told.messages
        for file in message.attachments
        if not file.filename.endswith(".png")
    ]
    shown = "\n".join([told.text, *files])
    assert "store:house-rules" in shown
    assert "HOUSE RULES" in shown
    assert "clarified" in shown
