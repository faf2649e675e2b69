"""The specification said again, from its text, as simply as it can be said; it shares nothing with the core.

It judges every answer: given a call and the time it says what must be answered, under the sentence of the
specification that makes it so, and changes its own small world accordingly. It is written the other way
round wherever it could be: tokens are plain text, an ending walks over everything and marks it, nothing
has an epoch, a digest or a revision. The only thing it takes from an answer is the text of a token it has
never seen before.
"""

from collections.abc import Callable, Mapping
from typing import Final

from fuzz.calls import Answer, Call, Verb
from fuzz.model import accounts, administration, consent_page, token_service
from fuzz.model.realm import Realm
from fuzz.model.records import User, Verdict

__all__ = ["Model", "Realm", "User", "Verdict"]

Rule = Callable[[Realm, Call, int, Answer], Verdict]

RULES: Final[Mapping[Verb, Rule]] = {
    Verb.REDEEM: token_service.redeem,
    Verb.REFRESH: token_service.refresh,
    Verb.CLIENT_CREDENTIALS: token_service.client_credentials,
    Verb.INTROSPECT: token_service.introspect,
    Verb.REVOKE: token_service.revoke,
    Verb.USER_INFO: token_service.user_info,
    Verb.CHECK: consent_page.check,
    Verb.APPROVE: consent_page.approve,
    Verb.RECALL: consent_page.recall,
    Verb.DENY: consent_page.deny,
    Verb.WITHDRAW: consent_page.withdraw,
    Verb.SIGN_IN: accounts.sign_in,
    Verb.REFRESH_LOGIN: accounts.refresh_login,
    Verb.SIGN_OUT: accounts.sign_out,
    Verb.CHANGE_PASSWORD: accounts.change_password,
    Verb.CHANGE_PHONE: accounts.change_phone,
    Verb.RECOVER_PASSWORD: accounts.recover_password,
    Verb.REGISTER_USER: administration.register_user,
    Verb.ENABLE_USER: administration.enable_user,
    Verb.DISABLE_USER: administration.disable_user,
    Verb.DELETE_USER: administration.delete_user,
    Verb.RESET_PASSWORD: administration.reset_password,
    Verb.FORCE_OUT_USER: administration.force_out_user,
    Verb.END_SESSION: administration.end_session,
    Verb.REGISTER_CLIENT: administration.register_client,
    Verb.CHANGE_CLIENT: administration.change_client,
    Verb.ENABLE_CLIENT: administration.enable_client,
    Verb.DISABLE_CLIENT: administration.disable_client,
    Verb.DELETE_CLIENT: administration.delete_client,
    Verb.RESET_SECRET: administration.reset_secret,
    Verb.SWEEP: administration.sweep,
}


class Model:
    """A world that behaves as the specification says."""

    def __init__(self, *, code_replay_ends_session: bool = False) -> None:
        self.realm = Realm(code_replay_ends_session=code_replay_ends_session)

    def judge(self, call: Call, now: int, given: Answer) -> Verdict:
        """What must be answered to `call` at `now`; `given` shows the texts of what is new in it."""
        return RULES[call.verb](self.realm, call, now, given)
