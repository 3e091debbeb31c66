"""Raw values from TOML, ``.env`` and the environment."""

from __future__ import annotations

import pytest

from config.layers import Layer, merge_layers, parse_dotenv, parse_org, parse_variables


def _told(layer: Layer) -> list[str]:
    return [str(problem) for problem in layer.problems]


def test_variables_name_section_and_key() -> None:
    """pydantic-settings: prefix, then the path with double underscores, in any case."""
    layer = parse_variables(
        {
            "INGLENOOK_ENGINE__URL": "http://x/v1",
            "inglenook_warm_up__dm": "false",
            "INGLENOOK_CHANNELS__42__ENABLED": "true",
            "INGLENOOK_IMPS__EMBER__CONTEXT__TASK_MAX_CHARS": "9",
            "INGLENOOK_DISCORD__OWNERS": "1,2",
            "INGLENOOK_HOME": "/x",
            "HOME": "/root",
        }
    )
    assert layer.problems == ()
    assert layer.values == {
        "engine": {"url": "http://x/v1"},
        "warm_up": {"dm": "false"},
        "channels": {"42": {"enabled": "true"}},
        "imps": {"ember": {"context": {"task_max_chars": "9"}}},
        "discord": {"owners": "1,2"},
    }


def test_the_token_has_its_usual_name() -> None:
    assert parse_variables({"DISCORD_TOKEN": " abc\n"}).values == {"discord": {"token": "abc"}}


def test_the_long_name_of_the_token_wins() -> None:
    both = {"DISCORD_TOKEN": "a", "INGLENOOK_DISCORD__TOKEN": "b"}
    assert parse_variables(both).values == {"discord": {"token": "b"}}


def test_an_empty_token_is_none() -> None:
    assert parse_variables({"DISCORD_TOKEN": ""}).values == {}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("INGLENOOK_ENGIN__URL", "Did you mean INGLENOOK_ENGINE__URL?"),
        ("INGLENOOK_ENGINE_URL", "Did you mean INGLENOOK_ENGINE__URL?"),
        ("INGLENOOK_WARM_UP_DM", "Did you mean INGLENOOK_WARM_UP__DM?"),
        ("INGLENOOK_QQQ__X", "Sections are "),
    ],
)
def test_variables_that_set_nothing_are_told(name: str, hint: str) -> None:
    [told] = _told(parse_variables({name: "CANARY"}))
    assert f"{name} sets nothing" in told
    assert hint in told
    assert "CANARY" not in told


def test_variables_of_others_are_left_alone() -> None:
    assert parse_variables({"INGLENOOK_TESTING": "1", "INGLENOOK": "1"}).problems == ()


def test_dotenv_gives_lines_and_names_broken_ones_without_showing_them() -> None:
    variables, lines, problems = parse_dotenv("# r\nA='x y'\nexport B=2\nsecret CANARY\n\nC=\n")
    assert variables == {"A": "x y", "B": "2", "C": ""}
    assert lines["B"] == 3
    assert [(item.line, item.file) for item in problems] == [(4, ".env")]
    assert "CANARY" not in str(problems[0])


@pytest.mark.parametrize(
    ("text", "line"), [("a = 1\nb = \n", 2), ("[discord\n", 1), ("a = [", None), ("\x00", 1)]
)
def test_a_text_that_is_no_toml_is_one_problem_with_its_line(text: str, line: int | None) -> None:
    layer = parse_org(text)
    assert layer.values == {}
    [problem] = layer.problems
    assert problem.line == line
    assert "is not valid TOML" in problem.message


def test_a_token_in_org_toml_is_refused_and_not_shown() -> None:
    layer = parse_org('[discord]\ntoken = "CANARY"\nimp = "ember"\n')
    assert layer.values == {"discord": {"imp": "ember"}}
    [told] = _told(layer)
    assert told.startswith("org.toml, line 2: discord.token does not belong in this file")
    assert "CANARY" not in told


def test_the_first_layer_is_the_strongest_key_by_key() -> None:
    strong = Layer(name="a", typed=False, values={"x": {"p": 1}, "y": 1})
    weak = Layer(name="b", typed=True, values={"x": {"p": 2, "q": 2}, "y": {"z": 3}})
    assert merge_layers((strong, weak)) == {"x": {"p": 1, "q": 2}, "y": 1}


def test_merging_leaves_the_layers_as_they_were() -> None:
    weak = Layer(name="b", typed=True, values={"x": {"p": 2}})
    merge_layers((Layer(name="a", typed=False, values={"x": {"p": 1}}), weak))
    assert weak.values == {"x": {"p": 2}}


def test_a_layer_holds_what_it_sets_and_what_is_inside() -> None:
    layer = Layer(name="a", typed=True, values={"x": {"p": [1]}})
    assert layer.holds(("x", "p", 0))
    assert layer.holds(("x",))
    assert not layer.holds(("x", "q"))


def test_keys_are_named_as_their_source_names_them() -> None:
    path = ("discord", "owners", 1)
    assert parse_org("").key(path) == "discord.owners[1]"
    assert parse_variables({}).key(path) == "INGLENOOK_DISCORD__OWNERS[1]"
    assert parse_variables({}).key(("discord", "token")) == "DISCORD_TOKEN"
