"""Registering commands and answering interactions over plain REST: all that Discord refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.playground.applications.stages import InteractionKind, Stage
from bot.playground.entities import MessageFlag
from bot.playground.ids import ADA, EMBER, HARBOUR, HEARTH, ORCHARD

if TYPE_CHECKING:
    from bot.playground.applications.stages import Interaction
    from bot.playground.server import Playground
    from support.playground_rest import Api

COMMANDS = f"/applications/{EMBER}/commands"


def command(name: str = "runs", **more: object) -> dict[str, object]:
    return {"name": name, "description": "Runs", **more}


def option(name: str = "run", **more: object) -> dict[str, object]:
    return {"type": 3, "name": name, "description": "Run", **more}


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        (command("Runs"), ("name",), "APPLICATION_COMMAND_INVALID_NAME"),
        (command("runs list"), ("name",), "APPLICATION_COMMAND_INVALID_NAME"),
        (command("x" * 33), ("name",), "BASE_TYPE_MAX_LENGTH"),
        (command(""), ("name",), "BASE_TYPE_MIN_LENGTH"),
        (command(description="x" * 101), ("description",), "BASE_TYPE_MAX_LENGTH"),
        (command(description=""), ("description",), "BASE_TYPE_REQUIRED"),
        (
            command(options=[option(str(n)) for n in range(26)]),
            ("options",),
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            command(options=[option("A")]),
            ("options", "0", "name"),
            "APPLICATION_COMMAND_INVALID_NAME",
        ),
        (
            command(options=[option("a"), option("a")]),
            ("_errors",),
            "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS",
        ),
        (
            command(options=[option("a"), option("b", required=True)]),
            ("_errors",),
            "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        ),
        (
            command(options=[option(autocomplete=True, choices=[{"name": "a", "value": "a"}])]),
            ("options", "0"),
            "APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_CHOICES",
        ),
        (command("Why?", type=3), ("description",), "APPLICATION_COMMAND_CONTEXT_MENU_DESCRIPTION"),
        (
            command(
                options=[
                    option(
                        f"o{n}",
                        choices=[{"name": "n" * 100, "value": f"{c}" * 40} for c in range(3)],
                    )
                    for n in range(20)
                ]
            ),
            ("_errors",),
            "APPLICATION_COMMAND_TOO_LARGE",
        ),
    ],
)
async def test_bad_commands_are_50035(
    pg: Playground, api: Api, body: dict[str, object], path: tuple[str, ...], code: str
) -> None:
    """Names, lengths and numbers are Discord's; in a bulk write the index leads the path."""
    answer = await api("PUT", COMMANDS, [command("fine"), body])
    assert (answer.status, answer.code) == (400, 50035)
    assert answer.wrong("1", *[part for part in path if part != "_errors"]) == [code]
    assert pg.registry.listed(None) == ()


async def test_bulk_write_replaces_and_keeps_ids(api: Api) -> None:
    """What is not in the list is gone; the same name keeps its id with a new version."""
    before = (await api("PUT", COMMANDS, [command("a"), command("b")])).body
    after = (await api("PUT", COMMANDS, [command("b", description="New"), command("c")])).body
    assert [c["name"] for c in after] == ["b", "c"]
    assert after[0]["id"] == before[1]["id"]
    assert after[0]["version"] != before[1]["version"]
    assert (await api("PUT", COMMANDS, [command("a"), command("a")])).wrong("1", "name") == [
        "APPLICATION_COMMANDS_DUPLICATE_NAME"
    ]


async def test_too_many_commands(pg: Playground, api: Api) -> None:
    """100 slash commands at most (30032), and 200 new ones a day (30034, P16)."""
    many = [command(f"c{n}") for n in range(101)]
    assert (await api("PUT", COMMANDS, many)).code == 30032
    pg.registry.creates_left = 1
    assert (await api("PUT", COMMANDS, many[:2])).code == 30034
    assert (await api("PUT", COMMANDS, many[:1])).status == 200
    assert (await api("PUT", COMMANDS, many[:1])).status == 200


