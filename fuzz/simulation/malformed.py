"""Requests that somebody spoils: what is wrong with each, and what it must be answered.

They come from strangers who send what others sent, with one mistake in it (READINGS 14 to 17, 37 and 44).
Each is refused before anything is decided, or by a decision that changes nothing.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

from fuzz.shared.calls import AT_THE_TOKEN_SERVICE, Call, Verb
from fuzz.shared.http_client import FORM, JSON, Request, basic
from fuzz.simulation.requests import request_of

STRANGERS: Final = ("198.51.100.67", "2001:db8::67", "::ffff:198.51.100.68", "not an address: at all")
"""Where these come from, so that they use up nobody else's minute."""
_ANYWHERE: Final = {(429, "A0429"), (500, "A0500"), (503, "A0500")}

Refusals = frozenset[tuple[int, str]]
Spoil = Callable[[Request], Request]


class Mistake(NamedTuple):
    """One thing that is wrong with a request, and the answers that it may get: status and error."""

    name: str
    spoil: Spoil
    answers: Refusals

    def made_in(self, request: Request) -> tuple[Request, Refusals]:
        """The request with the mistake, and how it may be answered."""
        return self.spoil(request), self.answers | _ANYWHERE


def mistaken(call: Call, random: Random) -> tuple[str, Request, Refusals] | None:
    """The request of a call with a mistake in it; None where there is none to be made."""
    kinds = _mistakes_of(call.verb)
    if not kinds:
        return None
    mistake = random.choice(random.choice(kinds))
    return mistake.name, *mistake.made_in(request_of(call, by_form=False))


def _mistakes_of(verb: Verb) -> tuple[tuple[Mistake, ...], ...]:
    if verb in AT_THE_TOKEN_SERVICE:
        return _IN_ANY_FORM, _OF_CREDENTIALS, _OF_GRANTS if verb in _GRANTS else _OF_TOKENS
    match verb:
        case Verb.USER_INFO:
            return (_AT_USERINFO,)
        case Verb.CHECK:
            return (_IN_A_QUERY,)
        case Verb.SIGN_IN:
            return (_AT_SIGN_IN,)
        case Verb.APPROVE | Verb.DENY:
            return (_IN_A_DECISION,)
        case _:
            return ()


# --- ways to spoil a request


def _more(text: bytes) -> Spoil:
    return lambda request: replace(request, body=request.body + text)


def _typed(*types: str) -> Spoil:
    def spoil(request: Request) -> Request:
        others = [field for field in request.fields if field[0] != "Content-Type"]
        return replace(request, fields=[*others, *(("Content-Type", each) for each in types)])

    return spoil


def _authorized(*values: str) -> Spoil:
    def spoil(request: Request) -> Request:
        others = [field for field in request.fields if field[0] != "Authorization"]
        return replace(request, fields=[*others, *(("Authorization", each) for each in values)])

    return spoil


def _without(*names: str) -> Spoil:
    def spoil(request: Request) -> Request:
        pairs = request.body.decode().split("&")
        kept = [pair for pair in pairs if pair.partition("=")[0] not in names]
        return replace(request, body="&".join(kept).encode())

    return spoil


def _said(name: str, value: str) -> Spoil:
    spoil = _without(name)
    return lambda request: _more(f"&{name}={value}".encode())(spoil(request))


def _asked_by(method: str) -> Spoil:
    return lambda request: replace(request, method=method, body=b"")


def _target(change: Callable[[str], str]) -> Spoil:
    return lambda request: replace(request, target=change(request.target))


def _content(text: bytes) -> Spoil:
    return lambda request: replace(request, body=text)


def _rows(answers: Collection[tuple[int, str]], **spoils: Spoil) -> tuple[Mistake, ...]:
    return tuple(Mistake(name.replace("_", " "), spoil, frozenset(answers)) for name, spoil in spoils.items())


# --- what is wrong, and how it is answered

_GRANTS: Final = (Verb.REDEEM, Verb.REFRESH, Verb.CLIENT_CREDENTIALS)
_NOT_THEM: Final = {(400, "invalid_client"), (401, "invalid_client")}
_NOT_FOR_THEM: Final = {(400, "unauthorized_client")}
_MALFORMED: Final = {(400, "invalid_request")}
_OTHERS_LOGIN: Final = {(401, "A1001"), (403, "A1004")}
"""Of a login that has ended meanwhile, or whose password is to be changed first."""

