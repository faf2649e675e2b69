"""Required answers about second factors: set up, entered at sign-in, removed, reset."""

from fuzz.model.accounts import WRONG_PASSWORD_MS, WRONG_PASSWORDS, login, refuse_wrong_password
from fuzz.model.administration import find_another
from fuzz.model.permissions import CREDENTIALS, require_power
from fuzz.model.realm import Realm
from fuzz.model.records import DONE, OVERTAKEN, SECOND_MS, Factor, Refusal, Ticket, User, Verdict, refuse
from fuzz.shared.authenticator import steps_of
from fuzz.shared.calls import Answer, AnswerKind, Call

TICKET_MS = 5 * 60 * SECOND_MS


def begin_factor(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = realm.require_login(call, now, any_factor=True)
    wrong = check_password(realm, user, call, now)
    return offer(user, given) if wrong is None else wrong


def offer(user: User, given: Answer) -> Verdict:
    if user.has_factor:
        return refuse("A0409", "one second factor at a time")
    kept = 0 if user.factor is None else user.factor.ticket_at
    user.factor = Factor(given.secret or "", {*given.codes}, ticket_at=kept)
    return Verdict(Answer(AnswerKind.FACTOR, secret=given.secret, codes=given.codes), "offered once")


def confirm_factor(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = realm.require_login(call, now, any_factor=True)
    if user.factor is None:
        return refuse("A0404", "no second factor waits to be confirmed")
    if user.factor.confirmed:
        return refuse("A0409", "one second factor at a time")
    spend(user.factor, call.text_code or "", now, "A1007")
    user.factor.confirmed = True
    realm.end_all_of(user, but=realm.tokens[call.login or ""].session)
    return Verdict(DONE, "a second factor is set up: all other sessions end")


def remove_factor(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = spend_with_password(realm, call, now)
    user.factor = None
    if realm.requires_factor(user):
        realm.end_all_of(user)
        return Verdict(DONE, "a second factor that is required is removed: everything ends")
    realm.end_all_of(user, but=realm.tokens[call.login or ""].session)
    return Verdict(DONE, "a second factor is removed: all other sessions end")


def renew_codes(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = spend_with_password(realm, call, now)
    assert user.factor is not None
    user.factor.recovery = {*given.codes}
    return Verdict(Answer(AnswerKind.FACTOR, codes=given.codes), "new recovery codes end nothing")


def prove(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    wrong = check_proof(realm, realm.require_login(call, now), call, now)
    if wrong is not None:
        return wrong
    realm.tokens[call.login or ""].session.proved_at = now
    return Verdict(DONE, "the user proves the own identity: this session may give power again")


def check_proof(realm: Realm, user: User, call: Call, now: int) -> Verdict | None:
    """Return the refusal of an insufficient proof of identity, such as a password without the second factor.

    A wrong code counts as a wrong password, too.
    """
    if user.factor is None or not user.factor.confirmed:
        return check_password(realm, user, call, now)
    try:
        spend(user.factor, call.text_code or "", now, "A1007")
    except Refusal as refusal:
        if refusal.verdict.answer.error != "A1007":
            raise
        counted = refuse_wrong_password(realm, user, now)
        return counted if counted.answer.error == "A1001" else refusal.verdict
    return None


def find_ticket(realm: Realm, call: Call, now: int) -> Ticket:
    ticket = realm.tickets.get(call.token or "")
    if ticket is None or ticket.void or now - ticket.issued_at >= TICKET_MS:
        raise Refusal(refuse("A1001", "no ticket, or five minutes old, or all its user's sessions ended"))
    factor = ticket.user.factor
    if factor is not None and ticket.issued_at <= factor.ticket_at:
        raise Refusal(refuse("A1001", "a ticket is good for one sign-in"))
    return ticket


def offer_factor(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    return offer(find_ticket(realm, call, now).user, given)


def enter_factor(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    ticket = find_ticket(realm, call, now)
    user, factor = ticket.user, ticket.user.factor
    if factor is None:
        return refuse("A1001", "a second factor that must be set up was never offered")
    spend(factor, call.text_code or "", now, "A1002")
    factor.ticket_at = ticket.issued_at
    clause = "a code with the ticket signs in"
    if not factor.confirmed:
        factor.confirmed, clause = True, "a first code with the ticket sets up and signs in"
        realm.end_all_of(user)
    return login(realm, realm.begin(None, user, frozenset(), call, now, given), now, clause)


def reset_factor(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = find_another(realm, call, now)
    if not user.has_factor:
        return Verdict(DONE, "no second factor to reset")
    require_power(realm, call, now, CREDENTIALS)
    user.factor = None
    realm.end_all_of(user)
    return Verdict(DONE, "second factor reset by administrator: everything ends")


def check_password(realm: Realm, user: User, call: Call, now: int) -> Verdict | None:
    """Return the refusal if the current password is wrong."""
    if call.overtaken:
        return OVERTAKEN
    return None if call.password == user.password else refuse_wrong_password(realm, user, now)


def spend_with_password(realm: Realm, call: Call, now: int) -> User:
    """Return the user after checking the current password and using up a code. Raises `Refusal`."""
    user = realm.require_login(call, now)
    if user.factor is None or not user.factor.confirmed:
        raise Refusal(refuse("A0404", "no second factor"))
    wrong = check_password(realm, user, call, now)
    if wrong is not None:
        raise Refusal(wrong)
    spend(user.factor, call.text_code or "", now, "A1007")
    return user


def spend(factor: Factor, code: str, now: int, error: str) -> None:
    """Use up a right code. Raises `Refusal` for a wrong one, which counts, and after too many wrong ones."""
    factor.wrong_at = [at for at in factor.wrong_at if now - at < WRONG_PASSWORD_MS]
    if len(factor.wrong_at) >= WRONG_PASSWORDS:
        raise Refusal(refuse("A1003", "five wrong codes within fifteen minutes: the user waits"))
    steps = [step for step in steps_of(code, factor.secret, now) if step > factor.used_step]
    if steps:
        factor.used_step = steps[-1]
    elif code in factor.recovery and factor.confirmed:
        factor.recovery.remove(code)
    else:
        factor.wrong_at.append(now)
        raise Refusal(refuse(error, "a code that is wrong, too old, too early or used"))
    factor.wrong_at = []
