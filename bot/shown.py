"""What embeds and components show, and what a message is that shows no words at all (P12).

A picture that was unfurled, a row of buttons, an invitation to a game: each is something to the
people who see it, so it is told in one line, and never taken for a message whose content was kept
from us.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import discord

if TYPE_CHECKING:
    from discord.components import Component

Words: TypeAlias = "discord.Message | discord.MessageSnapshot"
FORWARDED_NOTHING = "a message in which nothing can be shown here"
_SHOWN = ("label", "placeholder", "description", "name")
"""Where the parts of Discord's forms keep what people read on them."""


def embed_text(embed: discord.Embed) -> str:
    """Give the words of an embed, one line for each of its places."""
    fields = (f"{field.name}: {field.value}" for field in embed.fields)
    words = (embed.author.name, embed.title, embed.description, *fields, embed.footer.text)
    return "\n".join(filter(None, words))


def component_texts(components: Iterable[Component]) -> Iterator[str]:
    """Give the texts that components show, however deep they lie."""
    for component in components:
        if isinstance(component, discord.TextDisplay) and component.content:
            yield component.content
        yield from component_texts(getattr(component, "children", ()))


def describe_wordless(message: discord.Message) -> str:
    """Say what a message shows though it says nothing; empty if it is truly empty."""
    # The library leaves the attribute out when the payload does.
    told = [*_embeds(message.embeds), *_components(getattr(message, "components", ()))]
    if message.activity is not None:
        name = message.application.name if message.application else "an activity"
        told.append(f"an invitation to {name}")
    return f"without words: {', '.join(told)}" if told else ""


def _embeds(embeds: Iterable[discord.Embed]) -> Iterator[str]:
    for embed in embeds:
        places = (embed.url, embed.image.url, embed.thumbnail.url, embed.video.url)
        yield " ".join(filter(None, (embed.type, next(filter(None, places), None))))


def _components(components: Iterable[Component]) -> Iterator[str]:
    """Name each part once, with what is written on it."""
    for component in components:
        within = _within(component)
        if within:
            yield from _components(within)
        else:
            kind = component.type.name if hasattr(component, "type") else "picture"
            shown = (getattr(component, each, None) for each in _SHOWN)
            words = next((each for each in shown if each), "")
            yield f"{kind.replace('_', ' ')} {words!r}" if words else kind.replace("_", " ")


def _within(component: Any) -> list[Any]:  # noqa: ANN401  (each kind has a form of its own)
    beside = getattr(component, "accessory", None)
    return [
        *getattr(component, "children", ()),
        *getattr(component, "items", ()),
        *([] if beside is None else [beside]),
    ]
