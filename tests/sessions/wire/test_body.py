"""Bodies that grow, and bodies that break off: the quick reading equals the whole one."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.wire.body import BodyReader, UnreadableBody, pictures_of, role_of, text_of

Json = dict[str, Any]


def body(items: list[Json], *, key: str = "messages", **more: object) -> bytes:
    document = {"model": "m", key: items, "stream": True, **more}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def user(text: str) -> Json:
    return {"role": "user", "content": text}


SYSTEM: Json = {"role": "system", "content": 'Be "kind".\n"messages":[ü'}
TOOLS = [{"type": "function", "function": {"name": "recall"}}]


@given(
    texts=st.lists(st.lists(st.text(), max_size=3), min_size=1, max_size=6),
    more=st.dictionaries(st.sampled_from(["tools", "user", "z"]), st.just(TOOLS)),
)
def test_going_on_reads_what_reading_anew_would(texts: list[list[str]], more: Json) -> None:
    """Property: hashes, counts and fresh items do not depend on the way of reading."""
    reader = BodyReader("openai-completions")
    items: list[Json] = [copy.deepcopy(SYSTEM)]
    for number, said in enumerate(texts):
        before = len(items) if number else 0
        items += [user(text) for text in said]
        sent = body(items, **more)
        went_on = bool(reader.head) and sent.startswith(reader.head)
        reading, fresh = reader.read(sent)
        assert went_on == (number > 0)
        anew, _ = BodyReader("openai-completions").read(sent)
        assert reading.sha256 == anew.sha256 == hashlib.sha256(sent).hexdigest()
        assert reading.prefix_sha256 == hashlib.sha256(sent[: reading.prefix_bytes]).hexdigest()
        assert reading.prefix_bytes == anew.prefix_bytes
        assert (reading.items, reading.kept) == (len(items), before)
        assert list(fresh) == items[before:]
        assert reading.extends is (True if number else None)
        assert reading.difference_at is None
        assert reading.tools_sha256 == anew.tools_sha256


def test_what_was_read_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue "The wire": what goes on costs what is new, whatever stands behind it."""
    reader = BodyReader("openai-completions")
    reader.read(body([SYSTEM], tools=TOOLS))
    monkeypatch.setattr(BodyReader, "_read_whole", None)
    for count in (1, 2, 2, 3):
        reading, _ = reader.read(body([SYSTEM, *[user("one")] * count], tools=TOOLS))
        assert (reading.extends, reading.tools) == (True, 1)


@given(at=st.integers(0, 2), text=st.text(min_size=1))
def test_a_changed_item_is_a_break_with_its_first_byte(at: int, text: str) -> None:
    """Issue "Cache report": the first differing byte, and how many items are still the same."""
    items = [SYSTEM, user("one"), user("two")]
    reader = BodyReader("openai-completions")
    former = body(items)
    reader.read(former)
    changed = copy.deepcopy(items)
    changed[at]["content"] += text
    sent = body([*changed, user("three")])
    reading, fresh = reader.read(sent)
    assert (reading.extends, reading.kept) == (False, at)
    assert len(fresh) == 4
    assert reading.difference_at is not None
    assert former[: reading.difference_at] == sent[: reading.difference_at]
    assert former[reading.difference_at] != sent[reading.difference_at]


@pytest.mark.parametrize(
    "sent",
    [
        body([SYSTEM]),
        body([SYSTEM, user("two")]),
        body([user("one")]),
    ],
)
def test_dropped_items_are_a_break(sent: bytes) -> None:
    """pi dropped compiled text, by compaction for one."""
    reader = BodyReader("openai-completions")
    reader.read(body([SYSTEM, user("one"), user("two")]))
    reading, _ = reader.read(sent)
    assert reading.extends is False
    assert reader.read(sent)[0].extends is True


def test_another_model_is_a_break() -> None:
    """The provider's cache is the model's."""
    reader = BodyReader("openai-completions")
    sent = body([SYSTEM])
    reader.read(sent)
    reading, _ = reader.read(sent.replace(b'"model":"m"', b'"model":"n"'))
    assert (reading.extends, reading.model, reading.difference_at) == (False, "n", 10)


def test_an_empty_conversation_can_be_gone_on_from() -> None:
    reader = BodyReader("openai-completions")
    reader.read(body([]))
    reading, fresh = reader.read(body([SYSTEM]))
    assert (reading.extends, reading.items, fresh) == (True, 1, (SYSTEM,))


def test_a_field_of_the_same_name_elsewhere_is_not_the_conversation() -> None:
    """What is followed is what the provider reads, wherever else its name stands."""
    reader = BodyReader("openai-completions")

    def sent(items: list[Json], inner: list[Json]) -> bytes:
        document = {"model": "m", "metadata": {"messages": inner}, "messages": items}
        return json.dumps(document, separators=(",", ":")).encode()

    reader.read(sent([SYSTEM, user("one")], [user("x")]))
    reading, _ = reader.read(sent([SYSTEM, user("two")], [user("x"), user("y")]))
    assert (reading.extends, reading.kept, reading.items) == (False, 1, 2)


