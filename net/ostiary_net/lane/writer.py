"""Writes answers as bytes: byte for byte what h11 writes for the same answer."""

from collections.abc import Callable
from time import time

from ostiary_core.http.answer import Answer, Headers


class AnswerWriter:
    """Writes the answers of one server.

    `common_fields` returns the fields of every answer. They hold the date, so a head serves for one second.
    `keep_alive_fields` are those of an answer that another may follow.
    """

    def __init__(
        self, common_fields: Callable[[], list[tuple[bytes, bytes]]], keep_alive_fields: Headers
    ) -> None:
        self._common_fields = common_fields
        self._keep_alive_fields = keep_alive_fields
        self._second = -1
        self._heads: dict[tuple[int, Headers, bool], bytes] = {}
        """Heads of this second, as most answers have the head of another."""

    def write(self, answer: Answer, *, is_last: bool = False) -> bytes:
        r"""Return the bytes of an answer: status line, its fields, the common fields, and the body.

        >>> writer = AnswerWriter(lambda: [(b"date", b"today")], ((b"connection", b"keep-alive"),))
        >>> writer.write(Answer(200, ((b"content-length", b"2"),), b"ok"))
        b'HTTP/1.1 200 \r\ncontent-length: 2\r\ndate: today\r\nconnection: keep-alive\r\n\r\nok'

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
        common = self._common_fields()
        fields = (*headers, (b"connection", b"close"), *common)
        if not is_last:
            fields = (*headers, *common, *self._keep_alive_fields)
        return b"HTTP/1.1 %d \r\n%s\r\n" % (status, b"".join([b"%s: %s\r\n" % field for field in fields]))
