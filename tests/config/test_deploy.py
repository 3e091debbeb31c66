"""The files that put the bot on a server: they hang together, and promise no more than they do."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

from config.settings import Settings

TOP = Path(__file__).parents[2]
DEPLOY = TOP / "config" / "deploy"
BREAKS_THE_BOX = {
    "RestrictNamespaces",
    "ProtectProc",
    "ProcSubset",
    "ProtectKernelTunables",
    "ProtectKernelLogs",
    "ProtectHostname",
    "SystemCallFilter",
    "MemoryDenyWriteExecute",
}
"""Each keeps bubblewrap from making its namespaces, mounts, host name or /proc, or Node's JIT."""


def instructions(name: str) -> list[list[str]]:
    text = (DEPLOY / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line.strip() for line in text.splitlines())
    return [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]


def service() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment]  # keys have capitals
    parser.read(DEPLOY / "inglenook.service", encoding="utf-8")
    return parser


def test_the_image_has_two_stages_and_runs_as_nobody_in_particular() -> None:
    """Multi-stage, non-root, healthcheck, home as volume."""
    lines = instructions("Containerfile")
    words = [line[0] for line in lines]
    assert words.count("FROM") == 2
    last = lines[len(words) - 1 - words[::-1].index("FROM") :]
    given = {line[0]: line[1] for line in last}
    assert given["USER"] == "10001:10001"
    assert given["VOLUME"] == "/home/inglenook"
    assert "/home/inglenook" in given["CMD"]
    assert given["STOPSIGNAL"] == "SIGTERM"
    assert "RUN python3 -m bot setup" in [" ".join(line) for line in lines]
    assert not [line for line in lines if line[0] == "FROM" and "/" in line[1]]  # no registry


def test_what_is_copied_exists_and_a_home_is_not_among_it() -> None:
    """A token or a home in the checkout never gets into an image."""
    copied = {
        source.removeprefix("./")
        for line in instructions("Containerfile")
        if line[0] == "COPY" and "--from" not in line[1]
        for source in line[1].split()[:-1]
    }
    ignore = (DEPLOY / "Containerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in ignore if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert {rule[1:] for rule in rules if rule.startswith("!")} == copied
    assert all((TOP / name).exists() for name in copied)
    assert "**/.env" in rules


def test_the_compose_files_name_settings_that_exist() -> None:
    """Variables are those that the settings read; the box's overlay only opens what it needs."""
    plain = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    image = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    for section, key in re.findall(r"INGLENOOK_([A-Z]+)__([A-Z_]+)", plain + image):
        model = Settings.model_fields[section.lower()].default
        assert hasattr(model, key.lower()), f"[{section.lower()}] {key.lower()}"
    assert "cap_drop: [ALL]" in plain
    assert "privileged" not in plain
    grace = re.search(r"stop_grace_period: (\d+)s", plain)
    limits = Settings().sessions
    assert grace is not None
    assert int(grace[1]) > limits.drain_seconds + limits.shutdown_seconds + 20
    overlay = (DEPLOY / "compose.box.yaml").read_text(encoding="utf-8")
    opened = re.findall(r"^ +- (\S+)", overlay, re.MULTILINE)
    assert opened == ["seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"]


def test_the_health_check_asks_where_health_is_told() -> None:
    """The port of the image's check is the default one of the settings."""
    image = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    metrics = Settings().metrics
    assert f"http://{metrics.host}:{metrics.port}/healthz" in image


def test_the_service_is_hardened_and_leaves_the_box_alone() -> None:
    """What systemd takes away is not what the box is made of."""
    unit = service()["Service"]
    assert BREAKS_THE_BOX.isdisjoint(unit)
    assert unit["NoNewPrivileges"] == "yes"
    assert unit["CapabilityBoundingSet"] == ""
    assert unit["ProtectSystem"] == "strict"
    assert unit["UMask"] == "0077"
    families = set(unit["RestrictAddressFamilies"].split())
    assert families == {
        "AF_UNIX",
        "AF_INET",
        "AF_INET6",
        "AF_NETLINK",
    }  # netlink: the box's loopback
    home = re.search(r"--home (\S+)", unit["ExecStart"])
    assert home is not None
    assert home[1] == f"/var/lib/{unit['StateDirectory']}"
