"""Attached pictures as the model gets them: judged by their bytes, of bounded size; pure.

The name and the stated type of a file count for nothing. What opens as one of the four common
forms is turned upright, made smaller where a side is too long, and written anew: as PNG where it
came without loss, as JPEG where it did not. The same bytes give the same picture, and nothing else
that a camera wrote into the file (the place, above all) goes further.
"""

from __future__ import annotations

import io
import warnings
from typing import Final

from PIL import Image, ImageOps

from sessions.pictures import Picture

_FORMS: Final = ("PNG", "JPEG", "WEBP", "GIF")
MAX_PIXELS: Final = 50_000_000
"""A larger picture is not opened: a small file can unfold to more than a machine holds."""
MAX_PREPARED_BYTES: Final = 3_000_000
"""Above it a PNG is written as JPEG instead; providers take about five, in Base64."""
_JPEG_QUALITY: Final = 88
_SIGNS: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
_ON_WHITE: Final = (255, 255, 255)


def looks_like_one(data: bytes) -> bool:
    """Tell by the first bytes whether a file may be a picture that can be shown."""
    return data.startswith(_SIGNS) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")


def prepare(data: bytes, *, max_side: int, name: str = "") -> Picture | None:
    """Make a picture fit to be shown; None if the bytes are none, or too large a one.

    Takes some tenths of a second for a photograph: call it in a thread.
    """
    if not looks_like_one(data):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the library warns of what unfolds too far
            with Image.open(io.BytesIO(data), formats=_FORMS) as opened:
                if opened.width * opened.height > MAX_PIXELS:
                    return None
                return _written(opened, max_side=max_side, name=name)
    except Exception:  # noqa: BLE001  (foreign bytes; the library raises whatever a codec does)
        return None


def _written(opened: Image.Image, *, max_side: int, name: str) -> Picture:
    is_photo = opened.format == "JPEG"
    if is_photo:
        opened.draft("RGB", (max_side, max_side))  # decodes no more than is needed
    ImageOps.exif_transpose(opened, in_place=True)
    has_alpha = opened.has_transparency_data
    mode = "RGBA" if has_alpha else "RGB"
    picture = opened if opened.mode == mode else opened.convert(mode)
    picture.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    lossless = is_photo is False and (has_alpha or opened.format in {"PNG", "GIF"})
    data = _bytes(picture, "PNG") if lossless else b""
    if data and len(data) <= MAX_PREPARED_BYTES:
        return _picture(picture, "image/png", data, name)
    flat = picture
    if has_alpha:
        flat = Image.new("RGB", picture.size, _ON_WHITE)
        flat.paste(picture, mask=picture.getchannel("A"))
    return _picture(flat, "image/jpeg", _bytes(flat, "JPEG"), name)


def _bytes(picture: Image.Image, form: str) -> bytes:
    bare = Image.new(picture.mode, picture.size)
    bare.paste(picture)  # without a colour profile, a text or any other note of the file
    stream = io.BytesIO()
    if form == "PNG":
        bare.save(stream, form, compress_level=6)
    else:
        bare.save(stream, form, quality=_JPEG_QUALITY)
    return stream.getvalue()


def _picture(picture: Image.Image, media_type: str, data: bytes, name: str) -> Picture:
    return Picture(
        media_type=media_type, width=picture.width, height=picture.height, data=data, name=name
    )
