"""The token-service errors, each with its condition and status ("Token-service errors").

Conditions that other files tell as stories are asked here once more over HTTP, by Basic and by form fields.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

from ostiary_core import Why
from ostiary_core.events import ClientDeleted, ClientDisabled, Operator
from ostiary_core.http.token_service import refusal
from ostiary_core.throttling.rate_windows import Operation
from tests.core.asks import VERIFIER, client_change
from tests.core.door import INTROSPECT, REVOKE, TOKEN, Response, post
from tests.core.story import World, client, given, user
from tests.rows import row

TABLE = "Token-service errors"
CALLBACK = "https://app.example/callback"
CHALLENGE = 'Basic realm="oauth2", charset="UTF-8"'

Fields = dict[str, Any]


def by_basic(world: World, path: str, fields: Fields, client_id: str = "app") -> Response:
    return post(world, path, fields, basic=client_id)


def by_form(world: World, path: str, fields: Fields, client_id: str = "app") -> Response:
    secret = world.secrets[client_id]
    return post(world, path, {**fields, "client_id": client_id, "client_secret": secret})


METHODS = pytest.mark.parametrize("asked", [by_basic, by_form])
Asked = Callable[..., Response]


def exchange(world: World, **instead: Any) -> Fields:
    """A right exchange of a fresh code, `instead` in place of some fields."""
    code = instead["code"] if "code" in instead else world.code()
    right = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
    }
    return {**right, **instead}


def refreshing(token: object, **more: Any) -> Fields:
    return {"grant_type": "refresh_token", "refresh_token": token, **more}


# --- the form of an error


@METHODS
def test_an_error_is_json_with_error_and_an_english_description(asked: Asked) -> None:
    response = asked(given(), TOKEN, {"grant_type": "password"})
    assert set(response.json) == {"error", "error_description"}
    assert response.header("content-type") == "application/json; charset=utf-8"
    assert response.header("cache-control") == "no-store"
    assert response.header("pragma") == "no-cache"
    assert response.header("www-authenticate") is None


@pytest.mark.parametrize("why", Why)
def test_every_description_fits_rfc_6749(why: Why) -> None:
    """§5.2: no character outside %x20-21 / %x23-5B / %x5D-7E; and nothing but a 4xx or 5xx."""
    answer = refusal(Operation.TOKEN, why)
    response = Response(answer)
    assert re.fullmatch(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+", response.json["error_description"])
    assert re.fullmatch(r"[a-z_]+", response.json["error"])
    assert 400 <= answer.status < 600


# --- invalid_request


@row(TABLE, "invalid_request: a required parameter missing")
@METHODS
@pytest.mark.parametrize(
    "fields",
    [{}, {"scope": "user.read"}, {"grant_type": "refresh_token"}],
    ids=["no grant_type", "only scope", "no refresh_token"],
)
def test_a_required_parameter_is_missing(asked: Asked, fields: Fields) -> None:
    assert asked(given(), TOKEN, fields).error == (400, "invalid_request")


@row(TABLE, "invalid_request: a required parameter missing")
@METHODS
def test_the_code_is_missing(asked: Asked) -> None:
    world = given()
    assert asked(world, TOKEN, exchange(world, code=None)).error == (400, "invalid_request")


@row(TABLE, "invalid_request: redirect_uri missing at exchange")
@row(TABLE, "a failed exchange voids the code")
@METHODS
def test_redirect_uri_is_missing(asked: Asked) -> None:
    world = given()
    code = world.code()
    assert asked(world, TOKEN, exchange(world, code=code, redirect_uri=None)).error == (
        400,
        "invalid_request",
    )
    assert asked(world, TOKEN, exchange(world, code=code)).error == (400, "invalid_grant")


@row(TABLE, "invalid_request: redirect_uri different")
@row(TABLE, "a failed exchange voids the code")
@METHODS
def test_redirect_uri_differs(asked: Asked) -> None:
    world = given()
    code = world.code()
    different = exchange(world, code=code, redirect_uri=CALLBACK + "/")
    assert asked(world, TOKEN, different).error == (400, "invalid_request")
    assert asked(world, TOKEN, exchange(world, code=code)).error == (400, "invalid_grant")


@METHODS
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            INTROSPECT,
            marks=[
                row(TABLE, "invalid_request: token missing at introspect"),
                row("Introspect request", "token missing"),
            ],
        ),
        pytest.param(REVOKE, marks=row(TABLE, "invalid_request: token missing at revoke")),
    ],
)
def test_the_token_is_missing(asked: Asked, path: str) -> None:
    world = given()
    assert asked(world, path, {}).error == (400, "invalid_request")
    assert asked(world, path, {"token": ""}).error == (400, "invalid_request")


# --- invalid_client


def disabled(world: World) -> tuple[str, str]:
    world.given(ClientDisabled(caller=Operator(), client_id="app"))
    return "app", world.secrets["app"].reveal()


def deleted(world: World) -> tuple[str, str]:
    world.given(ClientDeleted(caller=Operator(), client_id="app"))
    return "app", world.secrets["app"].reveal()


RULES = "Authentication rules"
FAILURES = pytest.mark.parametrize(
    "failing",
    [
        pytest.param(
            lambda world: ("app", None),
            marks=[row(TABLE, "invalid_client: secret missing"), row(RULES, "1 no secret")],
            id="no secret",
        ),
        pytest.param(
            lambda world: (None, None),
            marks=[row(TABLE, "invalid_client: secret missing"), row(RULES, "1 no secret")],
            id="nothing at all",
        ),
        pytest.param(
            lambda world: ("app", "wrong"),
            marks=[row(TABLE, "invalid_client: secret wrong"), row(RULES, "1 wrong secret")],
            id="wrong secret",
        ),
        pytest.param(
            lambda world: ("app", world.secrets["app"].reveal().swapcase()),
            marks=[row(TABLE, "invalid_client: secret wrong"), row(RULES, "1 wrong secret")],
            id="secret in the other case",
        ),
        pytest.param(
            lambda world: ("nobody", "wrong"),
            marks=[row(TABLE, "invalid_client: client unknown"), row(RULES, "1 unknown client")],
            id="unknown",
        ),
        pytest.param(
            disabled,
            marks=[row(TABLE, "invalid_client: client disabled"), row(RULES, "1 disabled client")],
            id="disabled",
        ),
        pytest.param(
            deleted,
            marks=[row(TABLE, "invalid_client: client deleted"), row(RULES, "1 deleted client")],
            id="deleted",
        ),
        pytest.param(
            lambda world: ("console", "x"),
            marks=[row(TABLE, "invalid_client: console or mobile"), row(RULES, "1 console or mobile")],
            id="console",
        ),
        pytest.param(
            lambda world: ("mobile", "x"),
            marks=[row(TABLE, "invalid_client: console or mobile"), row(RULES, "1 console or mobile")],
            id="mobile",
        ),
    ],
)
Failing = Callable[[World], tuple[str | None, str | None]]


@row(TABLE, "invalid_client: 400 by form fields at /token")
@FAILURES
def test_client_authentication_by_form_fields_fails_at_token(failing: Failing) -> None:
    """READINGS 16: no credentials at all count as the form method."""
    world = given()
    client_id, secret = failing(world)
    fields = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
    response = post(world, TOKEN, fields)
    assert response.error == (400, "invalid_client")
    assert response.header("www-authenticate") is None


@row(TABLE, "invalid_client: 401 with WWW-Authenticate by Basic at /token")
@FAILURES
def test_client_authentication_by_basic_fails_at_token(failing: Failing) -> None:
    world = given()
    client_id, secret = failing(world)
    response = post(world, TOKEN, {"grant_type": "client_credentials"}, basic=(client_id or "", secret or ""))
    assert response.error == (401, "invalid_client")
    assert response.header("www-authenticate") == CHALLENGE


@row(TABLE, "invalid_client: 401 at introspect and revoke")
@row("Introspect request", "authentication failed")
@row("Revoke request", "authentication failed")
@FAILURES
@pytest.mark.parametrize("path", [INTROSPECT, REVOKE])
@pytest.mark.parametrize("basic", [True, False], ids=["basic", "form"])
def test_client_authentication_always_fails_with_401_elsewhere(
    failing: Failing, path: str, basic: bool
) -> None:
    world = given()
    pair = world.tokens()
    client_id, secret = failing(world)
    before = world.everything()
    response = (
        post(world, path, {"token": pair.access_token}, basic=(client_id or "", secret or ""))
        if basic
        else post(world, path, {"token": pair.access_token, "client_id": client_id, "client_secret": secret})
    )
    assert response.error == (401, "invalid_client")
    assert response.header("www-authenticate") == CHALLENGE
    assert response.header("cache-control") == "no-store"
    assert world.everything() == before


# --- invalid_grant: the code (endings of users: test_user_endings.py)


@row(TABLE, "invalid_grant: code wrong")
@METHODS
@pytest.mark.parametrize("code", ["x" * 43, "x", "CODE"])
def test_the_code_is_wrong(asked: Asked, code: str) -> None:
    world = given()
    assert asked(world, TOKEN, exchange(world, code=code)).error == (400, "invalid_grant")


@row(TABLE, "invalid_grant: code expired")
@METHODS
def test_the_code_has_expired(asked: Asked) -> None:
    world = given()
    fields = exchange(world)
    world.wait(300)
    assert asked(world, TOKEN, fields).error == (400, "invalid_grant")


@row(TABLE, "invalid_grant: code already used")
@METHODS
def test_the_code_was_already_used(asked: Asked) -> None:
    world = given()
    fields = exchange(world)
    assert asked(world, TOKEN, fields).status == 200
    assert asked(world, TOKEN, fields).error == (400, "invalid_grant")


@row(TABLE, "invalid_grant: code of another client")
@row(TABLE, "a failed exchange voids the code")
@METHODS
def test_the_code_is_of_another_client(asked: Asked) -> None:
    world = given(client(), client("other"), user())
    fields = exchange(world)
    assert asked(world, TOKEN, fields, "other").error == (400, "invalid_grant")
    assert asked(world, TOKEN, fields).error == (400, "invalid_grant")


@row(TABLE, "invalid_grant: code_verifier wrong")
@row(TABLE, "a failed exchange voids the code")
@METHODS
@pytest.mark.parametrize(
    "verifier", ["x" * 43, "x" * 42, "x" * 129, VERIFIER[:-1], VERIFIER + "=", VERIFIER + "é", "x" * 60_000]
)
def test_the_verifier_is_wrong(asked: Asked, verifier: str) -> None:
    """READINGS 19: one outside RFC 7636 §4.1 is a wrong one, not a malformed request."""
    world = given()
    code = world.code()
    wrong = exchange(world, code=code, code_verifier=verifier)
    assert asked(world, TOKEN, wrong).error == (400, "invalid_grant")
    assert asked(world, TOKEN, exchange(world, code=code)).error == (400, "invalid_grant")


@row(TABLE, "invalid_grant: code_verifier missing")
@row(TABLE, "a failed exchange voids the code")
@METHODS
@pytest.mark.parametrize("verifier", [None, ""])
def test_the_verifier_is_missing(asked: Asked, verifier: str | None) -> None:
    world = given()
    code = world.code()
    missing = exchange(world, code=code, code_verifier=verifier)
    assert asked(world, TOKEN, missing).error == (400, "invalid_grant")
    assert asked(world, TOKEN, exchange(world, code=code)).error == (400, "invalid_grant")


@row(TABLE, "invalid_grant: redirect URI no longer registered")
@METHODS
def test_the_client_no_longer_registers_the_redirect_uri(asked: Asked) -> None:
    world = given()
    fields = exchange(world)
    world.given(client_change(redirectUris=["https://app.example/new"]))
    assert asked(world, TOKEN, fields).error == (400, "invalid_grant")


# --- invalid_grant: the refresh token


@row(TABLE, "invalid_grant: refresh token invalid")
@METHODS
def test_the_refresh_token_is_invalid(asked: Asked) -> None:
    world = given()
    pair = world.tokens()
    for token in ("x" * 43, "x", pair.access_token):
        assert asked(world, TOKEN, refreshing(token)).error == (400, "invalid_grant")
    assert world.all_active(pair)


@row(TABLE, "invalid_grant: refresh token expired")
@row(TABLE, "invalid_grant: authorization at its maximum duration")
@METHODS
def test_the_refresh_token_has_expired_with_its_authorization(asked: Asked) -> None:
    world = given()
    pair = world.tokens()
    world.wait(604_800)
    assert asked(world, TOKEN, refreshing(pair.refresh_token)).error == (400, "invalid_grant")


@row(TABLE, "invalid_grant: refresh token replayed outside the grace")
@METHODS
def test_the_refresh_token_is_replayed_outside_the_grace(asked: Asked) -> None:
    world = given()
    pair = world.tokens()
    assert asked(world, TOKEN, refreshing(pair.refresh_token)).status == 200
    world.wait(30.001)
    assert asked(world, TOKEN, refreshing(pair.refresh_token)).error == (400, "invalid_grant")


@row(TABLE, "invalid_grant: refresh token of another client")
@METHODS
def test_the_refresh_token_is_of_another_client(asked: Asked) -> None:
    world = given(client(), client("other"), user())
    pair = world.tokens()
    assert asked(world, TOKEN, refreshing(pair.refresh_token), "other").error == (400, "invalid_grant")
    assert world.all_active(pair)


def test_no_invalid_grant_tells_an_unknown_token_from_another_clients() -> None:
    world = given(client(), client("other"), user())
    pair = world.tokens()
    answers = {
        by_basic(world, TOKEN, refreshing(token), "other").answer
        for token in ("x" * 43, pair.refresh_token, pair.access_token)
    }
    codes = {
        by_basic(world, TOKEN, exchange(world, code=code), "other").answer
        for code in ("x" * 43, world.code())
    }
    assert (len(answers), len(codes)) == (1, 1)


# --- the others


@row(TABLE, "unauthorized_client")
@METHODS
@pytest.mark.parametrize(
    "registered, fields",
    [
        ("client_credentials", {"grant_type": "authorization_code", "code": "x"}),
        ("client_credentials", {"grant_type": "refresh_token", "refresh_token": "x"}),
        ("refresh_token", {"grant_type": "client_credentials"}),
    ],
)
def test_the_client_does_not_register_the_grant(asked: Asked, registered: str, fields: Fields) -> None:
    world = given(client(grantTypes=[registered]))
    assert asked(world, TOKEN, fields).error == (400, "unauthorized_client")


@METHODS
@pytest.mark.parametrize(
    "grant",
    [
        pytest.param("password", marks=row(TABLE, "unsupported_grant_type: password")),
        pytest.param("implicit", marks=row(TABLE, "unsupported_grant_type: implicit")),
        pytest.param("nonsense", marks=row(TABLE, "unsupported_grant_type: unknown")),
        pytest.param("Client_Credentials", marks=row(TABLE, "unsupported_grant_type: unknown")),
        pytest.param("client_credentials ", marks=row(TABLE, "unsupported_grant_type: unknown")),
        pytest.param(
            "urn:ietf:params:oauth:grant-type:jwt-bearer",
            marks=row(TABLE, "unsupported_grant_type: unknown"),
        ),
    ],
)
def test_the_grant_type_is_not_supported(asked: Asked, grant: str) -> None:
    fields = {"grant_type": grant, "username": "alice", "password": "right"}
    assert asked(given(), TOKEN, fields).error == (400, "unsupported_grant_type")


@row(TABLE, "invalid_scope: client_credentials beyond the registered")
@METHODS
@pytest.mark.parametrize("scope", ["openid", "user.read openid", "USER.READ", "user.read,openid"])
def test_client_credentials_beyond_the_registered_scopes(asked: Asked, scope: str) -> None:
    world = given()
    before = world.everything()
    fields = {"grant_type": "client_credentials", "scope": scope}
    assert asked(world, TOKEN, fields).error == (400, "invalid_scope")
    assert world.everything() == before


@row(TABLE, "invalid_scope: client without registered scope")
@METHODS
@pytest.mark.parametrize("scope", [None, "", "user.read"])
def test_client_credentials_of_a_client_without_a_scope(asked: Asked, scope: str | None) -> None:
    world = given(client(scopes=[]))
    fields = {"grant_type": "client_credentials", "scope": scope}
    assert asked(world, TOKEN, fields).error == (400, "invalid_scope")


@row(TABLE, "invalid_scope: scope in the code no longer registered")
@row(TABLE, "a failed exchange voids the code")
@METHODS
def test_the_scope_in_the_code_is_no_longer_registered(asked: Asked) -> None:
    world = given()
    fields = exchange(world)
    world.given(client_change(scopes=[]))
    assert asked(world, TOKEN, fields).error == (400, "invalid_scope")
    world.given(client_change(scopes=["user.read"]))
    assert asked(world, TOKEN, fields).error == (400, "invalid_grant")


@row(TABLE, "invalid_scope: refresh beyond the original grant")
@METHODS
@pytest.mark.parametrize("scope", ["openid", "user.read openid"])
def test_refreshing_beyond_the_original_grant(asked: Asked, scope: str) -> None:
    world = given()
    pair = world.tokens()
    wide = refreshing(pair.refresh_token, scope=scope)
    assert asked(world, TOKEN, wide).error == (400, "invalid_scope")
    assert not world.any_active(pair)
    assert asked(world, TOKEN, refreshing(pair.refresh_token)).status == 200
