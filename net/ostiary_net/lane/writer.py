"""Writes answers as bytes: byte for byte what h11 writes for the same answer."""

from collections.abc import Callable
from time import time

from ostiary_core.http.answer import Answer

__all__ = ["AnswerWriter"]


class AnswerWriter:
    """Writes the answers of one server.

    `common_fields` gives the fields that Hypercorn adds to every answer; they hold the date, so they are
    asked for once a second. `seconds` is the time.
    """

    def __init__(
        self, common_fields: Callable[[], list[tuple[bytes, bytes]]], seconds: Callable[[], float] = time
    ) -> None:
        self._common_fields = common_fields
        self._seconds = seconds
        self._second = -1
        self._common = b""

    def write(self, answer: Answer, *, is_last: bool = False) -> bytes:
        r"""The bytes of an answer: status line, its fields, the common fields, and the body.

        >>> writer = AnswerWriter(lambda: [(b"date", b"today")])
        >>> writer.write(Answer(200, ((b"content-length", b"2"),), b"ok"))
        b'HTTP/1.1 200 \r\ncontent-length: 2\r\ndate: today\r\n\r\nok'

        The last answer of a connection says so.
        """
        second = int(self._seconds())
        if second != self._second:
            self._second = second
            self._common = b"".join([b"%s: %s\r\n" % field for field in self._common_fields()]) + b"\r\n"
        fields = b"".join([b"%s: %s\r\n" % field for field in answer.headers])
        if is_last:
            fields += b"connection: close\r\n"
        return b"HTTP/1.1 %d \r\n%s%s%s" % (answer.status, fields, self._common, answer.body)
