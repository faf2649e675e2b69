"""Reasons of refusals and endings.

The rules give a reason and nothing else; `ostiary_core.http.meanings` has its meaning in HTTP. Sessions,
codes, users and clients store the reason of their ending, under its value.
"""

from enum import StrEnum, auto


class Why(StrEnum):
    """Reasons by subject; the token service's in the order of its checks (READINGS 13).

    The answer to a batch has the first of its reasons in this order.
    """

    # The shape of a token-service request (READINGS 13-15).
    REQUEST_MALFORMED = auto()
    BODY_TOO_LARGE = auto()
    CONTENT_CODING_UNSUPPORTED = auto()
    NOT_FORM_ENCODED = auto()
    FORM_UNDECODABLE = auto()
    FIELD_NESTED = auto()
    FIELD_REPEATED = auto()
    TWO_AUTHENTICATIONS = auto()
    AUTHENTICATION_SCHEME_UNKNOWN = auto()
    # Client authentication ("Authentication", rule 1).
    CREDENTIALS_MISSING = auto()
    CREDENTIALS_MALFORMED = auto()
    CLIENT_UNKNOWN = auto()
    CLIENT_BUILT_IN = auto()
    CLIENT_DELETED = auto()
    CLIENT_DISABLED = auto()
    CLIENT_SECRET_WRONG = auto()
    CLIENT_SECRET_EXPIRED = auto()
    # The grant and its parameters.
    GRANT_TYPE_MISSING = auto()
    GRANT_TYPE_UNKNOWN = auto()
    GRANT_NOT_REGISTERED = auto()
    CODE_MISSING = auto()
    REDIRECT_URI_MISSING = auto()
    REFRESH_TOKEN_MISSING = auto()
    TOKEN_MISSING = auto()
    # The authorization code.
    CODE_UNKNOWN = auto()
    CODE_OF_ANOTHER_CLIENT = auto()
    CODE_USED = auto()
    CODE_VOID = auto()
    CODE_EXPIRED = auto()
    REDIRECT_URI_DIFFERENT = auto()
    VERIFIER_MISSING = auto()
    VERIFIER_WRONG = auto()
    # The client's registration, as it is now.
    REDIRECT_URI_NO_LONGER_REGISTERED = "redirect_uri_unregistered"  # as stored with voided codes
    NO_SCOPE_REGISTERED = auto()
    SCOPE_UNREGISTERED = auto()
    # The session and its tokens.
    TOKEN_UNKNOWN = auto()
    TOKEN_OF_ANOTHER_CLIENT = auto()
    SESSION_ENDED = auto()
    MAXIMUM_REACHED = auto()
    REPLAYED_TWO_GENERATIONS_LATE = auto()
    REPLAYED_AFTER_GRACE = auto()
    REPLAYED_BY_ANOTHER_USER_AGENT = auto()
    ARRIVAL_UNKNOWN = auto()
    SCOPE_TOO_WIDE = auto()
    # The caller of the backend's own interface.
    NOT_SIGNED_IN = auto()
    PASSWORD_MUST_CHANGE = auto()
    SECOND_FACTOR_REQUIRED = auto()
    PERMISSION_MISSING = auto()
    TOKEN_PERMISSION_MISSING = auto()
    PROOF_REQUIRED = auto()
    TOKEN_POWER_MISSING = auto()
    REPRESENTS_NO_USER = auto()
    USER_READ_MISSING = auto()
    # The authorization request at `/sso` ("Consent endpoint errors").
    QUERY_UNDECODABLE = auto()
    PARAMETER_REPEATED = auto()
    PARAMETERS_MALFORMED = auto()
    CLIENT_NOT_AUTHORIZABLE = auto()
    REDIRECT_URI_NOT_REGISTERED = auto()
    RESPONSE_TYPE_UNSUPPORTED = auto()
    SCOPE_NOT_ALLOWED = auto()
    # Accounts, users and clients.
    SIGN_INS_TOO_FREQUENT = auto()
    SIGN_IN_WRONG = auto()
    SIGN_IN_EXPIRED = auto()
    SIGN_IN_CODE_WRONG = auto()
    SECOND_FACTOR_WRONG = auto()
    SECOND_FACTOR_EXISTS = auto()
    SECOND_FACTOR_KEY_DIFFERENT = auto()
    TEXT_RECOVERY_OFF = auto()
    TEXT_CODES_TOO_FREQUENT = auto()
    PASSWORD_CHANGED_MEANWHILE = "credential_moved_on"  # as logs and metrics have it
    CURRENT_PASSWORD_WRONG = auto()
    TEXT_CODE_WRONG = auto()
    INVITATION_WRONG = auto()
    FIELDS_INVALID = auto()
    NOT_FOUND = auto()
    ALREADY_TAKEN = auto()
    STILL_REFERENCED = auto()
    CHANGED_MEANWHILE = auto()
    BUILT_IN_PROTECTED = auto()
    ROLE_PROTECTED = auto()
    LAST_ADMINISTRATOR = auto()
    OWN_ACCOUNT_ALONE = auto()
    TOO_MANY_TOKENS = auto()
    ADMINISTRATOR_EXISTS = auto()
    # How sessions and codes end. A code is also ended by any of its own refusals above.
    REVOKED_BY_CLIENT = auto()
    CODE_REPLAYED = auto()
    SIGNED_OUT = auto()
    PERSONAL_TOKEN_ENDED = auto()
    SIGNED_OUT_ELSEWHERE = auto()
    SESSION_FORCED_OUT = auto()
    CONSENT_WITHDRAWN = auto()
    PASSWORD_CHANGED = auto()
    PHONE_CHANGED = auto()
    PASSWORD_RESET_BY_ADMINISTRATOR = auto()
    PASSWORD_RESET_BY_TEXT_MESSAGE = auto()
    INVITATION_ACCEPTED = auto()
    SECOND_FACTOR_SET_UP = auto()
    SECOND_FACTOR_REMOVED = auto()
    SECOND_FACTOR_RESET_BY_ADMINISTRATOR = auto()
    CURRENT_PASSWORD_WRONG_REPEATEDLY = auto()
    USER_DISABLED = auto()
    USER_DELETED = auto()
    USER_FORCED_OUT = auto()
    CLIENT_FORCED_OUT = auto()
    EVERYBODY_FORCED_OUT = auto()
    # Refusals of the server around the core.
    ROUTE_UNKNOWN = auto()
    METHOD_NOT_ALLOWED = auto()
    BODY_NOT_JSON = auto()
    MEDIA_TYPE_UNSUPPORTED = auto()
    NOT_MULTIPART = auto()
    ORIGIN_UNPROVEN = auto()
    ADDRESS_TOO_LONG = auto()
    TOO_MANY_REQUESTS = auto()
    SUBMITTED_TWICE = auto()
    INTERNAL_ERROR = auto()
    NOT_READY = auto()
    PASSWORDS_BUSY = auto()
