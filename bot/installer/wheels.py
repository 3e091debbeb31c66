"""Finding damaged packages, so that pip installs them again.

pip takes a package as installed when its ``.dist-info`` folder has metadata; it looks at
nothing else. After a set-up that was broken off, or a deleted folder, that is not enough: here
each file of each package is compared with the package's own RECORD.
"""

from __future__ import annotations

import csv
import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def damaged(site_packages: Path) -> Iterator[Path]:
    """Yield the ``.dist-info`` folders whose packages are not wholly there."""
    for info in sorted(site_packages.glob("*.dist-info")):
        if not _is_whole(site_packages, info):
            yield info


def forget_damaged(site_packages: Path) -> tuple[str, ...]:
    """Remove the records of damaged packages and return their names.

    Only the record goes: pip then sees the package as missing and writes its files anew.

    Raises:
        OSError: a record cannot be removed.
    """
    names = []
    for info in tuple(damaged(site_packages)):
        shutil.rmtree(info)
        names.append(info.name.partition("-")[0])
    # What pip moved aside before it was interrupted; it warns about these for ever.
    for leftover in site_packages.glob("~*"):
        shutil.rmtree(leftover, ignore_errors=True)
    return tuple(names)


def _is_whole(site_packages: Path, info: Path) -> bool:
    if not (info / "METADATA").is_file():
        return False
    try:
        with (info / "RECORD").open(newline="", encoding="utf-8") as record:
            return all(
                _is_there(os.path.join(site_packages, row[0]), row[2])  # noqa: PTH118 - thousands of paths
                for row in csv.reader(record)
                if row and not row[0].endswith(".pyc")
            )
    except (OSError, ValueError, IndexError, csv.Error):
        return False


def _is_there(file: str, size: str) -> bool:
    try:
        found = os.stat(file)  # noqa: PTH116 - thousands of paths
    except OSError:
        return False
    return not size or found.st_size == int(size)
