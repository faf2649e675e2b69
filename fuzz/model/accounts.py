"""Required answers to users about their own accounts."""

from fuzz.model.permissions import ALL_PERMISSIONS, POWERS, find_allowed, require_permission, require_proof
from fuzz.model.realm import Realm
from fuzz.model.records import DONE, NOT_SIGNED_IN, OVERTAKEN, Session, Ticket, User, Verdict, refuse
from fuzz.shared.calls import Answer, AnswerKind, Call
from fuzz.shared.initial_states import CHOICES

WRONG_PASSWORDS = 5
WRONG_PASSWORD_MS = 15 * 60 * 1_000


def sign_in(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    named = (one for one in realm.users.values() if one.username == call.username and not one.deleted)
    user = next(named, None)
    if user is None:
        return refuse("A1002", "wrong user name")
    if call.password == user.password and call.overtaken:
        return OVERTAKEN
    if call.password != user.password or not user.enabled:
        return refuse("A1002", "wrong password, or disabled")
    if user.has_factor or realm.requires_factor(user):
        realm.tickets[given.secret or ""] = Ticket(user, now)
        asked = Answer(AnswerKind.ASKED, secret=given.secret, sets_up=not user.has_factor)
        clause = "a password alone gives a ticket" if user.has_factor else "a second factor must be set up"
        return Verdict(asked, clause)
    return login(realm, realm.begin(None, user, frozenset(), call, now, given), now, "sign-in")


def login(realm: Realm, session: Session, now: int, clause: str) -> Verdict:
    answer = realm.answer_of_session(session, now)._replace(kind=AnswerKind.LOGIN, scope=())
    if user := session.user:
        answer = answer._replace(sub=user.user_id, must_change_password=user.must_change_password)
    return Verdict(answer, clause)


def refresh_login(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    held = realm.tokens.get(call.token or "")
    if held is None or held.is_access or held.session.client is not None:
        return refuse("A1001", "the backend's refresh accepts only its own refresh token")
    verdict = realm.refresh(held, call, now, given)
    if verdict.answer.error == "A0500":
        return verdict
    if verdict.answer.kind is AnswerKind.REFUSED:
        return refuse("A1001", verdict.clause)
    return login(realm, held.session, now, verdict.clause)


def sign_out(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    realm.require_login(call, now, any_password=True)
    realm.tokens[call.login or ""].session.ended = True
    return Verdict(DONE, "sign-out ends the login session")


def change_password(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = realm.require_login(call, now, any_password=True)
    if call.overtaken:
        return OVERTAKEN
    if call.password != user.password:
        return refuse_wrong_password(realm, user, now)
    user.password = call.new_password or ""
    user.must_change_password = False
    session = realm.tokens[call.login or ""].session
    realm.end_all_of(user, but=session)
    session.proved_at = now
    return Verdict(DONE, "user changes password: all OAuth sessions end")


def refuse_wrong_password(realm: Realm, user: User, now: int) -> Verdict:
    """Refuse a wrong current password, sent to set a new password or a new telephone number."""
    user.wrong_at = [at for at in user.wrong_at if now - at < WRONG_PASSWORD_MS]
    if len(user.wrong_at) + 1 < WRONG_PASSWORDS:
        user.wrong_at.append(now)
        return refuse("A1005", "wrong current password")
    realm.end_all_of(user)
    return refuse("A1001", "enters the current password wrongly repeatedly: everything ends")


def show_account(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    if call.choice is not None:
        require_permission(realm, call, now, call.choice)
    if call.login is None:
        everything = Answer(AnswerKind.PROFILE, permissions=ALL_PERMISSIONS)
        return Verdict(everything, "the operator may do everything")
    user = realm.require_login(call, now, any_password=True, by_token=call.choice is not None)
    allowed = tuple(sorted(find_allowed(realm, call, now)))
    profile = Answer(AnswerKind.PROFILE, sub=user.user_id, username=user.username, permissions=allowed)
    return Verdict(profile, "a user sees the own account and its permissions")


def end_own_session(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = realm.require_login(call, now)
    own = (one for one in realm.sessions if one.session_id == call.session_id and one.user is user)
    session = next(own, None)
    if session is None or session.ended or now >= session.until:
        return refuse("A0404", "no such running session of the user")
    session.ended = True
    return Verdict(DONE, "a user ends one of their sessions")


def sign_out_elsewhere(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = realm.require_login(call, now)
    wrong_at = user.wrong_at
    realm.end_all_of(user, but=realm.tokens[call.login or ""].session)
    user.wrong_at = wrong_at
    return Verdict(DONE, "signed out elsewhere: everything ends but this, and wrong passwords still count")


def create_token(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = realm.require_login(call, now)
    chosen, seconds = frozenset(call.permissions or ()), call.refresh_seconds or 0
    if not chosen:
        return refuse("A0401", "a token needs at least one permission", "permissions")
    if not chosen <= find_allowed(realm, call, now) | POWERS:
        return refuse("A0403", "users give a token only permissions that they have")
    require_proof(realm.tokens[call.login or ""].session.proved_at, now)
    tokens = [one for one in realm.sessions if one.user is user and one.allows is not None]
    living = [one for one in tokens if not one.ended and now < one.until]
    if len(living) >= realm.settings.tokens_at_most:
        return refuse("B1004", "the user has as many live tokens as allowed")
    session = realm.begin_token(user, chosen, seconds, now, given)
    return Verdict(realm.answer_of_session(session, now), "a personal access token")


def note_token_use(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    session = realm.find_session(call.login, now)
    if session is None or session.allows is None:
        return NOT_SIGNED_IN
    return Verdict(DONE, "when a token was used is noted")


def choose(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = realm.require_login(call, now)
    field, value, may_be = CHOICES[call.choice or ""]
    if not may_be:
        return refuse("A0401", "no such language or time zone", field)
    if field == "locale":
        user.locale = value
    elif field == "avatarUrl":
        user.picture = value or None
    return Verdict(DONE, "a choice of language, zone or picture ends nothing")
