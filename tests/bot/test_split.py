"""Long answers: nothing lost, nothing broken, every part within Discord's limit."""

from __future__ import annotations

from itertools import pairwise

import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.split import LIMIT_UNITS, Part, beginning, count_units, split

FAMILY = "👨‍👩‍👧‍👦"
MARKS = ("<@123456789012345678>", "<#42>", "<:party:55>", "<t:1700000000:R>", "</runs list:77>")


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def open_fence_at_end(text: str) -> str:
    """CommonMark's pairing of backtick fences, written again for the check."""
    marker = ""
    for line in text.split("\n"):
        row = regex.match(r" {0,3}(`{3,20})([^`]*)$", line)
        if row and not marker:
            marker = row.group(1)
        elif row and len(row.group(1)) >= len(marker) and not row.group(2).strip():
            marker = ""
    return marker


def bodies(parts: tuple[Part, ...]) -> str:
    return "".join(part.body for part in parts)


words = st.sampled_from(
    [
        *("hearth ", "a", " ", "\n", "\n\n", ". ", "é", "e\u0301", FAMILY, "🇳🇱", "क्षि", "漢字"),
        *("\u200d", "```", "```python\n", "````\n", "\n```\n", "`", "**", "x" * 150),
        *(*MARKS, "https://example.org/a?b=c"),
    ]
)
texts = st.lists(words, max_size=120).map("".join)


@given(texts, st.integers(min_value=200, max_value=400))
@settings(max_examples=300, deadline=None)
def test_any_text_is_cut_into_parts_that_fit_and_join_again(text: str, limit: int) -> None:
    """P07: within the limit by both counts, in order, joined parts are the original."""
    parts = split(text, limit)
    assert bodies(parts) == text
    for part in parts:
        assert part.body
        assert utf16_units(part.text) <= limit
        assert len(part.text) <= limit


@given(texts, st.integers(min_value=200, max_value=400))
@settings(max_examples=200, deadline=None)
def test_no_cut_runs_through_a_grapheme_or_a_mark(text: str, limit: int) -> None:
    """P07: no grapheme, mention or emoji tag is cut."""
    graphemes = {0} | {found.end() for found in regex.finditer(r"\X", text)}
    inside = [found.span() for mark in MARKS for found in regex.finditer(regex.escape(mark), text)]
    place = 0
    for part in split(text, limit):
        place += len(part.body)
        assert place in graphemes
        assert not any(first < place < last for first, last in inside)


@given(
    st.lists(st.sampled_from(["x = 1\n", "\n", "y" * 90 + "\n", "# é 👨‍👩‍👧‍👦\n"]), max_size=200)
)
@settings(deadline=None)
def test_a_code_block_is_closed_and_opened_again_with_its_language(lines: list[str]) -> None:
    """P07: fences closed and reopened with the language, whatever the code."""
    text = "Look:\n```python\n" + "".join(lines) + "```\nThat is all."
    parts = split(text, 400)
    assert all(open_fence_at_end(part.text) == "" for part in parts)
    assert bodies(parts) == text
    for before, after in pairwise(parts):
        assert bool(before.closing) == bool(after.opening)
        assert after.opening in {"", "```python\n"}


@given(
    st.lists(
        st.sampled_from(["warm ", "x" * 90, "\n> ", "\n> ```py\n> ", "\n> ```\n> "]), max_size=99
    ),
    st.sampled_from(["> ", ">>> "]),
)
@settings(max_examples=100, deadline=None)
def test_a_quote_goes_on_over_the_cuts(words: list[str], mark: str) -> None:
    """Issue "Outbound": quotes are kept; every line of every part is quoted still."""
    text = mark + "".join(words)
    parts = split(text, 300)
    assert bodies(parts) == text
    for part in parts:
        assert utf16_units(part.text) <= 300
        quoted = part.text.removeprefix(">>> ")
        assert quoted == part.text or mark == ">>> "
        if mark == "> ":
            assert all(line.startswith("> ") for line in part.text.split("\n") if line)


def test_a_list_is_cut_between_its_items() -> None:
    """Issue "Outbound": lists are kept; an item that fits is in one part with its mark."""
    items = [f"{number}. a warm word, and\n   a second line of it\n" for number in range(40)]
    parts = split("Look:\n" + "".join(items), 300)
    assert len(parts) > 3
    for part in parts[1:]:
        assert regex.match(r"\d+\. ", part.body)
        assert part.opening == ""


def test_the_long_reply_of_the_fault_log() -> None:
    """P07: 5,300 characters with code of 4,500, an emoji and a mention across the cuts."""
    code = "".join(f"value_{number:04} = {number}  # ember\n" for number in range(145))
    text = (
        f"```python\n{code}````\nfence\n````\n```\n" + f"warm {FAMILY} <@99> **bold words** " * 20
    )
    parts = split(text)
    assert 3 <= len(parts) <= 4
    assert bodies(parts) == text
    for part in parts:
        assert utf16_units(part.text) <= LIMIT_UNITS
        # The inner rows are one character longer, so only Discord's own pairing is whole here.
        assert part.text.count("```") % 2 == 0


