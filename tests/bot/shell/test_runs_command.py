"""``runs`` in the shell."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from bot.cli import main
from support.recorded_runs import CANARY, RUN, Said, change_line, record_run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    asyncio.run(record_run(tmp_path))
    return tmp_path


class _Shell:
    def __init__(self, home: Path, captured: pytest.CaptureFixture[bytes]) -> None:
        self._home = home
        self._captured = captured

    def __call__(self, action: str, *more: str) -> tuple[int, str, str]:
        code = main(["runs", action, "--home", str(self._home), *more])
        out, err = self._captured.readouterr()
        return code, out.decode(), err.decode()


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A replay says to standard error what it has to log."""
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


@pytest.fixture
def shell(home: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> _Shell:
    return _Shell(home, capfdbinary)


def test_ls(shell: _Shell) -> None:
    code, out, _ = shell("ls")
    assert code == 0
    assert out.splitlines()[1].startswith(f"{RUN} direct message")
    assert shell("ls", "--channel", "77")[1].startswith("No runs yet")
    assert json.loads(shell("ls", "--json")[1])["runs"][0]["run_id"] == RUN


def test_show_has_no_content(shell: _Shell) -> None:
    """CC: ``runs show`` does not print full private context by default."""
    for options in ([], ["1"], ["--json"]):
        code, out, _ = shell("show", "abcd", *options)
        assert code == 0
        assert CANARY not in out
        assert "runtime-policy" in out


def test_context_is_exact(shell: _Shell, home: Path) -> None:
    """CC acceptance 16: ``runs context`` reproduces exact model input."""
    code, out, _ = shell("context", "latest", "1", "--json")
    assert code == 0
    [prompts] = json.loads(out)["prompts"]
    lines = (home / "runs" / RUN / "context.jsonl").read_text().splitlines()
    start, turn = json.loads(lines[0]), json.loads(lines[1])
    assert prompts["system_prompt"] == "\n\n".join(block["content"] for block in start["blocks"])
    assert prompts["input_prompt"] == "\n".join(block["content"] for block in turn["blocks"])
    text = shell("context", "latest", "1")[1]
    assert prompts["system_prompt"] in text
    assert prompts["input_prompt"] in text


def test_context_all_has_every_turn(shell: _Shell) -> None:
    out = shell("context", "latest", "--all")[1]
    assert out.count("=== system prompt: ") == 1
    assert out.count("=== input of turn ") == 2


def test_diff(shell: _Shell) -> None:
    assert "System prompt: the same" in shell("diff", "abcd", "2")[1]
    assert json.loads(shell("diff", "abcd", "2", "--json")[1])["stable_system"] is True


def test_verify(shell: _Shell, home: Path) -> None:
    code, out, _ = shell("verify", "abcd")
    assert code == 0
    assert "as it was written" in out
    change_line(home, RUN, 2, CANARY, "FORGED-TEXT")
    code, out, _ = shell("verify", "abcd")
    assert code == 1
    assert "line 2: a block does not match its hash (memory)" not in out
    assert "✗ line 2: " in out
    assert "FORGED-TEXT" not in out
    assert json.loads(shell("verify", "abcd", "--json")[1])["ok"] is False


def test_verify_looks_at_the_file_that_the_engine_read(shell: _Shell, home: Path) -> None:
    """What pi was given beside the trace; the texts of the trace itself stay to be read."""
    system = home / "runs" / RUN / "system.md"
    prompts = json.loads(shell("context", "abcd", "--json")[1])["prompts"]
    system.write_text(prompts[0]["system_prompt"], encoding="utf-8")
    assert shell("verify", "abcd")[0] == 0
    with system.open("a") as file:
        file.write(" Tell everything.")
    code, out, _ = shell("verify", "abcd")
    assert code == 1
    assert "✗ file: system.md is not the system prompt of the trace" in out
    assert shell("context", "abcd")[0] == 0


@pytest.mark.parametrize("action", ["show", "context", "diff"])
def test_a_forged_trace_shows_nothing(shell: _Shell, home: Path, action: str) -> None:
    change_line(home, RUN, 2, CANARY, "FORGED-TEXT")
    code, out, err = shell(action, "abcd")
    assert code == 1
    assert out == ""
    assert "cannot be relied upon" in err


def test_a_cut_off_trace_gives_no_context_and_is_told(shell: _Shell, home: Path) -> None:
    path = home / "runs" / RUN / "context.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    code, out, _ = shell("show", "abcd")
    assert code == 1
    assert "DOES NOT VERIFY" in out
    code, out, err = shell("context", "abcd")
    assert (code, out) == (1, "")
    assert "does not verify" in err


def test_what_is_not_there_is_one_line(shell: _Shell) -> None:
    code, out, err = shell("show", "nope")
    assert (code, out) == (1, "")
    assert err == "There is no such run. The list tells all: /runs list, in the shell runs ls.\n"
    code, out, _ = shell("context", "abcd", "9", "--json")
    assert code == 1
    assert json.loads(out)["error"]["code"] == "turn_unknown"


def test_show_names_a_turn_that_there_is_not(shell: _Shell) -> None:
    """As context and diff do; the whole run is no answer to the ninth turn."""
    code, out, err = shell("show", "abcd", "9")
    assert (code, out, err) == (1, "", "There is no turn 9; this run has 2.\n")


def test_receipt(shell: _Shell) -> None:
    """TR: counts, sizes and codes; what could be guessed is committed to, not shown."""
    code, out, _ = shell("receipt", "latest", "1")
    assert (code, CANARY in out) == (0, False)
    assert "recent dialogue" in out
    document = json.loads(shell("receipt", "latest", "--json")[1])
    assert document["turn"] == 2
    assert document["receipt"]["stopReason"] == "generation_started"


def test_replay(shell: _Shell) -> None:
    code, out, _ = shell("replay", "latest")
    assert (code, CANARY in out) == (0, False)
    assert "Everything is as it was." in out
    assert json.loads(shell("replay", "latest", "1", "--json")[1])["ok"] is True


def test_replay_of_a_changed_trace_is_refused(shell: _Shell, home: Path) -> None:
    change_line(home, RUN, 2, CANARY, "zebra")
    assert shell("replay", "latest")[0] == 1


def test_replay_against_other_settings(shell: _Shell) -> None:
    """The same sources under another limit; with a count, if a tokenizer is named."""
    code, out, _ = shell("replay", "latest", "1", "--against", "context.history_max_chars=2000")
    assert (code, CANARY in out) == (0, False)
    assert "- history" in out
    code, out, _ = shell(
        "replay", "latest", "1", "--against", "engine.tokenizer=estimate", "--json"
    )
    tokens = json.loads(out)["difference"]["used_tokens"]
    assert (code, tokens[0], tokens[1] > 0) == (0, 0, True)


@pytest.mark.parametrize("wanted", ["context.nothing=1", "nowhere.x=1", "context", "engine.url=x"])
def test_replay_against_what_is_no_setting(shell: _Shell, wanted: str) -> None:
    code, _, err = shell("replay", "latest", "1", "--against", wanted)
    assert (code, bool(err)) == (1, True)


def test_a_failed_turn_is_told_and_has_no_context(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    asyncio.run(record_run(tmp_path, [Said(text="far too long", number=1, fails=True)]))
    shell = _Shell(tmp_path, capfdbinary)
    assert "CURRENT_TURN_OVERFLOW" in shell("show", "abcd")[1]
    assert shell("context", "abcd", "1")[0] == 1


def test_a_channel_that_is_no_id(shell: _Shell) -> None:
    code, _, err = shell("ls", "--channel", "hearth")
    assert code == 2
    assert "hearth" in err


def test_cache_without_an_observed_call(shell: _Shell) -> None:
    """A run that was recorded without a wire has no figures; one that is not there is an error."""
    code, out, _ = shell("cache")
    assert (code, out.startswith("No model call was observed")) == (0, True)
    document = json.loads(shell("cache", "latest", "--json")[1])
    assert [each["run_id"] for each in document["sessions"]] == [RUN]
    assert document["sessions"][0]["hit_share"] is None
    assert shell("cache", "zzzz")[0] == 1
