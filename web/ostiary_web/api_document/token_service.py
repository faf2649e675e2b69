"""`/api/oauth2/*` described: the token service as its RFCs have it, user-info, the consent page's calls."""

from typing import Any, Final

from ostiary_core.clients.client_fields import ACCESS_TOKEN_SECONDS
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.records import GrantType
from ostiary_core.model.secret import TOKEN_LENGTH
from ostiary_core.model.why import Why
from ostiary_core.users.user_fields import LOCALES
from ostiary_web.api_document.parts import (
    FORM,
    JSON,
    JSON_REFUSALS,
    SIGNED_IN,
    SIGNED_IN_REFUSALS,
    Json,
    array_of,
    enumeration,
    json_body,
    members,
    nullable,
    object_of,
    operation,
    overrun,
    ref,
    refusals,
    success,
    text,
)

__all__ = ["paths", "schemas"]

_TAG: Final = "OAuth 2.0"
_CLIENT: Final[list[Json]] = [{"client": []}, {}]
"""By Basic, or by `client_id` and `client_secret` in the form: never both."""

_TOKEN: Final[Json] = {"type": "string", "pattern": f"^[A-Za-z0-9_-]{{{TOKEN_LENGTH}}}$"}
_SCOPE: Final[Json] = {"type": "string", "description": "Scopes, separated by single blanks."}
_CODE_CHALLENGE: Final[Json] = {"type": "string", "pattern": "^[A-Za-z0-9_-]{43}$"}


def schemas() -> dict[str, Json]:
    """What the operations answer."""
    return {
        "TokenResponse": object_of(
            {
                "access_token": _TOKEN,
                "token_type": {"const": "Bearer"},
                "expires_in": {"type": "integer", "minimum": 0, "maximum": ACCESS_TOKEN_SECONDS.most},
                "refresh_token": _TOKEN,
                "scope": _SCOPE,
            },
            optional=("refresh_token",),
            description="RFC 6749 §5.1. There is a refresh token only for clients that register that grant.",
        ),
        "OAuthError": object_of(
            {
                "error": enumeration(sorted({m.error for m in MEANINGS.values() if m.error is not None})),
                "error_description": {"type": "string"},
            },
            optional=("error_description",),
            description="RFC 6749 §5.2. Switch on `error`; do not parse the description.",
        ),
        "Introspection": {
            "oneOf": [
                object_of({"active": {"const": False}}),
                object_of(
                    {
                        "active": {"const": True},
                        "client_id": {"type": "string"},
                        "scope": _SCOPE,
                        "token_type": {"const": "Bearer"},
                        "exp": {"type": "integer"},
                        "sub": {"type": "string"},
                        "username": {"type": "string"},
                    },
                    optional=("token_type", "sub", "username"),
                ),
            ],
            "description": "RFC 7662 §2.2. `token_type` is absent for a refresh token, `sub` and `username` "
            "for client credentials.",
        },
        "Profile": object_of(
            {
                "sub": {"type": "string", "description": "Never changes; link accounts by it."},
                "username": {"type": "string", "description": "May change; do not link accounts by it."},
                "name": {"type": "string"},
                "avatarUrl": nullable({"type": "string"}),
                "locale": nullable(enumeration(LOCALES)),
            }
        ),
        "AuthorizationOffer": object_of(
            {
                "client": object_of({"clientId": {"type": "string"}, "name": {"type": "string"}}),
                "scopes": array_of(
                    object_of(
                        {
                            "scope": {"type": "string"},
                            "description": {"type": "string"},
                            "autoApproved": {"type": "boolean"},
                        }
                    )
                ),
                "user": object_of({"username": {"type": "string"}, "name": {"type": "string"}}),
                "consentRequired": {"type": "boolean"},
                "redirectTo": {"type": "null"},
            }
        ),
    }


def paths() -> dict[str, dict[str, Json]]:
    """The operations, by path and method."""
    return {
        "/api/oauth2/token": {"post": _token()},
        "/api/oauth2/introspect": {
            "post": operation(
                "introspectToken",
                "Whether a token is good",
                tag=_TAG,
                security=_CLIENT,
                body=_form(
                    members(
                        {"token": text(1), "token_type_hint": text(), **_credentials()},
                        optional=("token_type_hint", *_credentials()),
                    )
                ),
                responses={
                    "200": _raw(ref("Introspection"), "What the calling client may know of the token."),
                    **_errors(),
                },
            )
        },
        "/api/oauth2/revoke": {
            "post": operation(
                "revokeToken",
                "End the session of a token",
                tag=_TAG,
                security=_CLIENT,
                body=_form(
                    members(
                        {"token": text(1), "token_type_hint": text(), **_credentials()},
                        optional=("token_type_hint", *_credentials()),
                    )
                ),
                responses={"200": {"description": "Done, or nothing to do; the body is empty."}, **_errors()},
            )
        },
        "/api/oauth2/userinfo": {
            "get": operation(
                "showUserInfo",
                "The profile of the user a token stands for",
                tag=_TAG,
                security=[{"accessToken": ["user.read"]}, *SIGNED_IN],
                responses={
                    **success(ref("Profile"), "The profile."),
                    **refusals(Why.NOT_SIGNED_IN, Why.USER_READ_MISSING, Why.REPRESENTS_NO_USER),
                },
            )
        },
        "/api/oauth2/authorize": {"get": _check(), "post": _decide()},
    }


