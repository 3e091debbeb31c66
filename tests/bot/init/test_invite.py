"""The invitation."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import discord

from bot.init.invite import PERMISSIONS, invite_link

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


def test_the_link_asks_for_exactly_what_the_readme_explains() -> None:
    """Issue "Set up": exactly the permissions needed; one set, in the page and in the wizard."""
    link = urlsplit(invite_link("123"))
    query = parse_qs(link.query)
    assert (link.netloc, link.path) == ("discord.com", "/oauth2/authorize")
    assert query["scope"] == ["bot applications.commands"]
    assert query["client_id"] == ["123"]
    asked = discord.Permissions(int(query["permissions"][0]))
    assert asked == discord.Permissions(**dict.fromkeys(PERMISSIONS, True))
    assert asked.value.bit_count() == len(PERMISSIONS)
    assert f"&permissions={asked.value}" in README


def test_the_link_leads_to_the_discord_that_is_set() -> None:
    assert invite_link("1", api="http://127.0.0.1:9/api/v10").startswith(
        "http://127.0.0.1:9/oauth2"
    )
