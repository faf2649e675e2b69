"""Readers of addresses: redirect URIs, return paths after sign-in, and the source of a request."""

import ipaddress
import re
import string
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

from fuzz.parsers.target import Target, require_same
from ostiary_core.model.client import is_redirect_uri
from ostiary_net.front_door.source import LOCAL, find_source
from ostiary_web.pages.addresses import local_path

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# --- redirect URIs


def judge_redirect_uri(data: bytes) -> None:
    """Judge a redirect URI by the rule of "Client", `redirectUris`, by character, without a library."""
    text = data.decode("utf-8", "replace")
    require_same(is_redirect_uri(text), _may_be_registered(text), text)


def _may_be_registered(text: str) -> bool:
    if len(text) > 2_000 or any(not "!" <= character <= "~" or character in "#*\\" for character in text):
        return False
    scheme, colon, rest = text.partition("://")
    if not colon or scheme not in ("https", "http"):
        return False
    authority = re.split("[/?]", rest, maxsplit=1)[0]
    if "@" in authority or _has_answer_parameter(rest):
        return False
    if scheme == "http":
        host, colon, port = authority.partition(":")
        plain = not colon or (_is_port(port) and not port.startswith("0"))
        return host in ("localhost", "127.0.0.1") and plain
    if authority.startswith("["):
        host, bracket, rest = authority[1:].partition("]")
        is_end = rest in ("", ":") or (rest[0] == ":" and _is_port(rest[1:]))
        return bool(bracket) and _is_literal(host) and is_end
    host, colon, port = authority.partition(":")
    return _is_name_or_address(host) and (not port or _is_port(port))


def _has_answer_parameter(rest: str) -> bool:
    """Whether the query has a parameter that an answer adds (RFC 6749 §4.1.2, RFC 9207)."""
    added = (b"code", b"state", b"error", b"error_description", b"error_uri", b"iss")
    names = [pair.split("=")[0] for pair in rest.partition("?")[2].split("&")]
    return any(unquote_to_bytes(name) in added for name in names)


def _is_name_or_address(host: str) -> bool:
    labels = unquote_to_bytes(host).decode("latin-1").removesuffix(".").split(".")
    last = labels[-1]
    is_number = last.isdecimal() or (last[:2] in ("0x", "0X") and not last[2:].strip(string.hexdigits))
    if is_number:
        are_bytes = (each.isdecimal() and str(int(each)) == each and int(each) < 256 for each in labels)
        return len(labels) == 4 and all(are_bytes)
    letters = set(string.ascii_letters + string.digits + "-_")
    return len(".".join(labels)) <= 253 and all(
        0 < len(label) < 64 and "-" not in (label[0], label[-1]) and set(label) <= letters for label in labels
    )


def _is_port(text: str) -> bool:
    return bool(text) and all(each in "0123456789" for each in text) and 0 < int(text) <= 65_535


def _is_literal(host: str) -> bool:
    """Whether a bracketed host is a plain IPv6 address (RFC 3986 §3.2.2), without a future form or zone."""
    if "%" in host:
        return False
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


# --- return paths


def judge_return_path(data: bytes) -> None:
    """Judge a return path: after signing in, the browser stays on this server (READINGS 27)."""
    text = data.decode("utf-8", "surrogateescape")
    path = local_path(text)
    assert path in (text, "/"), "the path was changed"
    assert not _leads_away(path), f"a browser goes elsewhere with {path!r}"
    assert urlsplit(urljoin("https://id.example/login", path)).netloc == "id.example"
    assert all("!" <= character <= "~" for character in path), "it cannot stand in a header field"
    if re.fullmatch(r"/(?:[A-Za-z0-9._~-][A-Za-z0-9._~/?&=%:@-]*)?", text):
        require_same(path, text, text)


def _leads_away(reference: str) -> bool:
    """Whether a browser resolves the path to another host, by the URL standard's steps up to the host."""
    kept = reference.strip("".join(map(chr, range(0x21))))
    kept = re.sub("[\t\n\r]", "", kept).replace("\\", "/")
    return kept.startswith("//") or re.match("[A-Za-z][A-Za-z0-9+.-]*:", kept) is not None


# --- X-Forwarded-For: the peer, the trusted networks, then one field a line


def judge_source(data: bytes) -> None:
    """Judge the source: the first untrusted address from the right; those left of it are ignored."""
    lines = data.split(b"\n")
    peer_text = lines[0].decode("latin-1")
    # As a socket gives it: only an address with colons has a zone.
    peer = peer_text if _plain_address(peer_text) and (":" in peer_text or "%" not in peer_text) else None
    trusted: list[Network] = []
    for text in (lines[1] if len(lines) > 1 else b"").decode("latin-1").split(","):
        try:
            trusted.append(ipaddress.ip_network(text.strip()))
        except ValueError:
            continue
    values = lines[2:]
    read = find_source(peer, values, trusted)
    require_same(read, _source(peer, values, trusted), (peer, trusted, values))
    if read != LOCAL and not _is_within(read, trusted):
        require_same(find_source(peer, [b"203.0.113.9, x", *values], trusted), read, (peer, trusted, values))


def _source(peer: str | None, values: Sequence[bytes], trusted: Sequence[Network]) -> str:
    chain = [entry.strip() for value in values for entry in value.split(b",") if entry.strip()]
    source = LOCAL if peer is None else str(_plain_address(peer))
    believed = bool(trusted) and (peer is None or _is_within(source, trusted))
    while believed and chain:
        address = _written_address(chain.pop().decode("latin-1"))
        if address is None:
            break
        source = str(address)
        believed = _is_within(source, trusted)
    return source


def _written_address(entry: str) -> object:
    entry = entry.strip('"')
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::[0-9]+)?", entry)
    if bracketed is not None:
        return _plain_address(bracketed[1])
    with_port = re.fullmatch(r"([^:\[]*):[0-9]+", entry)
    return _plain_address(with_port[1] if with_port is not None else entry)


def _plain_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text.split("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return address if mapped is None else mapped


def _is_within(text: str, networks: Sequence[Network]) -> bool:
    return any(ipaddress.ip_address(text) in network for network in networks)


TARGETS: Final = (
    Target("redirect-uri", judge_redirect_uri),
    Target("return-path", judge_return_path),
    Target("source", judge_source),
)
