"""Where the host can be reached, and where it goes: addresses, ports and what opens them. Pure.

These are ``[discord]``, ``[inspector]``, ``[metrics]`` and ``[telemetry]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from config.findings import Finding
from config.rules import bounds
from config.settings import DiscordSettings, InspectorSettings, MetricsSettings, TelemetrySettings

MAX_LINK_MINUTES: Final = 60
"""A link lies in a terminal and in a direct message; it should not lie open there."""
MAX_SESSION_HOURS: Final = 7 * 24


def check_discord(discord: DiscordSettings) -> Iterator[Finding]:
    """Find an address or a token that cannot be one."""
    yield from bounds.address(("discord", "api"), discord.api)
    token = discord.token.get_secret_value()
    if token and not re.fullmatch(r"[\x21-\x7e]+", token):
        yield Finding(
            paths=(("discord", "token"),),
            message="holds blanks or characters that no token has",
            hint="Copy it again from Discord's developer portal.",
        )


def check_inspector(inspector: InspectorSettings) -> Iterator[Finding]:
    """Find a port that is none, and links that lie open for too long."""
    yield from bounds.port(("inspector", "port"), inspector.port)
    for key, most in (("link_minutes", MAX_LINK_MINUTES), ("session_hours", MAX_SESSION_HOURS)):
        yield from bounds.above_nothing(("inspector", key), getattr(inspector, key), most)


def check_metrics(metrics: MetricsSettings) -> Iterator[Finding]:
    """Find a port that is none, and an address that is not this machine's."""
    yield from bounds.port(("metrics", "port"), metrics.port)
    try:
        ip_address(metrics.host)
    except ValueError:
        yield Finding(
            paths=(("metrics", "host"),),
            message="must be an address of this machine, such as 127.0.0.1",
            hint="0.0.0.0 lets the whole network read.",
        )


def check_telemetry(telemetry: TelemetrySettings) -> Iterator[Finding]:
    """Find a collector's address that is none."""
    if telemetry.endpoint:
        yield from bounds.address(
            ("telemetry", "endpoint"),
            telemetry.endpoint,
            hint="http://127.0.0.1:4318/v1/traces, for a collector on this machine.",
        )
