"""Weights of operations and mistakes: the tables that the generator draws from."""

from typing import Final

from fuzz.shared.calls import ABOUT_OWN_FACTOR, ABOUT_TEXT_CODES, ADMINISTRATION, WITH_A_TICKET, Verb
from fuzz.shared.steps import Twist

WEIGHTS: Final[dict[Verb, float]] = {
    Verb.REDEEM: 5,
    Verb.REFRESH: 30,
    Verb.CLIENT_CREDENTIALS: 3,
    Verb.INTROSPECT: 8,
    Verb.REVOKE: 6,
    Verb.USER_INFO: 6,
    Verb.CHECK: 1.5,
    Verb.APPROVE: 9,
    Verb.RECALL: 3,
    Verb.DENY: 0.7,
    Verb.WITHDRAW: 0.8,
    Verb.SIGN_IN: 3,
    Verb.REFRESH_LOGIN: 4,
    Verb.SIGN_OUT: 0.5,
    Verb.CHANGE_PASSWORD: 1.2,
    Verb.REQUEST_TEXT_CODE: 1.5,
    Verb.CHANGE_PHONE: 0.2,
    Verb.RECOVER_PASSWORD: 0.2,
    Verb.INVITE_USER: 0.3,
    Verb.ACCEPT_INVITATION: 0.1,
    Verb.REGISTER_USER: 0.5,
    Verb.ENABLE_USER: 1.2,
    Verb.DISABLE_USER: 0.4,
    Verb.DELETE_USER: 0.2,
    Verb.RESET_PASSWORD: 0.3,
    Verb.FORCE_OUT_USER: 0.5,
    Verb.UNLOCK_USER: 0.4,
    Verb.FORCE_OUT_CLIENT: 0.3,
    Verb.FORCE_OUT_ALL: 0.15,
    Verb.WITHDRAW_FOR: 0.4,
    Verb.IMPORT_USER: 0.4,
    Verb.IMPORT_ROLE: 0.4,
    Verb.IMPORT_CLIENT: 0.6,
    Verb.SHOW_ACCOUNT: 0.5,
    Verb.END_OWN_SESSION: 0.4,
    Verb.SIGN_OUT_ELSEWHERE: 0.3,
    Verb.CREATE_TOKEN: 1.0,
    Verb.BEGIN_FACTOR: 1.0,
    Verb.CONFIRM_FACTOR: 0.1,
    Verb.REMOVE_FACTOR: 0.2,
    Verb.RENEW_CODES: 0.2,
    Verb.PROVE: 0.5,
    Verb.OFFER_FACTOR: 0.1,
    Verb.ENTER_FACTOR: 0.5,
    Verb.RESET_FACTOR: 0.3,
    Verb.CHOOSE: 0.6,
    Verb.CHANGE_USER: 1.0,
    Verb.REGISTER_ROLE: 0.4,
    Verb.CHANGE_ROLE: 0.3,
    Verb.DELETE_ROLE: 0.25,
    Verb.END_SESSION: 0.7,
    Verb.ACKNOWLEDGE: 0.3,
    Verb.REGISTER_CLIENT: 0.3,
    Verb.CHANGE_CLIENT: 1.5,
    Verb.ENABLE_CLIENT: 1.2,
    Verb.DISABLE_CLIENT: 0.5,
    Verb.DELETE_CLIENT: 0.15,
    Verb.RESET_SECRET: 0.8,
    Verb.GIVE_SECRET: 0.3,
    Verb.END_OLD_SECRET: 0.3,
    Verb.BATCH: 0.5,
    Verb.SWEEP: 2.5,
}

BEYOND_THE_INTERFACE: Final[dict[Verb, float]] = {
    Verb.SHOW_CLIENT: 1.0,
    Verb.NOTE_SECRET_USE: 0.8,
    Verb.COUNT_WRONG_SECRETS: 0.8,
    Verb.NOTE_TOKEN_USE: 0.2,
    Verb.REQUEST_TEXT_CODE: 6.0,
    Verb.CREATE_ADMINISTRATOR: 0.1,
}
"""Weights of operations that only the core has."""
ODD_FIELDS_SHARE: Final = 0.3
SEEN_SHARE: Final = 0.2
"""Share of sent records with odd values, or with a claim about values seen before."""

LIFE_SHARE: Final = 0.25
"""Share of turns in which a whole life of a session begins, if steps go through the interface."""

PROOF_SHARE: Final = 0.2
PROOF_SHARES_OF_THE_RULES: Final = (0.0, 0.0, 0.0, 0.5)
"""Shares of sign-ins that go on to give power around the age limit of a proof.

For a simulated seed, and for worlds of the rules, most of which never do.
"""

