"""The HTTP meaning of every reason: one table of status, envelope code, `error` and its description.

No description tells an unknown token from another client's, or an unknown client from a wrong secret. All fit
the characters of RFC 6749 §5.2. Every other text is in `ostiary_core.texts`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ostiary_core.model.why import Why


@dataclass(frozen=True, slots=True)
class Meaning:
    """The answer to a refusal: status, envelope code, `error` and `error_description`."""

    status: int
    """HTTP status; `invalid_client` by form fields at `/token` alone has another."""
    code: str
    error: str | None = None
    description: str | None = None
    """English `error_description` of the token service's own reasons (RFC 6749 §5.2); None for others."""


def _oauth(error: str, status: int, description: str) -> Meaning:
    """Make a token-service error; the code is for logs and audit texts."""
    return Meaning(status, "A0400", error, description)


def _request(description: str) -> Meaning:
    return _oauth("invalid_request", 400, description)


def _grant(description: str) -> Meaning:
    return _oauth("invalid_grant", 400, description)


def _scope(description: str) -> Meaning:
    return _oauth("invalid_scope", 400, description)


_CLIENT: Final = _oauth("invalid_client", 401, "Client authentication failed.")
_CODE: Final = _grant("The authorization code is not valid.")
_REFRESH: Final = _grant("The refresh token is not valid.")
# A client that is not told so tries the same token again for hours.
_SIGN_IN: Final = "The session has ended; send the user to sign in again."
_REPLAYED: Final = _grant(f"The refresh token was already used. {_SIGN_IN}")
_FAILED: Final = Meaning(500, "A0500")
_ENDED: Final = Meaning(401, "A1001", "invalid_grant")
"""Meaning of every reason that ends sessions: 401, sign in again."""

