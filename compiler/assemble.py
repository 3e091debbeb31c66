"""From request and snapshot to what wants to enter a prompt: mandatory blocks and demands.

Here each source gets its kind, its name in the trace and its place; nothing is weighed.

Spec: CC "Blocks"; WS "The blocks, in order".
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from compiler import templates, validate
from compiler.blocks import BlockKind, RenderedBlock
from compiler.briefing import fit_briefing, minimum_chars
from compiler.budget import ContextBudgets, ElasticDemand, block_sizes, refuse_hopeless
from compiler.errors import SourceUnreadable
from compiler.history import fit_history
from compiler.memory import fit_memory
from compiler.normalize import guard_system_text, normalize_source
from compiler.render import connections_body, message_block, state_block, system_block, task_block
from compiler.request import ContextRequest, SourceSnapshot, TextSource, UnreadableSource

ADHOC_IMP = "adhoc"
"""The one imp that may have no identity (CC "Identity")."""


def system_blocks(
    request: ContextRequest, snapshot: SourceSnapshot, budgets: ContextBudgets
) -> tuple[RenderedBlock, ...]:
    """Render the system blocks in canonical order, empty ones left out.

    Raises:
        BlockTooLarge: a text is longer than its block may be.
        SourceUnreadable: identity or purpose could not be read, or a named imp has no identity.
    """
    identity, unreadable_identity = _readable(snapshot.identity)
    purpose, unreadable_purpose = _readable(snapshot.purpose)
    texts = ((BlockKind.IDENTITY, identity), (BlockKind.PURPOSE, purpose))
    refuse_hopeless(
        [(kind, each.source, len(each.text)) for kind, each in texts if each is not None], budgets
    )
    if snapshot.identity is None and request.imp != ADHOC_IMP:
        unreadable_identity = UnreadableSource(
            source=f"imps/{request.imp}/identity.md", reason="missing"
        )
    offered = (
        _text_block(BlockKind.IDENTITY, identity),
        _template(
            BlockKind.RUNTIME_POLICY, templates.RUNTIME_POLICY_SOURCE, templates.RUNTIME_POLICY
        ),
        _connections(snapshot),
        _text_block(BlockKind.PURPOSE, purpose),
        _template(
            BlockKind.RUNTIME_SCOPE,
            templates.scope_name(request.surface, request.scope),
            templates.runtime_scope(request.surface, request.scope),
        ),
    )
    blocks = tuple(block for block in offered if block is not None)
    for kind, unreadable in (
        (BlockKind.IDENTITY, unreadable_identity),
        (BlockKind.PURPOSE, unreadable_purpose),
    ):
        if unreadable is not None:
            raise SourceUnreadable(
                block=kind.value,
                source=unreadable.source,
                reason=unreadable.reason,
                sizes=block_sizes(blocks),
            )
    return blocks


def _readable(
    source: TextSource | UnreadableSource | None,
) -> tuple[TextSource | None, UnreadableSource | None]:
    """Split a source into a normalized text and a failure; a blank text is as good as none."""
    if source is None or isinstance(source, UnreadableSource):
        return None, source
    if not source.text.strip():
        return None, None
    return replace(source, text=normalize_source(source.text)), None


def _text_block(kind: BlockKind, source: TextSource | None) -> RenderedBlock | None:
    if source is None:
        return None
    body, neutralized = guard_system_text(source.text)
    return RenderedBlock(
        kind=kind,
        source=source.source,
        content=system_block(kind, body),
        neutralized=neutralized,
    )


def _template(kind: BlockKind, source: str, text: str) -> RenderedBlock:
    return RenderedBlock(kind=kind, source=source, content=system_block(kind, text))


def _connections(snapshot: SourceSnapshot) -> RenderedBlock | None:
    if not snapshot.connections:
        return None
    body = connections_body(snapshot.connections)
    return _template(BlockKind.CONNECTIONS, "config:connections", body)


def content_blocks(
    request: ContextRequest, snapshot: SourceSnapshot, budgets: ContextBudgets
) -> tuple[RenderedBlock, ...]:
    """Render the mandatory blocks of an input: the house rules and the task or message.

    Raises:
        BlockTooLarge: the text is longer than its block may be.
    """
    blocks: list[RenderedBlock] = []
    rules = snapshot.house_rules
    if rules.premise is not None or rules.policies:
        blocks.append(_input_block(BlockKind.STATE, "store:house-rules", state_block(rules)))
    task, message = request.task, request.message
    if task is not None:
        source = f"task:{task.task_id or task.origin}"
        refuse_hopeless([(BlockKind.TASK, source, len(task.text))], budgets)
        blocks.append(_input_block(BlockKind.TASK, source, task_block(task)))
    if message is not None:
        source = f"message:{message.message_id or message.provider}"
        chars = len(message.text) + sum(len(part.text) for part in message.parts)
        refuse_hopeless([(BlockKind.MESSAGE, source, chars)], budgets)
        content = message_block(message, request.scope)
        blocks.append(_input_block(BlockKind.MESSAGE, source, content))
    return tuple(blocks)


def _input_block(kind: BlockKind, source: str, content: str) -> RenderedBlock:
    return RenderedBlock(kind=kind, source=source, content=content)


def elastic_demands(
    request: ContextRequest, snapshot: SourceSnapshot, budgets: ContextBudgets
) -> tuple[ElasticDemand, ...]:
    """List the advisory blocks in order of retention, each with its own limit.

    Briefing (what happens now) goes before history (what was just said), and that before memory
    (what was noted once); TR tables, section 4.
    """
    briefing = replace(snapshot.briefing, continuation=validate.continuation(request, snapshot))
    of_selector = snapshot.memory.limit_chars
    memory_limit = budgets.memory_max_chars
    if of_selector is not None:
        memory_limit = min(memory_limit, of_selector)
    return (
        ElasticDemand(
            kind=BlockKind.BRIEFING,
            source="store:gates",
            limit_chars=budgets.briefing_max_chars,
            fit=partial(fit_briefing, briefing),
            minimum_chars=minimum_chars(briefing),
        ),
        ElasticDemand(
            kind=BlockKind.HISTORY,
            source="store:history",
            limit_chars=budgets.history_max_chars,
            fit=partial(fit_history, snapshot.history, budgets.history_max_messages),
        ),
        ElasticDemand(
            kind=BlockKind.MEMORY,
            source="store:memory",
            limit_chars=memory_limit,
            fit=partial(fit_memory, snapshot.memory, memory_limit),
        ),
    )
