"""Where a request comes from: the peer, or what proxies that are trusted say of theirs (READINGS 30).

Every proxy appends the address it was asked from to `X-Forwarded-For`. Read from the right, each entry is
as good as the proxy that wrote it: the first address that is not a trusted proxy is the source, and nothing
left of it can be believed. An entry that is no address ends the reading at the proxy that wrote it.

A peer on a Unix socket has no address. It is a process of this machine that was given the socket, so it
counts as trusted where any proxy is.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ostiary_net.front_door.rules import Network

LOCAL = "local"
"""The source of a request over a Unix socket of which nothing better is known."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_trusted(peer: str | None, trusted: Sequence[Network]) -> bool:
    """Whether the peer is a trusted proxy, so that what it says of other addresses is believed."""
    if not trusted:
        return False
    if peer is None:
        return True
    address = _address(peer)
    return address is not None and _within(address, trusted)


def find_source(peer: str | None, forwarded_for: Sequence[bytes], trusted: Sequence[Network]) -> str:
    """The address that a request counts against: the peer's, or what trusted proxies say of theirs.

    `forwarded_for` has the values of `X-Forwarded-For` in their order.

    >>> proxies = (ipaddress.ip_network("10.0.0.0/8"),)
    >>> find_source("10.0.0.1", [b"6.6.6.6, 192.0.2.7:4711, 10.0.0.2"], proxies)
    '192.0.2.7'
    >>> find_source("192.0.2.9", [b"6.6.6.6"], proxies)
    '192.0.2.9'
    """
    source = LOCAL if peer is None else _plain(peer)
    if not is_trusted(peer, trusted):
        return source
    for entry in _from_the_right(forwarded_for):
        address = _entry_address(entry)
        if address is None:
            return source
        source = str(address)
        if not _within(address, trusted):
            return source
    return source


def nearest_entry(values: Iterable[bytes]) -> bytes | None:
    """The nearest proxy's entry in an `X-Forwarded-*` field that is a list; None where it wrote none."""
    return next(_from_the_right(values), None)


def _from_the_right(values: Iterable[bytes]) -> Iterator[bytes]:
    for value in reversed(list(values)):
        for entry in reversed(value.split(b",")):
            if entry.strip():
                yield entry.strip()


def _entry_address(entry: bytes) -> Address | None:
    """The address in an entry: IPv4 or IPv6, with or without brackets and port.

    `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`.
    """
    text = entry.decode("latin-1").strip('"')
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        if not bracket or not (port == "" or _is_port(port)):
            return None
        return _address(host)
    host, _, port = text.partition(":")
    if port.isascii() and port.isdigit():
        return _address(host)
    return _address(text)


def _is_port(text: str) -> bool:
    return text.startswith(":") and text[1:].isascii() and text[1:].isdigit()


@lru_cache(maxsize=4_096)
def _address(text: str) -> Address | None:
    """Parse an address without its zone; an IPv4 address that was mapped into IPv6 becomes IPv4 again."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _plain(peer: str) -> str:
    """The peer's address in its one spelling; an address without a colon has no other."""
    if ":" not in peer:
        return peer
    address = _address(peer)
    return peer if address is None else str(address)


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
