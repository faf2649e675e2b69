"""Successful answers of the token service: every field and header field (READINGS 6, 12, 21)."""

import pytest

from ostiary_core import Secret, Why
from ostiary_core.http import authorization, token_service, userinfo
from ostiary_core.http.envelope import text_of
from ostiary_core.model.decision import Decision
from ostiary_core.model.reply import Done, Profile
from ostiary_core.texts import ENGLISH
from tests.core.door import INTROSPECT, REVOKE, TOKEN, Response, post
from tests.rows import row
from tests.support import asks
from tests.support.asks import VERIFIER, client_change
from tests.support.story import World, client, given, tokens_of, user

TABLE = "Token response"
SEEN = "Introspection response"
MACHINE = {"grant_type": "client_credentials"}


def redeem_code(world: World, client_id: str = "app") -> Response:
    """Redeem a code over HTTP."""
    fields = {
        "grant_type": "authorization_code",
        "code": world.code(client_id=client_id),
        "redirect_uri": f"https://{client_id}.example/callback",
        "code_verifier": VERIFIER,
    }
    return post(world, TOKEN, fields, basic=client_id)


def refresh_token(world: World, token: str, **more: str) -> Response:
    return post(world, TOKEN, {"grant_type": "refresh_token", "refresh_token": token, **more}, basic="app")


def introspect(world: World, token: str | Secret | None, client_id: str = "app") -> Response:
    return post(world, INTROSPECT, {"token": token}, basic=client_id)


def is_token(text: str) -> bool:
    """Whether a text has 43 base64url characters (`What the service does`, 5)."""
    return len(text) == 43 and set(text) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    )


# --- the token response


@row(TABLE, "access_token")
@row(TABLE, "token_type")
@row(TABLE, "expires_in")
@row(TABLE, "refresh_token")
@row(TABLE, "scope")
@row(TABLE, "status and headers")
@row("Limits rules", "4 token length 43 characters")
def test_a_token_response_has_every_field_and_no_other_and_is_never_cached() -> None:
    world = given(client(accessTokenTtl=900), client("short", grantTypes=["authorization_code"]), user())
    first = redeem_code(world)
    second = refresh_token(world, first.json["refresh_token"])
    machine = post(world, TOKEN, MACHINE, basic="app")
    short = redeem_code(world, "short")
    tokens = []
    for response, seconds, is_refreshable in (
        (first, 900, True),
        (second, 900, True),
        (machine, 900, False),
        (short, 1800, False),
    ):
        told = dict(response.json)
        drawn = [told.pop(name) for name in ("access_token", "refresh_token") if name in told]
        assert told == {"token_type": "Bearer", "expires_in": seconds, "scope": "user.read"}
        assert len(drawn) == 1 + is_refreshable
        tokens += drawn
        assert (response.status, response.own_fields) == (200, ())
    assert all(is_token(token) for token in tokens)
    assert len(set(tokens)) == 6


@row(TABLE, "expires_in")
def test_expires_in_is_what_remains_until_the_maximum_where_that_is_less() -> None:
    world = given(client(accessTokenTtl=900, refreshTokenTtl=3600), user())
    first = redeem_code(world).json
    world.given(client_change(accessTokenTtl=1800))
    world.wait(3000.5)
    second = refresh_token(world, first["refresh_token"]).json
    assert second["expires_in"] == 599
    world.wait(599.499)
    assert introspect(world, second["access_token"]).json["active"]
    world.wait(0.001)
    assert introspect(world, second["access_token"]).json == {"active": False}


@row(TABLE, "scope")
def test_several_scopes_are_separated_by_a_space(world: World) -> None:
    """Give the session a second scope by hand, as there is only one today."""
    first = redeem_code(world).json
    asks.grant_more(world.store, world.the_session(), ("user.read", "more"))
    assert refresh_token(world, first["refresh_token"]).json["scope"] == "user.read more"


# --- introspection


@row(SEEN, "active")
@row(SEEN, "client_id")
@row(SEEN, "scope")
@row(SEEN, "token_type")
@row(SEEN, "exp")
@row(SEEN, "sub")
@row(SEEN, "username")
@row("Introspect request", "access and refresh tokens")
@row("Authentication rules", "3 client_credentials token: introspected without sub")
def test_a_token_is_introspected_with_every_field_that_it_has_and_nothing_changes(world: World) -> None:
    """Expect no type of a refresh token, which lives until the maximum (READINGS 6), and no cache (21)."""
    issued_at = world.now // 1000
    pair, machine_token = redeem_code(world).json, world.machine_token()
    world.given(asks.user_change(world.user_ids["alice"], username="alicia"))
    before = world.everything()
    of_anyone = {"active": True, "client_id": "app", "scope": "user.read"}
    of_alice = {**of_anyone, "sub": world.user_ids["alice"], "username": "alicia"}
    for token, expected in (
        (pair["access_token"], {**of_alice, "token_type": "Bearer", "exp": issued_at + 1800}),
        (pair["refresh_token"], {**of_alice, "exp": issued_at + 604_800}),
        (machine_token, {**of_anyone, "token_type": "Bearer", "exp": issued_at + 1800}),
        ("nonsense", {"active": False}),
    ):
        response = introspect(world, token)
        assert (response.status, response.json, response.own_fields) == (200, expected, ())
    assert world.everything() == before


