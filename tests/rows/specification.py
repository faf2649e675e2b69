"""The rows of the specification's tables, and the conditions its numbered lists state, as data.

A row that names several conditions or triggers is listed once for each of them. `proved_by` is the folder
of tests whose business the row is: `core` where the rules decide it, `web` where it takes the server.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = ["TABLES", "Folder", "Row"]


class Folder(StrEnum):
    """Where the tests of a row stand."""

    CORE = "core"
    WEB = "web"


class Row(NamedTuple):
    """One row, or one of the conditions that a row lists."""

    name: str
    proved_by: Folder


def _core(*names: str) -> tuple[Row, ...]:
    return tuple(Row(name, Folder.CORE) for name in names)


def _web(*names: str) -> tuple[Row, ...]:
    return tuple(Row(name, Folder.WEB) for name in names)


TABLES: Final[Mapping[str, tuple[Row, ...]]] = MappingProxyType(
    {
        # --- Resources and their fields
        "Client": _core(
            "clientId",
            "name",
            "client secret",
            "redirectUris",
            "grantTypes",
            "scopes",
            "autoApproveScopes",
            "access token lifetime",
            "refresh token lifetime",
            "enabled / deleted",
        ),
        "Token response": _core(
            "access_token", "token_type", "expires_in", "refresh_token", "scope", "status and headers"
        ),
        "Introspection response": _core(
            "active", "client_id", "scope", "token_type", "exp", "sub", "username", "only active: false"
        ),
        "User profile": _core("sub", "username", "name", "avatarUrl", "locale", "no other fields"),
        "Session (grant)": _core(
            "created when a code is redeemed",
            "created when a client-credentials token is issued",
            "maximum duration counted from the redemption",
            "refreshing does not extend the maximum",
            "access token lifetime not extended by use",
            "client-credentials session force-terminable only by a super administrator",
        ),
        # --- States and transitions
        "Authorization code": _core(
            "issued, redeem: valid code, verifier, client, redirect URI",
            "issued, redeem: wrong code verifier",
            "issued, redeem: wrong redirect URI",
            "issued, redeem: other failure of the exchange",
            "issued, time: 300 seconds elapsed",
            "issued, user-level invalidation",
            "used, redeem again",
            "after consent: redirect URI no longer registered",
            "after consent: scope no longer among the client's",
        ),
        "Session and tokens": _core(
            "refresh with the current refresh token",
            "old refresh token within 30 s, same User-Agent",
            "old refresh token after 30 s",
            "old refresh token with a different User-Agent",
            "refresh with a scope beyond the original",
            "access token expires",
            "maximum duration reached",
            "revoke with an access token",
            "revoke with a refresh token",
            "user changes password",
            "user changes telephone number",
            "password reset by administrator",
            "password reset by text-message recovery",
            "user disabled",
            "user deleted",
            "current password entered wrongly repeatedly",
            "user force-logged-out by an administrator",
            "one session force-logged-out",
            "client disabled",
            "client deleted",
            "client secret reset",
            "refresh token used by another client",
        ),
        # --- Endpoints
        "Summary": _web(
            "GET /sso",
            "GET /api/oauth2/authorize",
            "POST /api/oauth2/authorize",
            "POST /api/oauth2/token",
            "POST /api/oauth2/introspect",
            "POST /api/oauth2/revoke",
            "GET /api/oauth2/userinfo",
            "POST /api/oauth/clients",
        ),
        "/sso parameters": _core(
            "response_type",
            "client_id",
            "redirect_uri",
            "code_challenge",
            "code_challenge_method",
            "scope",
            "state",
        ),
        "/sso browser behaviour": (
            *_web("1 not logged in: login page and back"),
            *_core(
                "2 approved: code and state",
                "3 denied: error=access_denied and state",
                "4 auto-approved: no question",
                "4 remembered consent: no question",
            ),
            *_web("5 invalid request stays on /sso"),
            *_core("6 registered query stays in front"),
            *_web("7 only the two results reach the redirect address"),
        ),
        "Token request": _core(
            "form-encoded only",
            "no array or object field",
            "authentication by Basic, not form-decoded",
            "authentication by form fields",
            "only one authentication method",
        ),
        "Grants": _core("authorization_code", "refresh_token", "client_credentials"),
        "Introspect request": _core(
            "access and refresh tokens", "token_type_hint ignored", "token missing", "authentication failed"
        ),
        "Revoke request": _core(
            "200 with an empty body",
            "the whole session ends",
            "a non-existent token",
            "a token of another client",
            "authentication failed",
        ),
        "User-info": _core(
            "profile for a third party's token",
            "the backend's own login session",
            "token lacks user.read",
            "token from client_credentials",
            "token invalid",
            "token expired",
            "token revoked",
            "user changed password",
            "user disabled",
            "user deleted",
        ),
        "Client registration": (
            *_core("permission oauth.client.create", "one-time plain secret", "built-in client protected"),
            *_web("HTTP 201 and the envelope"),
        ),
        # --- Authentication
        "Authentication": (
            *_core(
                "third-party backend at /token, /introspect, /revoke: client secret",
                "third-party backend at /userinfo: Bearer",
                "consent page at /authorize: login session only",
                "administrator at /api/oauth/clients: Bearer with permission",
            ),
        ),
        "Authentication rules": (
            *_core(
                "1 no secret",
                "1 wrong secret",
                "1 unknown client",
                "1 disabled client",
                "1 deleted client",
                "1 console or mobile",
                "2 a third-party token calls only user-info",
                "2 auth/refresh takes no OAuth refresh token",
                "3 client_credentials token: introspected without sub",
                "3 client_credentials token: revoked",
                "3 client_credentials token: accepted by no business endpoint",
                "4 a leaked secret is replaced by a reset",
            ),
            *_web("2 any other backend endpoint answers 401", "5 no cross-origin permission"),
        ),
        # --- Errors
        "Token-service errors": _core(
            "invalid_request: body not form-encoded",
            "invalid_request: a field is an array or object",
            "invalid_request: a required parameter missing",
            "invalid_request: redirect_uri missing at exchange",
            "invalid_request: redirect_uri different",
            "invalid_request: token missing at introspect",
            "invalid_request: token missing at revoke",
            "invalid_client: 400 by form fields at /token",
            "invalid_client: 401 with WWW-Authenticate by Basic at /token",
            "invalid_client: 401 at introspect and revoke",
            "invalid_client: secret missing",
            "invalid_client: secret wrong",
            "invalid_client: client unknown",
            "invalid_client: client disabled",
            "invalid_client: client deleted",
            "invalid_client: console or mobile",
            "invalid_grant: code wrong",
            "invalid_grant: code expired",
            "invalid_grant: code already used",
            "invalid_grant: code of another client",
            "invalid_grant: code_verifier wrong",
            "invalid_grant: code_verifier missing",
            "invalid_grant: user changed password",
            "invalid_grant: user changed telephone number",
            "invalid_grant: password reset",
            "invalid_grant: user disabled",
            "invalid_grant: user deleted",
            "invalid_grant: user force-logged-out",
            "invalid_grant: redirect URI no longer registered",
            "invalid_grant: refresh token invalid",
            "invalid_grant: refresh token expired",
            "invalid_grant: refresh token replayed outside the grace",
            "invalid_grant: refresh token of another client",
            "invalid_grant: authorization at its maximum duration",
            "unauthorized_client",
            "unsupported_grant_type: password",
            "unsupported_grant_type: implicit",
            "unsupported_grant_type: unknown",
            "invalid_scope: client_credentials beyond the registered",
            "invalid_scope: client without registered scope",
            "invalid_scope: scope in the code no longer registered",
            "invalid_scope: refresh beyond the original grant",
            "a failed exchange voids the code",
        ),
        "Envelope errors on the token-service endpoints": _web("429 A0429", "500 A0500"),
        "Consent endpoint errors": (
            *_core(
                "B4001: client unknown",
                "B4001: client disabled",
                "B4001: console or mobile",
                "B4001: without the authorization_code grant",
                "B4001: redirect_uri not registered",
                "B4002: response_type is not code",
                "B4002: scope empty",
                "B4002: scope outside the client's",
                "A0401: redirect_uri missing",
                "A0401: code_challenge missing",
                "A0401: code_challenge not 43 characters",
                "A0401: code_challenge_method missing",
                "A0401: code_challenge_method not S256",
                "A1004: must change the password first",
            ),
            *_web("A0429: more than 120 a minute"),
        ),
        "Other OAuth-related codes": _core("B4003", "B4010", "A0430"),
        "General envelope and status codes": (
            *_core("failure body", "success body"),
            *_web("200, 201", "400", "401", "403", "404", "409", "413", "422", "429"),
        ),
        # --- Limits
        "Limits": _core(
            "GET /api/oauth2/authorize: 120 per minute",
            "POST /api/oauth2/authorize: 120 per minute",
            "POST /api/oauth2/token: 600 per minute",
            "POST /api/oauth2/introspect: 1200 per minute",
            "POST /api/oauth2/revoke: 1200 per minute",
            "GET /api/oauth2/userinfo: no limit",
        ),
        "Limits rules": (
            *_web("1 over the limit: 429 in the envelope", "2 per source IP, TRUST_PROXY"),
            *_core(
                "2 counting is per source IP",
                "3 counters in the memory of each process",
                "4 authorization code validity 300 s",
                "4 refresh grace period 30 s",
                "4 token length 43 characters",
                "4 code challenge length 43 characters",
                "4 access token lifetime",
                "4 refresh token lifetime",
            ),
        ),
    }
)
