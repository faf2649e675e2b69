"""What is asked and what is answered, in plain values and the specification's own words.

The judges, the driver and the history share this vocabulary and nothing else. It knows nothing of the
core: the model's imports end here. Calls and answers are named tuples because a campaign makes millions.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from fuzz.shared.initial_states import CLIENT_FIELDS


class Verb(StrEnum):
    """Everything that somebody does."""

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
"""Where a client authenticates and errors are those of RFC 6749."""

AT_THE_CONSENT_PAGE = frozenset({Verb.CHECK, Verb.APPROVE, Verb.RECALL, Verb.DENY})

ABOUT_OWN_FACTOR = frozenset(
    {Verb.BEGIN_FACTOR, Verb.CONFIRM_FACTOR, Verb.REMOVE_FACTOR, Verb.RENEW_CODES, Verb.PROVE}
)
WITH_A_CODE = ABOUT_OWN_FACTOR - {Verb.BEGIN_FACTOR} | {Verb.ENTER_FACTOR}
"""What takes a code of a second factor."""
WITH_A_TICKET = frozenset({Verb.OFFER_FACTOR, Verb.ENTER_FACTOR})
"""The second step of a sign-in."""

BY_LOGIN = (
    AT_THE_CONSENT_PAGE
    | ABOUT_OWN_FACTOR
    | {Verb.WITHDRAW, Verb.SIGN_OUT, Verb.SIGN_OUT_ELSEWHERE, Verb.END_OWN_SESSION}
    | {Verb.CHANGE_PASSWORD, Verb.CHANGE_PHONE, Verb.CREATE_TOKEN, Verb.CHOOSE}
)
"""What only somebody with a login may do."""

ABOUT_TEXT_CODES = frozenset({Verb.REQUEST_TEXT_CODE, Verb.CHANGE_PHONE, Verb.RECOVER_PASSWORD})

BY_THE_RUNTIME = frozenset({Verb.SWEEP, Verb.NOTE_SECRET_USE, Verb.COUNT_WRONG_SECRETS, Verb.NOTE_TOKEN_USE})
"""What nobody asks for."""

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
"""What needs a permission of the backend, or the operator."""


class Face(StrEnum):
    """Where the server is asked."""

    INTERFACE = "interface"
    PAGE = "page"
    SHEET = "sheet"
    """A row of a sheet that is imported."""


class Call(NamedTuple):
    """One request as it goes out; a field that its verb does not send is None."""

    verb: Verb
    client_id: str | None = None
    """Whose credentials are presented, or which client is meant."""
    secret: str | None = None
    """What is presented; of a client that is given a secret, that one."""
    token: str | None = None
    """The token or code that the request is about."""
    login: str | None = None
    """The login token of the caller; None at the administration calls is the operator."""
    user_id: str | None = None
    username: str | None = None
    password: str | None = None
    new_password: str | None = None
    phone: str | None = None
    """Empty where it is to be taken away."""
    text_code: str | None = None
    """The code that was sent to the telephone, or that a second factor shows."""
    choice: str | None = None
    """What somebody chooses for themselves (`initial_states.CHOICES`), or the permission they ask for."""
    garbled: Literal["undecodable", "repeated"] | None = None
    """How the parameters of an authorization request cannot be read."""
    new_username: str | None = None
    must_change: bool | None = None
    replaces: bool = False
    """Whether an import may change what is there."""
    roles: tuple[str, ...] | None = None
    role_id: str | None = None
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
    """The last day of a client's present secret; empty for no end."""
    keep_seconds: int | None = None
    """How long the old secret is to work on."""
    waited_ms: int = 0
    """How long it has waited inside the server when it is decided."""
    unseen_ms: int = 0
    """For how long before that the server stood still, so that it may have come at any time of it."""
    odd: str | None = None
    """What is odd in the record that is sent (`odd_fields`)."""
    seen: str | None = None
    """What the caller says they saw of the fields they send (`initial_states.SEEN`); None if nothing."""
    overtaken: bool = False
    """Whether the password was verified against one that is not on file any more."""
    parts: tuple["Call", ...] = ()
    """Of a batch, which is done whole or not at all."""
    face: Face = Face.INTERFACE

    @property
    def settings(self) -> dict[str, Any]:
        """What is sent of a client's settings, by the names of `ClientSettings`."""
        sent = {name: getattr(self, name) for name in CLIENT_FIELDS}
        return {name: value for name, value in sent.items() if value is not None}