@row(SEEN, "only active: false")
@row(SEEN, "active")
def test_a_token_that_is_not_the_callers_own_is_only_inactive() -> None:
    world = given(client(), client("other"), user())
    others, mine = world.tokens(client_id="other"), world.tokens()
    login = world.login()
    revoked = world.tokens()
    post(world, REVOKE, {"token": revoked.access_token}, basic="app")
    known = [*tokens_of((others, login.tokens, revoked)), world.code(), world.secrets["app"]]
    for token in (*known, Secret("nonsense"), Secret("x" * 43)):
        response = introspect(world, token)
        assert (response.status, response.answer.body) == (200, b'{"active":false}')
    world.wait(1800)
    assert introspect(world, mine.access_token).json == {"active": False}
    assert introspect(world, mine.refresh_token).json["active"]
    world.wait(604_800)
    assert introspect(world, mine.refresh_token).json == {"active": False}


@row("Introspect request", "token_type_hint ignored")
@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "nonsense", ""])
def test_the_hint_is_ignored(world: World, hint: str) -> None:
    pair = world.tokens()
    for token in (pair.access_token, pair.refresh_token):
        fields = {"token": token, "token_type_hint": hint}
        assert post(world, INTROSPECT, fields, basic="app").json["active"]
    fields = {"token": pair.access_token, "token_type_hint": hint}
    assert post(world, REVOKE, fields, basic="app").status == 200
    assert not world.any_active(pair)


# --- revocation


@row("Revoke request", "200 with an empty body")
@row("Authentication rules", "3 client_credentials token: revoked")
def test_revocation_is_answered_by_an_empty_body(world: World) -> None:
    for token in (world.tokens().access_token, world.machine_token()):
        response = post(world, REVOKE, {"token": token}, basic="app")
        assert (response.status, response.answer.body, response.own_fields) == (200, b"", ())
        assert not world.is_active(token)


@row("Revoke request", "a non-existent token")
@row("Revoke request", "a token of another client")
def test_revoking_the_token_of_another_client_is_answered_alike_and_changes_nothing() -> None:
    world = given(client(), client("other"), user())
    others = world.tokens(client_id="other")
    own = post(world, REVOKE, {"token": world.tokens().access_token}, basic="app").answer
    login = world.login()
    code = world.code()
    before = world.everything()
    for token in ("nonsense", *tokens_of((others, login.tokens)), code):
        assert post(world, REVOKE, {"token": token}, basic="app").answer == own
    assert world.everything() == before


def test_a_refresh_of_a_session_that_is_over_says_to_sign_in_again() -> None:
    """Say so after a revocation, a replay or the maximum, or a client refreshes for hours in vain."""
    revoked, replayed, expired = (given(client(), user()) for _ in range(3))
    tokens = {id(world): redeem_code(world).json["refresh_token"] for world in (revoked, replayed, expired)}
    post(revoked, REVOKE, {"token": tokens[id(revoked)]}, basic="app")
    refresh_token(replayed, tokens[id(replayed)])
    replayed.wait(31)
    expired.wait(604_800)
    for world, token in ((revoked, 0), (replayed, 1), (replayed, 0), (expired, 0)):
        response = refresh_token(world, tokens[id(world)])
        assert response.error == (400, "invalid_grant"), token
        assert "The session has ended; send the user to sign in again." in response.json["error_description"]


def test_a_reply_that_belongs_elsewhere_is_an_internal_error_without_detail() -> None:
    profile = Profile(user_id="1", username="alice", name="Alice", avatar_url=None, locale=None)
    event = asks.machine(asks.credentials("app", "x"))
    token_error = Response(token_service.answer(event, Decision(profile)))
    told = text_of(Why.INTERNAL_ERROR, ENGLISH)
    assert token_error.status == 500
    assert token_error.json == {"error": "invalid_request", "error_description": told}
    envelope: dict[str, object] = {"code": "A0500", "msg": told, "data": None, "errors": []}
    envelope["traceId"] = "trace"
    for answer, reply in ((userinfo.answer, Done()), (authorization.answer, profile)):
        failure = Response(answer(Decision(reply), language=ENGLISH, trace_id="trace"))
        assert (failure.status, failure.json, failure.own_fields) == (500, envelope, ())
