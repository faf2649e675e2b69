"""HTTP answers as values: status, header fields and body, for any runtime to send."""

import json
from typing import Final

from ostiary_core.model.immutable import immutable

Headers = tuple[tuple[bytes, bytes], ...]
"""Header fields with lower-case names, in order, as ASGI has them."""

JSON: Final = b"application/json; charset=utf-8"
_NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")
"""Header field of every answer (READINGS 45)."""
NO_STORE: Final[Headers] = ((b"cache-control", b"no-store"), (b"pragma", b"no-cache"))
UNCODED: Final = (b"accept-encoding", b"identity")
"""Header field of a refused content coding: the one that is taken (RFC 9110 §12.5.3, §15.5.16)."""

to_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Encoder of values as JSON, made once: `json.dumps` makes one a call, and takes three times as long."""


@immutable()
class Answer:
    """An answer to send. The body may hold tokens, so its printed form leaves it out."""

    status: int
    headers: Headers
    """Header fields with lower-case names, `content-length` among them."""
    body: bytes

    def __repr__(self) -> str:
        return f"Answer(status={self.status}, {len(self.body)} bytes)"


def retry_after(seconds: int) -> tuple[bytes, bytes]:
    """Make the `Retry-After` header field (RFC 9110 §10.2.3)."""
    return (b"retry-after", str(seconds).encode("ascii"))


def json_answer(status: int, content: object, headers: Headers = NO_STORE) -> Answer:
    """Make an answer with a JSON body and its length."""
    return answer_from_json(status, to_json(content), headers)


def answer_from_json(status: int, text: str, headers: Headers = NO_STORE) -> Answer:
    """Make an answer from JSON text; a lone surrogate, which has no UTF-8, becomes `?`."""
    return answer_from_bytes(status, JSON, text.encode("utf-8", "replace"), headers)


def answer_from_bytes(status: int, content_type: bytes, body: bytes, headers: Headers = NO_STORE) -> Answer:
    """Make an answer with the header fields of every answer: content type, `nosniff`, length."""
    length = (b"content-length", str(len(body)).encode("ascii"))
    fields = ((b"content-type", content_type), length, _NO_SNIFFING, *headers)
    return Answer(status, fields, body)
