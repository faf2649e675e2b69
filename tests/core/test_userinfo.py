"""User-info shows the profile, or a refusal in each other case ("User profile", READINGS 12, 22, 36)."""

from collections.abc import Callable
from typing import Any

import pytest

from ostiary_core import Secret, events as e
from ostiary_core.model.decision import Change, Delete, Update
from ostiary_core.model.records import revise
from ostiary_core.model.reply import Profile, Refused, TokensIssued
from tests.core.door import Response, get_userinfo
from tests.rows import row
from tests.support import asks
from tests.support.asks import refresh, revoke
from tests.support.story import World, client, given, user

TABLE = "User profile"
CASES = "User-info"


def refusal(response: Response) -> tuple[int, str, str]:
    """Return status, code and challenge of a failure, whose envelope has nothing more."""
    assert set(response.json) == {"code", "msg", "data", "errors", "traceId"}
    assert (response.json["data"], response.json["errors"]) == (None, [])
    [(name, challenge)] = response.own_fields
    assert name == b"www-authenticate"
    return response.status, response.json["code"], challenge.decode()


UNAUTHORIZED = (401, "A1001", 'Bearer realm="oauth2", error="invalid_token"')


# --- the profile


@row(CASES, "profile for a third party's token")
@row("Authentication", "third-party backend at /userinfo: Bearer")
@row("General envelope and status codes", "success body")
@row(TABLE, "no other fields")
def test_a_third_party_sees_the_profile_in_the_envelope_and_no_more(world: World) -> None:
    response = get_userinfo(world, bearer=world.tokens().access_token)
    assert (response.status, response.own_fields) == (200, ())
    assert response.json == {
        "code": 0,
        "msg": "ok",
        "data": {
            "sub": world.user_ids["alice"],
            "username": "alice",
            "name": "Alice",
            "avatarUrl": None,
            "locale": None,
        },
    }


@row(TABLE, "sub")
@row(TABLE, "username")
@row(TABLE, "name")
@row(TABLE, "avatarUrl")
@row(TABLE, "locale")
def test_user_info_shows_the_present_names_and_preferences_of_an_account(world: World) -> None:
    """Show a picture by a local path or a full address."""
    token, sub = world.tokens().access_token, world.user_ids["alice"]
    world.given(asks.user_change(sub, username="alicia", name="Alicia A."))
    named = {"sub": sub, "username": "alicia", "name": "Alicia A."}
    for avatar, locale in ((None, None), ("/files/a.png", "zh-CN"), ("https://storage.example/a", "en-US")):
        world.store.write([Update(old := world.user(), revise(old, avatar_url=avatar, locale=locale))])
        shown = get_userinfo(world, bearer=token).json["data"]
        assert shown == {**named, "avatarUrl": avatar, "locale": locale}


@row(CASES, "the backend's own login session")
def test_a_login_session_sees_its_own_profile() -> None:
    world = given(client(), user(), user("bob"))
    response = get_userinfo(world, bearer=world.login("bob").tokens.access_token)
    assert response.json["data"]["username"] == "bob"


# --- the cases without


@row(CASES, "token lacks user.read")
@row("Other OAuth-related codes", "A0430")
def test_a_token_without_user_read_sees_nothing(world: World) -> None:
    """Give the session another scope by hand, as no flow issues one today (READINGS 36)."""
    pair = world.tokens()
    asks.grant_more(world.store, world.the_session(), ("user.read", "more"))
    narrow = world.when(refresh(world.basic(), pair, scopes=("more",))).then(TokensIssued)
    assert refusal(get_userinfo(world, bearer=narrow.access_token)) == (
        403,
        "A0430",
        'Bearer realm="oauth2", error="insufficient_scope", scope="user.read"',
    )


@row(CASES, "token from client_credentials")
@row("Other OAuth-related codes", "B4003")
@row("Authentication rules", "3 client_credentials token: accepted by no business endpoint")
def test_a_machine_token_represents_no_user(world: World) -> None:
    assert refusal(get_userinfo(world, bearer=world.machine_token())) == (
        403,
        "B4003",
        'Bearer realm="oauth2", error="insufficient_scope"',
    )


@row(CASES, "token invalid")
@row("General envelope and status codes", "failure body")
def test_an_unknown_token_and_other_secrets_see_no_profile(world: World) -> None:
    login = world.login()
    pair = world.tokens()
    for token in (
        *(Secret("x" * 43), Secret("x"), world.code(), world.secrets["app"]),
        *(pair.refresh_token, login.tokens.refresh_token),
    ):
        assert refusal(get_userinfo(world, bearer=token)) == UNAUTHORIZED


def test_a_cookie_is_the_place_of_a_login_sessions_token_alone(world: World) -> None:
    login, third_party = world.login().tokens, world.tokens()
    for token, by_cookie, reply in (
        (login.access_token, True, Profile),
        (login.access_token, False, Profile),
        (third_party.access_token, False, Profile),
        (third_party.access_token, True, Refused),
    ):
        world.when(e.ProfileRequested(access_token=token, by_cookie=by_cookie)).then(reply)


@row(CASES, "token invalid")
@pytest.mark.parametrize(
    "values",
    [
        *([], [b"Basic YXBwOng="], [b"Bearer a", b"Bearer a"]),
        *([b"Bearer" + more] for more in (b"", b" ", b" a b", b" a,b", b" \xff")),
        [b""],
    ],
)
def test_a_request_without_one_bearer_token(values: list[bytes]) -> None:
    """Name no error in the challenge if no token was presented (READINGS 22; RFC 6750 §3)."""
    headers = [(b"authorization", value) for value in values]
    assert refusal(get_userinfo(given(), *headers)) == (401, "A1001", 'Bearer realm="oauth2"')


def by_hand(name: str, change: Callable[[World], Change]) -> Any:
    """Change a record by hand, as if it were lost or written by no rule."""
    return pytest.param(lambda world, pair: world.store.write([change(world)]), id=name)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda world, pair: world.wait(1800), marks=row(CASES, "token expired"), id="expired"),
        pytest.param(
            lambda world, pair: world.when(revoke(world.basic(), pair.refresh_token)),
            marks=row(CASES, "token revoked"),
            id="revoked",
        ),
        pytest.param(lambda world, pair: world.when(refresh(world.basic(), pair)), id="spent"),
        pytest.param(
            lambda world, pair: world.given(e.ClientDisabled(caller=e.Operator(), client_id="app")),
            id="client disabled",
        ),
        by_hand("no client", lambda world: Delete(world.client())),
        by_hand("no user", lambda world: Delete(world.user())),
        by_hand("client's epoch", lambda world: Update(old := world.client(), revise(old, epoch=1))),
        by_hand("user's epoch", lambda world: Update(old := world.user(), revise(old, epoch=1))),
    ],
)
def test_an_ended_token_sees_no_profile(world: World, end: Callable[[World, TokensIssued], object]) -> None:
    pair = world.tokens()
    end(world, pair)
    assert refusal(get_userinfo(world, bearer=pair.access_token)) == UNAUTHORIZED
