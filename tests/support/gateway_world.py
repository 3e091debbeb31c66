"""A judge of tool calls with rules at hand and a filer that keeps what it is given, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.request import RunId, RunScope, TurnId
from sessions.gate_filing import Proposal
from sessions.gates import Gate, GateId, GateRules, file_gate
from sessions.gateway import Gateway
from sessions.grants import Grant
from sessions.tools.call import ToolTurn
from support.session_world import EMBER, scope_of

NOW_MS = 1_796_000_000_000


@dataclass(slots=True)
class RecordingFiler:
    """Files nothing and remembers it."""

    proposals: list[Proposal] = field(default_factory=list)
    full: bool = False

    async def file(self, proposal: Proposal) -> Gate | None:
        """See ``GateFiler``."""
        if self.full:
            return None
        self.proposals.append(proposal)
        return file_gate(
            GateId(f"g-{len(self.proposals)}"),
            proposal.origin,
            tool=proposal.tool,
            arguments=dict(proposal.arguments),
            effect=proposal.effect,
            intent=proposal.intent,
            rationale=proposal.rationale,
            now_ms=NOW_MS,
            rules=GateRules(),
        )


@dataclass(slots=True)
class Bench:
    """A judge and all that it asks."""

    grants: tuple[Grant, ...] = ()
    trusted: bool = False
    closed: frozenset[str] = frozenset()
    filer: RecordingFiler | None = field(default_factory=RecordingFiler)

    @property
    def gateway(self) -> Gateway:
        """The judge."""

        async def prohibited(scope: RunScope) -> frozenset[str]:
            del scope
            return self.closed

        return Gateway(
            rules=lambda: self.grants,
            trusted=lambda _: self.trusted,
            prohibited=prohibited,
            filer=self.filer,
        )


def turn_with(*offered: str, scope: RunScope | None = None) -> ToolTurn:
    """A turn of Ada's in which these tools were shown."""
    return ToolTurn(
        imp=EMBER,
        scope=scope or scope_of(message=1),
        run_id=RunId("run-1"),
        turn_id=TurnId("discord:message:1"),
        offered=frozenset(offered),
    )
