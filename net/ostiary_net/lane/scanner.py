"""Scans plain heads: accepts only heads that h11 accepts, and fewer of them.

It takes one of four request lines to the byte, fields of printable ASCII whose names are letters, digits and
hyphens, CRLF, and a body with one length. What it accepts, h11 accepts and reads alike, as the tests prove;
what it does not accept, h11 reads or refuses.
"""

import re
from dataclasses import dataclass
from typing import Final

from ostiary_core.http import token_service, userinfo
from ostiary_core.http.form import LONGEST_FORM
from ostiary_net.front_door.limits import Fields

FIELD_NAME: Final = rb"[A-Za-z0-9-]+"
FIELD_VALUE: Final = rb"[!-~](?:[ -~]*[!-~])?"
_FIELDS: Final = re.compile(rb"(" + FIELD_NAME + rb"): ?(" + FIELD_VALUE + rb")\r\n")
_OPERATIONS: Final = (*(("POST", path) for path in token_service.PATHS), ("GET", userinfo.PATH))
_LONGEST_BEGINNING: Final = 16 * 1024
"""Most bytes of an unfinished head; a longer one is left to h11, which refuses it."""
_LENGTH: Final = re.compile(rb"[0-9]{1,5}")

NOT_PLAIN: Final = frozenset(
    {
        *(b"transfer-encoding", b"te", b"trailer", b"expect"),
        *(b"upgrade", b"http2-settings", b"proxy-connection"),
        b"cookie",  # a browser's own login session may ask for its profile by it
    }
)
"""Fields that change how a message is read, or what is done with it beside an answer."""


class RequestLines:
    """Holds the request lines of the four operations, behind the server's own `public_path`."""

    __slots__ = ("beginnings", "head")

    def __init__(self, public_path: str = "") -> None:
        self.beginnings = tuple(f"{method} {public_path}{path}".encode() for method, path in _OPERATIONS)
        """Beginning of each, up to the space before the version."""
        self.head = re.compile(
            rb"("
            + b"|".join(map(re.escape, self.beginnings))
            + rb") HTTP/1\.1\r\n((?:"
            + FIELD_NAME
            + rb": ?"
            + FIELD_VALUE
            + rb"\r\n)+)\r\n"
        )


_AT_ROOT: Final = RequestLines()


@dataclass(frozen=True, slots=True)
class PlainHead:
    """Request line and header fields, and the length of the body behind them."""

    method: str
    path: str
    fields: Fields
    length: int


def read_plain_head(head: bytes, lines: RequestLines = _AT_ROOT) -> PlainHead | None:
    r"""Read a complete head, with the empty line at its end; None if it is not plain.

    >>> read_plain_head(b"POST /api/oauth2/revoke HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n").length
    2
    >>> read_plain_head(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    """
    match = lines.head.fullmatch(head)
    if match is None:
        return None
    fields: Fields = []
    length: int | None = None
    hosts = 0
    for raw_name, value in _FIELDS.findall(match[2]):
        name = raw_name.lower()
        if name in NOT_PLAIN:
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
    if hosts != 1 or (length or 0) > LONGEST_FORM:
        return None
    method, _, path = match[1].decode("ascii").partition(" ")
    if method == "GET" and length is not None:
        return None
    return PlainHead(method, path, fields, length or 0)


def may_become_plain(beginning: bytes, lines: RequestLines = _AT_ROOT) -> bool:
    """Whether bytes that hold no whole head may be the beginning of a plain one.

    >>> may_become_plain(b"POST /api/oauth2/to"), may_become_plain(b"POST /api/iam")
    (True, False)
    """
    if len(beginning) > _LONGEST_BEGINNING:
        return False
    return any(line.startswith(beginning[: len(line)]) for line in lines.beginnings)
