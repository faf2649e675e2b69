"""Writes answers as bytes: byte for byte what h11 writes for the same answer."""

from collections.abc import Callable
from time import time

from ostiary_core.http.answer import Answer, Headers


class AnswerWriter:
    """Writes the answers of one server.

    `common_fields` returns the fields that Hypercorn adds to every answer. They hold the date, so a head
    serves for one second.
    """

    def __init__(self, common_fields: Callable[[], list[tuple[bytes, bytes]]]) -> None:
        self._common_fields = common_fields
        self._second = -1
        self._heads: dict[tuple[int, Headers, bool], bytes] = {}
        """Heads of this second, as most answers have the head of another."""

    def write(self, answer: Answer, *, is_last: bool = False) -> bytes:
        r"""Return the bytes of an answer: status line, its fields, the common fields, and the body.

        >>> writer = AnswerWriter(lambda: [(b"date", b"today")])
        >>> writer.write(Answer(200, ((b"content-length", b"2"),), b"ok"))
        b'HTTP/1.1 200 \r\ncontent-length: 2\r\ndate: today\r\n\r\nok'

        The last answer of a connection has `Connection: close`.
        """
        second = int(time())
        if second != self._second:
            self._second = second
            self._heads.clear()
        kind = answer.status, answer.headers, is_last
        head = self._heads.get(kind)
        if head is None:
            head = self._heads[kind] = self._write_head(*kind)
        return head + answer.body

    def _write_head(self, status: int, headers: Headers, is_last: bool) -> bytes:
        close = ((b"connection", b"close"),) if is_last else ()
        fields = b"".join([b"%s: %s\r\n" % field for field in (*headers, *close, *self._common_fields())])
        return b"HTTP/1.1 %d \r\n%s\r\n" % (status, fields)
