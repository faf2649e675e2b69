"""The outcome of an event: the reply, the guarded writes, and the facts for the audit trail."""

from dataclasses import field
from enum import StrEnum

from ostiary_core.model.instant import Instant
from ostiary_core.model.making import immutable
from ostiary_core.model.records import Client, Record, Role, User
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why

# --- changes


@immutable()
class Insert:
    """Write a new record, if there is none under its key."""

    record: Record


@immutable()
class Update:
    """Write `after` in place of `before`, if the stored record still has the revision of `before`."""

    before: Record
    after: Record


@immutable()
class Delete:
    """No record any more where `before` stood, if its revision still does."""

    before: Record


Change = Insert | Update | Delete
"""One guarded write of one record. A store makes all those of a turn or, raising `LostRace` where one of them
does not find what it should, none."""


# --- facts


class FactKind(StrEnum):
    """The kinds of facts that go to the audit trail and the metrics."""

    CODE_ISSUED = "code-issued"
    CODE_USED = "code-used"
    CODE_VOIDED = "code-voided"
    SESSION_STARTED = "session-started"
    PAIR_ROTATED = "pair-rotated"
    PAIR_REPEATED = "pair-repeated"
    SESSION_ENDED = "session-ended"
    SALT_ERASED = "salt-erased"
    CONSENT_REMEMBERED = "consent-remembered"
    CONSENT_DENIED = "consent-denied"
    CONSENT_WITHDRAWN = "consent-withdrawn"
    SIGN_IN_FAILED = "sign-in-failed"
    CURRENT_PASSWORD_WRONG = "current-password-wrong"
    PASSWORD_SET = "password-set"
    PHONE_SET = "phone-set"
    PREFERENCES_SET = "preferences-set"
    TEXT_CODE_SENT = "text-code-sent"
    TEXT_CODE_WRONG = "text-code-wrong"
    USER_SESSIONS_ENDED = "user-sessions-ended"
    USER_REGISTERED = "user-registered"
    USER_CHANGED = "user-changed"
    USER_ENABLED = "user-enabled"
    USER_DISABLED = "user-disabled"
    USER_DELETED = "user-deleted"
    ROLE_REGISTERED = "role-registered"
    ROLE_CHANGED = "role-changed"
    ROLE_DELETED = "role-deleted"
    CLIENT_REGISTERED = "client-registered"
    CLIENT_CHANGED = "client-changed"
    CLIENT_ENABLED = "client-enabled"
    CLIENT_DISABLED = "client-disabled"
    CLIENT_DELETED = "client-deleted"
    CLIENT_SECRET_RESET = "client-secret-reset"
    CLIENT_SECRET_ADDED = "client-secret-added"
    CLIENT_OLD_SECRET_ENDED = "client-old-secret-ended"
    REFUSED = "refused"


@immutable()
class Fact:
    """One thing that happened, in the words of the audit trail. It never holds a secret."""

    kind: FactKind
    actor_id: str | None = None
    """The user who did it, where that is not the user it happened to."""
    user_id: str | None = None
    client_id: str | None = None
    session_id: str | None = None
    why: Why | None = None
    user_agent: str | None = None
    earlier_at: Instant | None = None
    """When the token was first used, for a retry or a replay."""
    earlier_user_agent: str | None = None
    role_id: str | None = None
    scopes: tuple[str, ...] = ()


# --- replies


class FieldRule(StrEnum):
    """The rules that a field can break, for the message that names the field."""

    REQUIRED = "required"
    UNKNOWN = "unknown"
    IMMUTABLE = "immutable"
    STRING = "string"
    STRINGS = "strings"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    TOO_LONG = "too-long"
    DUPLICATE = "duplicate"
    RESERVED = "reserved"
    CLIENT_ID = "client-id"
    REDIRECT_URI = "redirect-uri"
    REDIRECT_URI_NEEDED = "redirect-uri-needed"
    GRANT_TYPE = "grant-type"
    SCOPE = "scope"
    AUTO_APPROVE_SCOPE = "auto-approve-scope"
    ACCESS_LIFETIME = "access-lifetime"
    REFRESH_LIFETIME = "refresh-lifetime"
    OVERLAP = "overlap"
    USERNAME = "username"
    PHONE = "phone"
    PASSWORD = "password"
    PASSWORD_UNCHANGED = "password-unchanged"
    LOCALE = "locale"
    TIMEZONE = "timezone"
    ROLE = "role"
    ROLE_CODE = "role-code"
    PERMISSION = "permission"
    TEXT_CODE_PURPOSE = "text-code-purpose"
    PICTURE = "picture"
    PARAMETER = "parameter"
    CODE_CHALLENGE = "code-challenge"
    CODE_CHALLENGE_METHOD = "code-challenge-method"
    PAGE = "page"
    PAGE_SIZE = "page-size"
    SORT = "sort"
    TIME = "time"
    TIME_ORDER = "time-order"
    CHOICE = "choice"
    IMPORT_MODE = "import-mode"
    SHEET = "sheet"
    SHEET_EMPTY = "sheet-empty"
    SHEET_TOO_LARGE = "sheet-too-large"
    COLUMN = "column"


