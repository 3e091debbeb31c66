"""Limits of embeds, components and forms."""

from __future__ import annotations

import pytest

from bot.playground.entities import MessageFlag, Payload
from bot.playground.errors import ApiError
from bot.playground.messages.checks import check_components, check_embeds, check_modal, walk

V2 = int(MessageFlag.COMPONENTS_V2)


def row(*parts: Payload) -> Payload:
    return {"type": 1, "components": list(parts)}


def button(**more: object) -> Payload:
    return {"type": 2, "style": 1, "label": "a", "custom_id": "a", **more}


def select(count: int = 1, **more: object) -> Payload:
    options = [{"label": str(n), "value": str(n)} for n in range(count)]
    return {"type": 3, "custom_id": "s", "options": options, **more}


@pytest.mark.parametrize(
    "components",
    [
        [row(button())],
        [row(button(style=5, url="https://example.org", custom_id=None))],
        [row(button(style=6, label=None, custom_id=None, sku_id="1"))],
        [row(select(25))],
        [row(*[button(custom_id=str(n)) for n in range(5)])],
    ],
)
def test_what_discord_shows_is_taken(components: list[Payload]) -> None:
    """Buttons of all styles and a full select."""
    check_components(components, 0)


@pytest.mark.parametrize(
    "components",
    [
        [button()],
        [row()],
        [row(button(), select())],
        [row(select(0))],
        [row(select(26))],
        [row(select(custom_id=None))],
        [row(button(label="x" * 81))],
        [row(button(label=None))],
        [row(button(style=5, custom_id=None))],
        [row(button(custom_id=None))],
        [row({"type": 4, "custom_id": "a"})],
    ],
)
def test_what_discord_would_not_show_is_refused(components: list[Payload]) -> None:
    """Each with 50035 and a path into the components."""
    with pytest.raises(ApiError) as refused:
        check_components(components, 0)
    assert refused.value.code == 50035
    assert refused.value.errors is not None
    assert "components" in refused.value.errors


def test_components_v2_count_parts_and_text() -> None:
    """Forty parts and 4,000 characters at most; texts and containers are allowed."""
    check_components([{"type": 17, "components": [{"type": 10, "content": "x" * 4000}]}], V2)
    for bad in (
        [{"type": 10, "content": "x"}] * 41,
        [{"type": 10, "content": "x" * 4001}],
        [{"type": 9, "components": [], "accessory": button()}, row(button())],
    ):
        with pytest.raises(ApiError):
            check_components(bad, V2)


def test_walk_visits_accessories_and_labels() -> None:
    """Wherever a custom id can stand."""
    parts = [{"type": 9, "components": [{"type": 10}], "accessory": button()}]
    paths = [path for path, _ in walk(parts)]
    assert ("components", 0, "accessory") in paths
    assert ("components", 0, "components", 0) in paths


@pytest.mark.parametrize(
    "embed",
    [
        {"title": "x" * 257},
        {"description": "x" * 4097},
        {"footer": {"text": "x" * 2049}},
        {"author": {"name": "x" * 257}},
        {"fields": [{"name": "a", "value": "b"}] * 26},
        {"fields": [{"name": "", "value": "b"}]},
        {"fields": [{"name": "a"}]},
        {"fields": [{"name": "a", "value": "x" * 1025}]},
    ],
)
def test_embed_limits(embed: Payload) -> None:
    """Each part of an embed has its own length."""
    with pytest.raises(ApiError):
        check_embeds([embed])


def test_embeds_may_have_6000_characters_together() -> None:
    """6,000 fit, 6,001 do not."""
    embeds: list[Payload] = [{"description": "x" * 4000}, {"description": "x" * 2000}]
    check_embeds(embeds)
    with pytest.raises(ApiError):
        check_embeds([*embeds, {"title": "y"}])


def test_modal_inputs() -> None:
    """An id each, all different, a label of 45 characters."""
    field = {"type": 4, "custom_id": "a", "label": "A"}
    check_modal([row(field), {"type": 18, "label": "B", "component": field | {"custom_id": "b"}}])
    for bad in ([row(field), row(field)], [row(field | {"label": "x" * 46})]):
        with pytest.raises(ApiError):
            check_modal(bad)
