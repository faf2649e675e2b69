"""Readers of a request: form bodies, Basic, and the token lane's scanner."""

import re
import string
from typing import Final
from urllib.parse import parse_qsl

import h11

from fuzz.parsers.target import Target, require_same
from ostiary_core.events import ClientCredentials
from ostiary_core.http.endpoint import Request
from ostiary_core.http.form import LONGEST_FORM, FormEncoding, form_encoding, read_form
from ostiary_core.http.sender import read_basic
from ostiary_core.model.why import Why
from ostiary_core.texts import LANGUAGES
from ostiary_net.front_door.limits import DoorLimits
from ostiary_net.lane.heads import HeadReader
from ostiary_net.lane.parser import Need, RequestParser
from ostiary_net.lane.scanner import read_plain_head

FORM: Final = b"application/x-www-form-urlencoded"
TOKEN_CHARACTERS: Final = "!#$%&'*+-.^_`|~" + string.digits + string.ascii_letters
_FIELDS_OF_FORMS: Final = (
    *("grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "scope"),
    *("client_id", "client_secret", "token", "token_type_hint"),
)
BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

# --- forms: the first line is the content type, the rest the body


def judge_form(data: bytes) -> None:
    """Judge a form: the standard library reads the same fields, and READINGS 14 decides the refusals."""
    content_type, _, body = data.partition(b"\n")
    read = read_form(form_encoding([(b"content-type", content_type)]), body)
    charset = _charset(content_type)
    if len(body) <= LONGEST_FORM and (charset is None or (charset == "another" and not body.isascii())):
        assert read is Why.NOT_FORM_ENCODED, f"{body!r} is taken for a form of {content_type!r}"
        return
    expected = _fields(body)
    if isinstance(expected, str):
        assert isinstance(read, Why), f"{body!r} is taken though {expected}"
    else:
        require_same(read, expected, body)


def _fields(body: bytes) -> dict[str, str] | str:
    if len(body) > LONGEST_FORM:
        return "it is too long"
    try:
        body.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8 as it came"  # a character is escaped as a whole or not at all
    for place, byte in enumerate(body):
        if byte == ord("%") and not re.fullmatch(rb"[0-9a-fA-F]{2}", body[place + 1 : place + 3]):
            return "an escape is broken"
    escaped = re.sub(rb"[^\x00-\x7f]", lambda match: b"%%%02X" % match[0][0], body)
    try:
        pairs = parse_qsl(escaped.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        return "its escapes are not UTF-8"
    names = [name for name, _ in pairs]
    if any("\0" in name + value for name, value in pairs):
        return "NUL is in it"
    if any(bracket in name for name in names for bracket in "[]"):
        return "a field is an array or object"
    if any(names.count(name) > 1 for name in _FIELDS_OF_FORMS):
        return "a field is repeated"
    return {name: value for name, value in pairs if value and name in _FIELDS_OF_FORMS}


# --- content types of forms


def judge_form_type(data: bytes) -> None:
    """Judge a form's content type by the grammar of RFC 9110 §8.3.1, byte for byte.

    Another charset allows only ASCII.
    """
    encodings = {None: None, FormEncoding.UTF_8: "UTF-8", FormEncoding.ASCII: "another"}
    require_same(encodings[form_encoding([(b"content-type", data)])], _charset(data), data)


def _charset(value: bytes) -> str | None:
    """Return the charset of a form: UTF-8 if none is named; None if the value is not a form's type."""
    media_type, *parameters = (part.strip(b" \t") for part in _parts(value))
    pairs = [_pair_of(parameter) for parameter in parameters if parameter]
    if media_type.lower() != FORM or None in pairs:
        return None
    charsets = {pair[1].lower() for pair in pairs if pair is not None and pair[0].lower() == b"charset"}
    return "UTF-8" if charsets <= {b"utf-8", b"utf8"} else "another"


def _parts(value: bytes) -> list[bytes]:
    """Return the parts between the semicolons outside quotation marks."""
    parts, is_quoted, is_escaped = [b""], False, False
    for byte in value:
        if byte == ord(";") and not is_quoted:
            parts.append(b"")
            continue
        parts[-1] += bytes([byte])
        if byte == ord('"') and not is_escaped:
            is_quoted = not is_quoted
        is_escaped = is_quoted and byte == ord("\\") and not is_escaped
    return parts


def _pair_of(parameter: bytes) -> tuple[bytes, bytes] | None:
    name, sign, text = parameter.partition(b"=")
    name, text = name.rstrip(b" \t"), text.lstrip(b" \t")
    value = _quoted_text(text) if text.startswith(b'"') else text if _is_token(text) else None
    if not sign or not _is_token(name) or value is None:
        return None
    return name, value


def _is_token(text: bytes) -> bool:
    return text != b"" and all(chr(byte) in TOKEN_CHARACTERS for byte in text)


def _quoted_text(text: bytes) -> bytes | None:
    inside, value = list(text[1:]), b""
    while inside:
        byte = inside.pop(0)
        if byte == ord('"'):
            return None if inside else value
        if byte == ord("\\"):
            if not inside:
                return None
            byte = inside.pop(0)
        if byte != ord("\t") and (byte < ord(" ") or byte == 0x7F):
            return None
        value += bytes([byte])
    return None


# --- Basic


def judge_basic(data: bytes) -> None:
    """Judge Basic credentials: base64 decoded by hand, divided at the first colon (READINGS 17)."""
    read = read_basic([(b"authorization", data)])
    expected = _pair(data)
    if not isinstance(read, ClientCredentials):
        require_same(None, expected, data)
        return
    require_same((read.client_id, read.secret.reveal()), expected, data)


def _pair(value: bytes) -> tuple[str, str] | None:
    if value[:6].lower() != b"basic ":
        return None
    encoded = value[6:].strip(b" \t\n\r\x0b\f")
    padding = len(encoded) - len(encoded.rstrip(b"="))
    letters = encoded[: len(encoded) - padding]
    if len(encoded) % 4 or padding > 2 or any(letter not in BASE64 for letter in letters):
        return None
    bits = "".join(f"{BASE64.index(letter):06b}" for letter in letters)
    whole = len(bits) // 8
    try:
        text = bytes(int(bits[8 * each : 8 * each + 8], 2) for each in range(whole)).decode("utf-8")
    except UnicodeDecodeError:
        return None
    if ":" not in text:
        return None
    client_id, secret = text.split(":", 1)
    return (client_id, secret) if client_id and secret and "\0" not in client_id else None


# --- the lane


def judge_lane(data: bytes) -> None:
    """Judge the lane's scanner: h11 accepts every head that it accepts, and reads the same head and body.

    Whether the bytes come in one piece or in two, the result is the same.
    """
    whole = _read_pieces(data)
    for cut in range(1, len(data), len(data) // 16 + 1):
        require_same(_read_pieces(data[:cut], data[cut:]), whole, data)
    if not data.startswith((b"\r", b"\n")):  # one empty line before a request is ignored (RFC 9112 §2.2)
        require_same(_read_pieces(b"\r", b"\n" + data)[:2], whole[:2], data)
    requests, start = iter(whole[0]), 0
    while True:
        begin = start + 2 if data[start : start + 2] == b"\r\n" else start  # one empty line is ignored
        head_end = data.find(b"\r\n\r\n", begin) + 4
        found = read_plain_head(data[begin:head_end]) if head_end >= 4 else None
        if found is None or head_end + found.length > len(data):
            break
        end = head_end + found.length
        connection = h11.Connection(h11.SERVER)
        connection.receive_data(data[begin:])
        request = connection.next_event()
        assert isinstance(request, h11.Request), "h11 sees no request"
        body = b""
        while isinstance(event := connection.next_event(), h11.Data):
            body += bytes(event.data)
        assert isinstance(event, h11.EndOfMessage), "h11 sees no end"
        read = (found.method.encode(), found.path.encode(), [*found.fields], data[head_end:end], data[end:])
        by_h11 = (request.method, request.target, [*request.headers], body, connection.trailing_data[0])
        require_same(read, by_h11, data)
        assert connection.their_state is h11.DONE, "h11 would not keep the connection"
        request_read = next(requests, None)
        if request_read is None:
            break  # the front door refuses it
        require_same(request_read, (found.method, found.path, body), data)
        start = end
    require_same((list(requests), whole[2]), ([], data[start:]), data)


def _read_pieces(*pieces: bytes) -> tuple[list[tuple[str, str, bytes]], Need, bytes]:
    """Return the requests of a connection, its need after them, and the remaining bytes."""
    parser, requests, needed = RequestParser(HeadReader(_DOOR, LANGUAGES), None), [], Need.REQUEST
    for piece in pieces:
        parser.feed(piece)
        while isinstance(event := parser.next_event(), Request):
            requests.append((event.method, event.path, event.body))
        needed = event
    return requests, needed, parser.take_unread()


_DOOR: Final = DoorLimits(body_limit=lambda path: 1_000, refusal=lambda status, scope, trace_id: ([], b""))

TARGETS: Final = (
    Target("form", judge_form),
    Target("form-type", judge_form_type),
    Target("basic", judge_basic),
    Target("lane", judge_lane),
)
