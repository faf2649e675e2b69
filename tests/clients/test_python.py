"""The clients that Python programs sign users in with, over real HTTP, against every way of serving.

ostiary serve
hypercorn --worker-class trio ostiary_web.asgi:app
ostiary serve, two workers of it, on PostgreSQL
"""

import warnings
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from authlib.integrations.base_client import OAuthError
from authlib.integrations.flask_client import OAuth
from authlib.integrations.requests_client import OAuth2Session
from flask import Flask
from oauthlib.oauth2 import BackendApplicationClient
from oauthlib.oauth2.rfc6749.errors import InvalidGrantError
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session as RequestsSession

from ostiary_net.sql.columns import TABLES
from tests.clients.parties import House, open_house
from tests.support.asks import VERIFIER
from tests.support.callers import REDIRECT_URI, Registered, in_query

with warnings.catch_warnings():
    # Authlib prefers a successor of httpx and says so on import.
    warnings.simplefilter("ignore")
    from authlib.integrations.httpx_client import OAuth2Client


@pytest.fixture(scope="module", params=["serve", "hypercorn", "postgresql"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with open_house(tmp_path_factory.mktemp(request.param), request.param) as running:
        yield running


def authlib(client: Registered, method: str = "client_secret_basic", kind: Any = OAuth2Session) -> Any:
    """Make Authlib's client, on requests or on httpx."""
    alone = {"trust_env": False} if kind is OAuth2Client else {}
    session = kind(
        client.client_id,
        client.secret,
        scope="user.read",
        redirect_uri=REDIRECT_URI,
        code_challenge_method="S256",
        token_endpoint_auth_method=method,
        revocation_endpoint_auth_method=method,
        **alone,
    )
    if not alone:
        session.trust_env = False
    return session


@pytest.mark.parametrize("kind", [OAuth2Session, OAuth2Client])
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_authlib_goes_the_whole_way(house: House, method: str, kind: Any) -> None:
    client = house.register(f"{method}-{kind.__name__}")
    token_url = f"{house.base}/api/oauth2/token"
    with authlib(client, method, kind) as session:
        address, state = session.create_authorization_url(f"{house.base}/sso", code_verifier=VERIFIER)
        landed = house.approve(address)
        assert in_query(landed, "state") == state
        first = session.fetch_token(token_url, authorization_response=landed, code_verifier=VERIFIER)
        assert (first["token_type"], first["expires_in"], first["scope"]) == ("Bearer", 1800, "user.read")

        profile = session.get(f"{house.base}/api/oauth2/userinfo").json()["data"]
        assert (profile["username"], profile["name"]) == ("admin", "admin")

        old = first["refresh_token"]
        second = session.refresh_token(token_url, refresh_token=old)
        assert second["access_token"] != first["access_token"]
        retried = session.refresh_token(token_url, refresh_token=old)
        assert [retried[name] for name in ("access_token", "refresh_token")] == [
            second[name] for name in ("access_token", "refresh_token")
        ]

        known = introspect(house, session, second["access_token"])
        assert (known["active"], known["sub"], known["client_id"]) == (True, profile["sub"], client.client_id)
        assert introspect(house, session, first["access_token"]) == {"active": False}

        revoked = session.revoke_token(f"{house.base}/api/oauth2/revoke", token=second["refresh_token"])
        assert (revoked.status_code, revoked.content) == (200, b"")
        assert introspect(house, session, second["access_token"]) == {"active": False}
        with pytest.raises(OAuthError, match="invalid_grant"):
            session.refresh_token(token_url, refresh_token=second["refresh_token"])
    house.secrets |= {in_query(landed, "code")}
    house.secrets |= {pair[name] for pair in (first, second) for name in ("access_token", "refresh_token")}


def test_authlibs_flask_integration(house: House) -> None:
    client = house.register("flask")
    app = Flask("shop")
    app.secret_key = "a secret of the application"
    shop = OAuth(app).register(
        "ostiary",
        client_id=client.client_id,
        client_secret=client.secret,
        access_token_url=f"{house.base}/api/oauth2/token",
        authorize_url=f"{house.base}/sso",
        client_kwargs={"code_challenge_method": "S256", "trust_env": False},
        user_agent="shop",
    )

    @app.get("/login")
    def login() -> Any:
        return shop.authorize_redirect(REDIRECT_URI)

    @app.get("/callback")
    def callback() -> Any:
        token = shop.authorize_access_token()
        return shop.get(f"{house.base}/api/oauth2/userinfo", token=token).json()["data"]

    browser = app.test_client()
    landed = house.approve(browser.get("/login").headers["location"])
    back = browser.get(landed.removeprefix("https://app.example"))
    assert (back.status_code, back.get_json()["username"]) == (200, "admin")
    assert browser.get(landed.removeprefix("https://app.example")).status_code == 500, "a state works once"


def introspect(house: House, session: Any, token: str) -> Any:
    return session.introspect_token(f"{house.base}/api/oauth2/introspect", token=token).json()


def test_requests_oauthlib(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")  # there is no TLS here
    client = house.register("requests-oauthlib")
    token_url = f"{house.base}/api/oauth2/token"
    # PKCE is off by default.
    session: Any = RequestsSession(
        client.client_id, redirect_uri=REDIRECT_URI, scope="user.read", pkce="S256"
    )
    session.trust_env = False
    address, state = session.authorization_url(f"{house.base}/sso")
    landed = house.approve(address)
    assert in_query(landed, "state") == state
    # Given alone, the secret goes by Basic; `include_client_id` would send the identifier beside it.
    first = session.fetch_token(token_url, authorization_response=landed, client_secret=client.secret)
    assert first["scope"] == ["user.read"]
    assert session.get(f"{house.base}/api/oauth2/userinfo").json()["data"]["username"] == "admin"
    # A refresh is authenticated only if `auth` is given.
    by_basic = HTTPBasicAuth(client.client_id, client.secret)
    second = session.refresh_token(token_url, refresh_token=first["refresh_token"], auth=by_basic)
    retried = session.refresh_token(token_url, refresh_token=first["refresh_token"], auth=by_basic)
    assert retried["access_token"] == second["access_token"] != first["access_token"]
    revoked = session.post(
        f"{house.base}/api/oauth2/revoke",
        data={"token": second["refresh_token"]},
        auth=by_basic,
        withhold_token=True,
    )
    assert (revoked.status_code, revoked.content) == (200, b"")
    with pytest.raises(InvalidGrantError):
        session.refresh_token(token_url, refresh_token=second["refresh_token"], auth=by_basic)
    machine: Any = RequestsSession(client=BackendApplicationClient(client.client_id))
    machine.trust_env = False
    issued = machine.fetch_token(token_url, auth=by_basic)
    assert "refresh_token" not in issued
    assert issued["scope"] == ["user.read"]


def read_database(house: House) -> bytes:
    """Return all that is in the database of a server, as it is stored."""
    if house.database is None:
        return b"".join(path.read_bytes() for path in house.server.folder.glob("ostiary.db*"))
    with psycopg.connect(house.database) as connection:
        names = [*(table.name for table in TABLES.values()), "audit"]
        rows = [connection.execute(f"SELECT * FROM {name}".encode()).fetchall() for name in names]
    return repr(rows).encode()


def test_no_secret_is_in_the_log_or_on_the_disk(house: House) -> None:
    """Run last in this module: look at what the other tests left behind."""
    said, on_disk = house.server.log.read_text(), read_database(house)
    assert "session-started" in said, "there is a log to look at"
    assert b"https://app.example" in on_disk, "there is a store to look at"
    assert len(house.secrets) > 15
    for secret in house.secrets:
        assert secret not in said
        assert secret.encode() not in on_disk