pieces = st.sampled_from(
    [
        *("```", "```py\n", "\n```\n", "so: ```js\n", "``` and so on. ", "    ```\n", "`x` "),
        *(
            "word " * 9,
            "x = 1\n" * 9,
            "\n\n",
            "- item\n",
            "> said\n",
            "> ```py\n> x\n> ```\n",
            "| a | b |\n|---|---|\n",
        ),
        *(
            "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 ",
            FAMILY,
            "<t:1700000000:R>",
            "y" * 250,
            "\u200b",
        ),
    ]
)


@given(st.lists(pieces, max_size=60).map("".join), st.integers(min_value=200, max_value=600))
@settings(max_examples=300, deadline=None)
def test_code_that_discord_shows_is_whole_in_each_part(text: str, limit: int) -> None:
    """P07: wherever in a line a row of backticks stands, none is left open in a message where the
    whole answer leaves none open."""
    assume(all(len(row) == 3 for row in regex.findall("`{3,}", text)))
    assume(text.count("```") % 2 == 0)
    parts = split(text, limit)
    assert bodies(parts) == text
    for part in parts:
        assert part.text.count("```") % 2 == 0
        assert utf16_units(part.text) <= limit


def test_code_goes_on_though_it_began_in_the_middle_of_a_line() -> None:
    """P07: as models write it, "Here it is: ```python"; with its language, to its end."""
    code = "".join(f"x{number} = {number}\n" for number in range(200))
    parts = split(f"Here it is: ```python\n{code[:-1]}``` and that is all.", 400)
    assert len(parts) > 2
    assert all(part.opening == "```python\n" for part in parts[1:])
    assert all(part.text.count("```") == 2 for part in parts)


def test_a_longer_fence_keeps_a_shorter_one_inside() -> None:
    """A block of four backticks is reopened with four, so what it quotes stays quoted."""
    inner = "```python\nprint('hi')\n```\n" * 30
    parts = split(f"````markdown\n{inner}````", 300)
    assert all(open_fence_at_end(part.text) == "" for part in parts)
    assert {part.opening for part in parts[1:]} == {"````markdown\n"}


def test_a_short_text_is_one_part_as_it_is() -> None:
    """No added character where nothing has to be cut."""
    assert split("Hello.") == (Part(body="Hello."),)
    assert split("") == ()


def test_a_block_that_the_model_left_open_is_closed() -> None:
    """An answer that ended early still renders as code."""
    assert [part.text for part in split("```py\nx = 1")] == ["```py\nx = 1\n```"]


def test_a_sentence_as_language_is_not_repeated() -> None:
    """The info string is bounded: only a short first word is carried on."""
    parts = split("```" + "a" * 80 + "\n" + "code\n" * 100 + "```", 300)
    assert {part.opening for part in parts[1:]} == {"```\n"}


def test_a_block_does_not_open_as_the_last_thing_of_a_part() -> None:
    """A fence at the cut moves to the next part, where its code is."""
    parts = split("w" * 285 + "\n```python\n" + "code\n" * 100 + "```", 300)
    assert parts[0].body == "w" * 285 + "\n"
    assert parts[1].body.startswith("```python\n")


def test_cuts_prefer_paragraphs_to_lines_and_lines_to_sentences() -> None:
    """The first kind of boundary that fills the part well wins."""
    paragraph = "One two. Three four.\n"
    text = paragraph * 8 + "\n" + paragraph * 8
    assert split(text, 250)[0].body == paragraph * 8 + "\n"
    assert split("One two. Three four. " * 40, 250)[0].body.endswith(("two. ", "four. "))
    assert split("word " * 100, 249)[0].body == "word " * 49


def test_one_letter_under_endless_marks_still_ends() -> None:
    """A grapheme longer than a part is the only one that is cut."""
    text = "e" + "\u0301" * 5000
    assert bodies(split(text)) == text


def test_a_blank_that_carries_a_mark_is_no_place_to_cut() -> None:
    """A space under a combining accent is one grapheme with it."""
    text = "a" * 200 + " \u0301" + "b" * 100
    assert split(text, 250)[0].body != "a" * 200 + " "


def test_units_count_what_the_clients_count() -> None:
    """A character beyond the basic plane counts twice; 2000 of them are two parts and more."""
    assert count_units("a👍é") == 4
    assert [len(part.body) for part in split("👍" * 2000)] == [1000, 1000]


def test_the_beginning_of_a_file_is_short_and_whole() -> None:
    """What stands above an attached answer renders on its own."""
    text = "```python\n" + "line = 1\n" * 3000 + "```"
    assert count_units(beginning(text)) <= 600
    assert open_fence_at_end(beginning(text)) == ""
