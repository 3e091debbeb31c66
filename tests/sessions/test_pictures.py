"""Where shown pictures are kept: by their hash, owner-only, once, and provable."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions.pictures import Picture, file_of, is_kept, keep

DOT = Picture(media_type="image/png", width=1, height=1, data=b"dot")


def kept(run_dir: Path, picture: Picture = DOT) -> bool:
    return is_kept(run_dir, sha256=picture.sha256, media_type=picture.media_type)


async def test_a_picture_is_kept_once_for_the_owner_alone(tmp_path: Path) -> None:
    """Its name is its hash, so it is written once however often it is shown."""
    assert not kept(tmp_path)
    await keep(tmp_path, (DOT, DOT))
    path = file_of(tmp_path, sha256=DOT.sha256, media_type=DOT.media_type)
    before = path.stat().st_mtime_ns
    await keep(tmp_path, (DOT,))
    assert kept(tmp_path)
    assert path.stat().st_mtime_ns == before
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == [path.name]


async def test_a_changed_picture_shows(tmp_path: Path) -> None:
    """What was shown can be proven, or not."""
    await keep(tmp_path, (DOT,))
    file_of(tmp_path, sha256=DOT.sha256, media_type=DOT.media_type).write_bytes(b"another")
    assert not kept(tmp_path)
    assert not is_kept(tmp_path, sha256=DOT.sha256, media_type="text/html")


async def test_what_cannot_be_kept_is_said(tmp_path: Path) -> None:
    """CC "Failure behavior": the turn is then not delivered."""
    (tmp_path / "pictures").write_text("in the way")
    with pytest.raises(OSError, match="pictures"):
        await keep(tmp_path, (DOT,))
    await keep(tmp_path, ())


def test_larger_pictures_take_more_of_the_window() -> None:
    """An estimate that errs upward."""
    small, large = (
        Picture(media_type="image/png", width=side, height=side, data=b"") for side in (27, 1568)
    )
    assert small.tokens == 86
    assert large.tokens > 1568 * 1568 / 750