MEANINGS: Final[Mapping[Why, Meaning]] = MappingProxyType(
    {
        Why.REQUEST_MALFORMED: Meaning(400, "A0400", "invalid_request"),
        Why.BODY_TOO_LARGE: Meaning(413, "C1413", "invalid_request"),
        Why.CONTENT_CODING_UNSUPPORTED: Meaning(415, "A0415", "invalid_request"),
        Why.NOT_FORM_ENCODED: _request("The body must be application/x-www-form-urlencoded in UTF-8."),
        Why.FORM_UNDECODABLE: _request("The form cannot be decoded as UTF-8, or holds a NUL character."),
        Why.FIELD_NESTED: _request("A field must be a plain value, not an array or object."),
        Why.FIELD_REPEATED: _request("A field was sent more than once."),
        Why.TWO_AUTHENTICATIONS: _request(
            "Authenticate either by HTTP Basic or by client_id and client_secret, not by both."
        ),
        Why.AUTHENTICATION_SCHEME_UNKNOWN: _request(
            "Do not send an Authorization header other than Basic with client_id and client_secret."
        ),
        Why.CREDENTIALS_MISSING: _CLIENT,
        Why.CREDENTIALS_MALFORMED: _CLIENT,
        Why.CLIENT_UNKNOWN: _CLIENT,
        Why.CLIENT_BUILT_IN: _CLIENT,
        Why.CLIENT_DELETED: _CLIENT,
        Why.CLIENT_DISABLED: _CLIENT,
        Why.CLIENT_SECRET_WRONG: _CLIENT,
        Why.CLIENT_SECRET_EXPIRED: _CLIENT,
        Why.GRANT_TYPE_MISSING: _request("grant_type is missing."),
        Why.GRANT_TYPE_UNKNOWN: _oauth(
            "unsupported_grant_type",
            400,
            "grant_type must be authorization_code, refresh_token or client_credentials.",
        ),
        Why.GRANT_NOT_REGISTERED: _oauth(
            "unauthorized_client", 400, "The client is not authorized to use this grant type."
        ),
        Why.CODE_MISSING: _request("code is missing."),
        Why.REDIRECT_URI_MISSING: _request("redirect_uri is missing."),
        Why.REFRESH_TOKEN_MISSING: _request("refresh_token is missing."),
        Why.TOKEN_MISSING: _request("token is missing."),
        Why.CODE_UNKNOWN: _CODE,
        Why.CODE_OF_ANOTHER_CLIENT: _CODE,
        Why.CODE_USED: _grant("The authorization code was already used."),
        Why.CODE_VOID: _grant("The authorization code is void."),
        Why.CODE_EXPIRED: _grant("The authorization code has expired."),
        Why.REDIRECT_URI_DIFFERENT: _request(
            "redirect_uri differs from the one in the authorization request."
        ),
        Why.VERIFIER_MISSING: _grant("code_verifier is missing."),
        Why.VERIFIER_WRONG: _grant("code_verifier does not match the code_challenge."),
        Why.REDIRECT_URI_NO_LONGER_REGISTERED: _grant("The redirect URI is no longer registered."),
        Why.SCOPE_UNREGISTERED: _scope("The scope is not registered for the client."),
        Why.TOKEN_UNKNOWN: _REFRESH,
        Why.TOKEN_OF_ANOTHER_CLIENT: _REFRESH,
        Why.SESSION_ENDED: _grant(_SIGN_IN),
        Why.MAXIMUM_REACHED: _grant(f"The refresh token has expired. {_SIGN_IN}"),
        Why.REPLAYED_TWO_GENERATIONS_LATE: _REPLAYED,
        Why.REPLAYED_AFTER_GRACE: _REPLAYED,
        Why.REPLAYED_BY_ANOTHER_USER_AGENT: _REPLAYED,
        Why.ARRIVAL_UNKNOWN: _FAILED,
        Why.SCOPE_TOO_WIDE: _scope("The scope exceeds what was granted."),
        Why.NO_SCOPE_REGISTERED: _scope("The client has no registered scope."),
        Why.NOT_SIGNED_IN: Meaning(401, "A1001"),
        Why.PASSWORD_MUST_CHANGE: Meaning(403, "A1004"),
        Why.SECOND_FACTOR_REQUIRED: Meaning(403, "A1009"),
        Why.PERMISSION_MISSING: Meaning(403, "A0403"),
        Why.TOKEN_PERMISSION_MISSING: Meaning(403, "A0403"),
        Why.PROOF_REQUIRED: Meaning(403, "A1010"),
        Why.TOKEN_POWER_MISSING: Meaning(403, "A0403"),
        Why.REPRESENTS_NO_USER: Meaning(403, "B4003"),
        Why.USER_READ_MISSING: Meaning(403, "A0430"),
        Why.QUERY_UNDECODABLE: Meaning(400, "A0401"),
        Why.PARAMETER_REPEATED: Meaning(400, "A0401"),
        Why.PARAMETERS_MALFORMED: Meaning(400, "A0401"),
        Why.CLIENT_NOT_AUTHORIZABLE: Meaning(400, "B4001"),
        Why.REDIRECT_URI_NOT_REGISTERED: Meaning(400, "B4001"),
        Why.RESPONSE_TYPE_UNSUPPORTED: Meaning(400, "B4002"),
        Why.SCOPE_NOT_ALLOWED: Meaning(400, "B4002"),
        Why.SIGN_INS_TOO_FREQUENT: Meaning(429, "A1003"),
        Why.SIGN_IN_WRONG: Meaning(401, "A1002"),
        Why.SIGN_IN_EXPIRED: Meaning(401, "A1001"),
        Why.SIGN_IN_CODE_WRONG: Meaning(401, "A1002"),
        Why.SECOND_FACTOR_WRONG: Meaning(422, "A1007"),
        Why.SECOND_FACTOR_EXISTS: Meaning(409, "A0409"),
        Why.SECOND_FACTOR_KEY_DIFFERENT: _FAILED,
        Why.TEXT_RECOVERY_OFF: Meaning(403, "A0403"),
        Why.PASSWORD_CHANGED_MEANWHILE: Meaning(409, "A0409"),
        Why.CURRENT_PASSWORD_WRONG: Meaning(422, "A1005"),
        Why.TEXT_CODE_WRONG: Meaning(422, "A1006"),
        Why.INVITATION_WRONG: Meaning(401, "A1002"),
        Why.TEXT_CODES_TOO_FREQUENT: Meaning(429, "A0429"),
        Why.FIELDS_INVALID: Meaning(400, "A0401"),
        Why.NOT_FOUND: Meaning(404, "A0404"),
        Why.ALREADY_TAKEN: Meaning(409, "A0409"),
        Why.STILL_REFERENCED: Meaning(409, "A0409"),
        Why.CHANGED_MEANWHILE: Meaning(409, "A0409"),
        Why.BUILT_IN_PROTECTED: Meaning(422, "B4010"),
        Why.ROLE_PROTECTED: Meaning(422, "B1002"),
        Why.LAST_ADMINISTRATOR: Meaning(422, "B1001"),
        Why.OWN_ACCOUNT_ALONE: Meaning(422, "B1003"),
        Why.TOO_MANY_TOKENS: Meaning(422, "B1004"),
        Why.ADMINISTRATOR_EXISTS: Meaning(409, "A0409"),
        Why.REVOKED_BY_CLIENT: _ENDED,
        Why.CODE_REPLAYED: _ENDED,
        Why.SIGNED_OUT: _ENDED,
        Why.PERSONAL_TOKEN_ENDED: _ENDED,
        Why.SIGNED_OUT_ELSEWHERE: _ENDED,
        Why.SESSION_FORCED_OUT: _ENDED,
        Why.CONSENT_WITHDRAWN: _ENDED,
        Why.PASSWORD_CHANGED: _ENDED,
        Why.PHONE_CHANGED: _ENDED,
        Why.PASSWORD_RESET_BY_ADMINISTRATOR: _ENDED,
        Why.PASSWORD_RESET_BY_TEXT_MESSAGE: _ENDED,
        Why.INVITATION_ACCEPTED: _ENDED,
        Why.SECOND_FACTOR_SET_UP: _ENDED,
        Why.SECOND_FACTOR_REMOVED: _ENDED,
        Why.SECOND_FACTOR_RESET_BY_ADMINISTRATOR: _ENDED,
        Why.CURRENT_PASSWORD_WRONG_REPEATEDLY: _ENDED,
        Why.USER_DISABLED: _ENDED,
        Why.USER_DELETED: _ENDED,
        Why.USER_FORCED_OUT: _ENDED,
        Why.CLIENT_FORCED_OUT: _ENDED,
        Why.EVERYBODY_FORCED_OUT: _ENDED,
        Why.ROUTE_UNKNOWN: Meaning(404, "A0404"),
        Why.METHOD_NOT_ALLOWED: Meaning(405, "A0405"),
        Why.BODY_NOT_JSON: Meaning(400, "A0401"),
        Why.MEDIA_TYPE_UNSUPPORTED: Meaning(415, "A0415"),
        Why.NOT_MULTIPART: Meaning(415, "A0415"),
        Why.ORIGIN_UNPROVEN: Meaning(403, "A0403"),
        Why.ADDRESS_TOO_LONG: Meaning(414, "A0414"),
        Why.TOO_MANY_REQUESTS: Meaning(429, "A0429"),
        Why.SUBMITTED_TWICE: Meaning(429, "A0429"),
        Why.INTERNAL_ERROR: _FAILED,
        Why.NOT_READY: Meaning(503, "A0503"),
        Why.PASSWORDS_BUSY: Meaning(503, "A0503"),
    }
)
"""Meanings by reason; a test requires a row for each."""
