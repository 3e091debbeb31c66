"""The sheet: what is drawn where, in which letters, and that it ends."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFont

from bot import inspector
from bot.charts import colours
from bot.charts.canvas import (
    INNER,
    MARGIN,
    MAX_DESCRIPTION,
    MAX_HEIGHT,
    SMALL,
    WIDTH,
    Canvas,
    Column,
    described,
    drawable,
    fitted,
)


def seen(canvas: Canvas) -> Image.Image:
    return Image.open(io.BytesIO(canvas.png())).convert("RGB")


def at(image: Image.Image, x: float, y: float) -> str:
    red, green, blue = image.getpixel((round(x), round(y)))  # type: ignore[misc]
    return f"#{red:02x}{green:02x}{blue:02x}"


def test_colours_are_the_inspectors_dark_ones() -> None:
    """One home for each fact; a picture and the page beside it say the same by a colour."""
    sheet = "".join(
        file.read_text() for file in (Path(inspector.__path__[0]) / "static").glob("*.css")
    )
    named = dict(re.findall(r"--([\w-]+): light-dark\(#\w{6}, (#\w{6})\);", sheet))
    plain = {name.lower(): value for name, value in vars(colours).items() if name.isupper()}
    groups = {"authorities", "cache_classes"}
    expected = {name: value for name, value in plain.items() if name not in groups}
    for mapping in (colours.AUTHORITIES, colours.CACHE_CLASSES):
        expected |= mapping
    assert {name: named[name] for name in expected} == expected


def test_a_bar_shows_its_parts_in_proportion() -> None:
    canvas = Canvas()
    canvas.bar([("#ff0000", 50), ("#00ff00", 25)], 100, height=40)
    image = seen(canvas)
    row = [at(image, MARGIN + INNER * part, MARGIN + 20) for part in (0.25, 0.6, 0.9)]
    assert row == ["#ff0000", "#00ff00", colours.RAISED]


def test_columns_are_as_high_as_their_values() -> None:
    """One on the other, none above its bound, and what is not nothing is seen."""
    canvas = Canvas()
    canvas.columns(
        [
            Column(parts=(("#ff0000", 50), ("#00ff00", 50))),
            Column(parts=(("#0000ff", 1),), begins=True),
            Column(parts=(("#0000ff", 900),), mark=50.0),
        ],
        100,
        height=200,
    )
    image = seen(canvas)
    ground = MARGIN + 200
    first, second, third = (MARGIN + INNER * (place + 0.5) / 3 for place in range(3))
    assert [at(image, first, ground - up) for up in (50, 150)] == ["#ff0000", "#00ff00"]
    assert at(image, second, ground - 2) == "#0000ff"
    assert at(image, second, ground - 50) == colours.GROUND
    assert at(image, third, ground - 100) == colours.TEXT
    assert at(image, third, MARGIN - 4) == colours.GROUND
    assert at(image, MARGIN + INNER / 3, ground - 150) == colours.SOFT


def test_a_sheet_ends_where_discord_would_make_it_too_small() -> None:
    canvas = Canvas()
    for _ in range(200):
        canvas.item("#ff0000", "identity", "imp-stable", "1")
    assert seen(canvas).size == (WIDTH, MAX_HEIGHT)
    assert Canvas().height == 2 * MARGIN


def test_letters_that_the_font_lacks_are_taken_apart_or_left_out() -> None:
    assert drawable("#kaffeeküche 🔥\n\u202eélan") == "#kaffeekuche elan"
    assert drawable("日本") == "?"
    assert drawable("") == ""


@given(st.text(max_size=60), st.integers(min_value=30, max_value=600))
@settings(max_examples=40, deadline=None)
def test_any_text_fits_its_room_and_can_be_drawn(text: str, room: int) -> None:
    """Names are whatever people chose; none runs over the figures beside it."""
    line = fitted(drawable(text), SMALL, room)
    assert ImageFont.load_default(SMALL).getlength(line) <= room
    assert all(" " <= each <= "~" or each in "·…‘’“”" for each in line)


@pytest.mark.parametrize("size", [0, 10, MAX_DESCRIPTION - 3, MAX_DESCRIPTION, 5000])
def test_a_description_keeps_to_discords_limit(size: int) -> None:
    assert len(described("x" * size, "", "y")) <= MAX_DESCRIPTION
