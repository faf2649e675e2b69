"""What users do with their own account: sign in, sign out, change the password, choose what they like.

Rules, all in this file ("Session and tokens", user-level row; READINGS 23-25):

- A login session is a session of the built-in client `console`, with the same rotation and safe retry.
- A password change ends every session and unredeemed code of the user; the login session in which it was
  made lives on, under the new epoch.
- Five wrong current passwords within fifteen minutes end everything, those that were to allow a new telephone
  number among them (READINGS 41).
- Signing out everywhere else ends as much as a password change.
- Failed sign-ins end nothing and are counted by the runtime alone (`throttling.sign_in_throttle`).
- A successful one may bring another hash of the same password, made as new ones are; it ends nothing.
- For users who have a second factor, or must have one, the right password gives a ticket and no session
  (`users.second_factor`).
"""

import hmac
from dataclasses import replace
from typing import Any

from ostiary_core import events
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Change, Decision, Delete, Update, refuse, refuse_fields
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import CONSOLE_CLIENT, username_key
from ostiary_core.model.instant import Instant, is_news, within
from ostiary_core.model.permissions import ALL_PERMISSIONS
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import Client, Invitation, SessionKind, TextCode, User, revise
from ostiary_core.model.reply import (
    AccountKnown,
    Done,
    LoginIssued,
    PasswordOnFile,
    Refused,
    SecondFactorAsked,
    TokensIssued,
)
from ostiary_core.model.secret import digest_of
from ostiary_core.model.sign_in_ticket import make_ticket
from ostiary_core.model.user import USER, is_timezone_name
from ostiary_core.model.why import Why
from ostiary_core.oauth import session
from ostiary_core.oauth.callers import (
    Actor,
    Person,
    check_permission,
    check_super_administrator,
    find_active_person,
    find_person,
    lacks_second_factor,
    must_prove_identity,
    permissions_held,
    refuse_power,
    require_actor,
    requires_second_factor,
    roles_of,
)
from ostiary_core.oauth.inherited_endings import epochs_now, with_next_epoch
from ostiary_core.oauth.state_tables import SessionState
from ostiary_core.users.personal_token import end_token

# --- signing in


def password_on_file(event: events.PasswordHashRequested, snapshot: Snapshot) -> Decision:
    """Give the runtime the hash to verify a password against; no client is ever sent it."""
    match event.of:
        case str(username):
            user = find_named_user(username, snapshot)
            return Decision(PasswordOnFile(None if user is None else user.password_hash))
        case events.SignedIn() as caller:
            who = find_person(caller, snapshot)
            return refuse(who) if isinstance(who, Why) else Decision(PasswordOnFile(who.user.password_hash))


def sign_in(event: events.SignInAttempted, snapshot: Snapshot) -> Decision:
    """Start a login session, or ask for the second factor.

    A wrong name, a wrong password and a disabled account get the same refusal.
    """
    user = find_named_user(event.username, snapshot)
    client = snapshot.client(CONSOLE_CLIENT)
    if user is None or client is None:
        return refuse(Why.SIGN_IN_WRONG, facts=(Fact(kind=FactKind.SIGN_IN_FAILED),))
    if event.password_matches and not _is_on_file(event.verified_against, user):
        return refuse(Why.PASSWORD_CHANGED_MEANWHILE)
    if not event.password_matches or not user.enabled:
        fact = Fact(kind=FactKind.SIGN_IN_FAILED, user_id=user.user_id, user_agent=event.user_agent)
        return refuse(Why.SIGN_IN_WRONG, facts=(fact,))
    hashed_anew = replace(user, password_hash=event.new_password_hash or user.password_hash)
    if user.has_second_factor or requires_second_factor(user, snapshot):
        key, epochs = snapshot.policy.second_factor_key, epochs_now(user, client, None)
        ticket = make_ticket(key, user.user_id, user.username, snapshot.now, epochs)
        asked = Fact(kind=FactKind.SECOND_FACTOR_ASKED, user_id=user.user_id, user_agent=event.user_agent)
        kept = () if hashed_anew == user else (Update(user, revise(hashed_anew)),)
        return Decision(SecondFactorAsked(ticket.text(), not user.has_second_factor), kept, (asked,))
    login, writes, fact = start_login(event, user, hashed_anew, client, snapshot.now)
    return Decision(login, writes, (fact,))


def start_login(
    event: events.SignInAttempted | events.SecondFactorEntered,
    stored: User,
    user: User,
    client: Client,
    now: Instant,
) -> tuple[LoginIssued, tuple[Change, ...], Fact]:
    """Start the login session of a user who proved who they are; `user` is `stored` as it is from now on."""
    _, tokens, writes, fact = session.start(
        kind=SessionKind.LOGIN,
        client=client,
        user_id=user.user_id,
        scopes=(),
        epochs=epochs_now(user, client, None),
        user_agent=event.user_agent,
        source=event.source,
        entropy=event.entropy,
        now=now,
    )
    signed_in = replace(user, last_sign_in_at=now, revision=stored.revision + 1)
    return _login(tokens, signed_in), (Update(stored, signed_in), *writes), fact


