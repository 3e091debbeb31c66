"""The host's tools, as the settings let them be there."""

from __future__ import annotations

from pathlib import Path

from bot.host_tools import host_tools
from config.homedir import ensure_home
from config.load import LiveConfig
from sessions.clock import SystemClock
from sessions.store.database import open_database
from sessions.task_service import LateWake
from sessions.tools.table import HOST_TOOLS, MEMORY_TOOLS
from sessions.tools.talk import LateVoice
from support.session_world import BOUND_SECONDS


async def test_each_tool_has_somebody_who_answers_it(tmp_path: Path) -> None:
    """In the order of the model's list; without hosts there is no web (issue "Tools")."""
    ensure_home(tmp_path)
    clock = SystemClock()
    async with open_database(
        tmp_path / "db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:

        def made(**settings: object) -> list[str]:
            live = LiveConfig(tmp_path, environ={}, overrides=settings)
            tools = host_tools(
                live, tmp_path, database, clock=clock, voice=LateVoice(), filed=LateWake()
            )
            for tool in tools:  # what can wait can be carried out
                assert (tool.spec.deed is None) == (tool.perform is None), tool.spec.name
            return [tool.spec.name for tool in tools if tool.there()]

        every = [tool.name for tool in HOST_TOOLS if tool not in MEMORY_TOOLS]
        assert made(web={"hosts": ["example.org"]}) == every
        assert made() == [name for name in every if name != "web_fetch"]
        assert "reply" not in made(talk={"reply_messages": 0})
