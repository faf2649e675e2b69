"""Read bodies in `application/x-www-form-urlencoded`, strictly (READINGS 14)."""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final
from urllib.parse import unquote_to_bytes

from ostiary_core.model.why import Why

LONGEST_FORM: Final = 64 * 1024
"""Most bytes of a form (READINGS 37)."""

_KNOWN: Final = frozenset(
    {
        *("client_id", "client_secret"),
        *("grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "scope"),
        *("token", "token_type_hint"),
    }
)
"""Fields of the token service; any other is ignored, even if repeated (RFC 6749 §3.2)."""

_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_FORM: Final = b"application/x-www-form-urlencoded"
_UTF_8: Final = (b"utf-8", b"utf8")


class FormEncoding(Enum):
    """The bytes that a form may have, by the charset that its type names."""

    UTF_8 = "utf-8"
    ASCII = "ascii"
    """Under any other charset: those of ASCII are the same in all that clients use (READINGS 62)."""


_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED: Final = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
_PARAMETER: Final = re.compile(
    rb";[ \t]*(?:(" + _TOKEN + rb")[ \t]*=[ \t]*(" + _TOKEN + rb"|" + _QUOTED + rb")[ \t]*)?"
)
"""Parameter of a media type (RFC 9110 §5.6.6), which may be empty, with white space around the sign."""
_PARAMETERS: Final = re.compile(rb"(?:" + _PARAMETER.pattern + rb")*")


def header_values(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """Return the values of a header field, in order; `name` in lower case."""
    return [value for key, value in headers if key == name]


def form_encoding(headers: Sequence[tuple[bytes, bytes]]) -> FormEncoding | None:
    """Return the encoding that the one Content-Type gives a form; None if it is no form (READINGS 44)."""
    match header_values(headers, b"content-type"):
        case [content_type]:
            return _form_encoding(content_type)
        case _:
            return None


def _form_encoding(content_type: bytes) -> FormEncoding | None:
    media_type, semicolon, more = content_type.strip(b" \t").partition(b";")
    parameters = semicolon + more
    if media_type.rstrip(b" \t").lower() != _FORM or _PARAMETERS.fullmatch(parameters) is None:
        return None
    is_utf_8 = all(
        _unquote(value).lower() in _UTF_8
        for name, value in _PARAMETER.findall(parameters)
        if name.lower() == b"charset"
    )
    return FormEncoding.UTF_8 if is_utf_8 else FormEncoding.ASCII


def has_content_coding(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether a body is compressed or coded otherwise (RFC 9110 §8.4); nothing here undoes that.

    >>> has_content_coding([(b"content-encoding", b"gzip")])
    True
    >>> has_content_coding([(b"content-encoding", b"identity")])
    False
    """
    named = b",".join(header_values(headers, b"content-encoding")).split(b",")
    return any(coding.strip(b" \t").lower() not in (b"", b"identity") for coding in named)


def _unquote(value: bytes) -> bytes:
    """Remove the quotes of a value and the backslashes inside them (RFC 9110 §5.6.4)."""
    return re.sub(rb"\\(.)", rb"\1", value[1:-1]) if value.startswith(b'"') else value


def read_form(encoding: FormEncoding | None, body: bytes) -> Mapping[str, str] | Why:
    """Read the known fields of a form body that are not empty (RFC 6749 §3.2); else return the reason.

    Body and decoded escapes are UTF-8 each. No field is repeated, nested or holds NUL.
    """
    if len(body) > LONGEST_FORM:
        return Why.BODY_TOO_LARGE
    if encoding is None or (encoding is FormEncoding.ASCII and not body.isascii()):
        return Why.NOT_FORM_ENCODED
    try:
        text = body.decode()
        pieces = [piece.partition("=") for piece in text.split("&")]
        # Most bodies escape nothing: tokens, codes and secrets have no character that needs it.
        if "%" in text or "+" in text:
            if _BROKEN_ESCAPE.search(text) is not None:
                return Why.FORM_UNDECODABLE
            pieces = [(_decode(name), sign, _decode(value)) for name, sign, value in pieces]
    except UnicodeDecodeError:
        return Why.FORM_UNDECODABLE
    fields: dict[str, str] = {}
    for name, _, value in pieces:
        if "\x00" in name or "\x00" in value:
            return Why.FORM_UNDECODABLE
        # Parsers differ in what such a name means (READINGS 14).
        if "[" in name or "]" in name:
            return Why.FIELD_NESTED
        if name in fields:
            return Why.FIELD_REPEATED
        if name in _KNOWN:
            fields[name] = value
    return fields if all(fields.values()) else {name: value for name, value in fields.items() if value}


def _decode(raw: str) -> str:
    # In a code exchange only the redirect URI has anything to decode.
    if "%" not in raw and "+" not in raw:
        return raw
    return unquote_to_bytes(raw.replace("+", " ")).decode()
