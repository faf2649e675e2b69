"""Calls and answers in plain values and the specification's own words.

The judges, the driver and the history share these types and nothing else. They are independent of the core:
the model imports nothing beyond this module. Calls and answers are named tuples for speed, as a campaign
makes millions of them.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from fuzz.shared.initial_states import CLIENT_FIELDS


class Verb(StrEnum):
    """Everything that a caller or the server can do."""

    REDEEM = "redeem"
    REFRESH = "refresh"
    CLIENT_CREDENTIALS = "client-credentials"
    INTROSPECT = "introspect"
    REVOKE = "revoke"
    USER_INFO = "user-info"
    CHECK = "check"
    APPROVE = "approve"
    RECALL = "recall"
    DENY = "deny"
    WITHDRAW = "withdraw"
    WITHDRAW_FOR = "withdraw-for"
    SIGN_IN = "sign-in"
    REFRESH_LOGIN = "refresh-login"
    SIGN_OUT = "sign-out"
    CHANGE_PASSWORD = "change-password"
    CHANGE_PHONE = "change-phone"
    RECOVER_PASSWORD = "recover-password"
    INVITE_USER = "invite-user"
    ACCEPT_INVITATION = "accept-invitation"
    REGISTER_USER = "register-user"
    ENABLE_USER = "enable-user"
    DISABLE_USER = "disable-user"
    DELETE_USER = "delete-user"
    RESET_PASSWORD = "reset-password"
    FORCE_OUT_USER = "force-out-user"
    UNLOCK_USER = "unlock-user"
    FORCE_OUT_CLIENT = "force-out-client"
    FORCE_OUT_ALL = "force-out-all"
    IMPORT_USER = "import-user"
    IMPORT_ROLE = "import-role"
    IMPORT_CLIENT = "import-client"
    CHANGE_USER = "change-user"
    REGISTER_ROLE = "register-role"
    CHANGE_ROLE = "change-role"
    DELETE_ROLE = "delete-role"
    END_SESSION = "end-session"
    ACKNOWLEDGE = "acknowledge"
    REGISTER_CLIENT = "register-client"
    CHANGE_CLIENT = "change-client"
    ENABLE_CLIENT = "enable-client"
    DISABLE_CLIENT = "disable-client"
    DELETE_CLIENT = "delete-client"
    RESET_SECRET = "reset-secret"
    GIVE_SECRET = "give-secret"
    END_OLD_SECRET = "end-old-secret"
    BATCH = "batch"
    SWEEP = "sweep"
    SHOW_ACCOUNT = "show-account"
    END_OWN_SESSION = "end-own-session"
    SIGN_OUT_ELSEWHERE = "sign-out-elsewhere"
    CREATE_TOKEN = "create-token"
    NOTE_TOKEN_USE = "note-token-use"
    CHOOSE = "choose"
    REQUEST_TEXT_CODE = "request-text-code"
    SHOW_CLIENT = "show-client"
    NOTE_SECRET_USE = "note-secret-use"
    COUNT_WRONG_SECRETS = "count-wrong-secrets"
    CREATE_ADMINISTRATOR = "create-administrator"
    BEGIN_FACTOR = "begin-factor"
    CONFIRM_FACTOR = "confirm-factor"
    REMOVE_FACTOR = "remove-factor"
    RENEW_CODES = "renew-codes"
    PROVE = "prove"
    OFFER_FACTOR = "offer-factor"
    ENTER_FACTOR = "enter-factor"
    RESET_FACTOR = "reset-factor"


AT_THE_TOKEN_SERVICE = frozenset(
    {Verb.REDEEM, Verb.REFRESH, Verb.CLIENT_CREDENTIALS, Verb.INTROSPECT, Verb.REVOKE}
)
"""Operations at which a client authenticates and errors are those of RFC 6749."""

AT_THE_CONSENT_PAGE = frozenset({Verb.CHECK, Verb.APPROVE, Verb.RECALL, Verb.DENY})

ABOUT_OWN_FACTOR = frozenset(
    {Verb.BEGIN_FACTOR, Verb.CONFIRM_FACTOR, Verb.REMOVE_FACTOR, Verb.RENEW_CODES, Verb.PROVE}
)
WITH_A_CODE = ABOUT_OWN_FACTOR - {Verb.BEGIN_FACTOR} | {Verb.ENTER_FACTOR}
"""Operations that take a code of a second factor."""
WITH_A_TICKET = frozenset({Verb.OFFER_FACTOR, Verb.ENTER_FACTOR})
"""Operations of a sign-in's second step."""

