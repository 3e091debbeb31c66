"""The golden plans: the compiler's corpus, planned and counted by a tokenizer of the library alone.

``tests/compiler/golden/plans-v<SCHEMA>/plans.jsonl`` has each case's plan hash, token hash, receipt
hash (under a fixed key) and counts; ``digest.txt`` is SHA-256 over it, the one figure that other
Pythons, hash seeds and locales print. A folder that is there is never changed: a new form raises
``templates.SCHEMA_VERSION``. ``python -m support.plan_golden --write`` writes a new one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from hashlib import sha256

from compiler.compile import CompiledContext, Model, compile_start, compile_task, compile_turn
from compiler.errors import CompileError
from compiler.plan import PLAN_SCHEMA
from compiler.receipt import KEY_BYTES, make_receipt, receipt_hash
from compiler.templates import SCHEMA_VERSION
from compiler.tokens import ModelIdentity, TokenScene
from support.compiler_factories import start_request
from support.compiler_golden import FOLDER, Case, cases
from support.word_tokens import word_scene

PLANS = FOLDER / f"plans-v{SCHEMA_VERSION}"
KEY = bytes(KEY_BYTES)
IDENTITY = ModelIdentity(model_id="golden/model", artifact_sha256="a" * 64, config_sha256="b" * 64)


def scenes() -> Iterator[tuple[str, TokenScene]]:
    """Give a window with room, and one so small that every rich case has to give something up."""
    yield "wide", word_scene(200_000, output=500, margin=64, wrapper=20)
    yield "tight", word_scene(1_700, output=100, margin=10, wrapper=20)


def compile_case(case: Case, scene: TokenScene) -> CompiledContext:
    """Compile one case for a window."""
    model = Model(identity=IDENTITY, scene=scene)
    if case.request.task is not None:
        return compile_task(case.request, case.sources, case.budgets, model)
    if case.request.message is None:
        return compile_start(case.request, case.sources, case.budgets, model)
    start = start_request(case.request.scope, surface=case.request.surface, imp=case.request.imp)
    before = compile_start(start, case.sources, case.budgets)
    return compile_turn(case.request, case.sources, case.budgets, before.system, model)


def build() -> dict[str, str]:
    """Plan the corpus."""
    lines = [
        json.dumps(_record(case, name, scene), separators=(",", ":"))
        for case in cases()
        for name, scene in scenes()
    ]
    text = "".join(f"{line}\n" for line in lines)
    digest = sha256(f"{PLAN_SCHEMA}\n{text}".encode("ascii")).hexdigest()
    return {"plans.jsonl": text, "digest.txt": f"{digest}\n"}


def _record(case: Case, window: str, scene: TokenScene) -> dict[str, object]:
    record: dict[str, object] = {"case": case.name, "window": window}
    try:
        compiled = compile_case(case, scene)
    except CompileError as error:
        return {**record, "error": error.code.value}
    tokens = compiled.tokens
    receipt = make_receipt(compiled.plan, tokens, key=KEY)
    return {
        **record,
        "plan": compiled.plan.canonical_plan_hash,
        "tokens": tokens.prompt_sha256 if tokens else None,
        "receipt": receipt_hash(receipt),
        "used": [compiled.budget.used_chars, tokens.used_tokens if tokens else 0],
        "rows": len(compiled.plan.selected),
        "excluded": sum(len(group.record_ids) for group in compiled.plan.excluded),
    }


def main(arguments: list[str]) -> None:
    """Print the digest as this Python plans, or write a new version."""
    files = build()
    if arguments == ["--write"]:
        PLANS.mkdir(parents=True)
        for name, text in files.items():
            (PLANS / name).write_text(text, encoding="ascii", newline="\n")
    sys.stdout.write(files["digest.txt"])


if __name__ == "__main__":
    main(sys.argv[1:])
