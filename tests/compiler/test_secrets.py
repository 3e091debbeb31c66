"""What no note may hold is found; what only looks like it is let through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.secrets import SecretKind, find_secret

X = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"the key is sk-{X}", SecretKind.TOKEN),
        (f"use sk-ant-api03-{X}", SecretKind.TOKEN),
        (f"ghp_{X}{X}", SecretKind.TOKEN),
        (f"github_pat_{X}{X}", SecretKind.TOKEN),
        (f"glpat-{X}", SecretKind.TOKEN),
        ("xoxb-123456789012-abcdefghijkl", SecretKind.TOKEN),
        ("AKIAIOSFODNN7EXAMPLE", SecretKind.TOKEN),
        (f"AIza{X}abc", SecretKind.TOKEN),
        (f"sk_live_{X}", SecretKind.TOKEN),
        (f"MTIzNDU2Nzg5MDEyMzQ1Njc4.GaBcDe.{X}", SecretKind.TOKEN),
        (f"123456789:AA{X}a", SecretKind.TOKEN),
        (f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{X}", SecretKind.TOKEN),
        (f"https://discord.com/api/webhooks/123456/{X}", SecretKind.TOKEN),
        ("postgres://ada:orchard@db.example/tea", SecretKind.TOKEN),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", SecretKind.PRIVATE_KEY),
        ("-----BEGIN PRIVATE KEY-----\nabc", SecretKind.PRIVATE_KEY),
        ("my password is hunter2", SecretKind.PASSWORD),
        ("Password: correct-horse", SecretKind.PASSWORD),
        ("password for the wifi is orchard77", SecretKind.PASSWORD),
        ("the PIN is 4711", SecretKind.PASSWORD),
        ("api_key=1234567890", SecretKind.PASSWORD),
        ("Das Passwort ist Apfelbaum1", SecretKind.PASSWORD),
        ("мой пароль: яблоня77", SecretKind.PASSWORD),
        ("密码：apple77", SecretKind.PASSWORD),
        ("card 4111 1111 1111 1111 exp 12/29", SecretKind.CARD),
        ("5500-0000-0000-0004", SecretKind.CARD),
        ("378282246310005", SecretKind.CARD),
        ("6011111111111117", SecretKind.CARD),
        ("4111 1111\u200b 1111 1111", SecretKind.CARD),
        ("４１１１１１１１１１１１１１１１", SecretKind.CARD),
        ("IBAN DE89 3704 0044 0532 0130 00", SecretKind.ACCOUNT),
        ("GB82WEST12345698765432", SecretKind.ACCOUNT),
    ],
)
def test_secrets_are_found(text: str, kind: SecretKind) -> None:
    assert find_secret(text) is kind


@pytest.mark.parametrize(
    "text",
    [
        "Bo likes tea",
        "Ada's birthday is the 3rd of May 1990",
        "the user <@123456789012345678> and the channel 1234567890123456789",
        "call 0049 30 1234567",
        "the password is required",
        "Bo forgot his password again",
        "the passenger is Cy",
        "the pin is under the map of 1990",
        "sk-ates are sports shoes",
        "a task-oriented bot",
        "4111 1111 1111 1112",
        "1234 5678 9012 3456",
        "2026-11-29T23:16:35.000Z",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "mail ada@orchard.example about https://orchard.example/tea?cup=1",
        "DE00 1234 5678 9012 3456 78",
        "e4d909c2-90d0-4b8f-9f5e-2f1c3b4a5d6e",
        "東京タワーは333メートル",
        "",
    ],
)
def test_ordinary_notes_pass(text: str) -> None:
    assert find_secret(text) is None


@given(st.integers(min_value=10**16, max_value=15 * 10**17))
def test_platform_ids_are_no_cards(snowflake: int) -> None:
    """Every tenth number has the right check digit; none of this form is a card."""
    if len(str(snowflake)) in (17, 18) or str(snowflake).startswith("1"):
        assert find_secret(f"channel {snowflake}") is None


@given(st.text(max_size=400))
def test_any_text_gives_an_answer(text: str) -> None:
    find_secret(text)