BY_LOGIN = (
    AT_THE_CONSENT_PAGE
    | ABOUT_OWN_FACTOR
    | {Verb.WITHDRAW, Verb.SIGN_OUT, Verb.SIGN_OUT_ELSEWHERE, Verb.END_OWN_SESSION}
    | {Verb.CHANGE_PASSWORD, Verb.CHANGE_PHONE, Verb.CREATE_TOKEN, Verb.CHOOSE}
)
"""Operations that only a user with a login can do."""

ABOUT_TEXT_CODES = frozenset({Verb.REQUEST_TEXT_CODE, Verb.CHANGE_PHONE, Verb.RECOVER_PASSWORD})

BY_THE_RUNTIME = frozenset({Verb.SWEEP, Verb.NOTE_SECRET_USE, Verb.COUNT_WRONG_SECRETS, Verb.NOTE_TOKEN_USE})
"""Operations that the server does on its own."""

ADMINISTRATION = (
    frozenset(Verb)
    - AT_THE_TOKEN_SERVICE
    - BY_LOGIN
    - BY_THE_RUNTIME
    - WITH_A_TICKET
    - {
        *(Verb.USER_INFO, Verb.SIGN_IN, Verb.REFRESH_LOGIN, Verb.RECOVER_PASSWORD, Verb.SHOW_ACCOUNT),
        *(Verb.REQUEST_TEXT_CODE, Verb.CREATE_ADMINISTRATOR, Verb.ACCEPT_INVITATION),
    }
)
"""Operations that need a permission of the backend, or are the operator's."""


class Face(StrEnum):
    """The interface through which a call is made."""

    INTERFACE = "interface"
    PAGE = "page"
    SHEET = "sheet"
    """A row of an imported sheet."""


