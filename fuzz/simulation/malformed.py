"""Malformed requests: the mistake in each, and the required refusals.

They come from strangers who send other callers' requests with one mistake in them (READINGS 14 to 17, 37 and
44). Each is refused before any decision, or by a decision that changes nothing.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final, NamedTuple

from fuzz.shared.calls import AT_THE_TOKEN_SERVICE, Call, Face, Verb
from fuzz.shared.http_client import FORM, JSON, Request, basic
from fuzz.shared.requests import request_of
from fuzz.shared.sheets import import_request_with_error

STRANGERS: Final = ("198.51.100.67", "2001:db8::67", "::ffff:198.51.100.68", "not an address: at all")
"""Source addresses of malformed requests, so that they use up no other caller's limit."""
_ANYWHERE: Final = {(429, "A0429"), (500, "A0500"), (503, "A0500")}

Refusals = frozenset[tuple[int, str]]
Spoil = Callable[[Request], Request]


class Mistake(NamedTuple):
    """One mistake in a request, and the allowed answers: status and error."""

    name: str
    spoil: Spoil
    answers: Refusals


def draw_mistake(call: Call, random: Random) -> tuple[str, Request, Refusals] | None:
    """Return the request of a call with a mistake, and the allowed refusals; None if no mistake fits."""
    if call.face is Face.SHEET:
        refusals = {(400, "A0401"), (403, "A0403")} | _OTHERS_LOGIN | _ANYWHERE
        return "an error in a cell", import_request_with_error(call, random), frozenset(refusals)
    mistakes = _mistakes_of(call.verb)
    if not mistakes:
        return None
    mistake = random.choice(mistakes)
    return mistake.name, mistake.spoil(request_of(call, by_form=False)), mistake.answers | _ANYWHERE


def _mistakes_of(verb: Verb) -> tuple[Mistake, ...]:
    if verb in AT_THE_TOKEN_SERVICE:
        return (*_IN_ANY_FORM, *_OF_CREDENTIALS, *(_OF_GRANTS if verb in _GRANTS else _OF_TOKENS))
    if verb in (Verb.APPROVE, Verb.DENY):
        return _IN_A_DECISION
    others = {Verb.USER_INFO: _AT_USERINFO, Verb.CHECK: _IN_A_QUERY, Verb.SIGN_IN: _AT_SIGN_IN}
    return others.get(verb, ())


# --- ways to spoil a request


def _append(text: bytes) -> Spoil:
    return lambda request: replace(request, body=request.body + text)


def _set_head(name: str, *values: str) -> Spoil:
    def spoil(request: Request) -> Request:
        others = [field for field in request.fields if field[0] != name]
        return replace(request, fields=[*others, *((name, each) for each in values)])

    return spoil


_set_types, _set_authorization = partial(_set_head, "Content-Type"), partial(_set_head, "Authorization")


def _leave_out(*names: str) -> Spoil:
    def spoil(request: Request) -> Request:
        pairs = request.body.decode().split("&")
        others = [pair for pair in pairs if pair.partition("=")[0] not in names]
        return replace(request, body="&".join(others).encode())

    return spoil


def _set_field(name: str, value: str) -> Spoil:
    spoil = _leave_out(name)
    return lambda request: _append(f"&{name}={value}".encode())(spoil(request))


def _set_method(method: str) -> Spoil:
    return lambda request: replace(request, method=method, body=b"")


def _change_target(change: Callable[[str], str]) -> Spoil:
    return lambda request: replace(request, target=change(request.target))


def _set_body(text: bytes) -> Spoil:
    return lambda request: replace(request, body=text)


def _list_mistakes(answers: Collection[tuple[int, str]], **spoils: Spoil) -> tuple[Mistake, ...]:
    return tuple(Mistake(name.replace("_", " "), spoil, frozenset(answers)) for name, spoil in spoils.items())


_CODED: Final = _set_head("Content-Encoding", "gzip")

# --- mistakes and their answers

_GRANTS: Final = (Verb.REDEEM, Verb.REFRESH, Verb.CLIENT_CREDENTIALS)
_NOT_THEM: Final = {(400, "invalid_client"), (401, "invalid_client")}
_NOT_FOR_THEM: Final = {(400, "unauthorized_client")}
_MALFORMED: Final = {(400, "invalid_request")}
_OTHERS_LOGIN: Final = {(401, "A1001"), (403, "A1004"), (403, "A1009")}
"""Allowed refusals of a login that has ended meanwhile, or whose password must be changed first."""

