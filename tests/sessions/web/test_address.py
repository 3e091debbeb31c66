"""Which addresses may be read: the owner's list, and nothing private (issue "Gateway", Tools)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.web.address import (
    WebFault,
    WebRefused,
    is_host_entry,
    is_public,
    target_of,
)

HOSTS = ("example.org", "*.docs.example", "example.net:8080", "93.184.216.34", "xn--bcher-kva.de")


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://example.org", "https://example.org/"),
        ("http://EXAMPLE.org./a?b=c#d", "http://example.org/a?b=c"),
        ("https://example.org:443/", "https://example.org:443/"),
        ("https://a.b.docs.example/x", "https://a.b.docs.example/x"),
        ("http://example.net:8080/", "http://example.net:8080/"),
        ("https://bücher.de/", "https://xn--bcher-kva.de/"),
    ],
)
def test_what_is_listed_may_be_read(url: str, read: str) -> None:
    assert target_of(url, HOSTS).url == read


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "https://example.org.evil.example/",
        "https://evilexample.org/",
        "https://docs.example/",  # all below it, not itself
        "https://xdocs.example/",
        "https://example.org:8443/",
        "http://example.org:443/",
        "https://example.net/",
    ],
)
def test_what_is_not_listed_may_not(url: str) -> None:
    with pytest.raises(WebRefused) as refused:
        target_of(url, HOSTS)
    assert refused.value.fault is WebFault.NOT_LISTED


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org/",
        "file:///etc/passwd",
        "https://",
        "https://ada@example.org/",
        "https://example.org@evil.example/",
        "https://example.org:port/",
        "https://example.org:99999/",
        "https://exam ple.org/",
        "https://evil.example\\.docs.example/",
        "https://evil.example%2f.docs.example/",
        "https://evil.example%23.docs.example/",
        "https://example.org/\r\nHost: evil.example",
        "https://[::1",
        "https://example.org/" + "a" * 2000,
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """Nothing that one reader takes for one host and the next for another."""
    with pytest.raises(WebRefused) as refused:
        target_of(url, (*HOSTS, "*"))
    assert refused.value.fault is WebFault.BAD_URL


def test_an_address_in_numbers_is_known_as_one() -> None:
    """The resolver never sees it, so it has to be judged by itself."""
    assert target_of("http://93.184.216.34/", HOSTS).address == IPv4Address("93.184.216.34")
    assert target_of("http://example.org/", HOSTS).address is None


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1"),  # noqa: S104
        *("169.254.169.254", "100.64.0.1", "198.18.0.1", "192.0.2.1", "224.0.0.1"),
        *("255.255.255.255", "240.0.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1"),
        *("ff02::1", "2001:db8::1", "fec0::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
        *("::7f00:1", "64:ff9b::7f00:1", "64:ff9b::808:808", "2002:7f00:1::", "2001:0:7f00:1::"),
    ],
)
def test_private_and_special_addresses_are_not_public(address: str) -> None:
    """Issue "Tools": private, loopback, link-local and multicast, in each of their disguises."""
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111"])
def test_public_addresses_are(address: str) -> None:
    assert is_public(ip_address(address))


@given(st.ip_addresses(v=4))
def test_a_disguised_address_is_judged_as_what_it_is(address: IPv4Address) -> None:
    """An IPv4 address in IPv6 form is as public as itself, or not at all."""
    assert is_public(IPv6Address(f"::ffff:{address}")) == is_public(address)
    assert not is_public(IPv6Address(f"64:ff9b::{address}"))


@pytest.mark.parametrize("entry", ["example.org", "*.example.org", "localhost:8080", "1.2.3.4"])
def test_hosts_of_the_list(entry: str) -> None:
    assert is_host_entry(entry)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "*.",
        "https://a.example",
        "a.example/x",
        "A.example",
        ".a",
        "a:0",
        "a:x",
        "a b",
        "ü",
    ],
)
def test_what_can_be_no_host_is_told(entry: str) -> None:
    assert not is_host_entry(entry)