async def test_single_commands(api: Api) -> None:
    """POST makes or replaces, PATCH changes, DELETE removes; unknown ones are 10063."""
    made = await api("POST", COMMANDS, command())
    path = f"{COMMANDS}/{made.body['id']}"
    assert made.status == 201
    assert (await api("POST", COMMANDS, command())).body["id"] == made.body["id"]
    changed = await api("PATCH", path, {"description": "Better"})
    assert (changed.body["name"], changed.body["description"]) == ("runs", "Better")
    assert (await api("PATCH", path, {"name": "No Way"})).code == 50035
    assert (await api("GET", path)).body["description"] == "Better"
    assert (await api("DELETE", path)).status == 204
    assert (await api("GET", path)).code == 10063
    assert (await api("GET", "/applications/42/commands")).code == 10002


async def test_guild_lists_are_their_own(pg: Playground, api: Api) -> None:
    """A guild's commands are not the global ones, and need the bot in the guild."""
    path = f"/applications/{EMBER}/guilds/{{}}/commands"
    made = await api("PUT", path.format(ORCHARD), [command("here")])
    assert made.body[0]["guild_id"] == str(ORCHARD)
    assert (await api("GET", COMMANDS)).body == []
    one = f"{path.format(ORCHARD)}/{made.body[0]['id']}"
    assert (await api("GET", f"{one}/permissions")).code == 10066
    pg.world.remove_bot(HARBOUR)
    assert (await api("PUT", path.format(HARBOUR), [command("here")])).code == 50001


def opened(pg: Playground, kind: InteractionKind = InteractionKind.COMMAND) -> Interaction:
    data = {"id": "1", "name": "runs", "type": 1, "options": []}
    return pg.desk.open(kind, ADA, pg.world.channel(HEARTH), data)


def callback(it: Interaction) -> str:
    return f"/interactions/{it.id}/{it.token}/callback"


def webhook(it: Interaction) -> str:
    return f"/webhooks/{EMBER}/{it.token}"


async def test_first_answer_comes_once(pg: Playground, api: Api) -> None:
    """A second first answer is 400, 40060; a wrong token is 10062."""
    it = opened(pg)
    body = {"type": 4, "data": {"content": "hi"}}
    assert (await api("POST", f"/interactions/{it.id}/wrong/callback", body)).code == 10062
    assert (await api("POST", callback(it), body)).status == 204
    again = await api("POST", callback(it), body)
    assert (again.status, again.code) == (400, 40060)


async def test_late_first_answer_is_10062(pg: Playground, api: Api) -> None:
    """After 3 s the interaction is unknown; a refused answer does not use it up."""
    now = [pg.world.clock()]
    pg.world.clock = lambda: now[0]
    it = opened(pg)
    empty = await api("POST", callback(it), {"type": 4, "data": {"content": ""}})
    assert empty.code == 50006
    now[0] += 3.01
    late = await api("POST", callback(it), {"type": 5})
    assert (late.status, late.code) == (404, 10062)
    assert it.stage is Stage.WAITING


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (InteractionKind.COMMAND, 6),
        (InteractionKind.COMMAND, 8),
        (InteractionKind.AUTOCOMPLETE, 4),
        (InteractionKind.MODAL_SUBMIT, 9),
        (InteractionKind.COMPONENT, 7),
        (InteractionKind.COMMAND, 77),
    ],
)
async def test_wrong_kinds_of_answer(
    pg: Playground, api: Api, kind: InteractionKind, answer: int
) -> None:
    """Each kind of interaction takes its own kinds of answer."""
    it = opened(pg, kind)
    refused = await api("POST", callback(it), {"type": answer, "data": {"content": "x"}})
    assert refused.wrong("type") == ["BASE_TYPE_CHOICES"]


async def test_autocomplete_takes_25_choices(pg: Playground, api: Api) -> None:
    """A 26th choice is refused, so is a name of 101 characters."""
    it = opened(pg, InteractionKind.AUTOCOMPLETE)
    many = [{"name": str(n), "value": str(n)} for n in range(26)]
    refused = await api("POST", callback(it), {"type": 8, "data": {"choices": many}})
    assert refused.wrong("choices") == ["BASE_TYPE_BAD_LENGTH"]
    long = {"type": 8, "data": {"choices": [{"name": "x" * 101, "value": "x"}]}}
    assert (await api("POST", callback(it), long)).wrong("choices", "0", "name") == [
        "BASE_TYPE_MAX_LENGTH"
    ]
    fine = await api("POST", callback(it), {"type": 8, "data": {"choices": many[:25]}})
    assert fine.status == 204
    assert len(it.choices) == 25


