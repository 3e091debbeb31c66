"""Interaction data as a client builds it."""

from __future__ import annotations

import pytest

from bot.playground.entities import Command, Payload
from bot.playground.ids import ADA, BO, HEARTH, HELPERS
from bot.playground.people.invocation import NotOfferedError, modal_data, slash_data
from bot.playground.world.state import default_world


def option(kind: int, name: str, **more: object) -> Payload:
    return {"type": kind, "name": name, "description": "x", **more}


def command(*options: Payload) -> Command:
    return Command(id=7, name="c", body={"options": list(options)})


def data(made: Command, *path: str, **values: object) -> Payload:
    world = default_world()
    return slash_data(world, made, path, values, world.channel(HEARTH))


def test_group_and_subcommand_are_nested() -> None:
    """Discord wraps the options in each level."""
    leaf = option(1, "leaf", options=[option(3, "text")])
    made = command(option(2, "group", options=[leaf]))
    built = data(made, "group", "leaf", text="hi")
    inner = {"type": 3, "name": "text", "value": "hi"}
    assert built["options"] == [
        {
            "type": 2,
            "name": "group",
            "options": [{"type": 1, "name": "leaf", "options": [inner]}],
        }
    ]


@pytest.mark.parametrize(
    ("kind", "given", "sent"),
    [(3, 5, "5"), (4, "5", 5), (10, "2.5", 2.5), (5, "true", True), (5, False, False)],
)
def test_values_get_the_options_type(kind: int, given: object, sent: object) -> None:
    """Text typed by a person becomes what the option asks for."""
    assert data(command(option(kind, "v")), v=given)["options"][0]["value"] == sent


def test_mentionable_is_a_user_or_a_role() -> None:
    """Both end up in resolved."""
    made = command(option(9, "a"), option(9, "b"))
    built = data(made, a=BO, b=str(HELPERS))
    assert set(built["resolved"]["users"]) == {str(BO)}
    assert set(built["resolved"]["members"]) == {str(BO)}
    assert set(built["resolved"]["roles"]) == {str(HELPERS)}


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (command(option(4, "n", min_value=1, max_value=3)), {"n": 4}),
        (command(option(3, "s", choices=[{"name": "a", "value": "a"}])), {"s": "b"}),
        (command(option(8, "r")), {"r": 42}),
        (command(option(3, "s", required=True)), {}),
    ],
)
def test_values_outside_the_bounds_are_not_offered(
    made: Command, values: dict[str, object]
) -> None:
    """Numbers, choices, roles and required options are checked before anything is sent."""
    with pytest.raises(NotOfferedError):
        data(made, **values)


def test_focused_option_is_marked_and_may_be_partial() -> None:
    """While typing, required options may be missing and choices incomplete."""
    world = default_world()
    made = command(option(3, "a", required=True), option(4, "b", autocomplete=True))
    built = slash_data(world, made, (), {"b": "12x"}, world.channel(HEARTH), focused="b")
    assert built["options"] == [{"type": 4, "name": "b", "value": "12x", "focused": True}]


def test_forms_with_labels_and_selects() -> None:
    """New-style labels keep their component; a select sends a list."""
    modal = {
        "custom_id": "m",
        "components": [
            {"type": 18, "component": {"type": 4, "custom_id": "t", "required": False}},
            {"type": 18, "component": {"type": 3, "custom_id": "s"}},
            {"type": 10, "content": "text"},
        ],
    }
    built = modal_data(modal, {"s": "one"})
    assert built["components"] == [
        {"type": 18, "component": {"type": 4, "custom_id": "t", "value": ""}},
        {"type": 18, "component": {"type": 3, "custom_id": "s", "values": ["one"]}},
        {"type": 10},
    ]
    assert ADA in default_world().users
