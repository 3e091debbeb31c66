"""A sheet that is filled from the top: texts, bars and columns, then a PNG.

Sizes are pixels of the picture. A phone shows a picture about 380 points wide, so 840 pixels are
sharp there, and the smallest letters of 25 pixels are as high as Discord's own.

The font comes with Pillow, and no system has to bring one. It knows little more than ASCII:
``drawable`` takes other letters apart or leaves them out, and the text beside a picture has them.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from PIL import Image, ImageDraw, ImageFont

from bot.charts.colours import GROUND, LINE, RAISED, SOFT, TEXT
from bot.inspector.bars import stack

WIDTH: Final = 840
MARGIN: Final = 32
INNER: Final = WIDTH - 2 * MARGIN
TITLE: Final = 36
BODY: Final = 28
SMALL: Final = 25
MAX_HEIGHT: Final = 2400
"""Taller, and Discord shows it so small that nothing is read."""
MAX_DESCRIPTION: Final = 1024
"""Discord's longest description of a file."""
_BESIDES_ASCII: Final = frozenset("·…‘’“”")
_GAP: Final = 4
_LEAST: Final = 3
"""Pixels of a column that is not nothing."""
Font: TypeAlias = "ImageFont.FreeTypeFont | ImageFont.ImageFont"
Stack: TypeAlias = Sequence[tuple[str, int]]
"""Colours with values, one on the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture and what it shows, in words."""

    name: str
    png: bytes
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of many. ``mark`` is a value that a line across it stands at."""

    parts: Stack
    mark: float | None = None
    begins: bool = False
    """Whether something new begins with it."""


class Canvas:
    """Draws from the top downwards; what would be too low is left out."""

    def __init__(self) -> None:
        self._image = Image.new("RGB", (WIDTH, MAX_HEIGHT), GROUND)
        self._draw = ImageDraw.Draw(self._image)
        self._y = MARGIN

    @property
    def height(self) -> int:
        """How high the sheet is by now."""
        return min(MAX_HEIGHT, self._y + MARGIN)

    def gap(self, pixels: int = 18) -> None:
        """Leave room."""
        self._y += pixels

    def title(self, text: str, right: str = "") -> None:
        """Write the head of the sheet."""
        self._row(text, right, size=TITLE, colour=TEXT, right_colour=SOFT)
        self.gap(4)

    def head(self, text: str, right: str = "") -> None:
        """Write the head of a part, below a line."""
        self.gap()
        self._draw.line(((MARGIN, self._y), (WIDTH - MARGIN, self._y)), fill=LINE, width=2)
        self.gap()
        self._row(text, right, size=BODY, colour=TEXT, right_colour=TEXT)

    def text(self, text: str, right: str = "", *, colour: str = SOFT) -> None:
        """Write a line in small letters."""
        self._row(text, right, size=SMALL, colour=colour, right_colour=colour)

    def item(self, colour: str, text: str, middle: str = "", right: str = "") -> None:
        """Write a line that a colour stands for."""
        side = 22
        top = self._y + (SMALL - side) // 2 + 4
        self._draw.rounded_rectangle(
            (MARGIN, top, MARGIN + side, top + side), radius=5, fill=colour
        )
        left = MARGIN + side + 14
        self._write(text, left, size=SMALL, colour=TEXT, room=330)
        self._write(middle, left + 345, size=SMALL, colour=SOFT, room=200)
        self._write_right(right, size=SMALL, colour=TEXT)
        self._y += SMALL + 14

    def bar(self, parts: Stack, whole: int, *, height: int = 44) -> None:
        """Draw parts of a whole side by side; what is left of it is dim."""
        box = (MARGIN, self._y, MARGIN + INNER, self._y + height)
        self._draw.rounded_rectangle(box, radius=6, fill=RAISED)
        for part in stack([(colour, "", value) for colour, value in parts], whole):
            left = MARGIN + round(INNER * part.at_percent / 100)
            right = MARGIN + round(INNER * (part.at_percent + part.percent) / 100)
            self._draw.rectangle((left, self._y, max(left, right - 2), box[3]), fill=part.kind)
        self._y += height + 12

    def columns(self, columns: Sequence[Column], most: int, *, height: int = 190) -> None:
        """Draw columns side by side, as high as ``most`` at most."""
        count, top, ground = max(1, len(columns)), self._y, self._y + height
        pitch = INNER / count
        gap = min(_GAP, pitch / 4)
        for part in (0.0, 0.5, 1.0):
            level = ground - round(height * part)
            self._draw.line(((MARGIN, level), (WIDTH - MARGIN, level)), fill=LINE, width=2)
        for place, column in enumerate(columns):
            left, right = MARGIN + place * pitch + gap / 2, MARGIN + (place + 1) * pitch - gap / 2
            if column.begins and place:
                edge = left - gap / 2
                self._draw.line(((edge, top), (edge, ground)), fill=SOFT, width=2)
            above = float(ground)
            for colour, value in column.parts:
                if value > 0:
                    part = max(_LEAST, height * min(1.0, value / max(1, most)))
                    self._draw.rectangle(
                        (left, max(top, above - part), right, above - 1), fill=colour
                    )
                    above -= part
            if column.mark is not None:
                at = ground - height * min(1.0, column.mark / max(1, most))
                self._draw.line(((left, at), (right, at)), fill=TEXT, width=4)
        self._y = ground + 8

    def png(self) -> bytes:
        """Give the sheet as far as it is filled."""
        out = io.BytesIO()
        sheet = self._image.crop((0, 0, WIDTH, self.height))
        sheet.save(out, "PNG")
        return out.getvalue()

    def _row(self, text: str, right: str, *, size: int, colour: str, right_colour: str) -> None:
        taken = self._write_right(right, size=min(size, BODY), colour=right_colour)
        self._write(text, MARGIN, size=size, colour=colour, room=INNER - taken)
        self._y += size + 12

    def _write(self, text: str, left: int, *, size: int, colour: str, room: int) -> None:
        fitting = fitted(drawable(text), size, room)
        self._draw.text((left, self._y), fitting, font=_font(size), fill=colour)

    def _write_right(self, text: str, *, size: int, colour: str) -> int:
        if not text:
            return 0
        line = fitted(drawable(text), size, INNER)
        width = round(_font(size).getlength(line))
        self._draw.text((WIDTH - MARGIN - width, self._y), line, font=_font(size), fill=colour)
        return width + 20


def drawable(text: str) -> str:
    """Write a text with letters that the font has: accents away, what has no likeness left out.

    Where nothing is left, a question mark stands for it.
    """
    apart = unicodedata.normalize("NFKD", text)
    kept = "".join(each for each in apart if " " <= each <= "~" or each in _BESIDES_ASCII)
    one_line = " ".join(kept.split())
    return one_line or ("?" if text.strip() else "")


def fitted(text: str, size: int, room: int) -> str:
    """Shorten a line to the room that there is."""
    font = _font(size)
    if font.getlength(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if font.getlength(f"{text[:middle]}…") <= room:
            low = middle
        else:
            high = middle - 1
    return f"{text[:low].rstrip()}…"


def described(*sentences: str) -> str:
    """Join what a description says, within Discord's limit."""
    text = " ".join(each for each in sentences if each)
    return text if len(text) <= MAX_DESCRIPTION else f"{text[: MAX_DESCRIPTION - 1]}…"


@cache
def _font(size: int) -> Font:
    return ImageFont.load_default(size)
