"""Which addresses of the web the imp may read: the owner's list, and never a private place. Pure.

    target_of(url, hosts) -> Target      scheme, host and port are allowed
    is_public(address)                   what a name was resolved to is out on the internet

Both are asked again at every redirect. A host is named as ``example.org`` (its usual ports),
``example.org:8080`` (that port alone) or ``*.example.org`` (all below it, not itself). That a name
is listed does not make its address a public one: a name may lead to this machine, its network or
a cloud's own service.

Spec: issue "Gateway of actions" (``web_fetch``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias
from urllib.parse import urlsplit, urlunsplit

Address: TypeAlias = IPv4Address | IPv6Address
MAX_URL_CHARS: Final = 2000
"""Longer ones carry something else than a place."""
_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")


class WebFault(StrEnum):
    """Why a page was not read."""

    BAD_URL = "bad_url"
    NOT_LISTED = "not_listed"
    PRIVATE_ADDRESS = "private_address"
    UNREACHABLE = "unreachable"
    TOO_SLOW = "too_slow"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    STATUS = "status"
    NO_TEXT = "no_text"
    UNREADABLE = "unreadable"


class WebRefused(Exception):
    """A page that is not read; ``fault`` says why."""

    def __init__(self, fault: WebFault, *, status: int | None = None) -> None:
        super().__init__(fault.value)
        self.fault = fault
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A place that the owner's list allows."""

    url: str
    """Without a fragment, which is nobody's but the reader's."""
    host: str
    """As names are compared: ASCII, lower case; an address without its brackets."""
    port: int
    address: Address | None
    """Where the host is an address itself, so that nothing is left to be resolved."""


def target_of(url: str, hosts: Iterable[str]) -> Target:
    """Read an address and hold it against the owner's list.

    Raises:
        WebRefused: it is none, or none that may be read.
    """
    if len(url) > MAX_URL_CHARS or not url.isprintable() or " " in url or "\\" in url:
        raise WebRefused(WebFault.BAD_URL)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise WebRefused(WebFault.BAD_URL) from error
    usual = _PORTS.get(parts.scheme)
    if usual is None or not parts.hostname or "@" in parts.netloc:
        raise WebRefused(WebFault.BAD_URL)
    host = normalized_host(parts.hostname)
    chosen = usual if port is None else port
    if not any(_lists(entry, host, chosen, usual=usual) for entry in hosts):
        raise WebRefused(WebFault.NOT_LISTED)
    address = _literal(host)
    bracketed = f"[{host}]" if isinstance(address, IPv6Address) else host
    place = bracketed if port is None else f"{bracketed}:{port}"
    return Target(
        url=urlunsplit((parts.scheme, place, parts.path or "/", parts.query, "")),
        host=host,
        port=chosen,
        address=address,
    )


def normalized_host(host: str) -> str:
    """Write a host as names are compared.

    Raises:
        WebRefused: it is no name.
    """
    try:
        name = host.rstrip(".").encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise WebRefused(WebFault.BAD_URL) from error
    # An escaped sign in a name is read as one thing here and may be as another further on.
    if _literal(name) is None and not _NAME.fullmatch(name):
        raise WebRefused(WebFault.BAD_URL)
    return name


def is_host_entry(entry: str) -> bool:
    """Tell whether a line of the owner's list can mean a host."""
    name, _, port = entry.removeprefix("*.").partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 2**16):
        return False
    if not name or not name.isascii() or name != name.lower() or name.strip(".") != name:
        return False
    return all(part and part.replace("-", "").isalnum() for part in name.split("."))


def is_public(address: Address) -> bool:
    """Tell whether an address is out on the internet, and nothing special.

    Not this machine, a private network, a link, a group, nor an IPv6 form of an IPv4 address that
    somebody on the way would turn into one of these.
    """
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address not in _GLOBAL_UNICAST or address.sixtofour is not None:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _lists(entry: str, host: str, port: int, *, usual: int) -> bool:
    name, _, wanted = entry.partition(":")
    if port != (int(wanted) if wanted else usual):
        return False
    if name.startswith("*."):
        return host.endswith(name[1:]) and host != name[2:]
    return host == name


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
