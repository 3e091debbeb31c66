"""A child that speaks pi's protocol and misbehaves on demand; run as a program, not imported.

``FAKE_PI`` names its habits, separated by blanks. Without any it answers every prompt with a
turn that repeats it. ``brief`` repeats the prompt's last mark alone, such as ``word-07``, and says
so where no line of its run's trace holds that.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

HABITS = frozenset(os.environ.get("FAKE_PI", "").split())
SESSION = sys.argv[sys.argv.index("--session-id") + 1]
PROVIDER, _, MODEL = sys.argv[sys.argv.index("--model") + 1].partition("/")


def write(raw: bytes) -> None:
    sys.stdout.buffer.write(raw + b"\n")
    sys.stdout.buffer.flush()


def say(record: dict[str, Any]) -> None:
    write(json.dumps(record).encode())


def answer(command: dict[str, Any], data: object = None) -> None:
    head = {"id": command["id"], "type": "response", "command": command["type"]}
    say({**head, "success": True, "data": data})


def state() -> dict[str, Any]:
    return {
        "sessionId": "another" if "other-session" in HABITS else SESSION,
        "messageCount": 0,
        "isStreaming": False,
        "model": None
        if "no-model" in HABITS
        else {"id": MODEL, "provider": PROVIDER, "contextWindow": 1},
    }


def prompt(command: dict[str, Any]) -> None:
    if "decline" in HABITS:
        say(
            {
                "id": command["id"],
                "type": "response",
                "command": "prompt",
                "success": False,
                "error": "a secret of the engine",
            }
        )
        return
    answer(command, {"disposition": "handled" if "handled" in HABITS else "started"})
    if "handled" in HABITS:
        return
    say({"type": "agent_start"})
    if "exit" in HABITS:
        sys.exit(7)
    if "silent" in HABITS:
        return
    if "broken" in HABITS:
        write(b'{"type":"agent_settled","aborted":')
        return
    if "ask" in HABITS:
        say({"type": "extension_ui_request", "id": "u1", "method": "confirm", "title": "?"})
        return
    finish(command["message"])


def brief(text: str) -> str:
    mark = re.findall(r"word-\d+", text)[-1]
    session = Path(sys.argv[sys.argv.index("--session-dir") + 1])
    with (session.parent / "context.jsonl").open() as trace:
        traced = any(mark in line and '"event":"compiled"' in line for line in trace)
    return mark if traced else f"{mark}, which no trace holds"


def finish(text: str) -> None:
    if "brief" in HABITS:
        text = brief(text)
    if "strange" in HABITS:
        say({"type": "a_new_event", "text": text})
        say({"type": "a_new_event", "text": text})
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": f"You said: {text}"}],
        "stopReason": "stop",
    }
    say({"type": "message_end", "message": message})
    say({"type": "agent_end", "messages": [], "willRetry": False})
    say({"type": "agent_settled", "aborted": False})


def begin() -> None:
    if "stubborn" in HABITS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "family" in HABITS:  # a child in a session of its own, which would outlive us
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )
    if "die" in HABITS:
        sys.stderr.write("no such flag\n")
        sys.exit(3)
    if "chatty" in HABITS:
        sys.stderr.write("x" * 300_000 + "the end")
        sys.stderr.flush()


def obey(command: dict[str, Any]) -> None:
    match command["type"]:
        case "get_commands" if "mute" not in HABITS:
            answer(command, {"commands": [{"name": "mcp"}] if "commands" in HABITS else []})
        case "get_state" if "mute" not in HABITS:
            answer(command, state())
        case "get_session_stats" if "brief" in HABITS:
            answer(command, {})
        case "prompt":
            prompt(command)
        case "extension_ui_response":
            finish(json.dumps(command))
        case "abort" if "half-abort" in HABITS:
            answer(command)  # and no end event, ever
        case "abort" if "no-abort" not in HABITS:
            say({"type": "agent_end", "messages": [], "willRetry": False})
            say({"type": "agent_settled", "aborted": True})
            answer(command)
        case _:
            pass


def main() -> None:
    begin()
    for line in sys.stdin.buffer:
        obey(json.loads(line))
    while "stubborn" in HABITS:
        signal.pause()


if __name__ == "__main__":
    main()
