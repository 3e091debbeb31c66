"""The one admission path: request and snapshot in, exact prompts and their account out.

The steps are those of CC "Context budgets" and TR "Compilation algorithm": validate, render and
reserve what is mandatory, fit the briefing, the history and the memory into what is left, in
characters and in tokens; write the plan; join the prompts from the plan alone; verify.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from compiler import validate
from compiler.assemble import content_blocks, elastic_demands, system_blocks
from compiler.blocks import (
    AUTHORITY,
    CACHE_CLASS,
    INPUT_KINDS,
    SYSTEM_KINDS,
    BlockKind,
    CachePlan,
    CompiledBlock,
    Omission,
    RenderedBlock,
)
from compiler.budget import (
    Allocation,
    ContextBudgetResult,
    ContextBudgets,
    ElasticDemand,
    account,
    allocate,
    least_chars,
)
from compiler.cache_plan import plan_cache
from compiler.hashing import sha256_fields, sha256_text
from compiler.plan import POLICY_SHA256, TEMPLATE_SHA256, ContextPlan, join_prompt
from compiler.planning import PlanInputs, make_plan
from compiler.request import ContextRequest, SourceSnapshot
from compiler.templates import INPUT_SEPARATOR, SYSTEM_SEPARATOR
from compiler.token_fit import SystemText, fit_tokens
from compiler.tokens import ModelIdentity, PromptIdentities, TokenAccount, TokenScene


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledSystem:
    """The system prompt of a session: exact text, SHA-256 of its UTF-8 bytes, stable prefixes.

    It can be rebuilt from the start event of a trace, so a session may outlive the process.
    """

    prompt: str
    sha256: str
    cache: CachePlan
    block_hashes: tuple[tuple[BlockKind, str], ...] = ()
    """Of each block, in order; what the startup package names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledContext:
    """The result of one compilation (CC "Outputs").

    A start has blocks of the system prompt only and no input prompt. A turn repeats the exact
    system prompt of its session and has the blocks of its input only. A task has both.
    ``input_sha256`` covers the exact UTF-8 bytes of ``input_prompt``.
    """

    request: ContextRequest
    system: CompiledSystem
    input_prompt: str | None
    input_sha256: str | None
    blocks: tuple[CompiledBlock, ...]
    omissions: tuple[Omission, ...]
    budget: ContextBudgetResult
    plan: ContextPlan
    tokens: TokenAccount | None = None
    """None where nobody counts tokens."""

    @property
    def system_prompt(self) -> str:
        """The exact system prompt."""
        return self.system.prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model that is compiled for; without a scene nobody counts tokens."""

    identity: ModelIdentity = ModelIdentity()  # noqa: RUF009 - frozen
    scene: TokenScene | None = None


UNKNOWN_MODEL = Model()


def compile_start(
    request: ContextRequest,
    snapshot: SourceSnapshot,
    budgets: ContextBudgets,
    model: Model = UNKNOWN_MODEL,
) -> CompiledContext:
    """Compile the system prompt of a session, once, before its engine is started.

    Raises:
        CompileError: nothing may be started; the error carries the sizes known so far.

    Spec: CC "Sessions", "Start".
    """
    validate.check_start(request, snapshot)
    work = _Work(request, snapshot, budgets, model)
    return work.compiled(system_blocks(request, snapshot, budgets), (), None)


def compile_turn(
    request: ContextRequest,
    snapshot: SourceSnapshot,
    budgets: ContextBudgets,
    system: CompiledSystem,
    model: Model = UNKNOWN_MODEL,
) -> CompiledContext:
    """Compile the fresh input of one serialized turn under the start of its session.

    The system prompt is taken as it stands, neither rendered nor hashed again; it counts towards
    the total.

    Raises:
        CompileError: nothing may be delivered; the session may go on.

    Spec: CC "Sessions", "Turn"; WS "Warm sessions".
    """
    validate.check_turn(request, snapshot)
    work = _Work(request, snapshot, budgets, model)
    mandatory = content_blocks(request, snapshot, budgets)
    return work.compiled(mandatory, elastic_demands(request, snapshot, budgets), system)


def compile_task(
    request: ContextRequest,
    snapshot: SourceSnapshot,
    budgets: ContextBudgets,
    model: Model = UNKNOWN_MODEL,
) -> CompiledContext:
    """Compile system prompt and input of a one-shot run together, under one total.

    Raises:
        CompileError: the run fails; there is no other way to a prompt.

    Spec: CC "One-shot runs".
    """
    validate.check_turn(request, snapshot)
    work = _Work(request, snapshot, budgets, model)
    mandatory = (
        *system_blocks(request, snapshot, budgets),
        *content_blocks(request, snapshot, budgets),
    )
    return work.compiled(mandatory, elastic_demands(request, snapshot, budgets), None)


def compile_again(
    request: ContextRequest,
    snapshot: SourceSnapshot,
    budgets: ContextBudgets,
    mandatory: Sequence[RenderedBlock],
    *,
    system: CompiledSystem,
    model: Model = UNKNOWN_MODEL,
) -> CompiledContext:
    """Compile a turn whose mandatory blocks are rendered already, as a trace holds them.

    Raises:
        CompileError: as ``compile_turn``.
    """
    work = _Work(request, snapshot, budgets, model)
    return work.compiled(mandatory, elastic_demands(request, snapshot, budgets), system)


@dataclass(frozen=True, slots=True)
class _Work:
    """One compilation at work."""

    request: ContextRequest
    snapshot: SourceSnapshot
    budgets: ContextBudgets
    model: Model

    def compiled(
        self,
        mandatory: Sequence[RenderedBlock],
        elastic: Sequence[ElasticDemand],
        standing: CompiledSystem | None,
    ) -> CompiledContext:
        """Divide, plan, join and close the account; ``standing`` is a session's system prompt.

        Spec: CC "Context budgets", allocation step 5: the total is verified on the real prompts.
        """
        allocation, system, tokens = self._divided(mandatory, elastic, standing)
        blocks = _seal(allocation.blocks)
        forms = {block.sha256: block.content for block in blocks}
        lengths = [len(block.content) for block in blocks if block.kind not in SYSTEM_KINDS]
        input_chars = sum(lengths) + len(INPUT_SEPARATOR) * max(len(lengths) - 1, 0)
        used_chars = len(system.prompt) + input_chars
        plan = make_plan(blocks, allocation, self._plan_inputs(system, tokens, used_chars))
        input_prompt = join_prompt(plan, forms, INPUT_KINDS, INPUT_SEPARATOR)
        return CompiledContext(
            request=self.request,
            system=system,
            input_prompt=input_prompt,
            input_sha256=None if input_prompt is None else sha256_text(input_prompt),
            blocks=blocks,
            omissions=allocation.omissions,
            budget=account(
                allocation.result.limit_chars, len(system.prompt) + len(input_prompt or "")
            ),
            plan=plan,
            tokens=tokens,
        )

    def _divided(
        self,
        mandatory: Sequence[RenderedBlock],
        elastic: Sequence[ElasticDemand],
        standing: CompiledSystem | None,
    ) -> tuple[Allocation, CompiledSystem, TokenAccount | None]:
        system_chars = 0 if standing is None else len(standing.prompt)
        divide = partial(self._divide, mandatory, elastic, system_chars)
        whole = divide(self.budgets.max_injected_chars)
        system = standing or self._system(whole)
        scene = self.model.scene
        if scene is None:
            return whole, system, None
        fit = fit_tokens(
            divide,
            whole,
            least_chars=least_chars(mandatory, elastic, system_chars=system_chars),
            system=SystemText(prompt=system.prompt, sha256=system.sha256),
            scene=scene,
            identities=self._identities(scene),
        )
        return fit.allocation, system, fit.account

    def _divide(
        self,
        mandatory: Sequence[RenderedBlock],
        elastic: Sequence[ElasticDemand],
        system_chars: int,
        total_chars: int,
    ) -> Allocation:
        budgets = self.budgets
        if total_chars != budgets.max_injected_chars:
            budgets = replace(budgets, max_injected_chars=total_chars)
        return allocate(mandatory, elastic, budgets, system_chars=system_chars)

    def _system(self, allocation: Allocation) -> CompiledSystem:
        """Join a new system prompt; what must be in it, so no later division changes it."""
        blocks = [block for block in allocation.blocks if block.kind in SYSTEM_KINDS]
        prompt = SYSTEM_SEPARATOR.join(block.content for block in blocks)
        cache = plan_cache(blocks, prompt, self.snapshot.engine)
        return CompiledSystem(
            prompt=prompt,
            sha256=cache.boundaries[-1].prefix_sha256,
            cache=cache,
            block_hashes=tuple((block.kind, sha256_text(block.content)) for block in blocks),
        )

    def _identities(self, scene: TokenScene) -> PromptIdentities:
        of_tokenizer = scene.tokenizer.identity
        return PromptIdentities(
            model_sha256=self.model.identity.sha256,
            tokenizer_sha256=of_tokenizer.sha256,
            template_sha256=sha256_fields(
                "inglenook-templates-v1", (TEMPLATE_SHA256, of_tokenizer.template_sha256)
            ),
            policy_sha256=POLICY_SHA256,
        )

    def _plan_inputs(
        self, system: CompiledSystem, tokens: TokenAccount | None, used_chars: int
    ) -> PlanInputs:
        scene = self.model.scene
        return PlanInputs(
            request=self.request,
            memory=self.snapshot.memory,
            history=self.snapshot.history,
            replaced_plan=self.snapshot.replaced_plan,
            system_sha256=system.sha256,
            used_chars=used_chars,
            model=self.model.identity,
            tokenizer=scene.tokenizer.identity if scene else None,
            tokens=tokens,
        )


def _seal(blocks: Sequence[RenderedBlock]) -> tuple[CompiledBlock, ...]:
    return tuple(
        CompiledBlock(
            kind=block.kind,
            authority=AUTHORITY[block.kind],
            cache_class=CACHE_CLASS[block.kind],
            source=block.source,
            content=block.content,
            chars=len(block.content),
            sha256=sha256_text(block.content),
            neutralized=block.neutralized,
        )
        for block in blocks
    )
