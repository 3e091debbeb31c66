"""What is watched in every test, whatever it is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from compiler.plain_json import PlainValue
from compiler.plan import ContextPlan
from compiler.receipt import Ending, make_receipt
from compiler.tokens import TokenAccount
from sessions.store import database
from sessions.traces import writing
from support.empty_database import Template
from support.memory_disk import write_in_memory
from support.receipt_scan import scan_receipt

# How long an example takes says something of the machine, and nothing of the code.
settings.register_profile("inglenook", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("inglenook")


def pytest_configure() -> None:
    """Choose where tests write, before the first of them does."""
    write_in_memory()


@pytest.fixture(autouse=True, scope="session")
def every_receipt_is_private() -> Iterator[None]:
    """Scan each receipt that any test makes through the trace (TR, stop rules)."""

    def watched(
        plan: ContextPlan,
        tokens: TokenAccount | None,
        *,
        key: bytes,
        ending: Ending | None = None,
    ) -> dict[str, PlainValue]:
        receipt = make_receipt(plan, tokens, key=key, ending=ending)
        scan_receipt(receipt, plan=plan)
        return receipt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "make_receipt", watched)
        yield


@pytest.fixture(autouse=True, scope="session")
def every_new_database_is_a_copy() -> Iterator[None]:
    """Make the schema once; how it comes about is the migrations' own test."""
    template = Template()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "migrate", template.migrate)
        yield
    template.close()