def refresh_login(event: events.LoginRefreshed, snapshot: Snapshot) -> Decision:
    """Rotate the pair of a login session, by the rules of every session (READINGS 25)."""
    token = snapshot.refresh_token(event.refresh_token.digest)
    held = None if token is None else snapshot.session(token.session_id)
    if held is None or held.user_id is None:
        return refuse(Why.NOT_SIGNED_IN)
    client, user = snapshot.client(held.client_id), snapshot.user(held.user_id)
    if client is None or user is None:
        return refuse(Why.NOT_SIGNED_IN)
    decision = session.refresh(event, client, SessionKind.LOGIN, snapshot)
    if isinstance(decision.reply, TokensIssued):
        return Decision(_login(decision.reply, user), decision.changes, decision.facts)
    if decision.reply == Refused(Why.ARRIVAL_UNKNOWN):
        return decision
    return Decision(Refused(Why.NOT_SIGNED_IN), decision.changes, decision.facts)


@require_actor(find_person)
def sign_out(event: events.SignedOut, who: Person, snapshot: Snapshot) -> Decision:
    """End the login session that the token belongs to."""
    changes, fact = session.end(who.session, Why.SIGNED_OUT, snapshot.now)
    return Decision(Done(), changes, (fact,))


@require_actor(find_active_person)
def end_own_session(event: events.OwnSessionEnded, who: Person, snapshot: Snapshot) -> Decision:
    """End one session of the caller; another user's session is not found."""
    stored = snapshot.session(event.session_id)
    if (
        stored is None
        or stored.user_id != who.user.user_id
        or session.state_of(stored, snapshot) is not SessionState.ACTIVE
    ):
        return refuse(Why.NOT_FOUND)
    if stored.kind is SessionKind.PERSONAL_TOKEN:
        return end_token(stored, Why.PERSONAL_TOKEN_ENDED, snapshot)
    changes, fact = session.end(stored, Why.SIGNED_OUT, snapshot.now)
    return Decision(Done(), changes, (fact,))


@require_actor(find_active_person)
def sign_out_elsewhere(event: events.OtherSessionsEnded, who: Person, snapshot: Snapshot) -> Decision:
    """End all sessions and codes of the caller but the login session that asks."""
    user, why = who.user, Why.SIGNED_OUT_ELSEWHERE
    # Wrong passwords still count, or the holder of one session could guess for ever.
    ended = with_next_epoch(user, why, snapshot.now, wrong_passwords_at=user.wrong_passwords_at)
    return end_other_sessions(who, why, ended)


def show_account(event: events.AccountRequested, snapshot: Snapshot) -> Decision:
    """Tell callers who they are and what they may do; refuse those who may not do what is asked for."""
    who: Actor | Why
    if event.permission is not None:
        who = check_permission(event.caller, snapshot, event.permission)
    elif event.as_super_administrator:
        who = check_super_administrator(event.caller, snapshot)
    elif isinstance(event.caller, events.Operator):
        who = event.caller
    else:
        who = find_person(event.caller, snapshot)
    if event.power is not None and not isinstance(who, Why):
        who = refuse_power(who, event.power, snapshot.of_callers) or who
    if isinstance(who, Why):
        return refuse(who)
    if isinstance(who, events.Operator):
        return Decision(AccountKnown(user=None, roles=(), permissions=ALL_PERMISSIONS, session_id=None))
    return Decision(
        AccountKnown(
            user=who.user,
            roles=() if who.is_by_token else roles_of(who.user, snapshot),
            permissions=permissions_held(who, snapshot),
            session_id=who.session.session_id,
            must_prove_identity=must_prove_identity(who, snapshot.of_callers),
            must_set_up_second_factor=lacks_second_factor(who.user, snapshot.of_callers),
            is_use_news=who.is_by_token and is_news(snapshot.now, who.session.rotated_at),
        )
    )


# --- the password and the telephone


@require_actor(find_person)
def change_password(event: events.PasswordChanged, who: Person, snapshot: Snapshot) -> Decision:
    """Set a new password for a user who entered the current one."""
    wrong = refuse_wrong_password(event, who, snapshot.now, snapshot.policy)
    if wrong is not None:
        return wrong
    why, new_hash = Why.PASSWORD_CHANGED, event.new_password_hash
    changed = with_next_epoch(who.user, why, snapshot.now, password_hash=new_hash, must_change_password=False)
    # The current password proves its user as well as any other entry of it (READINGS 57).
    return end_other_sessions(who, why, changed, FactKind.PASSWORD_SET, proved_at=snapshot.now)


def refuse_wrong_password(
    event: (
        events.PasswordChanged
        | events.PhoneChanged
        | events.IdentityProved
        | events.SecondFactorBegun
        | events.RecoveryCodesRenewed
        | events.SecondFactorRemoved
    ),
    who: Person,
    now: Instant,
    policy: Policy,
) -> Decision | None:
    """Refuse and count a wrong current password; None if it was right.

    One too many within the window ends all sessions and codes of the user (READINGS 24).
    """
    user = who.user
    if not _is_on_file(event.verified_against, user):
        return refuse(Why.PASSWORD_CHANGED_MEANWHILE)
    return None if event.password_matches else count_wrong_password(user, now, policy)


