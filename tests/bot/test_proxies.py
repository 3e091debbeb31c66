"""Whose words a proxy says again: one answer, and a person only where it is certain who."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bot import proxies
from bot.proxies import REMEMBERED_SECONDS, Behind, Proxies

HEARTH, WORKSHOP = 10, 11


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def said(number: int, text: str, *, channel: int = HEARTH, files: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 - what of a message is read
    return SimpleNamespace(
        id=number,
        content=text,
        channel=SimpleNamespace(id=channel),
        attachments=[SimpleNamespace(filename=name) for name in files],
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(proxies, "WAIT_SECONDS", 0.01)
    return Clock()


async def test_a_deleted_original_gives_its_person(clock: Clock) -> None:
    """Also when the deletion comes after the copy."""
    lately = Proxies(monotonic=clock)
    bo = said(1, "B: hello there")
    lately.note(bo)
    lately.gone(1)
    assert await lately.behind(said(2, "hello there")) == Behind(person=bo)
    assert await lately.behind(said(3, "hello there")) == Behind(), "one copy of each"


async def test_the_copy_waits_for_the_deletion(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxies, "WAIT_SECONDS", 30.0)
    lately = Proxies(monotonic=clock)
    bo = said(1, "hello")
    lately.note(bo)
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(lately.behind(said(2, "hello")))
        await asyncio.sleep(0)
        lately.gone(1)
    assert asked.result() == Behind(person=bo)


async def test_an_original_that_stays_is_answered_itself(clock: Clock) -> None:
    lately = Proxies(monotonic=clock)
    lately.note(said(1, "hello"))
    assert await lately.behind(said(2, "hello")) == Behind(handled=True)


async def test_an_answer_on_its_way_is_enough(clock: Clock) -> None:
    """Handled once, however fast the answer was."""
    lately = Proxies(monotonic=clock)
    bo = said(1, "hello")
    lately.note(bo)
    lately.answering(1)
    lately.gone(1)
    assert await lately.behind(said(2, "hello")) == Behind(person=bo, handled=True)


async def test_two_that_fit_make_nobody_certain(clock: Clock) -> None:
    """Nobody speaks as another by saying the same words at the same moment."""
    lately = Proxies(monotonic=clock)
    for number in (1, 2):
        lately.note(said(number, f"{number}: what is my birthday?"))
        lately.gone(number)
    assert await lately.behind(said(3, "what is my birthday?")) == Behind()


@pytest.mark.parametrize(
    "original",
    [
        said(1, "something else"),
        said(1, "hello", channel=WORKSHOP),
        said(9, "hello"),
        said(1, "hello", files=("a.png",)),
    ],
    ids=["words", "channel", "later", "files"],
)
async def test_what_does_not_fit_is_not_behind_it(clock: Clock, original: Any) -> None:  # noqa: ANN401 - as above
    lately = Proxies(monotonic=clock)
    lately.note(original)
    lately.gone(original.id)
    assert await lately.behind(said(5, "hello")) == Behind()


async def test_what_was_said_long_ago_is_not_repeated_now(clock: Clock) -> None:
    lately = Proxies(monotonic=clock)
    lately.note(said(1, "hello"))
    lately.gone(1)
    clock.now += REMEMBERED_SECONDS + 1
    assert await lately.behind(said(2, "hello")) == Behind()


async def test_files_alone_are_known_by_their_names(clock: Clock) -> None:
    lately = Proxies(monotonic=clock)
    bo = said(1, "B:", files=("a.png",))
    lately.note(bo)
    lately.gone(1)
    assert await lately.behind(said(2, "", files=("a.png",))) == Behind(person=bo)
    assert await lately.behind(said(3, "")) == Behind()
