"""What embeds and components show, and messages without any words (P12)."""

from __future__ import annotations

import pytest

from bot.shown import component_texts, describe_wordless, embed_text
from support.discord_messages import State, make_message, make_state

PICTURE = "https://example.org/kettle.png"


@pytest.fixture
async def state() -> State:
    return make_state()


async def test_an_embed_tells_all_its_words_in_order(state: State) -> None:
    """P12 (d): whoever is named above and what stands below are words too."""
    embed = {
        "type": "rich",
        "author": {"name": "The Fair"},
        "title": "Kettles",
        "description": "on Sunday",
        "fields": [{"name": "Where", "value": "the green"}],
        "footer": {"text": "bring your own"},
    }
    (shown,) = make_message(state, "", embeds=[embed]).embeds
    assert embed_text(shown) == "The Fair\nKettles\non Sunday\nWhere: the green\nbring your own"


async def test_texts_are_found_at_any_depth(state: State) -> None:
    """P12 (e): in a section in a container, beside a picture."""
    section = {
        "type": 9,
        "id": 2,
        "components": [{"type": 10, "id": 3, "content": "inside"}],
        "accessory": {"type": 11, "id": 4, "media": {"url": PICTURE}},
    }
    message = make_message(
        state, "", components=[{"type": 17, "id": 1, "components": [section]}], flags=32768
    )
    assert list(component_texts(message.components)) == ["inside"]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, ""),
        (
            {"embeds": [{"type": "image", "url": PICTURE, "thumbnail": {"url": "x"}}]},
            f"without words: image {PICTURE}",
        ),
        (
            {"embeds": [{"type": "gifv", "video": {"url": PICTURE}}]},
            f"without words: gifv {PICTURE}",
        ),
        (
            {
                "components": [
                    {
                        "type": 12,
                        "id": 1,
                        "items": [{"media": {"url": PICTURE}, "description": "a kettle"}],
                    }
                ]
            },
            "without words: picture 'a kettle'",
        ),
        (
            {
                "components": [
                    {
                        "type": 1,
                        "id": 1,
                        "components": [
                            {"type": 2, "id": 2, "style": 1, "label": "Join", "custom_id": "x"},
                            {
                                "type": 2,
                                "id": 3,
                                "style": 5,
                                "url": PICTURE,
                                "emoji": {"name": "☕"},
                            },
                        ],
                    }
                ]
            },
            "without words: button 'Join', button",
        ),
        (
            {"activity": {"type": 1, "party_id": "p"}},
            "without words: an invitation to an activity",
        ),
        (
            {
                "activity": {"type": 1, "party_id": "p"},
                "application": {"id": "5", "name": "Chess", "icon": None, "description": ""},
            },
            "without words: an invitation to Chess",
        ),
    ],
    ids=["empty", "picture", "moving picture", "gallery", "buttons", "activity", "game"],
)
async def test_a_message_without_words_is_told_in_a_line(
    state: State, fields: dict[str, object], line: str
) -> None:
    """P12: what people see of it is told; only what is truly empty gives nothing."""
    assert describe_wordless(make_message(state, "", **fields)) == line