@immutable()
class FieldFault:
    """One bad field and the rule it broke; for a whole record, the reason it was refused."""

    path: str
    """The name of the field in the JSON object, form or query."""
    rule: FieldRule | Why


@immutable()
class Refused:
    """The answer no, and why; `ostiary_core.http.meanings` says what each reason is in HTTP ("Errors").

    It may come with changes: some refusals commit, as a wrong verifier voids the code.
    """

    why: Why
    faults: tuple[FieldFault, ...] = ()
    wait_seconds: int | None = None
    """How long to wait before asking again, where waiting helps: for `Retry-After`."""


@immutable()
class Done:
    """Success without data; also the answer to every revocation, whatever its token was (RFC 7009 §2.2)."""


@immutable()
class TokensIssued:
    """The tokens of a successful token response (RFC 6749 §5.1)."""

    access_token: Secret
    expires_in_seconds: int
    """Of the access token, rounded down (READINGS 8)."""
    refresh_token: Secret | None
    """None for client credentials (RFC 6749 §4.4.3)."""
    scopes: tuple[str, ...]


@immutable()
class TokenActive:
    """The data of an introspected token that is active (RFC 7662 §2.2)."""

    client_id: str
    scopes: tuple[str, ...]
    is_access_token: bool
    """Else it is a refresh token."""
    expires_at: Instant
    user_id: str | None
    """None, like `username`, for a session of client credentials."""
    username: str | None


@immutable()
class TokenInactive:
    """An introspected token that is not good, or none of the caller's business (RFC 7662 §2.2)."""


@immutable(kw_only=True)
class Profile:
    """What user-info shows, and no more ("User profile")."""

    user_id: str
    username: str
    name: str
    avatar_url: str | None
    locale: str | None


@immutable(kw_only=True)
class ScopeOffered:
    """A scope the client asks for, and whether it needs nobody's yes ("GET /sso")."""

    scope: str
    auto_approved: bool


@immutable(kw_only=True)
class AuthorizationOffered:
    """An authorization request that is in order: who asks, for what, and whether to ask the user.

    The page of "GET /sso" shows it. `client_name` and `user_name` are for people; `username` is what the user
    signs in with.
    """

    client_id: str
    client_name: str
    scopes: tuple[ScopeOffered, ...]
    username: str
    user_name: str
    consent_required: bool


@immutable()
class CodeIssued:
    """Where to send the browser with a fresh code (RFC 6749 §4.1.2); secret, as the code is in it."""

    redirect_to: Secret


@immutable()
class ConsentRefused:
    """Where to send the browser with `access_denied` (RFC 6749 §4.1.2.1).

    It is not printed, as it holds the client's `state`.
    """

    redirect_to: str = field(repr=False)


@immutable(kw_only=True)
class LoginIssued:
    """A login session's pair of tokens (READINGS 25), and whether its password must be changed first."""

    tokens: TokensIssued
    user_id: str
    must_change_password: bool


@immutable()
class PasswordOnFile:
    """The hash to verify a password against, in its encoded form; None where there is no such account.

    Verify against some hash then too, so that both take as long.
    """

    password_hash: str | None = field(repr=False)


@immutable(kw_only=True)
class AccountKnown:
    """Who is calling, with roles and the codes of all they may do; no user and session for the operator."""

    user: User | None
    roles: tuple[Role, ...]
    permissions: tuple[str, ...]
    session_id: str | None


@immutable()
class UserKnown:
    """One account in its present state."""

    user: User


@immutable()
class RoleKnown:
    """One role in its present state."""

    role: Role


@immutable()
class ClientKnown:
    """One client in its present state."""

    client: Client


@immutable()
class SecretIssued:
    """A client with its new secret, in plain text for this once (READINGS 20)."""

    client: Client
    secret: Secret


@immutable()
class TextCodeDrawn:
    """The code to send, or None where nothing is to be sent; outside, both look the same (READINGS 28)."""

    code: Secret | None
    addressee: User | None = None
    """The user in whose language and time zone the message is written."""


@immutable()
class BatchDone:
    """Every event of a batch (`AllOrNothing`) was decided with a yes; their replies in order."""

    replies: tuple["Reply", ...]


@immutable()
class BatchRefused:
    """Nothing of a batch was done: the events that were refused, by their place in it from 0, and why."""

    refusals: tuple[tuple[int, Refused], ...]


Reply = (
    Refused
    | Done
    | TokensIssued
    | TokenActive
    | TokenInactive
    | Profile
    | AuthorizationOffered
    | CodeIssued
    | ConsentRefused
    | LoginIssued
    | PasswordOnFile
    | AccountKnown
    | UserKnown
    | RoleKnown
    | ClientKnown
    | SecretIssued
    | TextCodeDrawn
    | BatchDone
    | BatchRefused
)
"""What is answered to an event; which of these, the rules of each event say."""


@immutable()
class Decision:
    """The whole outcome of one event: what to answer, to write, and to put into the audit trail.

    Answer only when the changes are kept.
    """

    reply: Reply
    changes: tuple[Change, ...] = ()
    facts: tuple[Fact, ...] = ()


def refused(why: Why, *changes: Change, facts: tuple[Fact, ...] = ()) -> Decision:
    """Return a refusal as a decision; `changes` are those the specification lists for it."""
    return Decision(Refused(why), changes, facts)
