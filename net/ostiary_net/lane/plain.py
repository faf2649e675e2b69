"""Which requests are plain: a scanner that understands less than h11 and nothing that h11 does not.

It takes one of four request lines to the byte, fields of printable ASCII whose names are letters, digits and
hyphens, CRLF, and a body whose length is said once. Whatever it takes, h11 takes too, and reads the same:
the tests prove it. What it does not take is nobody's error; it is somebody else's to read.
"""

import re
from dataclasses import dataclass
from typing import Final

from ostiary_core.http import token_service, userinfo
from ostiary_core.http.form import LONGEST_FORM
from ostiary_core.rate import Operation
from ostiary_net.front_door.rules import Fields

__all__ = ["PlainRequest", "Torn", "read_plain"]

_NAME: Final = rb"[A-Za-z0-9-]+"
_VALUE: Final = rb"[!-~](?:[ -~]*[!-~])?"
_FIELDS: Final = re.compile(rb"(" + _NAME + rb"): ?(" + _VALUE + rb")\r\n")
_LINES: Final = tuple(
    f"{method} {path}".encode()
    for method, path in [*(("POST", path) for path in token_service.PATHS), ("GET", userinfo.PATH)]
)
"""How a request line begins, up to the space before the version."""
_LONGEST_LINE: Final = max(map(len, _LINES))
_LONGEST_BEGINNING: Final = 16 * 1024
"""Bytes of a head whose end has not come: beyond, it is left to h11, which refuses it."""
_HEAD: Final = re.compile(
    rb"("
    + b"|".join(map(re.escape, _LINES))
    + rb") HTTP/1\.1\r\n((?:"
    + _NAME
    + rb": ?"
    + _VALUE
    + rb"\r\n)+)\r\n"
)
_LENGTH: Final = re.compile(rb"[0-9]{1,5}")

_NOT_PLAIN: Final = frozenset(
    {
        *(b"transfer-encoding", b"te", b"trailer", b"expect"),
        *(b"upgrade", b"http2-settings", b"proxy-connection"),
        b"cookie",  # a browser's own login session may ask for its profile by it
    }
)
"""Fields that change how a message is read or what else is done with it."""


@dataclass(frozen=True, slots=True)
class Torn:
    """What may become a plain request, and cannot be one before there are `end` bytes."""

    end: int


@dataclass(frozen=True, slots=True)
class PlainRequest:
    """One whole request; `operation` is None for user-info, `end` is where the next one begins."""

    operation: Operation | None
    path: str
    fields: Fields
    body: bytes
    end: int


def read_plain(data: bytes, start: int = 0) -> PlainRequest | Torn | None:
    """The request that begins at `start`; None where that is nothing plain.

    >>> read_plain(b"POST /api/oauth2/revoke HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 2\\r\\n\\r\\nhi").body
    b'hi'
    >>> read_plain(b"POST /api/oauth2/revoke HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 2\\r\\n\\r\\nh")
    Torn(end=66)
    >>> read_plain(b"GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
    """
    head_end = data.find(b"\r\n\r\n", start) + 4
    if head_end < 4:
        is_short = len(data) - start <= _LONGEST_BEGINNING
        may_become = is_short and _may_become_plain(data[start : start + _LONGEST_LINE])
        return Torn(len(data) + 1) if may_become else None
    head = _HEAD.fullmatch(data, start, head_end)
    if head is None:
        return None
    fields: Fields = []
    length: int | None = None
    hosts = 0
    for raw_name, value in _FIELDS.findall(head[2]):
        name = raw_name.lower()
        if name in _NOT_PLAIN:
            return None
        if name == b"content-length":
            if length is not None or _LENGTH.fullmatch(value) is None:
                return None
            length = int(value)
        elif name == b"host":
            hosts += 1
        elif name == b"connection" and value.lower() != b"keep-alive":
            return None
        fields.append((name, value))
    if hosts != 1:
        return None
    method, _, target = head[1].partition(b" ")
    path = target.decode("ascii")
    if method == b"GET":
        return PlainRequest(None, path, fields, b"", head_end) if length is None else None
    end = head_end + (length or 0)
    if end - head_end > LONGEST_FORM:
        return None
    if end > len(data):
        return Torn(end)
    return PlainRequest(token_service.PATHS[path], path, fields, data[head_end:end], end)


def _may_become_plain(beginning: bytes) -> bool:
    return any(line.startswith(beginning) or beginning.startswith(line) for line in _LINES)
