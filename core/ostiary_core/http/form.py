"""Bodies in `application/x-www-form-urlencoded`, read strictly (READINGS 14)."""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

from ostiary_core.why import Why

__all__ = ["LONGEST_FORM", "header_values", "read_form"]

LONGEST_FORM: Final = 64 * 1024
"""Bytes; more is refused (READINGS 37)."""

_BROKEN_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_CONTENT_TYPE: Final = re.compile(
    rb"application/x-www-form-urlencoded\s*(?:;\s*charset\s*=\s*\"?utf-?8\"?\s*)?;?", re.IGNORECASE
)


def header_values(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """The values of a header field, in order; `name` in lower case."""
    return [value for key, value in headers if key == name]


def read_form(headers: Sequence[tuple[bytes, bytes]], body: bytes) -> Mapping[str, str] | Why:
    """The fields of a form, those without a value left out (RFC 6749 §3.2); else what is wrong with it.

    No field may come twice or look like an array or object; NUL is in no value.
    """
    if len(body) > LONGEST_FORM:
        return Why.BODY_TOO_LARGE
    content_types = header_values(headers, b"content-type")
    if len(content_types) != 1 or _CONTENT_TYPE.fullmatch(content_types[0].strip()) is None:
        return Why.NOT_FORM_ENCODED
    if _BROKEN_ESCAPE.search(body) is not None:
        return Why.FORM_UNDECODABLE
    fields: dict[str, str] = {}
    for piece in body.split(b"&"):
        if not piece:
            continue
        raw_name, _, raw_value = piece.partition(b"=")
        try:
            name, value = _decoded(raw_name), _decoded(raw_value)
        except UnicodeDecodeError:
            return Why.FORM_UNDECODABLE
        if "\x00" in name or "\x00" in value:
            return Why.FORM_UNDECODABLE
        if "[" in name or "]" in name:
            return Why.FIELD_NESTED
        if name in fields:
            return Why.FIELD_REPEATED
        fields[name] = value
    return {name: value for name, value in fields.items() if value}


def _decoded(raw: bytes) -> str:
    plain = raw.replace(b"+", b" ")
    return (unquote_to_bytes(plain) if b"%" in plain else plain).decode("utf-8")