class Call(NamedTuple):
    """One request as it is sent; None in each field that its verb does not send."""

    verb: Verb
    client_id: str | None = None
    """Client whose credentials are presented, or client that the call is about."""
    secret: str | None = None
    """Presented secret; the new secret, if the call sets one."""
    token: str | None = None
    """Token or code that the request is about."""
    login: str | None = None
    """Login token of the caller; None at the administration calls means the operator."""
    user_id: str | None = None
    username: str | None = None
    password: str | None = None
    new_password: str | None = None
    phone: str | None = None
    """Telephone number; empty to remove it."""
    text_code: str | None = None
    """Code from a text message or of a second factor."""
    choice: str | None = None
    """A user's choice for the own account (`initial_states.CHOICES`), or the permission to check."""
    garbled: Literal["undecodable", "repeated"] | None = None
    """Defect that makes the parameters of an authorization request unreadable."""
    new_username: str | None = None
    must_change: bool | None = None
    replaces: bool = False
    """Whether an import may change existing records."""
    roles: tuple[str, ...] | None = None
    role_id: str | None = None
    moves: Literal["give", "take"] | None = None
    """Whether `role_id` is given to the user or taken, of a part of a batch that does so to several."""
    permissions: tuple[str, ...] | None = None
    redirect_uri: str | None = None
    verifier: str | None = None
    challenge: str | None = None
    method: str | None = None
    response_type: str | None = None
    scope: tuple[str, ...] | None = None
    state: str | None = None
    user_agent: str | None = None
    session_id: str | None = None
    redirect_uris: tuple[str, ...] | None = None
    grants: tuple[str, ...] | None = None
    scopes: tuple[str, ...] | None = None
    automatic: tuple[str, ...] | None = None
    access_seconds: int | None = None
    refresh_seconds: int | None = None
    expires_on: str | None = None
    """Last day of a client's current secret; empty for no end."""
    keep_seconds: int | None = None
    """Seconds for which the old secret keeps working."""
    waited_ms: int = 0
    """Milliseconds that the call waited inside the server before it is decided."""
    unseen_ms: int = 0
    """Milliseconds before the wait in which the server stood still and the call may have arrived."""
    odd: str | None = None
    """Name of the odd fields in the sent record (`odd_fields`)."""
    seen: str | None = None
    """Name of the values that the caller claims to have seen (`initial_states.SEEN`), or None."""
    overtaken: bool = False
    """Whether the password was verified against a hash that has been replaced since."""
    parts: tuple["Call", ...] = ()
    """Parts of a batch, which is done whole or not at all."""
    face: Face = Face.INTERFACE

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a client that this call sends, by the names of `ClientSettings`."""
        sent = {name: getattr(self, name) for name in CLIENT_FIELDS}
        return {name: value for name, value in sent.items() if value is not None}


class AnswerKind(StrEnum):
    """The kinds of answer."""

    TOKENS = "tokens"
    LOGIN = "login"
    ASKED = "asked"
    """The second factor is required; comes with a ticket."""
    FACTOR = "factor"
    ACTIVE = "active"
    INACTIVE = "inactive"
    PROFILE = "profile"
    OFFERED = "offered"
    CODE = "code"
    DENIED = "denied"
    SECRET = "secret"
    USER = "user"
    ROLE = "role"
    BATCH = "batch"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


class Answer(NamedTuple):
    """The fields of an answer that the specification promises; times in whole seconds."""

    kind: AnswerKind
    error: str = ""
    """The `error` of RFC 6749 or the envelope's `code`."""
    access: str | None = None
    refresh: str | None = None
    expires_in: int | None = None
    scope: tuple[str, ...] = ()
    session_id: str | None = None
    """Session that begins with this answer, as the online-users monitor lists it."""
    client_id: str | None = None
    bearer: bool = False
    exp: int | None = None
    sub: str | None = None
    username: str | None = None
    ask: bool = False
    """Whether the consent page must ask the user."""
    code: str | None = None
    redirect: str | None = None
    """Address to which the browser is redirected, with `CODE` in place of the code."""
    secret: str | None = None
    """Secret of a client or of a second factor, or a ticket."""
    codes: tuple[str, ...] = ()
    """Recovery codes."""
    sets_up: bool = False
    """Whether a second factor must be set up with the ticket first."""
    must_change_password: bool = False
    permissions: tuple[str, ...] = ()
    profile: tuple[str | None, ...] = ()
    """Name, picture and language in user-info."""
    noted: tuple[int | None, ...] = ()
    """A client's records: last use of its secret and its old secret, number and time of wrong secrets."""
    parts: tuple["Answer", ...] = ()

    def __str__(self) -> str:
        """Return the answer as text, without any bearer value."""
        words = [self.kind.value]
        if self.error:
            words.append(self.error)
        if self.expires_in is not None:
            words.append(f"expires_in={self.expires_in}")
        if self.scope:
            words.append(f"scope={'+'.join(self.scope)}")
        if self.kind is AnswerKind.TOKENS and self.refresh is None:
            words.append("without refresh token")
        if self.exp is not None:
            words.append(f"exp={self.exp}")
        if self.ask:
            words.append("asks")
        if self.must_change_password:
            words.append("must change password")
        return " ".join(words)

    def find_differences(self, other: "Answer") -> list[str]:
        """Return the names of the fields that differ from another answer with the same text."""
        names = [name for name in Answer._fields if getattr(self, name) != getattr(other, name)]
        return names if str(self) == str(other) else []


def split_batch(call: Call, answer: Answer) -> list[tuple[Call, Answer]]:
    """Return each part of a batch with its answer; any other call as its only part.

    Of a refused batch, only the parts that caused the refusal are known.
    """
    if call.verb is not Verb.BATCH:
        return [(call, answer)]
    if answer.kind is AnswerKind.BATCH:
        return list(zip(call.parts, answer.parts, strict=True))
    if answer.kind is not AnswerKind.REFUSED:
        return []
    named = (fault.partition(":") for fault in answer.error.split(",") if ":" in fault)
    return [(call.parts[int(place)], refusal(error)) for place, _, error in named]


def moves_roles(call: Call) -> bool:
    """Whether the call is a batch that gives a role to users or takes it from them, over HTTP."""
    moved = (part.moves is not None and part.roles is None for part in call.parts)
    return call.verb is Verb.BATCH and all(moved)


def refusal(error: str) -> Answer:
    """Return a refusal with this error."""
    return Answer(AnswerKind.REFUSED, error=error)


def consent_of(address: str) -> Answer:
    """Return the answer that the address of a consent's redirect contains."""
    code = dict(parse_qsl(urlsplit(address).query)).get("code")
    if code is None:
        return Answer(AnswerKind.DENIED, redirect=address)
    return Answer(AnswerKind.CODE, code=code, redirect=address.replace(f"code={code}", "code=CODE"))


def canonical_codes(codes: Iterable[str]) -> tuple[str, ...]:
    """Return recovery codes without their hyphens, which a user may leave out."""
    return tuple(code.replace("-", "") for code in codes)
