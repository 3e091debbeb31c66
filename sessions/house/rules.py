"""The house rules of one conversation, with who set each and when. Pure values.

``KeptRules`` is what the store keeps; ``state`` is its DG 5 form for the engine, ``in_prompt`` the
form of the compiled ``state`` block. A rule keeps its origin until it changes: saying it again
does not make it somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from compiler.directives.values import Policy, State
from compiler.normalize import normalize_item, one_line
from compiler.render import state_block
from compiler.request import ChannelId, HouseRules, MessageId, RunScope, UserId

SHOWN_ITEM_CHARS: Final = 100
"""A longer item is shown by its beginning in a line about it."""
_MAX_TOLD: Final = 4
"""A change of more items than this is told by their number."""
NOTHING_CHANGED: Final = "Nothing changed: that already holds."
_WORDS: Final = {Policy.USE: "is in use", Policy.PROHIBIT: "is prohibited"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectiveSettings:
    """``org.toml [directives]``."""

    forward_updates: bool = True
    """Whether the message that changed a rule also goes to the model."""
    emoji: str = "✅"
    """The reaction that says that a rule was taken."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Item to tool: ``prohibit <item>`` then closes that tool, as its own name does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A place with a state of its own: a DM, a channel, or a thread of ``parent_id``."""

    channel_id: ChannelId
    parent_id: ChannelId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who set a rule, when, and by which message; none for a slash command."""

    user_id: UserId | None
    at: str
    message_id: MessageId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPremise:
    """The premise and where it came from."""

    text: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPolicy:
    """One item, by its normalized key, and where it came from."""

    item: str
    policy: Policy
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRules:
    """All rules of a conversation; policies sorted by item."""

    premise: KeptPremise | None = None
    policies: tuple[KeptPolicy, ...] = ()

    @property
    def state(self) -> State:
        """The engine's form (DG 5)."""
        return State(
            premise=None if self.premise is None else self.premise.text,
            policies=MappingProxyType({each.item: each.policy for each in self.policies}),
        )

    @property
    def in_prompt(self) -> HouseRules:
        """The compiler's form."""
        return prompt_form(self.state)

    def amended(self, state: State, origin: Origin) -> KeptRules:
        """Take over a state; what it changes is of ``origin``, all else keeps its own."""
        before = {each.item: each for each in self.policies}
        return KeptRules(
            premise=self._premise(state.premise, origin),
            policies=tuple(
                before[item]
                if item in before and before[item].policy is policy
                else KeptPolicy(item=item, policy=policy, origin=origin)
                for item, policy in sorted(state.policies.items())
            ),
        )

    def _premise(self, text: str | None, origin: Origin) -> KeptPremise | None:
        if text is None:
            return None
        if self.premise is not None and self.premise.text == text:
            return self.premise
        return KeptPremise(text=text, origin=origin)


def conversation_of(scope: RunScope) -> Conversation:
    """Give the conversation of a scope.

    Raises:
        ValueError: the scope names none.
    """
    if scope.channel_id is None:
        raise ValueError("house rules need a conversation")
    return Conversation(channel_id=scope.channel_id, parent_id=scope.parent_channel_id)


def prompt_form(state: State) -> HouseRules:
    """Give a state as the compiler takes it."""
    return HouseRules(
        premise=state.premise,
        policies=tuple((item, state.policies[item].value) for item in sorted(state.policies)),
    )


def block_chars(state: State) -> int:
    """Say how long the ``state`` block of a state is; 0 where it has none."""
    if state.premise is None and not state.policies:
        return 0
    return len(state_block(prompt_form(state)))


def prohibited_tools(rules: HouseRules, aliases: Mapping[str, str]) -> frozenset[str]:
    """Name the tools that a conversation has closed: items that are a tool's name or an alias.

    ``aliases`` are item to tool, in the owner's spelling. ``use`` grants nothing, so only
    prohibitions count. The names are normalized items: compare with ``normalize_item(tool)``.
    """
    closed = {item for item, policy in rules.policies if policy == Policy.PROHIBIT}
    by_alias = {
        normalize_item(tool) for item, tool in aliases.items() if normalize_item(item) in closed
    }
    return frozenset(closed | by_alias)


def tell_change(before: State, after: State) -> str:
    """Tell in one line what changed; items by their beginning, the premise without its text."""
    told = [*_premise_change(before.premise, after.premise), *_policy_changes(before, after)]
    if not told:
        return NOTHING_CHANGED
    if len(told) > _MAX_TOLD:
        return f"{len(told)} house rules changed."
    return " ".join(told)


def _premise_change(before: str | None, after: str | None) -> Iterator[str]:
    if before == after:
        return
    if after is None:
        yield "The premise is cleared."
    else:
        yield "The premise is set." if before is None else "The premise is changed."


def _policy_changes(before: State, after: State) -> Iterator[str]:
    for item in sorted({*before.policies, *after.policies}):
        old, new = before.policies.get(item), after.policies.get(item)
        if new is not None and new is not old:
            yield f"{shown(item)} {_WORDS[new]}."
        elif new is None:
            yield f"{shown(item)} is no longer a rule."


def shown(item: str) -> str:
    """Give an item as code, in one line; no normalized item holds a backtick (DG 6, D10)."""
    return f"`{one_line(item, SHOWN_ITEM_CHARS) or '(blank)'}`"