_IN_ANY_FORM: Final = (
    *_list_mistakes(
        _MALFORMED,
        a_field_twice=_append(b"&client_id=app&client_id=app"),
        an_array=_append(b"&code[]=1"),
        an_escape_that_is_none=_append(b"&more=%zz"),
        an_escape_of_no_character=_append(b"&more=%ff"),
        bytes_of_no_character=_append(b"&more=\xff"),
        a_null_character=_append(b"&more=%00"),
        no_type=_set_types(),
        two_types=_set_types(FORM, FORM),
        JSON_for_a_form=_set_types(JSON),
        another_charset_and_more_than_ASCII=lambda request: _append(b"&more=\xc3\xa9")(
            _set_types(f'{FORM}; charset="latin\\-1"')(request)
        ),
    ),
    *_list_mistakes({(415, "invalid_request")}, a_coded_body=_CODED),
    *_list_mistakes({(413, "invalid_request")}, too_much=_append(b"&more=" + b"x" * 2**16)),
    *_list_mistakes({(405, "invalid_request")}, another_method=_set_method("GET")),
    *_list_mistakes({(404, "A0404")}, another_path=_change_target(lambda target: f"{target}/more")),
)
_OF_CREDENTIALS: Final = (
    *_list_mistakes(
        _MALFORMED,
        credentials_in_two_ways=_append(b"&client_secret=x"),
        credentials_for_another=_append(b"&client_id=another"),
        Basic_twice=_set_authorization(basic("a", "b")[1], basic("a", "b")[1]),
    ),
    *_list_mistakes(
        {(401, "invalid_client")},
        Basic_without_a_secret=_set_authorization(basic("nobody", "")[1]),
        Basic_that_is_none=_set_authorization("Basic *nobody=="),
        Bearer_for_Basic=_set_authorization("Bearer nobody"),
        Basic_in_bytes=_set_authorization("Basic //79"),
    ),
    *_list_mistakes(_NOT_THEM, no_credentials=_set_authorization()),
)
_OF_GRANTS: Final = (
    *_list_mistakes(_MALFORMED | _NOT_THEM, no_grant=_leave_out("grant_type")),
    *_list_mistakes(
        {(400, "unsupported_grant_type")} | _NOT_THEM, another_grant=_set_field("grant_type", "password")
    ),
    *_list_mistakes(
        _MALFORMED | _NOT_THEM | _NOT_FOR_THEM,
        nothing_to_refresh=lambda request: _set_field("grant_type", "refresh_token")(
            _leave_out("refresh_token")(request)
        ),
    ),
)
_OF_TOKENS: Final = _list_mistakes(_MALFORMED | _NOT_THEM, no_token=_leave_out("token"))
_AT_USERINFO: Final = (
    *_list_mistakes(
        {(401, "A1001")},
        no_token=_set_authorization(),
        Basic_for_Bearer=_set_authorization(basic("a", "b")[1]),
        a_token_twice=_set_authorization("Bearer a", "Bearer a"),
        no_token_behind_Bearer=_set_authorization("Bearer"),
    ),
    *_list_mistakes({(405, "A0405")}, another_method=_set_method("POST")),
    *_list_mistakes({(404, "A0404")}, another_path=_change_target(lambda target: f"{target}/more")),
)
_IN_A_QUERY: Final = _list_mistakes(
    {(400, "A0401")} | _OTHERS_LOGIN,
    a_parameter_twice=_change_target(lambda url: f"{url}&state=1&state=1"),
    an_escape_of_no_character=_change_target(lambda url: f"{url}&state=%ff"),
    a_challenge_without_method=_change_target(lambda url: url.replace("code_challenge_method", "method")),
)
_IN_A_DECISION: Final = (
    *_list_mistakes(
        {(400, "A0401")} | _OTHERS_LOGIN,
        no_decision=_set_body(b'{"client_id": "app"}'),
        a_number_for_a_text=_set_body(b'{"client_id": 7, "approve": true}'),
        no_JSON=_set_body(b"{"),
        a_list=_set_body(b"[]"),
    ),
    *_list_mistakes({(415, "A0415")} | _OTHERS_LOGIN, a_form_for_JSON=_set_types(FORM), a_coded_body=_CODED),
)
_AT_SIGN_IN: Final = (
    *_list_mistakes(
        {(401, "A1002"), (429, "A1003")},
        a_name_that_nobody_has=_set_body(b'{"username": "nobody", "password": "a password"}'),
    ),
    *_list_mistakes({(400, "A0401")}, no_password=_set_body(b'{"username": "nobody"}')),
    *_list_mistakes({(403, "A0403")}, another_site=_set_head("Sec-Fetch-Site", "cross-site")),
    *_list_mistakes({(415, "A0415")}, a_coded_body=_CODED),
)
