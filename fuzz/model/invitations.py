"""Required answers about invitations: who creates one, and how long it is valid (READINGS 60)."""

from fuzz.model.administration import find_another
from fuzz.model.permissions import CREDENTIALS, require_power
from fuzz.model.realm import Realm
from fuzz.model.records import DONE, Invitation, Verdict, refuse
from fuzz.shared.calls import Answer, AnswerKind, Call

INVITATION_MS = 72 * 60 * 60 * 1_000


def invite_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = find_another(realm, call, now)
    require_power(realm, call, now, CREDENTIALS)
    realm.void(one for one in realm.invitations if one.user is user)
    text = given.code or ""
    realm.invitations.append(Invitation(text, user, now))
    shown = text if len(text) > 43 else "(a link)"
    return Verdict(Answer(AnswerKind.DONE, code=shown), "an invitation is shown once")


def accept_invitation(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    found = next((one for one in realm.invitations if one.text == call.token and not one.void), None)
    if found is None or now - found.issued_at >= INVITATION_MS or not found.user.enabled:
        return refuse("A1002", "an invitation is good once, for 72 hours, for the account as it was")
    found.user.password = call.new_password or ""
    found.user.must_change_password = False
    realm.end_all_of(found.user)
    return Verdict(DONE, "password set by an invitation: all OAuth sessions end")
