"""The process that runs the embedded model; started by ``embedded_model``, never imported by it.

``python -m bot.playground.embedded_server --model FILE --port 0`` serves the model on 127.0.0.1
and writes one line of JSON with its address to standard output. Standard error is the engine's
log. It ends when its standard input ends, so it cannot outlive its parent, however that dies.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CORS_NOBODY = "http://127.0.0.1:1"
"""No page in a browser has this origin; the engine's default would let every page read."""
SLOT_PROMPT_TOKENS = 8192
"""What SmolLM2 was trained with; the engine divides the whole context among the slots."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until standard input ends."""
    options = _options(arguments)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever the engine prints is log
    server, address = _serve(options)
    out.write(json.dumps({"url": address}) + "\n")
    out.close()
    _hold(server)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="embedded_server")
    parser.add_argument("--model", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--name", default="smollm2")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--cache-mib", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(arguments)


def _serve(options: argparse.Namespace) -> tuple[object, str]:
    """Load the model and start the engine's own threads; give the engine and its address."""
    import xllamacpp  # noqa: PLC0415 -- slow, and it may fail: the watch on the parent comes first

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.name}
    params.port = options.port
    params.n_parallel = options.slots
    params.n_ctx = SLOT_PROMPT_TOKENS * options.slots
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.use_jinja = True
    params.cache_ram_mib = options.cache_mib
    params.cors_origins = CORS_NOBODY
    # Both would show one conversation's prompts to anyone on this machine.
    params.endpoint_slots = False
    params.ui = False
    server = xllamacpp.Server(params)
    return server, str(server.listening_address)


def _hold(server: object) -> None:
    """Keep the engine for ever: once collected, it would stop."""
    threading.Event().wait()
    del server


def _end_with_parent() -> None:
    """Wait for the end of standard input, then leave at once: there is nothing to save."""
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
