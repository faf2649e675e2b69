"""Code that a client's developers can paste: requests by curl, and a session with Authlib.

A redirect URI may hold what a shell or Python would run, so it is quoted for each.
"""

import json
import shlex
from typing import NamedTuple
from urllib.parse import urlencode

from ostiary_core.model.records import Client, GrantType


class Snippet(NamedTuple):
    """One piece of code."""

    title: str
    code: str


def endpoints_for(client: Client, server: str) -> list[tuple[str, str]]:
    """Return what a client's developers configure, as keys of labels and values."""
    of_users = GrantType.AUTHORIZATION_CODE in client.grant_types
    return [
        *([("page.endpoint_authorize", f"{server}/sso")] if of_users else []),
        ("page.endpoint_token", f"{server}/api/oauth2/token"),
        ("page.endpoint_introspect", f"{server}/api/oauth2/introspect"),
        ("page.endpoint_revoke", f"{server}/api/oauth2/revoke"),
        *([("page.endpoint_userinfo", f"{server}/api/oauth2/userinfo")] if of_users else []),
        *([("page.endpoint_pkce", "S256")] if of_users else []),
        ("page.endpoint_authentication", "client_secret_basic"),
        ("column.clients.clientId", client.client_id),
    ]


def snippets_for(client: Client, server: str) -> list[Snippet]:
    """Return the snippets that fit the client's grants, without the secret, which is not stored."""
    found = []
    if GrantType.CLIENT_CREDENTIALS in client.grant_types:
        found.append(Snippet("curl: client_credentials", _machine_token(client, server)))
    if GrantType.AUTHORIZATION_CODE in client.grant_types:
        found.append(Snippet("curl: authorization_code", _code_by_curl(client, server)))
        found.append(Snippet("Python: Authlib", _authlib(client, server)))
    return found


def _machine_token(client: Client, server: str) -> str:
    return (
        f'curl -u "{client.client_id}:$SECRET" {server}/api/oauth2/token -d grant_type=client_credentials\n'
        f'curl -u "{client.client_id}:$SECRET" {server}/api/oauth2/introspect -d "token=$TOKEN"'
    )


def _code_by_curl(client: Client, server: str) -> str:
    address = client.redirect_uris[0] if client.redirect_uris else "https://…"
    query = urlencode({"response_type": "code", "client_id": client.client_id, "redirect_uri": address})
    return (
        "VERIFIER=$(openssl rand -hex 32)\n"
        'CHALLENGE=$(printf %s "$VERIFIER" | openssl dgst -sha256 -binary | basenc --base64url | tr -d =)\n'
        "STATE=$(openssl rand -hex 16)\n"
        f'echo "{server}/sso?{query}&code_challenge_method=S256&code_challenge=$CHALLENGE&state=$STATE"\n'
        "# the browser comes back with ?code=…&state=…, which must be $STATE\n"
        f'curl -u "{client.client_id}:$SECRET" {server}/api/oauth2/token \\\n'
        f"  -d grant_type=authorization_code -d code=$CODE -d code_verifier=$VERIFIER \\\n"
        f"  --data-urlencode {shlex.quote(f'redirect_uri={address}')}"
    )


def _authlib(client: Client, server: str) -> str:
    address = client.redirect_uris[0] if client.redirect_uris else "https://…"
    return (
        "from authlib.integrations.requests_client import OAuth2Session\n"
        "from authlib.common.security import generate_token\n"
        "\n"
        f'oauth = OAuth2Session("{client.client_id}", SECRET, redirect_uri={json.dumps(address)},\n'
        '                      scope="user.read", code_challenge_method="S256")\n'
        "verifier = generate_token(64)\n"
        f'url, state = oauth.create_authorization_url("{server}/sso", code_verifier=verifier)\n'
        "# keep verifier and state, send the browser to url; at the callback:\n"
        f'token = oauth.fetch_token("{server}/api/oauth2/token",\n'
        "    authorization_response=callback_url, state=state, code_verifier=verifier)\n"
        f'profile = oauth.get("{server}/api/oauth2/userinfo").json()["data"]'
    )
