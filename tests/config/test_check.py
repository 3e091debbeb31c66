"""All problems at once, each with its file, line and key."""

from __future__ import annotations

import json
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from config.check import check_channel, check_layers, known_keys
from config.layers import Layer, parse_dotenv, parse_org, parse_variables
from config.settings import ChannelMode, Settings


def _told(*layers: Layer) -> list[str]:
    checked = check_layers(layers)
    assert (checked.settings is None) == bool(checked.problems)
    return [str(problem) for problem in checked.problems]


def _settings(*layers: Layer) -> Settings:
    checked = check_layers(layers)
    assert checked.settings is not None, checked.problems
    return checked.settings


EVERYTHING = """\
[discord]
owners = [1, "discord:22", "bo"]
ownrs = 3
[engine]
url = "127.0.0.1:3"
max_tokens = 99999
api = 2024-01-01
[context]
identity_max_chars = 60000
task_max_chars = "a"
briefing_max_chars = -4
[sessions]
max_warm = "16"
idle_seconds = 2.5
start_seconds = true
[allow]
users = "5"
[channels.default]
mode = "mentions"
[channels.abc]
enabled = "yes"
[imps.Ember.context]
task_max_chars = 47000
[imps.bo.context]
tsk = 2
task_max_chars = 47000
[chanels.default]
[log]
level = "wrn"
"""


def test_a_file_full_of_mistakes() -> None:
    """Issue: unknown keys, wrong types and incoherent limits are all reported at once."""
    told = [line for text in _told(parse_org(EVERYTHING)) for line in textwrap.wrap(text, 80)]
    assert told == snapshot(
        [
            "org.toml, line 2: discord.owners[2] must be a Discord id, a number of up to 20",
            "digits.",
            "org.toml, line 3: discord.ownrs is not a setting. Did you mean owners?",
            "org.toml, line 5: engine.url must be an address that begins with http:// or",
            "https://.",
            "org.toml, line 6: engine.max_tokens must be less than context_window (8192).",
            'org.toml, line 7: engine.api must be a text in quotes, like "this".',
            "org.toml, line 9: context.identity_max_chars can never fit: max_injected_chars",
            "is 48000, and 3500 characters of it are kept for the runtime policy and scope.",
            "Use at most 44500, or raise max_injected_chars.",
            "org.toml, line 10: context.task_max_chars must be a whole number.",
            "org.toml, line 11: context.briefing_max_chars must be at least 0.",
            "org.toml, line 13: sessions.max_warm must be a whole number.",
            "org.toml, line 15: sessions.start_seconds must be a number.",
            'org.toml, line 17: allow.users must be a list, like ["123", "456"].',
            'org.toml, line 19: channels.default.mode must be "mention" or "all". Did you',
            'mean "mention"?',
            "org.toml, line 20: channels.abc must be a Discord id, a number of up to 20",
            "digits.",
            "org.toml, line 21: channels.abc.enabled must be true or false.",
            "org.toml, line 22: imps.Ember must be an imp's name: up to 32 lower-case",
            "letters, digits, '-' and '_'.",
            "org.toml, line 25: imps.bo.context.tsk is not a setting. Known here:",
            "max_injected_chars, identity_max_chars, purpose_max_chars,",
            "connections_max_chars, memory_max_chars, briefing_max_chars, history_max_chars,",
            "history_max_messages, state_max_chars, task_max_chars.",
            "org.toml, line 26: imps.bo.context.task_max_chars can never fit:",
            "max_injected_chars is 48000, and 3500 characters of it are kept for the runtime",
            "policy and scope. Use at most 44500, or raise max_injected_chars.",
            "org.toml, line 27: chanels is not a setting. Did you mean channels?",
            'org.toml, line 29: log.level must be "debug", "info", "warning" or "error".',
        ]
    )


def test_variables_and_dotenv_are_named_as_such() -> None:
    variables, lines, problems = parse_dotenv("INGLENOOK_LOG__LEVEL=loud\nINGLENOOK_LOG__FORMT=x\n")
    told = _told(
        parse_variables({"INGLENOOK_SESSIONS__MAX_WARM": "many"}),
        parse_variables(variables, name=".env", lines=lines, problems=problems),
        parse_org(""),
    )
    assert told == snapshot(
        [
            "environment: INGLENOOK_SESSIONS__MAX_WARM must be a whole number.",
            '.env, line 1: INGLENOOK_LOG__LEVEL must be "debug", "info", "warning" or "error".',
            ".env, line 2: INGLENOOK_LOG__FORMT is not a setting. Did you mean format?",
        ]
    )


def test_a_wrong_value_below_a_good_one_is_still_reported() -> None:
    """The environment hides the file's value, not the file's mistake."""
    strong = parse_variables({"INGLENOOK_SESSIONS__MAX_WARM": "4"})
    [told] = _told(strong, parse_org('[sessions]\nmax_warm = "x"\n'))
    assert told.startswith("org.toml, line 2: sessions.max_warm")


def test_a_limit_is_blamed_on_what_was_written() -> None:
    """A total too small for a default limit names the total, not the default."""
    [told] = _told(parse_org("[context]\nmax_injected_chars = 20000\n"))
    assert told.startswith("org.toml, line 2: context.max_injected_chars is too small for")


def test_a_wrong_base_limit_is_not_repeated_for_each_imp() -> None:
    text = '[context]\ntask_max_chars = "x"\n[imps.ember.context]\nidentity_max_chars = 9\n'
    assert len(_told(parse_org(text))) == 1


