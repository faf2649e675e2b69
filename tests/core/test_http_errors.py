"""The token-service errors, each with its condition and status ("Token-service errors").

Over HTTP, by Basic and by form fields. Errors about codes and tokens: test_code.py, test_session_*.py.
"""

from collections.abc import Callable
from typing import Any

import pytest

from ostiary_core.events import ClientDeleted, ClientDisabled, Event, Operator
from tests.core.door import INTROSPECT, REVOKE, TOKEN, Response, post
from tests.rows import row
from tests.support.asks import VERIFIER
from tests.support.story import World, client, given, user

TABLE = "Token-service errors"
UNKNOWN_GRANT = "unsupported_grant_type: unknown"

Fields = dict[str, Any]
Asked = Callable[..., Response]


def by_basic(world: World, path: str, fields: Fields, client_id: str = "app") -> Response:
    return post(world, path, fields, basic=client_id)


def by_form(world: World, path: str, fields: Fields, client_id: str = "app") -> Response:
    return post(world, path, {**fields, "client_id": client_id, "client_secret": world.secrets[client_id]})


METHODS = pytest.mark.parametrize("asked", [by_basic, by_form])


def refreshing(token: object, **more: Any) -> Fields:
    return {"grant_type": "refresh_token", "refresh_token": token, **more}


def case(error: str, fields: Fields | None, *rows: str, **more: Any) -> Any:
    """List fields that are refused with this error, and the rows that this proves."""
    marks = [row(TABLE, name) for name in rows]
    return pytest.param(error, fields, *more.values(), marks=marks, id=f"{error} {fields}"[:60])


# --- what the client asks for


@METHODS
@pytest.mark.parametrize(
    "error, fields",
    [
        case("invalid_request", {}, "invalid_request: a required parameter missing"),
        case("invalid_request", {"scope": "user.read"}, "invalid_request: a required parameter missing"),
        case("invalid_request", refreshing(None), "invalid_request: a required parameter missing"),
        case("unsupported_grant_type", {"grant_type": "password"}, "unsupported_grant_type: password"),
        case("unsupported_grant_type", {"grant_type": "implicit"}, "unsupported_grant_type: implicit"),
        case("unsupported_grant_type", {"grant_type": "nonsense"}, UNKNOWN_GRANT),
        case("unsupported_grant_type", {"grant_type": "Client_Credentials"}, UNKNOWN_GRANT),
        case("unsupported_grant_type", {"grant_type": "client_credentials "}, UNKNOWN_GRANT),
        case(
            "unsupported_grant_type",
            {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer"},
            UNKNOWN_GRANT,
        ),
        *(
            case(
                "invalid_scope",
                {"grant_type": "client_credentials", "scope": scope},
                "invalid_scope: client_credentials beyond the registered",
            )
            for scope in ("openid", "user.read openid", "USER.READ", "user.read,openid")
        ),
    ],
)
def test_a_request_that_no_client_may_make_is_refused_and_changes_nothing(
    world: World, asked: Asked, error: str, fields: Fields
) -> None:
    before = world.everything()
    assert asked(world, TOKEN, fields).error == (400, error)
    assert world.everything() == before


@METHODS
@pytest.mark.parametrize(
    "error, fields, registered",
    [
        *(
            case(
                "unauthorized_client", fields, "unauthorized_client", registered={"grantTypes": [registered]}
            )
            for registered, fields in (
                ("client_credentials", {"grant_type": "authorization_code", "code": "x"}),
                ("client_credentials", refreshing("x")),
                ("refresh_token", {"grant_type": "client_credentials"}),
            )
        ),
        *(
            case(
                "invalid_scope",
                {"grant_type": "client_credentials", "scope": scope},
                "invalid_scope: client without registered scope",
                registered={"scopes": []},
            )
            for scope in (None, "", "user.read")
        ),
    ],
)
def test_a_grant_or_scope_that_the_client_does_not_register_is_refused(
    asked: Asked, error: str, fields: Fields, registered: Fields
) -> None:
    assert asked(given(client(**registered)), TOKEN, fields).error == (400, error)


@METHODS
@row(TABLE, "invalid_request: token missing at introspect")
@row("Introspect request", "token missing")
@row(TABLE, "invalid_request: token missing at revoke")
def test_the_token_is_missing(world: World, asked: Asked) -> None:
    for path in (INTROSPECT, REVOKE):
        for fields in ({}, {"token": ""}):
            assert asked(world, path, fields).error == (400, "invalid_request")


# --- invalid_client


def after(ending: Callable[..., Event]) -> Callable[[World], tuple[str, str]]:
    def failing(world: World) -> tuple[str, str]:
        world.given(ending(caller=Operator(), client_id="app"))
        return "app", world.secrets["app"].reveal()

    return failing


def failure(what: str, rule: str, failing: Callable[[World], object]) -> Any:
    marks = [row(TABLE, f"invalid_client: {what}"), row("Authentication rules", f"1 {rule}")]
    return pytest.param(failing, marks=marks)


FAILURES = pytest.mark.parametrize(
    "failing",
    [
        failure("secret missing", "no secret", lambda world: ("app", None)),
        failure("secret missing", "no secret", lambda world: (None, None)),
        failure("secret wrong", "wrong secret", lambda world: ("app", "wrong")),
        failure(
            "secret wrong", "wrong secret", lambda world: ("app", world.secrets["app"].reveal().swapcase())
        ),
        failure("client unknown", "unknown client", lambda world: ("nobody", "wrong")),
        failure("client disabled", "disabled client", after(ClientDisabled)),
        failure("client deleted", "deleted client", after(ClientDeleted)),
        failure("console or mobile", "console or mobile", lambda world: ("console", "x")),
        failure("console or mobile", "console or mobile", lambda world: ("mobile", "x")),
    ],
)
Failing = Callable[[World], tuple[str | None, str | None]]


@row(TABLE, "invalid_client: 400 by form fields at /token")
@row(TABLE, "invalid_client: 401 with WWW-Authenticate by Basic at /token")
@row(TABLE, "invalid_client: 401 at introspect and revoke")
@row("Introspect request", "authentication failed")
@row("Revoke request", "authentication failed")
@FAILURES
@pytest.mark.parametrize("path", [TOKEN, INTROSPECT, REVOKE])
@pytest.mark.parametrize("is_basic", [True, False], ids=["basic", "form"])
def test_client_authentication_fails(world: World, failing: Failing, path: str, is_basic: bool) -> None:
    """Take a request without credentials as one by form fields (READINGS 16)."""
    pair = world.tokens()
    client_id, secret = failing(world)
    before = world.everything()
    fields = {"grant_type": "client_credentials", "token": pair.access_token}
    response = (
        post(world, path, fields, basic=(client_id or "", secret or ""))
        if is_basic
        else post(world, path, {**fields, "client_id": client_id, "client_secret": secret})
    )
    assert response.error == (401 if is_basic or path != TOKEN else 400, "invalid_client")
    assert world.everything() == before


def test_an_unknown_token_and_one_of_another_client_are_refused_alike() -> None:
    world = given(client(), client("other"), user())
    pair = world.tokens()
    for fields in (
        [refreshing(token) for token in ("x" * 43, pair.refresh_token, pair.access_token)],
        [
            {"grant_type": "authorization_code", "code": code, "redirect_uri": "x", "code_verifier": VERIFIER}
            for code in ("x" * 43, world.code())
        ],
    ):
        assert len({by_basic(world, TOKEN, each, "other").answer for each in fields}) == 1
