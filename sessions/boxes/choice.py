"""Which box: the one that the owner's settings name, tried out on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import assert_never

from sessions.box import BoxReport, BubblewrapBox, probe
from sessions.boxes.docker import DockerBox, probe_docker
from sessions.boxes.settings import BoxKind, BoxMode, BoxSettings


def find_box(
    settings: BoxSettings, program: Path | None, home: Path, *, model_socket: Path | None = None
) -> tuple[BoxReport, BubblewrapBox | DockerBox | None]:
    """Find out what this machine allows, and give the box if it works; blocks.

    One kind is never tried in place of the other: the owner would not know what holds.

    Args:
        settings: the owner's.
        program: bwrap, if there is one.
        home: what no box may see.
        model_socket: where the model gateway will listen.
    """
    if settings.mode is BoxMode.OFF:
        off = BoxReport(mode=settings.mode, kind=settings.kind, works=False)
        return replace(off, fault="switched off by [box] mode"), None
    match settings.kind:
        case BoxKind.BUBBLEWRAP:
            return probe(settings, program, home, model_socket=model_socket)
        case BoxKind.DOCKER:
            return probe_docker(settings, home, model_socket=model_socket)
        case _:
            assert_never(settings.kind)
