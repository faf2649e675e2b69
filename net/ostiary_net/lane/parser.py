"""Parses the bytes of one connection into plain requests, without any I/O.

    parser.feed(data)
    match parser.next_event():
        case Request() as request: ...                    # answered before the next one is read
        case Need.HANDOVER: data = parser.take_unread()   # for h11: anything else
        case need: ...                                    # more bytes; of a request that has begun, soon

Heads and bodies that come in pieces, and requests one behind the other, are buffered here. A head that came
before its body is read once.
"""

from enum import Enum
from typing import Final

from ostiary_core.http.endpoint import Request
from ostiary_net.lane.heads import HeadReader, PlainRequestHead
from ostiary_net.lane.scanner import may_become_plain

_CARRIAGE_RETURN: Final = 13


class Need(Enum):
    """The parser's need if no request is complete."""

    REQUEST = "the next one, of which nothing is there"
    HEAD = "the rest of its head"
    BODY = "the rest of its body"
    HANDOVER = "another reader"


class RequestParser:
    """Parses the requests of one connection from `client`."""

    __slots__ = ("_body_start", "_client", "_data", "_head", "_heads", "_start", "_wanted")

    def __init__(self, heads: HeadReader, client: tuple[str, int] | None) -> None:
        self._heads = heads
        self._client = client
        self._data = b""
        self._start = 0
        """Index at which the next request begins."""
        self._head: PlainRequestHead | None = None
        """Head of the next request, if only its body is still to come."""
        self._body_start = 0
        self._wanted = 0
        """Count of bytes below which there is nothing new to parse."""

    @property
    def has_unread(self) -> bool:
        """Whether there are bytes of a request that was not returned."""
        return self._start < len(self._data)

    def feed(self, data: bytes) -> None:
        """Add the next bytes of the connection."""
        if self._start:
            self._data = self._data[self._start :]
            self._wanted -= self._start
            self._body_start -= self._start
            self._start = 0
        self._data += data

    def next_event(self) -> Request | Need:
        """Return the next request once it is complete, else what is needed for it."""
        data, head = self._data, self._head
        begin = self._start
        if begin == len(data):
            return Need.REQUEST
        if data[begin] == _CARRIAGE_RETURN:
            # One empty line before a request counts for nothing (RFC 9112 §2.2). It is kept, so that h11, to
            # which all may be handed over, ignores no second one.
            if b"\r\n".startswith(data[begin : begin + 3]):
                return Need.REQUEST
            if data.startswith(b"\r\n", begin):
                begin += 2
        if len(data) < self._wanted:
            return Need.HEAD if head is None else Need.BODY
        if head is None:
            self._body_start = data.find(b"\r\n\r\n", begin) + 4
            if self._body_start < 4:
                if not may_become_plain(data[begin:], self._heads.lines):
                    return Need.HANDOVER
                self._wanted = len(data) + 1
                return Need.HEAD
            head = self._heads.read(data[begin : self._body_start], self._client)
            if head is None:
                return Need.HANDOVER
        end = self._body_start + head.length
        if end > len(data):
            self._head, self._wanted = head, end
            return Need.BODY
        self._head, self._start = None, end
        body = data[self._body_start : end]
        return Request(head.method, head.path, head.fields, head.source, body, head.sender)

    def take_unread(self) -> bytes:
        """Return the bytes from the next request on, and forget them."""
        data = self._data[self._start :]
        self._data, self._start, self._head, self._wanted = b"", 0, None, 0
        return data