def count_wrong_password(user: User, now: Instant, policy: Policy) -> Decision:
    """Refuse and count a wrong proof of who a signed-in user is (READINGS 24)."""
    counted = within(policy.wrong_password_window_seconds, user.wrong_passwords_at, now)
    wrong = Fact(kind=FactKind.CURRENT_PASSWORD_WRONG, user_id=user.user_id)
    if len(counted) + 1 < policy.wrong_passwords_until_ending:
        return refuse(
            Why.CURRENT_PASSWORD_WRONG,
            Update(user, revise(user, wrong_passwords_at=(*counted, now))),
            facts=(wrong,),
        )
    why = Why.CURRENT_PASSWORD_WRONG_REPEATEDLY
    return refuse(
        why, Update(user, with_next_epoch(user, why, now)), facts=(wrong, all_ended_fact(user, why))
    )


# --- preferences, which end no session


@require_actor(find_active_person)
def choose_locale(event: events.LocaleChosen, who: Person, snapshot: Snapshot) -> Decision:
    """Set the user's language, one of those that the server speaks."""
    is_spoken = event.locale in snapshot.policy.locales
    faults = () if is_spoken else (FieldFault("locale", FieldRule.LOCALE, snapshot.policy.locales),)
    return _set_preference(who, faults, snapshot, locale=event.locale)


@require_actor(find_active_person)
def choose_timezone(event: events.TimezoneChosen, who: Person, snapshot: Snapshot) -> Decision:
    """Set the user's time zone by its IANA name."""
    faults = event.faults
    if not is_timezone_name(event.timezone):
        faults = (FieldFault("timezone", FieldRule.TIMEZONE),)
    return _set_preference(who, faults, snapshot, timezone=event.timezone)


@require_actor(find_active_person)
def choose_avatar(event: events.AvatarChosen, who: Person, snapshot: Snapshot) -> Decision:
    """Set the address of the user's picture, or remove the picture."""
    return _set_preference(who, (), snapshot, avatar_url=event.avatar_url)


def _set_preference(
    who: Person, faults: tuple[FieldFault, ...], snapshot: Snapshot, **chosen: Any
) -> Decision:
    if faults:
        return refuse_fields(faults)
    if all(getattr(who.user, name) == value for name, value in chosen.items()):
        return Decision(Done())
    changed = revise(who.user, updated_at=snapshot.now, **chosen)
    fact = own_change(FactKind.PREFERENCES_SET, who.user, changed)
    return Decision(Done(), (Update(who.user, changed),), (fact,))


# --- shared


def find_named_user(username: str, snapshot: Snapshot) -> User | None:
    """Return the account of this user name; one that was deleted has none."""
    identifier = snapshot.identifier(username_key(username))
    return None if identifier is None else snapshot.user(identifier.user_id)


def _is_on_file(verified_against: str | None, user: User) -> bool:
    """Whether a password was verified against the hash that the account still has."""
    if verified_against is None or user.password_hash is None:
        return False
    return hmac.compare_digest(digest_of(verified_against), digest_of(user.password_hash))


def _login(tokens: TokensIssued, user: User) -> LoginIssued:
    return LoginIssued(tokens=tokens, user_id=user.user_id, must_change_password=user.must_change_password)


def own_change(kind: FactKind, before: User | None, after: User, why: Why | None = None) -> Fact:
    """Make the fact of a change that users make in their own account."""
    return USER.fact(kind, before, after, None, why)


def all_ended_fact(user: User, why: Why, actor_id: str | None = None) -> Fact:
    """Make the fact that all sessions and codes of a user ended."""
    return Fact(kind=FactKind.USER_SESSIONS_ENDED, actor_id=actor_id, user_id=user.user_id, why=why)


def set_password_once(
    user: User, spent: TextCode | Invitation, new_hash: str, why: Why, now: Instant
) -> Decision:
    """Set the password of a user who is not signed in by what is spent on it; all that the user had ends."""
    changed = with_next_epoch(user, why, now, password_hash=new_hash, must_change_password=False)
    return Decision(
        Done(),
        (Delete(spent), Update(user, changed)),
        (own_change(FactKind.PASSWORD_SET, user, changed, why), all_ended_fact(user, why)),
    )


def end_other_sessions(
    who: Person, why: Why, changed: User, kind: FactKind | None = None, proved_at: Instant | None = None
) -> Decision:
    """End all sessions of a user but the login session that asks, which moves to the new epoch.

    `kind` is the fact of what changed beside, `proved_at` the instant of a proof that came with it.
    """
    epochs = who.session.epochs._replace(user=changed.epoch)
    kept = revise(who.session, epochs=epochs, proved_at=proved_at or who.session.proved_at)
    facts = () if kind is None else (own_change(kind, who.user, changed, why),)
    return Decision(
        Done(), (Update(who.user, changed), Update(who.session, kept)), (*facts, all_ended_fact(changed, why))
    )