def test_a_model_behind_the_conversation_counts_as_well() -> None:
    reader = BodyReader("openai-completions")
    head = b'{"messages":[{"role":"user","content":"a"}],"model":"%s"}'
    reader.read(head % b"m")
    assert reader.read(head % b"n")[0].extends is False


def test_tools_are_told_apart_by_hash_and_order() -> None:
    reader = BodyReader("openai-completions")
    first, _ = reader.read(body([SYSTEM], tools=TOOLS))
    second, _ = reader.read(body([SYSTEM], tools=[*TOOLS, {"name": "b"}]))
    third, _ = reader.read(body([SYSTEM], tools=[{"name": "b"}, *TOOLS]))
    assert [each.tools for each in (first, second, third)] == [1, 2, 2]
    assert len({first.tools_sha256, second.tools_sha256, third.tools_sha256}) == 3
    assert third.extends is True


def test_tools_ahead_of_the_conversation_are_seen_in_every_body() -> None:
    """The tools' hash is the same wherever a provider's form has them."""
    reader = BodyReader("openai-completions")
    items: list[Json] = [SYSTEM]
    hashes = []
    for text in ("one", "two", "three"):
        items.append(user(text))
        document = {"model": "m", "tools": TOOLS, "messages": items, "stream": True}
        reading, _ = reader.read(json.dumps(document, separators=(",", ":")).encode())
        hashes.append((reading.tools, reading.tools_sha256))
    assert hashes[0][0] == 1
    assert len(set(hashes)) == 1


def test_moving_cache_marks_are_no_break() -> None:
    """Reference, section 4: Anthropic's mark moves to the last message, and its form with it."""
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "Be kind.", **mark}]
    reader = BodyReader("anthropic-messages")
    one = [{"role": "user", "content": [{"type": "text", "text": "one", **mark}]}]
    first, fresh = reader.read(body(one, system=system))
    assert (first.items, [role_of(item) for item in fresh]) == (2, ["system", "user"])
    two = [user("one"), user("ok"), {"role": "user", "content": [{"type": "text", "text": "2"}]}]
    second, fresh = reader.read(body(two, system=system))
    assert (second.extends, second.kept, len(fresh)) == (True, 2, 2)
    third, _ = reader.read(body(two, system=[{"type": "text", "text": "Be rude."}]))
    assert (third.extends, third.kept) == (False, 0)


def test_instructions_are_the_first_item() -> None:
    """OpenAI's Responses may hold the system prompt beside the conversation."""
    reader = BodyReader("openai-responses")
    reader.read(body([user("one")], key="input", instructions="Be kind."))
    same, fresh = reader.read(body([user("one"), user("2")], key="input", instructions="Be kind."))
    assert (same.extends, same.items, len(fresh)) == (True, 3, 1)
    changed, _ = reader.read(body([user("one"), user("2")], key="input", instructions="Be rude."))
    assert changed.extends is False


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"model":"m"}',
        b'{"model":"m","messages":{}}',
        b"\xff",
        b"[" * 100_000,
        b'{"model":"m","messages":[' + b"[" * 100_000,
    ],
)
def test_what_cannot_be_read_changes_nothing(broken: bytes) -> None:
    """The next body is judged against the last good one."""
    reader = BodyReader("openai-completions")
    reader.read(body([SYSTEM]))
    with pytest.raises(UnreadableBody):
        reader.read(broken)
    assert reader.read(body([SYSTEM, user("one")]))[0].extends is True


def test_a_body_cut_behind_its_prefix_is_unreadable() -> None:
    reader = BodyReader("openai-completions")
    reader.read(body([SYSTEM]))
    for tail in (b"", b",", b',{"role":"us', b"],", b"x", b'],"tools":[}'):
        with pytest.raises(UnreadableBody):
            reader.read(reader.head + tail)
    assert reader.read(body([SYSTEM]))[0].extends is True


@pytest.mark.parametrize(
    ("item", "role", "text"),
    [
        ({"role": "developer", "content": "a"}, "system", "a"),
        (
            {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "image"}]},
            "user",
            "a",
        ),
        ({"role": "user", "content": [{"type": "tool_result", "content": "a"}]}, "user", None),
        ({"type": "function_call", "arguments": "{}"}, "", None),
        ({"role": "assistant", "content": None}, "assistant", None),
        ("text", "", None),
    ],
)
def test_roles_and_texts_of_items(item: object, role: str, text: str | None) -> None:
    assert (role_of(item), text_of(item)) == (role, text)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,ZG90"}},
        {"type": "input_image", "image_url": "data:image/png;base64,ZG90"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "ZG90"}},
    ],
)
def test_a_picture_is_known_by_its_bytes_in_every_form(part: Json) -> None:
    """Which bytes were shown, in order; the text beside them is read as ever."""
    dot = hashlib.sha256(b"dot").hexdigest()
    said = {"role": "user", "content": [{"type": "text", "text": "look"}, part, part]}
    assert pictures_of(said) == (dot, dot)
    assert text_of(said) == "look"
    assert pictures_of(user("look")) == ()
    broken = {"content": [{"type": "image", "source": {"data": "no base64!"}}]}
    assert pictures_of(broken) == (hashlib.sha256(b"no base64!").hexdigest(),)
