"""Who wakes the imp: every case of the policy, and what must hold for any message."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.wake import Wake, WakeFacts, WakeRules, decide
from config.settings import ChannelMode

ADA, BO, CY = "1", "2", "3"
HEARTH, THREAD, ORCHARD, HARBOUR, HELPERS = "10", "11", "20", "21", "30"
DM = WakeFacts(message_type=0, author_id=ADA, channel_id="90")
HERE = WakeFacts(message_type=0, author_id=BO, channel_id=HEARTH, guild_id=ORCHARD)
MENTION = replace(HERE, mentions_imp=True)
REPLY = replace(HERE, message_type=19, replies_to_imp=True)
OFF = WakeRules(owners=frozenset({ADA}))
ON = replace(OFF, enabled=True)
ALL = replace(ON, mode=ChannelMode.ALL)
QUIET = replace(OFF, mode=ChannelMode.ALL)
IN_THREAD = replace(MENTION, channel_id=THREAD, parent_id=HEARTH)
OWN_THREAD = replace(HERE, channel_id=THREAD, parent_id=HEARTH, in_own_thread=True)
WITH_CY = replace(OFF, users=frozenset({CY}))
WITH_HELPERS = replace(OFF, roles=frozenset({HELPERS}))
WITH_HEARTH = replace(OFF, channels=frozenset({HEARTH}))
WITH_ORCHARD = replace(OFF, guilds=frozenset({ORCHARD}))
HELPER = frozenset({HELPERS})

CASES = [
    ("owner in a DM", DM, OFF, Wake.ANSWER),
    ("stranger in a DM", replace(DM, author_id=BO), OFF, Wake.DECLINE),
    ("stranger in a DM, channels open by default", replace(DM, author_id=BO), ALL, Wake.DECLINE),
    ("listed user in a DM", replace(DM, author_id=CY), WITH_CY, Wake.ANSWER),
    ("listed role does not show in a DM", replace(DM, author_id=BO), WITH_HELPERS, Wake.DECLINE),
    ("chat in a thread opened for a question", OWN_THREAD, ON, Wake.ANSWER),
    ("the same, channel off", OWN_THREAD, OFF, Wake.IGNORE),
    ("mention, channel off", MENTION, OFF, Wake.IGNORE),
    ("mention by the owner, channel off", replace(MENTION, author_id=ADA), OFF, Wake.ANSWER),
    ("chat of the owner, channel off", replace(HERE, author_id=ADA), OFF, Wake.IGNORE),
    ("chat of the owner, off but mode all", replace(HERE, author_id=ADA), QUIET, Wake.IGNORE),
    ("mention", MENTION, ON, Wake.ANSWER),
    ("reply to the imp", REPLY, ON, Wake.ANSWER),
    ("reply to somebody else", replace(REPLY, replies_to_imp=False), ON, Wake.RECORD),
    ("not addressed", HERE, ON, Wake.RECORD),
    ("not addressed, mode all", HERE, ALL, Wake.ANSWER),
    ("bot", replace(MENTION, is_bot=True), ALL, Wake.IGNORE),
    ("bot in a DM", replace(DM, is_bot=True), ALL, Wake.IGNORE),
    ("pin notice", replace(MENTION, message_type=6), ALL, Wake.IGNORE),
    ("thread created", replace(MENTION, message_type=18), ALL, Wake.IGNORE),
    ("thread starter", replace(MENTION, message_type=21), ALL, Wake.IGNORE),
    ("a type of the future", replace(MENTION, message_type=250), ALL, Wake.IGNORE),
    ("listed user, channel off", replace(MENTION, author_id=CY), WITH_CY, Wake.ANSWER),
    ("beside a listed user", MENTION, WITH_CY, Wake.IGNORE),
    ("listed role", replace(MENTION, author_role_ids=HELPER), WITH_HELPERS, Wake.ANSWER),
    (
        "listed role, not addressed",
        replace(HERE, author_role_ids=HELPER),
        WITH_HELPERS,
        Wake.IGNORE,
    ),
    ("without the listed role", MENTION, WITH_HELPERS, Wake.IGNORE),
    ("listed channel", MENTION, WITH_HEARTH, Wake.ANSWER),
    ("listed channel, not addressed", HERE, WITH_HEARTH, Wake.RECORD),
    ("beside a listed channel", replace(MENTION, channel_id="12"), WITH_HEARTH, Wake.IGNORE),
    ("thread of a listed channel", IN_THREAD, WITH_HEARTH, Wake.ANSWER),
    ("listed server", MENTION, WITH_ORCHARD, Wake.ANSWER),
    ("other server", replace(MENTION, guild_id=HARBOUR), WITH_ORCHARD, Wake.IGNORE),
]


@pytest.mark.parametrize(
    ("facts", "rules", "wanted"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_each_case_of_the_policy(facts: WakeFacts, rules: WakeRules, wanted: Wake) -> None:
    """Issue "Bot": DM, mention, reply, mode all; allowlists by id; owners only by default."""
    assert decide(facts, rules) is wanted


ids = st.sampled_from(["1", "2", "3", "10", "11", "20", "21", "30"])
id_sets = st.frozensets(ids, max_size=3)
any_facts = st.builds(
    WakeFacts,
    message_type=st.integers(min_value=0, max_value=70),
    author_id=ids,
    author_role_ids=id_sets,
    is_bot=st.booleans(),
    channel_id=ids,
    parent_id=st.none() | ids,
    guild_id=st.none() | ids,
    mentions_imp=st.booleans(),
    replies_to_imp=st.booleans(),
)
any_rules = st.builds(
    WakeRules,
    owners=id_sets,
    users=id_sets,
    roles=id_sets,
    channels=id_sets,
    guilds=id_sets,
    enabled=st.booleans(),
    mode=st.sampled_from(ChannelMode),
)


@given(any_facts, any_rules)
def test_bots_and_system_messages_leave_no_mark(facts: WakeFacts, rules: WakeRules) -> None:
    """P10, P11: neither a turn nor history nor an automatic line, whatever the rules."""
    assert decide(replace(facts, is_bot=True), rules) is Wake.IGNORE
    if facts.message_type not in {0, 19}:
        assert decide(facts, rules) is Wake.IGNORE


@given(any_facts, any_rules)
def test_nothing_is_kept_of_strangers_where_the_channel_is_not_open(
    facts: WakeFacts, rules: WakeRules
) -> None:
    """Without a list or an owner's word, a server's talk leaves no mark."""
    bare = WakeRules(owners=rules.owners - {facts.author_id}, mode=rules.mode)
    wanted = {Wake.IGNORE} if facts.guild_id is not None else {Wake.DECLINE, Wake.IGNORE}
    assert decide(facts, bare) in wanted


@given(any_facts, any_rules, ids)
def test_a_longer_list_only_ever_adds_answers(
    facts: WakeFacts, rules: WakeRules, more: str
) -> None:
    """Lists open; nothing in them hides what was allowed without."""
    if decide(facts, rules) is Wake.ANSWER:
        for name in ("owners", "users", "roles", "channels", "guilds"):
            longer = replace(rules, **{name: getattr(rules, name) | {more}})
            assert decide(facts, longer) is Wake.ANSWER
