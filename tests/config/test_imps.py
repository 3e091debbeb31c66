"""What differs for one imp."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.request import ImpName
from config.imp_files import imp_names
from config.imps import all_grants
from config.load import LiveConfig, ensure_home, load_settings
from config.problems import ConfigError
from sessions.grants import Call, Verdict, decide

SCRIBE = """\
connections = ["web_fetch", "recall"]
[context]
memory_max_chars = 1000
[engine]
provider = "local"
model = "m"
url = "http://127.0.0.1:9/v1"
[[grants]]
tool = "web_fetch"
verdict = "allow"
[[grants]]
tool = "bash"
verdict = "allow"
"""
ORG = """\
[context]
max_injected_chars = 40000
[engine]
provider = "openai"
model = "gpt-5-mini"
key_env = "OPENAI_API_KEY"
context_window = 128000
retries = 5
[[grants]]
tool = "*"
verdict = "deny"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ensure_home(tmp_path)
    (tmp_path / "org.toml").write_text(ORG)
    (tmp_path / "imps" / "scribe").mkdir()
    (tmp_path / "imps" / "scribe" / "imp.toml").write_text(SCRIBE)
    return tmp_path


def test_an_overlay_states_differences(home: Path) -> None:
    """Issue "Set up": overlays of budgets and engine; another model brings nothing of the old."""
    live = LiveConfig(home, environ={})
    assert live.budgets("scribe").memory_max_chars == 1000
    assert live.budgets("scribe").max_injected_chars == 40000
    engine = live.engine("scribe")
    assert (engine.provider, engine.key_env, engine.context_window) == ("local", "", 8192)
    assert engine.retries == 5
    assert live.engine("ember") == live.current.engine
    (home / "imps" / "scribe" / "imp.toml").write_text("[engine]\nmax_tokens = 99\n")
    assert live.reload_if_changed() is not None
    assert live.engine("scribe").key_env == "OPENAI_API_KEY"
    assert live.engine("scribe").max_tokens == 99
    (home / "org.toml").write_text(f"{ORG}[imps.scribe.engine]\nmax_tokens = 98\n")
    assert load_settings(home, {}).settings.imps["scribe"].engine.max_tokens == 98


def test_its_rules_come_first_and_it_has_no_other_connections(home: Path) -> None:
    """Issue "Set up": overlays of grants and connections, and for that imp alone."""
    rules = all_grants(load_settings(home, {}).settings)

    def verdict(imp: str, tool: str) -> Verdict:
        call = Call(imp=ImpName(imp), tool=tool, trusted=True, arguments={})
        return decide(rules, call).verdict

    assert verdict("scribe", "web_fetch") is Verdict.ALLOW
    assert verdict("scribe", "bash") is Verdict.DENY
    assert verdict("ember", "web_fetch") is Verdict.DENY
    live = LiveConfig(home, environ={})
    assert live.grants is live.grants  # tools are chosen anew only after a reload


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[engin]\n", "imps/scribe/imp.toml, line 1: engin is not a setting. Did you mean engine?"),
        ("[context]\nmemory_max_chars = -1", "line 2: context.memory_max_chars must be at least 0"),
        ("[engine]\nurl = 'x'", "line 2: engine.url must be an address"),
        ("[engine]\nprovider = 'embedded'", "starts only if it is the one of [engine]"),
        ("connections = ['bassh']", "line 1: connections holds 'bassh', which is no tool"),
        ("[[grants]]\ntool = 'bassh'\nverdict = 'deny'", 'Did you mean "bash"?'),
    ],
)
def test_a_broken_overlay_is_named_by_file_and_line(home: Path, text: str, said: str) -> None:
    """Bad input: all problems at once, in the owner's own words for the keys."""
    (home / "imps" / "scribe" / "imp.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(home, {})
    assert said in str(caught.value)
    assert len(caught.value.problems) == 1


def test_folders_that_are_no_imp_are_none(home: Path) -> None:
    (home / "imps" / "Not One").mkdir()
    (home / "imps" / "file").write_text("")
    assert imp_names(home) == ("ember", "scribe")
    assert imp_names(home / "nowhere") == ()
