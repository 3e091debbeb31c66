"""The one way to read and change house rules, over a real store."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.budget import ContextBudgets
from compiler.directives import decision as prompts
from compiler.directives.engine import Engine
from compiler.request import ChannelId, HouseRules, MessageId
from sessions.house.keeper import (
    LEAST_IMPORT_BYTES,
    NOTHING_TO_UNDO,
    SAY_AGAIN,
    Received,
    RuleKeeper,
    Terms,
)
from sessions.house.rules import DirectiveSettings
from sessions.house.ruling import NOT_TRUSTED, RulingKind
from sessions.inbound import OutcomeKind
from sessions.store.directives import DirectiveStore, EventKind
from support.session_world import EMBER, World, inbound, scope_of, seen, session_world

TRUSTED = Terms(trusted=True, marks=("<@5>",))
HERE = scope_of()
PLACE = ChannelId("discord:100")
ACTOR = scope_of(user="discord:8")
TEA = "\N{TEACUP WITHOUT HANDLE}"
"""Beyond the basic plane, so that it takes two escapes in JSON."""


@dataclass(slots=True)
class Desk:
    """A keeper with settings that a test may change."""

    world: World
    settings: DirectiveSettings = field(default_factory=DirectiveSettings)
    budgets: ContextBudgets = field(default_factory=ContextBudgets)

    @property
    def keeper(self) -> RuleKeeper:
        return RuleKeeper(
            DirectiveStore(self.world.database),
            clock=self.world.clock,
            settings=lambda: self.settings,
            budgets=lambda _: self.budgets,
        )

    async def say(self, number: int, text: str, terms: Terms = TRUSTED) -> Received:
        """Let message ``number`` arrive; it must be new."""
        found = await self.keeper.receive(seen(number, text), inbound(number, text), terms)
        assert found is not None
        return found


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with session_world(tmp_path) as world:
        yield Desk(world)


async def test_what_was_ruled_before_a_kill_is_told_after_it(desk: Desk) -> None:
    """DG 4, P06: a clarify and a refusal are told in their fixed words by the next host too, and
    asked of no model; an update is not made twice; what no longer reads so is asked back."""
    ruled = {
        number: await desk.say(number, text, terms)
        for number, text, terms in (
            (1, "<@5> prohibit", TRUSTED),
            (2, "<@5> use docker", Terms(trusted=False, marks=TRUSTED.marks)),
            (3, "<@5> use podman", TRUSTED),
            (4, "hello", TRUSTED),
        )
    }
    for number, before in ruled.items():
        again = await desk.keeper.again(before.inbound, marks=TRUSTED.marks)
        assert again.ruling.kind is before.ruling.kind
        assert again.ruling.text == before.ruling.text
        assert desk.keeper.concluded(again) == desk.keeper.concluded(before), number
        assert again.inbound.house_rules == HouseRules(policies=(("podman", "use"),))
    desk.settings = DirectiveSettings(forward_updates=False)
    told = desk.keeper.concluded(await desk.keeper.again(ruled[3].inbound))
    assert told is not None
    assert (told.kind, told.text) == (OutcomeKind.UPDATED, ruled[3].ruling.text)
    edited = inbound(1, "<@5> prohibit docker")
    back = desk.keeper.concluded(await desk.keeper.again(edited, marks=TRUSTED.marks))
    assert back is not None
    assert back.text == SAY_AGAIN
    assert (await desk.keeper.rules(HERE)).in_prompt.policies == (("podman", "use"),)


async def test_a_message_carries_the_rules_of_its_moment(desk: Desk) -> None:
    """From then on every turn carries the rule; what was said before does not."""
    before = await desk.say(1, "hello")
    update = await desk.say(2, "<@5> use docker")
    after = await desk.say(3, "hello again")
    assert before.inbound.house_rules == HouseRules()
    rules = HouseRules(policies=(("docker", "use"),))
    assert update.inbound.house_rules == after.inbound.house_rules == rules
    assert update.inbound.message.text == "<@5> use docker", "the text stays exact"
    assert [each.ruling.kind for each in (before, update, after)] == [
        RulingKind.ORDINARY,
        RulingKind.UPDATED,
        RulingKind.ORDINARY,
    ]


async def test_an_update_goes_on_to_the_model_unless_told_otherwise(desk: Desk) -> None:
    """DG 4: forward; ``forward_updates = false`` answers with one line and no model."""
    assert desk.keeper.concluded(await desk.say(1, "use docker")) is None
    desk.settings = DirectiveSettings(forward_updates=False)
    outcome = desk.keeper.concluded(await desk.say(2, "prohibit peanuts"))
    assert outcome is not None
    assert (outcome.kind, outcome.text) == (OutcomeKind.UPDATED, "`peanuts` is prohibited.")
    assert desk.keeper.concluded(await desk.say(3, "hello")) is None


async def test_a_clarify_is_the_outcome_in_exact_words(desk: Desk) -> None:
    """Issue "In the conversation": exactly ``prompt_to_user``, no model; recorded."""
    await desk.say(1, "prohibit tea")
    found = await desk.say(2, "use tea")
    outcome = desk.keeper.concluded(found)
    assert outcome is not None
    assert (outcome.kind, outcome.text) == (
        OutcomeKind.CLARIFIED,
        prompts.use_of_prohibited("tea"),
    )
    assert outcome.turn_id == "discord:message:2"
    latest, _ = await desk.keeper.events(PLACE, 9)
    assert (latest.kind, latest.code, latest.message_id) == ("clarified", "clarify", "discord:2")
    assert latest.told == ""


async def test_who_is_not_trusted_changes_nothing(desk: Desk) -> None:
    found = await desk.say(1, "use tea", Terms(trusted=False))
    outcome = desk.keeper.concluded(found)
    assert outcome is not None
    assert (outcome.kind, outcome.text) == (OutcomeKind.CLARIFIED, NOT_TRUSTED)
    assert (await desk.keeper.rules(HERE)).in_prompt == HouseRules()


async def test_where_directives_are_not_read_a_message_is_a_message(desk: Desk) -> None:
    """Unaddressed, command-only or off: ordinary text, with the rules as they stand."""
    await desk.say(1, "prohibit tea")
    found = await desk.say(2, "use tea", replace(TRUSTED, reads=False))
    assert found.ruling.kind is RulingKind.ORDINARY
    assert found.inbound.house_rules.policies == (("tea", "prohibit"),)


async def test_a_repeated_event_is_no_second_directive(desk: Desk) -> None:
    """P04."""
    await desk.say(1, "use tea")
    again = await desk.keeper.receive(seen(1, "use tea"), inbound(1, "use tea"), TRUSTED)
    assert again is None
    assert len(await desk.keeper.events(HERE.channel_id, 9)) == 1  # type: ignore[arg-type]


async def test_rules_say_who_set_them_when_and_by_which_message(desk: Desk) -> None:
    await desk.say(1, "use tea")
    await desk.keeper.command(ACTOR, EMBER, "set premise We ship on Friday")
    kept = await desk.keeper.rules(HERE)
    assert kept.premise is not None
    assert (kept.premise.origin.user_id, kept.premise.origin.message_id) == ("discord:8", None)
    assert kept.policies[0].origin.message_id == "discord:1"
    assert kept.policies[0].origin.at.startswith("20")
    assert await desk.keeper.changed_by(MessageId("discord:1"))
    assert not await desk.keeper.changed_by(MessageId("discord:2"))


async def test_a_command_goes_through_the_same_reading(desk: Desk) -> None:
    """Issue "Slash commands": the same rules and prompts."""
    keeper = desk.keeper
    assert (await keeper.command(HERE, EMBER, "use tea")).kind is RulingKind.UPDATED
    clash = await keeper.command(HERE, EMBER, "prohibit tea")
    assert clash.text == prompts.prohibit_of_used("tea")
    assert (await keeper.command(HERE, EMBER, "use ")).text == prompts.USE_EMPTY
    assert (await keeper.command(HERE, EMBER, "use te\u200ba")).code == "hidden_character"


async def test_undo_restores_the_origins_too(desk: Desk) -> None:
    await desk.say(1, "use tea")
    first = await desk.keeper.rules(HERE)
    await desk.say(2, "clear state")
    told = await desk.keeper.undo(ACTOR, EMBER)
    assert told.text == "Taken back. `tea` is in use."
    assert await desk.keeper.rules(HERE) == first
    await desk.keeper.undo(ACTOR, EMBER)
    assert (await desk.keeper.undo(ACTOR, EMBER)).text == NOTHING_TO_UNDO
    events = await desk.keeper.events(PLACE, 9)
    assert [(event.kind, event.user_id) for event in events[:2]] == [
        (EventKind.UNDONE, "discord:8")
    ] * 2


async def test_an_undo_is_bound_by_the_limit(desk: Desk) -> None:
    await desk.say(1, "use tea")
    await desk.say(2, "clear state")
    desk.budgets = ContextBudgets(state_max_chars=1)
    refused = await desk.keeper.undo(HERE, EMBER)
    assert refused.kind is RulingKind.REFUSED
    assert (await desk.keeper.rules(HERE)).in_prompt == HouseRules()


async def test_export_and_import_are_a_fixed_point(desk: Desk) -> None:
    """DG 11: the checkpoint of a conversation, in another one."""
    for number, text in enumerate(("use tea", "prohibit nuts", "set premise Friday"), 1):
        await desk.say(number, text)
    exported = await desk.keeper.export_checkpoint(HERE)
    assert json.loads(exported)["pending"] is None
    there = scope_of(300)
    told = await desk.keeper.import_checkpoint(there, EMBER, exported.encode())
    assert told.text.startswith("Imported. ")
    assert await desk.keeper.export_checkpoint(there) == exported
    assert (await desk.keeper.events(ChannelId("discord:300"), 1))[0].kind == "imported"
    await desk.keeper.undo(there, EMBER)
    assert (await desk.keeper.rules(there)).in_prompt == HouseRules()


async def test_rules_that_an_owner_s_limit_allows_come_back_whatever_their_size(desk: Desk) -> None:
    """DG 11: each state that fits has a checkpoint that is read, escapes included."""
    chars = 150_000
    desk.budgets = ContextBudgets(state_max_chars=chars + 1_000, max_injected_chars=400_000)
    await desk.say(1, f"set premise {TEA * chars}")
    exported = (await desk.keeper.export_checkpoint(HERE)).encode()
    assert len(exported) > 12 * chars > LEAST_IMPORT_BYTES
    there = scope_of(300)
    told = await desk.keeper.import_checkpoint(there, EMBER, exported)
    assert told.kind is RulingKind.UPDATED
    assert (await desk.keeper.rules(there)).in_prompt.premise == TEA * chars


GOOD = '{"checkpoint_version":1,"authoritative_state":{"premise":%s,"policies":{%s},"version":2}}'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe{}",
        b"[" * 100_000,
        b" " * (2 * LEAST_IMPORT_BYTES),
        b"{}",
        (GOOD % ('"a"', '"b":"use","b":"use"')).encode(),
        (GOOD % ("1", "")).encode(),
        (GOOD % ("null", '"the":"use"')).encode(),
        (GOOD % ("null", '"tea":"maybe"')).encode(),
        (GOOD % ('"\\ud800"', "")).encode(),
        (GOOD % ("null", '"te\\u200ba":"use"')).encode(),
        (GOOD % (f'"{"x" * 5000}"', "")).encode(),
        (GOOD % ("null", "")).replace('"version":2', '"version":3').encode(),
        (GOOD % ("null", "")).replace("{", '{"more":1,', 1).encode(),
    ],
    ids=lambda data: f"{len(data)}-bytes",
)
async def test_a_bad_import_changes_nothing_and_says_why_in_one_line(
    desk: Desk, data: bytes
) -> None:
    """Issue "Bad input": refused whole with one clear line and the old state kept."""
    await desk.say(1, "use tea")
    before = await desk.keeper.rules(HERE)
    told = await desk.keeper.import_checkpoint(HERE, EMBER, data)
    assert told.kind is RulingKind.REFUSED
    assert "othing" in told.text
    assert "\n" not in told.text
    assert await desk.keeper.rules(HERE) == before


async def test_a_prohibited_tool_is_closed_and_use_opens_none(desk: Desk) -> None:
    desk.settings = DirectiveSettings(aliases={"notes": "remember"})
    await desk.say(1, "prohibit the  Notes")
    await desk.say(2, "use recall")
    assert await desk.keeper.prohibited_tools(HERE) == {"notes", "remember"}
    await desk.say(3, "remove policy notes")
    assert await desk.keeper.prohibited_tools(HERE) == frozenset()


async def test_a_question_from_the_shell_has_no_rules(desk: Desk) -> None:
    """Without a channel there is nobody to have agreed on any; its tools are asked about too."""
    await desk.say(1, "prohibit recall")
    nowhere = replace(HERE, channel_id=None, parent_channel_id=None)
    assert await desk.keeper.prohibited_tools(nowhere) == frozenset()


async def test_a_thread_begins_with_a_copy(desk: Desk) -> None:
    await desk.say(1, "use tea")
    thread = scope_of(200, parent=100)
    await desk.keeper.begin(thread)
    await desk.say(2, "prohibit nuts")
    assert (await desk.keeper.rules(thread)).in_prompt.policies == (("tea", "use"),)


@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    texts=st.lists(
        st.sampled_from(
            [
                "use a",
                "prohibit a",
                "use b instead of a",
                "remove policy a",
                "set premise x",
                "change premise to y",
                "clear premise",
                "reset policies",
                "clear state",
                "use a and prohibit b",
                "hello",
            ]
        ),
        max_size=12,
    )
)
async def test_the_store_holds_what_the_engine_holds(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    """DG 12.2: the same inputs give the same states, through every layer; undo walks back."""
    engine, states = Engine(), [Engine().current]
    async with session_world(tmp_path_factory.mktemp("home")) as world:
        desk = Desk(world)
        for number, text in enumerate(texts, 1):
            engine.step(text)
            await desk.say(number, text)
            kept = await desk.keeper.rules(HERE)
            assert kept.state == engine.current
            if engine.current != states[-1]:
                states.append(engine.current)
        while len(states) > 1:
            states.pop()
            await desk.keeper.undo(HERE, EMBER)
            assert (await desk.keeper.rules(HERE)).state == states[-1]
        assert (await desk.keeper.undo(HERE, EMBER)).text == NOTHING_TO_UNDO
