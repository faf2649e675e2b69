"""Finds where a request comes from: its peer, or what trusted proxies say of theirs (READINGS 30).

Each proxy appends its caller's address to `X-Forwarded-For`. Read from the right, an entry is as good as the
proxy that wrote it: the first address that is no trusted proxy is the source, and nothing left of it is
believed. An entry that is no address ends the reading at the proxy that wrote it.

A peer on a Unix socket has no address. As a process of this machine it counts as trusted if any proxy is.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ostiary_net.front_door.limits import Network

LOCAL = "local"
"""Source of a request over a Unix socket, if no proxy names a better one."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_trusted(peer: str | None, trusted: Sequence[Network]) -> bool:
    """Whether the peer is a trusted proxy, whose `X-Forwarded-*` is believed."""
    if not trusted:
        return False
    if peer is None:
        return True
    address = _parse_address(peer)
    return address is not None and _is_within(address, trusted)


def find_source(peer: str | None, forwarded_for: Sequence[bytes], trusted: Sequence[Network]) -> str:
    """Return the address that a request counts against; `forwarded_for` holds the field's values in order.

    >>> proxies = (ipaddress.ip_network("10.0.0.0/8"),)
    >>> find_source("10.0.0.1", [b"6.6.6.6, 192.0.2.7:4711, 10.0.0.2"], proxies)
    '192.0.2.7'
    >>> find_source("192.0.2.9", [b"6.6.6.6"], proxies)
    '192.0.2.9'
    """
    source = LOCAL if peer is None else _normalize_peer(peer)
    if not is_trusted(peer, trusted):
        return source
    for entry in _iterate_from_right(forwarded_for):
        address = _parse_entry(entry)
        if address is None:
            return source
        source = str(address)
        if not _is_within(address, trusted):
            return source
    return source


def find_nearest_entry(values: Iterable[bytes]) -> bytes | None:
    """Return the nearest proxy's entry in an `X-Forwarded-*` list; None for an empty list."""
    return next(_iterate_from_right(values), None)


def _iterate_from_right(values: Iterable[bytes]) -> Iterator[bytes]:
    for value in reversed(list(values)):
        for entry in reversed(value.split(b",")):
            if entry.strip():
                yield entry.strip()


def _parse_entry(entry: bytes) -> Address | None:
    """Parse an entry: IPv4 or IPv6, with or without brackets and port.

    `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`.
    """
    text = entry.decode("latin-1").strip('"')
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        if not bracket or not (port == "" or _is_port(port)):
            return None
        return _parse_address(host)
    host, _, port = text.partition(":")
    if port.isascii() and port.isdigit():
        return _parse_address(host)
    return _parse_address(text)


def _is_port(text: str) -> bool:
    return text.startswith(":") and text[1:].isascii() and text[1:].isdigit()


@lru_cache(maxsize=4_096)
def _parse_address(text: str) -> Address | None:
    """Parse an address without its zone; turn an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) into IPv4."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _normalize_peer(peer: str) -> str:
    """Return the peer's address in its canonical spelling."""
    if ":" not in peer:  # IPv4, which the system writes in one way
        return peer
    address = _parse_address(peer)
    return peer if address is None else str(address)


def _is_within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
