"""Judges a request's head: whether the application may see it, and whether a body follows.

In this order: HTTP/1 on a plain port; one framing of the body, never two (RFC 9112 §6.3); a target that is a
path; one Host in the form of RFC 3986; a path under the server's own; no more bytes than allowed.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from ostiary_net.front_door.limits import DoorLimits, Fields, Scope
from ostiary_net.front_door.source import find_nearest_entry, find_source, is_trusted
from ostiary_net.observability.request_ids import REQUEST_ID_FIELD, REQUEST_ID_PATTERN

_LONGEST_HOST: Final = 255
_LABEL: Final = rb"[A-Za-z0-9_-]{1,63}"
_HOST: Final = re.compile(
    rb"(?P<name>\[(?P<six>[0-9A-Fa-f:.]+)\]|" + _LABEL + rb"(?:\." + _LABEL + rb")*\.?)"
    rb"(?::(?P<port>[0-9]{0,5}))?"
)
_ABSOLUTE: Final = re.compile(rb"https?://(?P<authority>[^/?#@]+)(?P<rest>[/?].*)?", re.IGNORECASE)
_REQUEST_ID: Final = re.compile(REQUEST_ID_PATTERN)
_SPOKEN_ON_PLAIN_PORTS: Final = ("1.1", "1.0")


@dataclass(frozen=True, slots=True)
class HeadVerdict:
    """Verdict on a head: refusal status (0 = accepted), and whether a body follows."""

    status: int
    has_body: bool


def read_head(scope: Scope, limits: DoorLimits) -> HeadVerdict:
    """Judge a head, and write path, scheme, host and `ostiary.source` into the scope.

    Scheme and host become those that the user sees, the path what follows `public_path`. `X-Request-ID`
    stays only if a trusted proxy set it.
    """
    lengths: list[bytes] = []
    codings: list[bytes] = []
    hosts: list[bytes] = []
    forwarded_for: list[bytes] = []
    request_ids: list[bytes] = []
    size = len(scope["raw_path"]) + len(scope["query_string"])
    fields: Fields = scope["headers"]
    for name, value in fields:
        size += len(name) + len(value)
        if name == b"host":
            hosts.append(value)
        elif name == b"content-length":
            lengths.append(value)
        elif name == b"transfer-encoding":
            codings.append(value)
        elif name == b"x-forwarded-for":
            forwarded_for.append(value)
        elif name == REQUEST_ID_FIELD:
            request_ids.append(value)
    client = scope.get("client")
    peer: str | None = client[0] if client else None
    scope["ostiary.source"] = find_source(peer, forwarded_for, limits.trusted_proxies)
    if request_ids and not (is_request_id(request_ids) and is_trusted(peer, limits.trusted_proxies)):
        scope["headers"] = [field for field in fields if field[0] != REQUEST_ID_FIELD]
    version = scope["http_version"]
    declared = int(lengths[0]) if len(lengths) == 1 and lengths[0].isdigit() else 0
    has_body = bool(codings) or declared > 0 or version not in _SPOKEN_ON_PLAIN_PORTS
    status = _find_fault(scope, hosts, lengths, codings)
    if limits.public_path and not _strip_public_path(scope, limits) and status == 0:
        status = 404
    if status == 0 and size > limits.head_bytes:
        status = 431
    if status == 0 and declared > limits.body_limit(scope["path"]):
        status = 413
    if status == 0 and limits.trusted_proxies and is_trusted(peer, limits.trusted_proxies):
        status = _apply_forwarded_fields(scope)
    return HeadVerdict(status, has_body)


def is_request_id(values: list[bytes]) -> bool:
    """Whether there is one request id, in characters that cannot end a line of the log."""
    return len(values) == 1 and _REQUEST_ID.fullmatch(values[0]) is not None


def is_host(value: bytes) -> bool:
    """Whether a value is a Host: labels of a name, or an address, with or without a port (RFC 3986 §3.2.2).

    >>> is_host(b"id.example.com:8443"), is_host(b"[::1]:8000"), is_host(b"a..b"), is_host(b"x" * 64)
    (True, True, False, False)
    """
    match = _HOST.fullmatch(value)
    if match is None or len(match["name"]) > _LONGEST_HOST or int(match["port"] or 0) > 65_535:
        return False
    if match["six"] is None:
        return True
    try:
        ipaddress.IPv6Address(match["six"].decode("ascii"))
    except ValueError:
        return False
    return True


def _find_fault(scope: Scope, hosts: list[bytes], lengths: list[bytes], codings: list[bytes]) -> int:
    version: str = scope["http_version"]
    if version not in _SPOKEN_ON_PLAIN_PORTS:  # HTTP/2 by prior knowledge arrives as `PRI * HTTP/2.0`
        if scope["scheme"] != "https" and not version.startswith("1."):
            return 505
    elif codings and (lengths or version == "1.0"):  # request smuggling (RFC 9112 §6.1, §6.3)
        return 400
    if len(lengths) > 1 or len(hosts) > 1:
        return 400
    if not scope["raw_path"].startswith(b"/") and not _accept_absolute_form(scope, hosts):
        return 400
    if not hosts:  # required from 1.1 on (RFC 9112 §3.2)
        return 0 if version == "1.0" else 400
    return 0 if is_host(hosts[0]) else 400


def _accept_absolute_form(scope: Scope, hosts: list[bytes]) -> bool:
    """Accept a target in absolute form, whose authority replaces Host (RFC 9112 §3.2.2)."""
    match = _ABSOLUTE.fullmatch(scope["raw_path"])
    if match is None:
        return False
    raw_path = match["rest"] or b"/"
    scope["raw_path"] = raw_path
    scope["path"] = unquote(raw_path.decode("ascii"))
    _set_host(scope, match["authority"])
    hosts[:] = [match["authority"]]
    return True


def _strip_public_path(scope: Scope, limits: DoorLimits) -> bool:
    """Strip the server's own path; return False for a request without it.

    Nothing else does: behind it, a path has one spelling.
    """
    raw_path: bytes = scope["raw_path"]
    public_path = limits.public_path.encode("ascii")
    if raw_path != public_path and not raw_path.startswith(public_path + b"/"):
        return raw_path.decode("latin-1") in limits.paths_outside
    scope["raw_path"] = raw_path[len(public_path) :] or b"/"
    scope["path"] = scope["path"][len(public_path) :] or "/"
    return True


def _apply_forwarded_fields(scope: Scope) -> int:
    """Set scheme and host as the nearest proxy forwarded them; return 400 for an invalid host."""
    fields: Fields = scope["headers"]
    scheme = find_nearest_entry(value for name, value in fields if name == b"x-forwarded-proto")
    if scheme is not None and scheme.lower() in (b"http", b"https"):
        scope["scheme"] = scheme.lower().decode("ascii")
    host = find_nearest_entry(value for name, value in fields if name == b"x-forwarded-host")
    if host is not None:
        if not is_host(host):
            return 400
        _set_host(scope, host)
    return 0


def _set_host(scope: Scope, host: bytes) -> None:
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    scope["headers"] = [(b"host", host), *others]
