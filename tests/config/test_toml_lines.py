"""Places of keys in TOML texts."""

from __future__ import annotations

import json
import tomllib

from hypothesis import given
from hypothesis import strategies as st

from config.toml_lines import find_lines, line_of

SAMPLE = '''# c
a = 1
[x."y.z"]
"k\\u0041" = """
 [no]
 b = 2 """" # c
c = [ 1, # ]
 2, {q="]"} ]
d.e = 'x#y'
[[w]]
f = {g = 1}
[[w]]
f=2
[w.g]
h = 3'''


def test_finds_tables_keys_and_dotted_keys() -> None:
    """Every statement has its line, whatever strings and comments hold."""
    assert tomllib.loads(SAMPLE)
    assert find_lines(SAMPLE) == {
        ("a",): 2,
        ("x",): 3,
        ("x", "y.z"): 3,
        ("x", "y.z", "kA"): 4,
        ("x", "y.z", "c"): 7,
        ("x", "y.z", "d"): 9,
        ("x", "y.z", "d", "e"): 9,
        ("w",): 10,
        ("w", "[0]"): 10,
        ("w", "[0]", "f"): 11,
        ("w", "[1]"): 12,
        ("w", "[1]", "f"): 13,
        ("w", "[1]", "g"): 14,
        ("w", "[1]", "g", "h"): 15,
    }


def test_line_of_an_unlisted_place_is_that_of_what_holds_it() -> None:
    lines = find_lines("[a]\nb = {c = 1}\n")
    assert line_of(lines, ("a", "b", "c")) == 2
    assert line_of(lines, ("z",)) is None


def test_crlf_and_a_missing_last_newline() -> None:
    assert find_lines("a = 1\r\n[b]\r\nc = 2") == {("a",): 1, ("b",): 2, ("b", "c"): 3}


names = st.text(st.sampled_from("ab\"'#]=.\n\\é "), max_size=5)
values = st.one_of(
    st.integers(0, 99).map(str),
    st.text(st.sampled_from("a[]{}#='\",\\ "), max_size=8).map(json.dumps),
    st.text(st.sampled_from('a[]{}#=",\\\n '), max_size=8).map(lambda text: f"'''\n{text}'''"),
    st.lists(st.sampled_from(["1", '"]"', "'#'"]), max_size=3).map(
        lambda items: "[" + "".join(f"\n {item}, # ] '\n" for item in items) + "]"
    ),
    st.just('{ a = 1, b = "}" }'),
)


@given(st.dictionaries(names, st.dictionaries(names, values, max_size=4), max_size=4))
def test_any_text_that_tomllib_takes_has_all_its_keys_placed(
    tables: dict[str, dict[str, str]],
) -> None:
    """Each written key is found on the line on which it was written."""
    text = ""
    expected: dict[tuple[str, ...], int] = {}
    for table, pairs in tables.items():
        expected[(table,)] = text.count("\n") + 1
        text += f"[{json.dumps(table)}] # ['\n"
        for key, value in pairs.items():
            expected[(table, key)] = text.count("\n") + 1
            text += f'  {json.dumps(key)} = {value} # "\n\n'
    tomllib.loads(text)
    assert find_lines(text) == expected
