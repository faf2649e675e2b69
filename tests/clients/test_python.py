"""The clients that Python programs sign users in with, beside Authlib's on requests (tests/web)."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from oauthlib.oauth2 import BackendApplicationClient
from oauthlib.oauth2.rfc6749.errors import InvalidGrantError
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session

from tests.web.served import REDIRECT_URI, VERIFIER, in_query
from tests.web.test_real_client import Server, approved, registered, started

with warnings.catch_warnings():
    # It prefers a successor of httpx and says so on import.
    warnings.simplefilter("ignore")
    from authlib.integrations.base_client import OAuthError
    from authlib.integrations.httpx_client import OAuth2Client


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with started("serve", tmp_path_factory.mktemp("serve")) as running:
        yield running


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_authlib_on_httpx(server: Server, method: str) -> None:
    client = registered(server, method)
    token_url = f"{server.base}/api/oauth2/token"
    with OAuth2Client(
        client_id=client.client_id,
        client_secret=client.secret,
        scope="user.read",
        redirect_uri=REDIRECT_URI,
        code_challenge_method="S256",
        token_endpoint_auth_method=method,
        revocation_endpoint_auth_method=method,
        trust_env=False,
    ) as session:
        address, state = session.create_authorization_url(f"{server.base}/sso", code_verifier=VERIFIER)
        landed = approved(server, address.removeprefix(server.base))
        assert in_query(landed, "state") == state
        first = session.fetch_token(token_url, authorization_response=landed, code_verifier=VERIFIER)
        profile = session.get(f"{server.base}/api/oauth2/userinfo").json()["data"]
        assert profile["username"] == "admin"
        second = session.refresh_token(token_url, refresh_token=first["refresh_token"])
        retried = session.refresh_token(token_url, refresh_token=first["refresh_token"])
        assert retried["access_token"] == second["access_token"] != first["access_token"]
        revoked = session.revoke_token(f"{server.base}/api/oauth2/revoke", token=second["refresh_token"])
        assert revoked.status_code == 200
        with pytest.raises(OAuthError, match="invalid_grant"):
            session.refresh_token(token_url, refresh_token=second["refresh_token"])


def test_requests_oauthlib(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")  # there is no TLS here
    client = registered(server, "requests-oauthlib")
    token_url = f"{server.base}/api/oauth2/token"
    # PKCE is off by default.
    session: Any = OAuth2Session(client.client_id, redirect_uri=REDIRECT_URI, scope="user.read", pkce="S256")
    session.trust_env = False
    address, state = session.authorization_url(f"{server.base}/sso")
    landed = approved(server, address.removeprefix(server.base))
    assert in_query(landed, "state") == state
    # Given alone, the secret goes by Basic; `include_client_id` would send the identifier beside it.
    first = session.fetch_token(token_url, authorization_response=landed, client_secret=client.secret)
    assert first["scope"] == ["user.read"]
    assert session.get(f"{server.base}/api/oauth2/userinfo").json()["data"]["username"] == "admin"
    # A refresh is not authenticated unless it is told how.
    by_basic = HTTPBasicAuth(client.client_id, client.secret)
    second = session.refresh_token(token_url, refresh_token=first["refresh_token"], auth=by_basic)
    retried = session.refresh_token(token_url, refresh_token=first["refresh_token"], auth=by_basic)
    assert retried["access_token"] == second["access_token"] != first["access_token"]
    revoked = session.post(
        f"{server.base}/api/oauth2/revoke",
        data={"token": second["refresh_token"]},
        auth=by_basic,
        withhold_token=True,
    )
    assert (revoked.status_code, revoked.content) == (200, b"")
    with pytest.raises(InvalidGrantError):
        session.refresh_token(token_url, refresh_token=second["refresh_token"], auth=by_basic)


def test_requests_oauthlib_as_a_machine(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    client = registered(server, "machine")
    session: Any = OAuth2Session(client=BackendApplicationClient(client.client_id))
    session.trust_env = False
    issued = session.fetch_token(
        f"{server.base}/api/oauth2/token", auth=HTTPBasicAuth(client.client_id, client.secret)
    )
    assert "refresh_token" not in issued
    assert issued["scope"] == ["user.read"]
