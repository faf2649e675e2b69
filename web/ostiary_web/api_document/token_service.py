"""Describe `/api/oauth2/*`: the token service by its RFCs, user-info, and the consent page's calls.

The core writes these answers; here is what they consist of, and tests hold the one to the other.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from ostiary_core.http.envelope import text_of
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.client import ACCESS_TOKEN_SECONDS
from ostiary_core.model.records import GrantType
from ostiary_core.model.why import Why
from ostiary_core.texts import ENGLISH
from ostiary_web.api_document.operations import CHALLENGE, FORM, Body, DescribedOperation, Overrun, Reply
from ostiary_web.api_document.schemas import Json, optional, text
from ostiary_web.application.answer_data import AnswerData, Locale, Token, one_of

Scope = Annotated[str, Meta(description="Scopes, separated by single blanks.")]


class TokenResponse(AnswerData, rename=None):
    """RFC 6749 §5.1. There is a refresh token only for clients that register that grant."""

    access_token: Token
    token_type: Literal["Bearer"]
    expires_in: Annotated[int, Meta(ge=0, le=ACCESS_TOKEN_SECONDS.most)]
    scope: Scope
    refresh_token: Token | UnsetType = UNSET


class OAuthError(AnswerData, rename=None):
    """RFC 6749 §5.2. Switch on `error`; do not parse the description."""

    error: Annotated[
        str, one_of(sorted({each.error for each in MEANINGS.values() if each.error is not None}))
    ]
    error_description: str | UnsetType = UNSET


class ActiveToken(AnswerData, rename=None):
    """RFC 7662 §2.2. A refresh token has no `token_type`, client credentials have no `sub` and `username`."""

    active: Annotated[bool, Meta(extra_json_schema={"const": True})]
    client_id: str
    scope: Scope
    exp: int
    token_type: Literal["Bearer"] | UnsetType = UNSET
    sub: str | UnsetType = UNSET
    username: str | UnsetType = UNSET


class InactiveToken(AnswerData):
    """RFC 7662 §2.2: nothing more is told."""

    active: Annotated[bool, Meta(extra_json_schema={"const": False})]


class UserInfo(AnswerData):
    """The user that an access token stands for."""

    sub: Annotated[str, Meta(description="Never changes; link accounts by it.")]
    username: Annotated[str, Meta(description="May change; do not link accounts by it.")]
    name: str
    avatar_url: str | None
    locale: Locale | None


class OfferedClient(AnswerData):
    """The client that asks."""

    client_id: str
    name: str


class OfferedScope(AnswerData):
    """A requested scope."""

    scope: str
    description: str
    auto_approved: bool


class OfferedUser(AnswerData):
    """The user who is asked."""

    username: str
    name: str


class AuthorizationOffer(AnswerData):
    """What to ask the user."""

    client: OfferedClient
    scopes: list[OfferedScope]
    user: OfferedUser
    consent_required: bool
    redirect_to: None


class Redirect(AnswerData):
    """The address to send the browser to."""

    redirect_to: Annotated[str, Meta(extra_json_schema={"format": "uri"})]


# --- the token service

_CLIENT: Final[list[Json]] = [{"client": []}, {}]
"""Ways to authenticate a client: Basic, or `client_id` and `client_secret` in the form, never both."""
_CREDENTIALS: Final = {"client_id": optional(text()), "client_secret": optional(text(format="password"))}
_NO_STORE: Final = {"Cache-Control": "no-store"}
_ERRORS: Final[Mapping[int, Reply]] = {
    400: Reply("The request is wrong, or the grant is not valid.", OAuthError, headers=_NO_STORE),
    401: Reply("The client did not authenticate.", OAuthError, headers=_NO_STORE | CHALLENGE),
    413: Reply("The body has more than 64 KiB.", OAuthError, headers=_NO_STORE),
    415: Reply("The body has a `Content-Encoding`.", OAuthError, headers=_NO_STORE),
    429: Reply(f"- `A0429` {text_of(Why.TOO_MANY_REQUESTS, ENGLISH)}", Overrun),
    500: Reply(f"- `A0500` {text_of(Why.INTERNAL_ERROR, ENGLISH)}", Overrun),
}


def _token_operation(
    name: str, summary: str, members: Mapping[str, Any], done: Reply, about: str = ""
) -> DescribedOperation:
    return DescribedOperation(
        name,
        summary,
        description=about,
        security=_CLIENT,
        body=Body({**members, **_CREDENTIALS}, FORM),
        replies={200: done, **_ERRORS},
    )


_TOKEN_OPERATIONS: Final = {
    "POST /api/oauth2/token": _token_operation(
        "issueTokens",
        "Tokens for a code, a refresh token, or the client itself",
        {
            "grant_type": GrantType,
            "code": optional(text(description="With authorization_code.")),
            "redirect_uri": optional(
                text(description="With authorization_code: as in the authorization request.")
            ),
            "code_verifier": optional(text(description="With authorization_code (RFC 7636 §4.5).")),
            "refresh_token": optional(text(description="With refresh_token.")),
            "scope": optional(text(description="With refresh_token and client_credentials.")),
        },
        Reply("The tokens.", TokenResponse, headers=_NO_STORE),
        "Every refresh makes a new pair. The spent refresh token gets the same pair again for 30 seconds "
        "after its first use, with the same User-Agent; any other second use ends the session.",
    ),
    "POST /api/oauth2/introspect": _token_operation(
        "introspectToken",
        "Whether a token is good",
        {"token": text(1), "token_type_hint": optional(text())},
        Reply(
            "What the calling client may know of the token.", (ActiveToken, InactiveToken), headers=_NO_STORE
        ),
    ),
    "POST /api/oauth2/revoke": _token_operation(
        "revokeToken",
        "End the session of a token",
        {"token": text(1), "token_type_hint": optional(text())},
        Reply("Done, or nothing to do; the body is empty."),
        "By the current access token or any refresh token of the session, spent ones too. An access token "
        "that a refresh replaced is known no more: revoke by the refresh token.",
    ),
}

# --- what the consent page calls

_REQUIRED: Final[Mapping[str, Any]] = {
    "response_type": Literal["code"],
    "client_id": text(1),
    "redirect_uri": text(1),
    "code_challenge": Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{43}$")],
    "code_challenge_method": Literal["S256"],
}
_OPTIONAL: Final[Mapping[str, Any]] = {"scope": text(1), "state": str}
_CONSENT_REFUSALS: Final = (
    Why.PASSWORD_MUST_CHANGE,
    Why.SECOND_FACTOR_REQUIRED,
    Why.QUERY_UNDECODABLE,
    Why.PARAMETER_REPEATED,
    Why.PARAMETERS_MALFORMED,
    Why.CLIENT_NOT_AUTHORIZABLE,
    Why.REDIRECT_URI_NOT_REGISTERED,
    Why.RESPONSE_TYPE_UNSUPPORTED,
    Why.SCOPE_NOT_ALLOWED,
)


_AUTHORIZATION_QUERY: Final[tuple[Json, ...]] = tuple(
    {"name": name, "in": "query", "required": name in _REQUIRED, "schema": kind}
    for name, kind in {**_REQUIRED, **_OPTIONAL}.items()
)

OPERATIONS: Final[Mapping[str, DescribedOperation]] = {
    **_TOKEN_OPERATIONS,
    "GET /api/oauth2/userinfo": DescribedOperation(
        "showUserInfo",
        refusals=(Why.NOT_SIGNED_IN, Why.USER_READ_MISSING, Why.REPRESENTS_NO_USER),
        security=[{"accessToken": ["user.read"]}, {"login": []}],
        data=UserInfo,
    ),
    "GET /api/oauth2/authorize": DescribedOperation(
        "checkAuthorization",
        parameters=_AUTHORIZATION_QUERY,
        data=AuthorizationOffer,
        refusals=_CONSENT_REFUSALS,
    ),
    "POST /api/oauth2/authorize": DescribedOperation(
        "decideAuthorization",
        body=Body(
            {
                **_REQUIRED,
                **{name: optional(kind | None) for name, kind in _OPTIONAL.items()},
                "approve": bool,
            }
        ),
        data=Redirect,
        refusals=_CONSENT_REFUSALS,
    ),
}