class AnswerKind(StrEnum):
    """The kinds of answer."""

    TOKENS = "tokens"
    LOGIN = "login"
    ASKED = "asked"
    """For the second factor, with a ticket."""
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
    """One answer, as much of it as the specification promises; times in whole seconds."""

    kind: AnswerKind
    error: str = ""
    """The `error` of RFC 6749 or the envelope's `code`."""
    access: str | None = None
    refresh: str | None = None
    expires_in: int | None = None
    scope: tuple[str, ...] = ()
    session_id: str | None = None
    """Of a session that begins with this answer, as the online-users monitor shows it."""
    client_id: str | None = None
    bearer: bool = False
    exp: int | None = None
    sub: str | None = None
    username: str | None = None
    ask: bool = False
    """Whether the consent page must put the question."""
    code: str | None = None
    redirect: str | None = None
    """Where the browser goes, with `CODE` in place of the code."""
    secret: str | None = None
    """Of a client; of a second factor; or a ticket."""
    codes: tuple[str, ...] = ()
    """Recovery codes."""
    sets_up: bool = False
    """Whether a second factor must be set up with the ticket first."""
    must_change_password: bool = False
    permissions: tuple[str, ...] = ()
    profile: tuple[str | None, ...] = ()
    """Of user-info: the name, the picture and the language."""
    noted: tuple[int | None, ...] = ()
    """Of a client: when its secret and its old one were used, how many wrong ones came, and the last."""
    parts: tuple["Answer", ...] = ()

    def __str__(self) -> str:
        """What the answer says, without any bearer value."""
        told = [self.kind.value]
        if self.error:
            told.append(self.error)
        if self.expires_in is not None:
            told.append(f"expires_in={self.expires_in}")
        if self.scope:
            told.append(f"scope={'+'.join(self.scope)}")
        if self.kind is AnswerKind.TOKENS and self.refresh is None:
            told.append("without refresh token")
        if self.exp is not None:
            told.append(f"exp={self.exp}")
        if self.ask:
            told.append("asks")
        if self.must_change_password:
            told.append("must change password")
        return " ".join(told)

    def find_differences(self, other: "Answer") -> list[str]:
        """The names of the fields in which another answer is another, where both read alike."""
        names = [name for name in Answer._fields if getattr(self, name) != getattr(other, name)]
        return names if str(self) == str(other) else []


def several(call: Call, answer: Answer) -> list[tuple[Call, Answer]]:
    """Everything that was done, or not, by one call: a batch as its parts. Of one that was refused, only
    the parts that it was refused for are known."""
    if call.verb is not Verb.BATCH:
        return [(call, answer)]
    if answer.kind is AnswerKind.BATCH:
        return list(zip(call.parts, answer.parts, strict=True))
    if answer.kind is not AnswerKind.REFUSED:
        return []
    named = (fault.partition(":") for fault in answer.error.split(",") if ":" in fault)
    return [(call.parts[int(place)], refusal(error)) for place, _, error in named]


def refusal(error: str) -> Answer:
    """The answer no."""
    return Answer(kind=AnswerKind.REFUSED, error=error)


def consent_of(address: str) -> Answer:
    """What the address that a browser is sent on to says of a consent."""
    code = dict(parse_qsl(urlsplit(address).query)).get("code")
    if code is None:
        return Answer(kind=AnswerKind.DENIED, redirect=address)
    return Answer(kind=AnswerKind.CODE, code=code, redirect=address.replace(f"code={code}", "code=CODE"))


def canonical_codes(codes: Iterable[str]) -> tuple[str, ...]:
    """Recovery codes without what makes them readable, which may be left out."""
    return tuple(code.replace("-", "") for code in codes)