# --- the token service


def _credentials() -> dict[str, Json]:
    return {"client_id": text(), "client_secret": text(format="password")}


def _form(schema: Json) -> Json:
    return {"required": True, "content": {FORM: {"schema": schema}}}


def _raw(schema: Json, description: str) -> Json:
    no_store = {"description": "no-store", "required": True, "schema": {"type": "string"}}
    return {
        "description": description,
        "headers": {"Cache-Control": no_store},
        "content": {JSON: {"schema": schema}},
    }


def _errors() -> dict[str, Json]:
    error = ref("OAuthError")
    challenge = {"description": "RFC 7235 §4.1", "required": True, "schema": {"type": "string"}}
    return {
        "400": _raw(error, "The request is wrong, or the grant is not valid."),
        "401": {
            **_raw(error, "The client did not authenticate."),
            "headers": {"WWW-Authenticate": challenge},
        },
        "413": _raw(error, "The body has more than 64 KiB."),
        "429": overrun(f"- `A0429` {MEANINGS[Why.TOO_MANY_REQUESTS].en}"),
        "500": overrun(f"- `A0500` {MEANINGS[Why.INTERNAL_ERROR].en}"),
    }


def _token() -> Json:
    fields: dict[str, Json] = {
        "grant_type": enumeration(grant.value for grant in GrantType),
        "code": text(description="With authorization_code."),
        "redirect_uri": text(description="With authorization_code: as in the authorization request."),
        "code_verifier": text(description="With authorization_code (RFC 7636 §4.5)."),
        "refresh_token": text(description="With refresh_token."),
        "scope": text(description="With refresh_token and client_credentials."),
        **_credentials(),
    }
    return operation(
        "issueTokens",
        "Tokens for a code, a refresh token, or the client itself",
        tag=_TAG,
        security=_CLIENT,
        description="Every refresh makes a new pair. The spent refresh token gets the same pair again for 30 "
        "seconds after its first use, with the same User-Agent; any other second use ends the session.",
        body=_form(members(fields, optional=[name for name in fields if name != "grant_type"])),
        responses={"200": _raw(ref("TokenResponse"), "The tokens."), **_errors()},
    )


# --- what the consent page calls


def _parameters() -> dict[str, Json]:
    return {
        "response_type": enumeration(("code",)),
        "client_id": text(1),
        "redirect_uri": text(1),
        "code_challenge": _CODE_CHALLENGE,
        "code_challenge_method": enumeration(("S256",)),
        "scope": text(1),
        "state": text(),
    }


_OPTIONAL: Final = ("scope", "state")

_CONSENT_REFUSALS: Final = (
    *SIGNED_IN_REFUSALS,
    Why.PASSWORD_MUST_CHANGE,
    Why.QUERY_UNDECODABLE,
    Why.PARAMETER_REPEATED,
    Why.PARAMETERS_MALFORMED,
    Why.CLIENT_NOT_AUTHORIZABLE,
    Why.REDIRECT_URI_NOT_REGISTERED,
    Why.RESPONSE_TYPE_UNSUPPORTED,
    Why.SCOPE_NOT_ALLOWED,
    Why.TOO_MANY_REQUESTS,
)


def _check() -> Json:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "query", "required": name not in _OPTIONAL, "schema": schema}
        for name, schema in _parameters().items()
    ]
    return operation(
        "checkAuthorization",
        "Whether an authorization request is in order, and what to ask the user",
        tag=_TAG,
        parameters=parameters,
        responses={**success(ref("AuthorizationOffer")), **refusals(*_CONSENT_REFUSALS)},
    )


def _decide() -> Json:
    body = members(
        {
            **{
                name: nullable(schema) if name in _OPTIONAL else schema
                for name, schema in _parameters().items()
            },
            "approve": {"type": "boolean"},
        },
        optional=_OPTIONAL,
    )
    return operation(
        "decideAuthorization",
        "The user's yes or no, and where to send the browser",
        tag=_TAG,
        body=json_body(body),
        responses={
            **success(object_of({"redirectTo": {"type": "string", "format": "uri"}})),
            **refusals(*JSON_REFUSALS, *_CONSENT_REFUSALS),
        },
    )