@pytest.mark.parametrize("line", ['users = "bo"', "users = 5", 'users = ["bo"]'])
def test_a_wrong_list_is_one_problem(line: str) -> None:
    assert len(_told(parse_org(f"[allow]\n{line}\n"))) == 1


def test_a_limit_of_the_wrong_kind_is_not_also_called_incoherent() -> None:
    assert len(_told(parse_org('[sessions]\nmax_warm = "0"\n'))) == 1


def test_an_overlay_states_differences_only() -> None:
    """WS "Budgets": per-imp overlays."""
    text = "[context]\ntask_max_chars = 9\n[imps.ember.context]\nidentity_max_chars = 7\n"
    context = _settings(parse_org(text)).imps["ember"].context
    assert (context.task_max_chars, context.identity_max_chars) == (9, 7)


def test_layers_by_priority() -> None:
    settings = _settings(
        Layer(name="command line", typed=False, values={"engine": {"url": "http://a"}}),
        parse_variables({"INGLENOOK_ENGINE__URL": "http://b", "INGLENOOK_ENGINE__MODEL": "m"}),
        parse_org('[engine]\nurl = "http://c"\nmodel = "n"\nmax_tokens = 5\n'),
    )
    assert settings.engine.url == "http://a"
    assert settings.engine.model == "m"
    assert settings.engine.max_tokens == 5


def test_variables_become_numbers_truths_lists_and_choices() -> None:
    settings = _settings(
        parse_variables(
            {
                "INGLENOOK_SESSIONS__IDLE_SECONDS": "0.5",
                "INGLENOOK_SESSIONS__MAX_WARM": "3",
                "INGLENOOK_WARM_UP__DM": "false",
                "INGLENOOK_ALLOW__USERS": "5, discord:6",
                "INGLENOOK_CHANNELS__DEFAULT__MODE": "all",
                "INGLENOOK_CHANNELS__7__ENABLED": "yes",
                "DISCORD_TOKEN": "abc.def",
            }
        )
    )
    assert settings.sessions.idle_seconds == 0.5
    assert settings.sessions.max_warm == 3
    assert not settings.warm_up.dm
    assert settings.allow.users == ("5", "6")
    assert settings.channels["default"].mode is ChannelMode.ALL
    assert settings.channels["7"].enabled
    assert settings.discord.token.get_secret_value() == "abc.def"


def test_a_section_that_is_none() -> None:
    assert _told(parse_org("context = 3\nchannels = []\n")) == snapshot(
        [
            "org.toml, line 1: context must be a section.",
            "org.toml, line 2: channels must be a section.",
        ]
    )


def test_one_channel_file() -> None:
    overlay, problems = check_channel(parse_org('mode = "all"\nimp = "coal"\n', name="c.toml"))
    assert problems == ()
    assert overlay is not None
    assert (overlay.mode, overlay.enabled, overlay.imp) == (ChannelMode.ALL, None, "coal")


def test_a_broken_channel_file() -> None:
    overlay, problems = check_channel(parse_org('mod = "all"\nenabled = 1\n', name="c.toml"))
    assert overlay is None
    assert [str(problem) for problem in problems] == snapshot(
        [
            "c.toml, line 2: enabled must be true or false.",
            "c.toml, line 1: mod is not a setting. Did you mean mode?",
        ]
    )


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ((), "discord"),
        (("discord",), "owners"),
        (("sessions",), "max_warm"),
        (("channels", "5"), "mode"),
        (("imps", "x"), "context"),
        (("imps", "x", "context"), "task_max_chars"),
    ],
)
def test_known_keys_are_those_of_the_model(path: tuple[str, ...], key: str) -> None:
    assert key in known_keys(path)


def test_nothing_is_known_below_a_value() -> None:
    assert known_keys(("discord", "api", "x")) == ()
    assert known_keys(("nowhere",)) == ()
    assert "token" not in known_keys(("discord",))


BAD_KEYS: dict[tuple[str, str], object] = {
    ("discord", "owners"): ["bo"],
    ("discord", "imp"): "Big Imp",
    ("discord", "apii"): "x",
    ("engine", "url"): "nowhere",
    ("engine", "thinking"): "deeply",
    ("engine", "context_window"): "big",
    ("context", "purpose_max_chars"): 90_000,
    ("context", "state_max_chars"): 1.5,
    ("context", "history_max_messages"): -1,
    ("sessions", "max_warm"): 0,
    ("sessions", "idle_seconds"): "long",
    ("sessions", "idel_seconds"): 3,
    ("allow", "roles"): "x",
    ("warm_up", "dm"): 1,
    ("log", "level"): "loud",
    ("hearth", "wood"): True,
}


@given(st.sets(st.sampled_from(sorted(BAD_KEYS))))
def test_any_set_of_mistakes_is_reported_completely(bad: set[tuple[str, str]]) -> None:
    """No mistake hides another, none is invented, each is on its line."""
    text, expected = "", set()
    for section in sorted({section for section, _ in BAD_KEYS}):
        keys = sorted(key for where, key in bad if where == section)
        if section == "hearth":
            if keys:
                expected.add((text.count("\n") + 1, "hearth"))
                text += "[hearth]\nwood = true\n"
            continue
        text += f"[{section}]\n"
        for key in keys:
            expected.add((text.count("\n") + 1, f"{section}.{key}"))
            text += f"{key} = {json.dumps(BAD_KEYS[section, key])}\n"
    found = {
        (problem.line, problem.key.split("[")[0])
        for problem in check_layers((parse_org(text),)).problems
    }
    assert found == expected