async def test_modal_limits(pg: Playground, api: Api) -> None:
    """A title over 45 characters or a missing id is refused."""
    it = opened(pg)
    field = {"type": 4, "custom_id": "a", "style": 1, "label": "A"}
    modal = {
        "custom_id": "m",
        "title": "x" * 46,
        "components": [{"type": 1, "components": [field]}],
    }
    assert (await api("POST", callback(it), {"type": 9, "data": modal})).wrong("title") == [
        "BASE_TYPE_MAX_LENGTH"
    ]
    bare = modal | {"title": "T", "components": [{"type": 1, "components": [{"type": 4}]}]}
    assert (await api("POST", callback(it), {"type": 9, "data": bare})).code == 50035
    fine = await api("POST", callback(it), {"type": 9, "data": modal | {"title": "T"}})
    assert fine.status == 204


async def test_webhook_before_the_answer_is_unknown(pg: Playground, api: Api) -> None:
    """Before the first answer there is no follow-up and no original."""
    it = opened(pg)
    assert (await api("POST", webhook(it), {"content": "x"})).code == 10015
    assert (await api("GET", f"{webhook(it)}/messages/@original")).code == 10015
    assert (await api("POST", f"/webhooks/{EMBER}/wrong", {"content": "x"})).code == 10015


async def test_token_is_good_for_fifteen_minutes(pg: Playground, api: Api) -> None:
    """Later every webhook route gives 401, 50027 (P15)."""
    now = [pg.world.clock()]
    pg.world.clock = lambda: now[0]
    it = opened(pg)
    await api("POST", callback(it), {"type": 5})
    now[0] += 900
    assert (await api("POST", webhook(it), {"content": "x"})).status == 200
    now[0] += 0.1
    late = await api("PATCH", f"{webhook(it)}/messages/@original", {"content": "x"})
    assert (late.status, late.code) == (401, 50027)


async def test_original_can_be_read_edited_and_deleted(pg: Playground, api: Api) -> None:
    """``@original`` is the message of the first answer; afterwards it is 10008."""
    it = opened(pg)
    answer = await api("POST", f"{callback(it)}?with_response=true", {"type": 5})
    about = answer.body["interaction"]
    assert about["response_message_loading"] is True
    assert about["response_message_ephemeral"] is False
    original = f"{webhook(it)}/messages/@original"
    assert (await api("GET", original)).body["flags"] & MessageFlag.LOADING
    edited = await api("PATCH", original, {"content": "done"})
    assert (edited.body["content"], edited.body["flags"]) == ("done", 0)
    assert edited.body["edited_timestamp"] is None
    assert it.stage is Stage.ANSWERED
    assert (await api("DELETE", original)).status == 204
    assert (await api("GET", original)).code == 10008
    assert pg.messages(HEARTH) == ()


async def test_ephemeral_messages_are_in_no_history(pg: Playground, api: Api) -> None:
    """A whispered answer cannot be read by its id in the channel."""
    it = opened(pg)
    body = {"type": 4, "data": {"content": "psst", "flags": 64}}
    answer = await api("POST", f"{callback(it)}?with_response=1", body)
    number = answer.body["resource"]["message"]["id"]
    assert (await api("GET", f"/channels/{HEARTH}/messages/{number}")).code == 10008
    assert [m.content for m in pg.messages(HEARTH, as_user=ADA)] == ["psst"]
    follow = await api("POST", webhook(it), {"content": "open"})
    assert follow.body["flags"] == 0
    assert [m.content for m in pg.messages(HEARTH)] == ["open"]
    assert (await api("DELETE", f"{webhook(it)}/messages/{number}")).status == 204
    assert [m.content for m in pg.messages(HEARTH, as_user=ADA)] == ["open"]


async def test_follow_ups_refuse_what_messages_refuse(pg: Playground, api: Api) -> None:
    """Empty and over-long follow-ups are refused; everyone is pinged only if allowed."""
    it = opened(pg)
    await api("POST", callback(it), {"type": 4, "data": {"content": "x"}})
    assert (await api("POST", webhook(it), {"content": ""})).code == 50006
    assert (await api("POST", webhook(it), {"content": "x" * 2001})).code == 50035
    mention = {"content": f"<@{ADA}>", "allowed_mentions": {"parse": []}}
    assert (await api("POST", webhook(it), mention)).body["mentions"] == []