ENDINGS: Final = ADMINISTRATION | {
    *(Verb.REVOKE, Verb.WITHDRAW, Verb.SIGN_OUT),
    *(Verb.CHANGE_PASSWORD, Verb.CHANGE_PHONE, Verb.RECOVER_PASSWORD, Verb.ACCEPT_INVITATION),
}
ALONE: Final = (
    *(Verb.SIGN_IN, Verb.CHANGE_PASSWORD, Verb.CHANGE_PHONE, Verb.RECOVER_PASSWORD, Verb.ACCEPT_INVITATION),
    *(*WITH_A_TICKET, *ABOUT_OWN_FACTOR),
)
"""Operations that never share a turn, as a runtime asks the core another question before them."""


def _about(what: str) -> frozenset[Verb]:
    """Return the operations whose names end with this kind of record."""
    return frozenset(verb for verb in Verb if verb.endswith(f"-{what}"))


ABOUT_USERS: Final = _about("user") | {Verb.RESET_PASSWORD, Verb.WITHDRAW_FOR, Verb.RESET_FACTOR}
ABOUT_AN_OWN_ACCOUNT: Final = (
    ABOUT_TEXT_CODES
    | ABOUT_OWN_FACTOR
    | WITH_A_TICKET
    | {
        *(Verb.CHOOSE, Verb.SHOW_ACCOUNT, Verb.END_OWN_SESSION, Verb.CREATE_ADMINISTRATOR),
        *(Verb.CREATE_TOKEN, Verb.NOTE_TOKEN_USE, Verb.ACCEPT_INVITATION),
    }
)
ABOUT_ROLES: Final = _about("role")
ABOUT_CLIENTS: Final = _about("client") | {
    *(Verb.RESET_SECRET, Verb.GIVE_SECRET, Verb.END_OLD_SECRET),
    *(Verb.NOTE_SECRET_USE, Verb.COUNT_WRONG_SECRETS),
}
FOCUSES: Final = (
    *(frozenset[Verb](), ABOUT_CLIENTS, ABOUT_USERS | ABOUT_ROLES | {Verb.SIGN_IN, Verb.BATCH}),
    *(ABOUT_TEXT_CODES, ABOUT_OWN_FACTOR | WITH_A_TICKET | {Verb.SIGN_IN, Verb.UNLOCK_USER}),
    frozenset({Verb.CREATE_TOKEN, Verb.NOTE_TOKEN_USE, Verb.SHOW_ACCOUNT}),
)
"""Sets of operations that a world of the rules may focus on; the first is no focus."""
FOCUS: Final = 5.0
"""Factor by which a world's operations of focus are more frequent."""
AGENTS: Final = ("phone", "desk", None)
EXCHANGE_TWISTS: Final = (
    *(Twist.WRONG_VERIFIER, Twist.SHORT_VERIFIER, Twist.WITHOUT_VERIFIER),
    *(Twist.OTHER_URI, Twist.WITHOUT_URI, Twist.WITHOUT_TOKEN),
)
CONSENT_TWISTS: Final = (
    *(Twist.OTHER_URI, Twist.WITHOUT_URI, Twist.PLAIN_CHALLENGE),
    *(Twist.WITHOUT_CHALLENGE, Twist.PADDED_CHALLENGE, Twist.RESPONSE_TYPE_TOKEN),
)
CONSENT_TWISTS_BEYOND: Final = (Twist.WITHOUT_METHOD, Twist.UNDECODABLE, Twist.REPEATED)
WRONG_PASSWORDS: Final = {
    Verb.CHANGE_PASSWORD: 0.7,
    Verb.CHANGE_PHONE: 0.2,
    Verb.BEGIN_FACTOR: 0.1,
    Verb.REMOVE_FACTOR: 0.3,
    Verb.RENEW_CODES: 0.2,
    Verb.PROVE: 0.3,
}
"""Share of wrong current passwords by operation of a signed-in user."""
UNDONE_BY: Final = {
    Verb.DISABLE_USER: Verb.ENABLE_USER,
    Verb.DISABLE_CLIENT: Verb.ENABLE_CLIENT,
    Verb.DELETE_USER: Verb.REGISTER_USER,
    Verb.DELETE_ROLE: Verb.REGISTER_ROLE,
}
WAITS_MS: Final = ((0,), (1,), (30_000,), (30_001,), (20_000, 10_000), (20_000, 10_001), (29_999, 1, 1))
"""Milliseconds before each repetition of a request with a lost answer."""
WAITED_MS: Final = (1, 1_000, 9_000)
LONGEST_WAIT_MS: Final = max(WAITED_MS)
"""Longest wait of a request inside the server, in milliseconds."""
UNSEEN_MS: Final = (0, 0, 1, 2_000, 40_000)
"""Milliseconds for which the server may have stood still before it read a request."""
LOGIN_MS: Final = 1_800_000