_IN_ANY_FORM: Final = (
    *_rows(
        _MALFORMED,
        a_field_twice=_more(b"&more=1&more=1"),
        an_array=_more(b"&code[]=1"),
        an_escape_that_is_none=_more(b"&more=%zz"),
        an_escape_of_no_character=_more(b"&more=%ff"),
        bytes_of_no_character=_more(b"&more=\xff"),
        a_null_character=_more(b"&more=%00"),
        no_type=_typed(),
        two_types=_typed(FORM, FORM),
        JSON_for_a_form=_typed(JSON),
        another_charset=_typed(f'{FORM}; charset="latin\\-1"'),
    ),
    *_rows({(413, "invalid_request")}, too_much=_more(b"&more=" + b"x" * 2**16)),
    *_rows({(405, "invalid_request")}, another_method=_asked_by("GET")),
    *_rows({(404, "A0404")}, another_path=_target(lambda target: f"{target}/more")),
)
_OF_CREDENTIALS: Final = (
    *_rows(
        _MALFORMED,
        credentials_in_two_ways=_more(b"&client_secret=x"),
        credentials_for_another=_more(b"&client_id=another"),
        Basic_twice=_authorized(basic("a", "b")[1], basic("a", "b")[1]),
    ),
    *_rows(
        {(401, "invalid_client")},
        Basic_without_a_secret=_authorized(basic("nobody", "")[1]),
        Basic_that_is_none=_authorized("Basic *nobody=="),
        Bearer_for_Basic=_authorized("Bearer nobody"),
        Basic_in_bytes=_authorized("Basic //79"),
    ),
    *_rows(_NOT_THEM, no_credentials=_authorized()),
)
_OF_GRANTS: Final = (
    *_rows(_MALFORMED | _NOT_THEM, no_grant=_without("grant_type")),
    *_rows({(400, "unsupported_grant_type")} | _NOT_THEM, another_grant=_said("grant_type", "password")),
    *_rows(
        _MALFORMED | _NOT_THEM | _NOT_FOR_THEM,
        nothing_to_refresh=lambda request: _said("grant_type", "refresh_token")(
            _without("refresh_token")(request)
        ),
    ),
)
_OF_TOKENS: Final = _rows(_MALFORMED | _NOT_THEM, no_token=_without("token"))
_AT_USERINFO: Final = (
    *_rows(
        {(401, "A1001")},
        no_token=_authorized(),
        Basic_for_Bearer=_authorized(basic("a", "b")[1]),
        a_token_twice=_authorized("Bearer a", "Bearer a"),
        no_token_behind_Bearer=_authorized("Bearer"),
    ),
    *_rows({(405, "A0405")}, another_method=_asked_by("POST")),
    *_rows({(404, "A0404")}, another_path=_target(lambda target: f"{target}/more")),
)
_IN_A_QUERY: Final = _rows(
    {(400, "A0401")} | _OTHERS_LOGIN,
    a_parameter_twice=_target(lambda target: f"{target}&state=1&state=1"),
    an_escape_of_no_character=_target(lambda target: f"{target}&state=%ff"),
    a_challenge_without_method=_target(lambda target: target.replace("code_challenge_method", "method")),
)
_IN_A_DECISION: Final = (
    *_rows(
        {(400, "A0401")} | _OTHERS_LOGIN,
        no_decision=_content(b'{"client_id": "app"}'),
        a_number_for_a_text=_content(b'{"client_id": 7, "approve": true}'),
        no_JSON=_content(b"{"),
        a_list=_content(b"[]"),
    ),
    *_rows({(415, "A0415")} | _OTHERS_LOGIN, a_form_for_JSON=_typed(FORM)),
)
_AT_SIGN_IN: Final = (
    *_rows(
        {(401, "A1002"), (429, "A1003")},
        a_name_that_nobody_has=_content(b'{"username": "nobody", "password": "a password"}'),
    ),
    *_rows({(400, "A0401")}, no_password=_content(b'{"username": "nobody"}')),
)
