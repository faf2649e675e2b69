"""The request at `/sso`, parameter by parameter, and the errors that keep it there (READINGS 32).

Every request is read from its query, and answered in the envelope.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import pytest

from ostiary_core import Secret, Why
from ostiary_core.events import AuthorizationParameters, ClientDeleted, ClientDisabled, Operator
from ostiary_core.http import authorization
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.texts import ENGLISH
from tests.core.door import Response, get_authorize
from tests.rows import row
from tests.support import asks
from tests.support.story import World, client, given, tokens_of, user

TABLE = "/sso parameters"
ERRORS = "Consent endpoint errors"

RIGHT = {
    "response_type": "code",
    "client_id": "app",
    "redirect_uri": "https://app.example/callback",
    "code_challenge": asks.CHALLENGE,
    "code_challenge_method": "S256",
    "scope": "user.read",
    "state": "some state",
}


def ask(world: World, *, without: str | None = None, **instead: str) -> Response:
    """Send the request as the consent page checks it; `without` leaves a parameter out."""
    query = {name: value for name, value in {**RIGHT, **instead}.items() if name != without}
    return get_authorize(world, urlencode(query).encode(), world.login().tokens.access_token)


def refusal(response: Response) -> tuple[int, str]:
    """Return status and code of a failure, whose envelope has nothing more."""
    assert set(response.json) == {"code", "msg", "data", "errors", "traceId"}
    assert response.json["data"] is None
    return response.status, response.json["code"]


# --- the parameters


def parameter(name: str, code: str, error: str, *values: str | None) -> Any:
    """List values of a parameter that are refused with this code; None leaves it out."""
    marks = [row(TABLE, name), row(ERRORS, f"{code}: {error}")]
    return pytest.param(name, code, values, marks=marks, id=error)


CHALLENGE = asks.CHALLENGE
RULES = {
    "code_challenge": "must be the 43 base64url characters of a SHA-256 digest",
    "code_challenge_method": "must be S256",
}


@pytest.mark.parametrize(
    "name, code, values",
    [
        parameter(
            *("response_type", "B4002", "response_type is not code"),
            *("token", "CODE", "code token", "code ", "none", "", None),
        ),
        parameter(
            *("client_id", "B4001", "client unknown"), *("nobody", "APP", "app ", "", "a\x00", "\x00", None)
        ),
        parameter("client_id", "B4001", "console or mobile", "console", "mobile"),
        parameter("redirect_uri", "A0401", "redirect_uri missing", "", None),
        parameter(
            *("redirect_uri", "B4001", "redirect_uri not registered"),
            *("https://evil.example/", "https://other.example/callback", "https://app.example/Callback"),
            *("https://APP.example/callback", "https://app.example:443/callback"),
            *(f"{RIGHT['redirect_uri']}{more}" for more in ["/", "?", "?x=1", "#", "\x00"]),
            f"{RIGHT['redirect_uri']} https://evil.example/",
        ),
        parameter("code_challenge", "A0401", "code_challenge missing", "", None),
        parameter(
            *("code_challenge", "A0401", "code_challenge not 43 characters"),
            *(CHALLENGE[:-1], CHALLENGE + "A", CHALLENGE + "=", "x" * 100_000),
            *(CHALLENGE[:-1] + last for last in ("=", "+", "/", "é", "\n", "٣")),
        ),
        parameter("code_challenge_method", "A0401", "code_challenge_method missing", "", None),
        parameter(
            *("code_challenge_method", "A0401", "code_challenge_method not S256"),
            *("plain", "s256", "S256 ", "S512"),
        ),
        parameter(
            *("scope", "B4002", "scope outside the client's"),
            *("openid", "user.read openid", "USER.READ", "user.read,openid", "user.read\t"),
        ),
        parameter("scope", "B4002", "scope empty", "", " ", "   "),
    ],
)
@row("Limits rules", "4 code challenge length 43 characters")
def test_a_parameter_that_is_missing_or_wrong_is_refused(
    name: str, code: str, values: Sequence[str | None]
) -> None:
    world = given(client(), client("other"), user())
    for value in values:
        response = ask(world, without=name) if value is None else ask(world, **{name: value})
        assert refusal(response) == (400, code), value
        says = "is required" if value is None else RULES.get(name, "is required")
        assert response.json["errors"] == ([{"path": name, "msg": says}] if code == "A0401" else [])


@row(TABLE, "scope")
def test_scope_is_space_separated_and_defaults_to_all_that_the_client_registers() -> None:
    described = "Read your basic profile: user name, display name, picture and language"
    for response in (ask(given(), without="scope"), ask(given(), scope="user.read  user.read")):
        assert response.json["data"] == {
            "client": {"clientId": "app", "name": "The client app"},
            "scopes": [{"scope": "user.read", "description": described, "autoApproved": False}],
            "user": {"username": "alice", "name": "Alice"},
            "consentRequired": True,
            "redirectTo": None,
        }
    assert authorization.scope_text("user.write", ENGLISH) == "user.write"


@row(ERRORS, "B4002: scope empty")
def test_a_client_without_scopes_cannot_ask() -> None:
    world = given(client(scopes=[]), user())
    assert refusal(ask(world, without="scope")) == (400, "B4002")
    assert refusal(ask(world, scope="user.read")) == (400, "B4002")


@row(ERRORS, "B4001: client disabled")
@row(ERRORS, "B4001: without the authorization_code grant")
def test_a_client_that_is_disabled_deleted_or_without_the_grant_cannot_ask() -> None:
    without_grant = client(grantTypes=["refresh_token", "client_credentials"])
    for world, ending in (
        (given(), ClientDisabled(caller=Operator(), client_id="app")),
        (given(), ClientDeleted(caller=Operator(), client_id="app")),
        (given(without_grant, user()), client("other")),
    ):
        world.given(ending)
        assert refusal(ask(world)) == (400, "B4001"), ending


# --- the user


@row(ERRORS, "A1004: must change the password first")
def test_a_user_who_must_change_the_password_cannot_consent() -> None:
    world = given(client(), user(must_change_password=True))
    assert refusal(ask(world)) == (403, "A1004")
    login = world.login()
    world.when(asks.approve(login)).then_refused(Why.PASSWORD_MUST_CHANGE)
    world.when(asks.request_automatically(login)).then_refused(Why.PASSWORD_MUST_CHANGE)
    world.when(asks.deny(login)).then_refused(Why.PASSWORD_MUST_CHANGE)


@row("Authentication", "consent page at /authorize: login session only")
@row("Authentication rules", "2 a third-party token calls only user-info")
def test_only_a_login_session_may_ask(world: World) -> None:
    login, pair = world.login(), world.tokens()
    others = (world.machine_token(), login.tokens.refresh_token, world.code(), Secret("x" * 43), Secret(""))
    for token in (*tokens_of([pair]), *others):
        assert token is not None
        assert refusal(get_authorize(world, urlencode(RIGHT).encode(), token)) == (401, "A1001")


# --- what wins, and what cannot be read


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_a_repeated_parameter_is_malformed(world: World, name: str) -> None:
    query = urlencode([*RIGHT.items(), (name, RIGHT[name])]).encode()
    assert refusal(get_authorize(world, query, world.login().tokens.access_token)) == (400, "A0401")


def test_an_unknown_parameter_is_ignored_even_twice_but_not_without_end(world: World) -> None:
    for unknown, status in ((2, 200), (93, 200), (94, 400)):
        query = urlencode([*RIGHT.items(), *[("nonce", "1")] * unknown]).encode()
        assert get_authorize(world, query, world.login().tokens.access_token).status == status


def test_a_posted_body_is_read_and_every_bad_field_of_it_named() -> None:
    right, empty = asks.parameters(scope="user.read"), AuthorizationParameters(scope="")
    of_text = [FieldFault(name, FieldRule.STRING) for name in ("client_id", "state")]
    for content, expected in (
        ({**RIGHT, "approve": True, "nonce": 1}, authorization.ConsentBody(right, True)),
        ({"approve": False, "scope": "", "state": None}, authorization.ConsentBody(empty, False)),
        ({"approve": True, "state": 7, "client_id": []}, of_text),
        ({"approve": 1, "state": 7, "client_id": []}, [*of_text, FieldFault("approve", FieldRule.BOOLEAN)]),
    ):
        assert authorization.read_body(content) == expected


@pytest.mark.parametrize(
    "instead, code",
    [
        ({"code_challenge": "x", "client_id": "nobody", "response_type": "token"}, "A0401"),
        ({"client_id": "nobody", "response_type": "token", "scope": "x"}, "B4001"),
        ({"redirect_uri": "https://x/", "response_type": "token", "scope": "x"}, "B4001"),
        ({"response_type": "token", "scope": "x"}, "B4002"),
    ],
)
def test_the_first_fault_in_the_documented_order_wins(instead: dict[str, str], code: str) -> None:
    """docs/decisions/0006."""
    assert refusal(ask(given(), **instead))[1] == code


@pytest.mark.parametrize("more", [b"%ff", b"\xff", b"client=%C3%28", b"&" * 1000])
def test_a_query_that_cannot_be_read_is_malformed(world: World, more: bytes) -> None:
    query = urlencode(RIGHT).encode() + b"&" + more
    response = get_authorize(world, query, world.login().tokens.access_token)
    assert refusal(response) == (400, "A0401")
    assert response.json["msg"] == ENGLISH.text("refusal.query_undecodable")
