"""A whole trace to read, to doubt and to damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.compiler_factories import RUN
from support.written_trace import write


@pytest.fixture
async def trace(tmp_path: Path) -> Path:
    await write(tmp_path / RUN)
    return tmp_path / RUN / "context.jsonl"
