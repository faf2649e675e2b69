"""The second factor of a user: set up, asked for at sign-in, removed (RFC 6238).

Rules, all in this file (docs/decisions/0051-second-factor.md):

- A user begins with the current password and is shown a secret and ten recovery codes; a first code confirms
  that an authenticator has the secret. Until then nothing is asked for.
- At sign-in the right password gives a ticket, good for five minutes and one sign-in, and a code with the
  ticket a session. A user who must have one and has none sets it up with the ticket.
- A code is good in its time step and those beside it. A step that was used and earlier ones are used up, for
  sign-ins and every other use together. Each recovery code works once; none confirms a new second factor.
- Five wrong codes within fifteen minutes make the user wait until the first of them is that old, whatever
  they are entered for. A right one takes them back, and so does an administrator's unlock.
- Setting up and removing end every session and unredeemed code of the user but the login session in which it
  was done. Who must have a second factor and removes it is signed out there too.
- New recovery codes end nothing, and a new password leaves the second factor as it is.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from ostiary_core import events
from ostiary_core.events.account import OwnSecondFactorEvent
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Change, Decision, Delete, Insert, Update, refuse, refuse_fields
from ostiary_core.model.fact import Acting, Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import CONSOLE_CLIENT
from ostiary_core.model.instant import Instant, later, seconds_until, within
from ostiary_core.model.one_time_password import (
    canonical_code,
    derive_second_factor,
    digest_recovery_code,
    draw_recovery_codes,
    find_step,
    is_one_time_password,
    key_id_of,
    secret_text,
)
from ostiary_core.model.records import Client, SecondFactor, User, revise
from ostiary_core.model.reply import (
    Done,
    IdentityConfirmed,
    RecoveryCodesDrawn,
    Refused,
    SecondFactorKnown,
    SecondFactorOffered,
)
from ostiary_core.model.secret import Entropy, Secret, draw_bytes
from ostiary_core.model.sign_in_ticket import Ticket
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import (
    Person,
    find_active_person,
    find_person_with_own_password,
    proof_ends_at,
    require_actor,
    requires_second_factor,
    tell_acting,
)
from ostiary_core.oauth.inherited_endings import epochs_now, with_next_epoch
from ostiary_core.users.own_account import (
    all_ended_fact,
    count_wrong_password,
    end_other_sessions,
    own_change,
    refuse_wrong_password,
    start_login,
)

# --- at sign-in


def check_ticket(event: events.TicketPresented, snapshot: Snapshot) -> Decision:
    """Say whether a code would be judged: with a ticket that was forged or expired it is nobody's guess."""
    is_good = _find_by_ticket(event.ticket, snapshot) and snapshot.second_factor(event.ticket.user_id)
    return Decision(Done()) if is_good else refuse(Why.SIGN_IN_EXPIRED)


def finish_sign_in(event: events.SecondFactorEntered, snapshot: Snapshot) -> Decision:
    """Start the login session of a user who entered a right code with a ticket."""
    found = _find_by_ticket(event.ticket, snapshot)
    stored = snapshot.second_factor(event.ticket.user_id)
    if found is None or stored is None:
        return refuse(Why.SIGN_IN_EXPIRED)
    user, client = found
    wrong = Fact(
        kind=FactKind.SIGN_IN_FAILED,
        user_id=user.user_id,
        user_agent=event.user_agent,
        why=Why.SIGN_IN_CODE_WRONG,
    )
    spent = _spend(stored, event.code, Why.SIGN_IN_CODE_WRONG, wrong, snapshot)
    if isinstance(spent, Decision):
        return spent
    used = Update(stored, replace(spent, ticket_used_at=event.ticket.issued_at))
    if user.has_second_factor:
        login, writes, fact = start_login(event, user, user, client, snapshot.now)
        done = Decision(login, (used, *writes), _recovery_facts(stored, spent))
        return _add_start(done, user, fact)
    why = Why.SECOND_FACTOR_SET_UP
    changed = with_next_epoch(user, why, snapshot.now, has_second_factor=True)
    login, writes, fact = start_login(event, user, changed, client, snapshot.now)
    facts = (own_change(FactKind.SECOND_FACTOR_SET, user, changed, why), all_ended_fact(user, why))
    return _add_start(Decision(login, (used, *writes), facts), user, fact)


def _add_start(decision: Decision, user: User, start: Fact) -> Decision:
    """Return what a sign-in decided, told as done by the login session that begins with it."""
    told = tell_acting(decision, Acting(start.session_id, user.username))
    return replace(told, facts=(*told.facts, start))


def begin_at_sign_in(event: events.SecondFactorBegunAtSignIn, snapshot: Snapshot) -> Decision:
    """Offer a second factor to a user who must have one before the sign-in can go on."""
    found = _find_by_ticket(event.ticket, snapshot)
    return refuse(Why.SIGN_IN_EXPIRED) if found is None else _offer(found[0], event.entropy, snapshot)


def _find_by_ticket(ticket: Ticket, snapshot: Snapshot) -> tuple[User, Client] | None:
    """Return whose sign-in a ticket is, while it is good."""
    user, client = snapshot.user(ticket.user_id), snapshot.client(CONSOLE_CLIENT)
    stored = snapshot.second_factor(ticket.user_id)
    if user is None or client is None:
        return None
    policy = snapshot.policy
    is_good = (
        ticket.is_signed(policy.second_factor_key, epochs_now(user, client, None))
        and snapshot.now < later(ticket.issued_at, policy.ticket_seconds)
        and (stored is None or ticket.issued_at > stored.ticket_used_at)
    )
    return (user, client) if is_good else None


# --- by a signed-in user


Handler = Callable[[Any, Person, SecondFactor | None, Snapshot], Decision]


def _require_owner(
    find: Callable[[events.SignedIn, Snapshot], Person | Why],
) -> Callable[[Handler], Callable[[Any, Snapshot], Decision]]:
    """Refuse whom `find` refuses and all but the event's user; the rule is given what is stored."""

    def require(handler: Handler) -> Callable[[Any, Snapshot], Decision]:
        @require_actor(find)
        def decide(event: OwnSecondFactorEvent, who: Person, snapshot: Snapshot) -> Decision:
            if who.user.user_id != event.user_id:
                return refuse(Why.NOT_SIGNED_IN)
            return handler(event, who, snapshot.second_factor(event.user_id), snapshot)

        return decide

    return require


# A user who must have a second factor may set one up, and nothing else (READINGS 58).
_may_set_up: Final = _require_owner(find_person_with_own_password)
_may_use: Final = _require_owner(find_active_person)


@_may_use
def show(
    event: events.SecondFactorRequested, who: Person, stored: SecondFactor | None, snapshot: Snapshot
) -> Decision:
    """Say how many recovery codes are left."""
    left = count_recovery_codes(stored)
    return refuse(Why.NOT_FOUND) if left is None else Decision(SecondFactorKnown(left))


@_may_use
def prove_identity(
    event: events.IdentityProved, who: Person, stored: SecondFactor | None, snapshot: Snapshot
) -> Decision:
    """Record that the user of a login session proved who they are (READINGS 57).

    A second factor alone proves its user: what stole the password must not do. Wrong codes count twice, as
    codes that make the user wait and as wrong current passwords, of which five end everything.
    """
    proved = revise(who.session, proved_at=snapshot.now)
    fact = Fact(FactKind.IDENTITY_PROVED, user_id=who.user.user_id, session_id=who.session.session_id)
    reply = IdentityConfirmed(proof_ends_at(proved, snapshot))
    if not who.user.has_second_factor or stored is None:
        if event.verified_against is None:
            return refuse_fields((FieldFault("password", FieldRule.REQUIRED),))
        wrong = refuse_wrong_password(event, who, snapshot.now, snapshot.policy)
        return wrong or Decision(reply, (Update(who.session, proved),), (fact,))
    if event.code is None:
        return refuse_fields((FieldFault("code", FieldRule.REQUIRED),))
    spent = _spend_of_owner(stored, event.code, snapshot)
    if isinstance(spent, SecondFactor):
        facts = (*_recovery_facts(stored, spent), fact)
        return Decision(reply, (Update(stored, spent), Update(who.session, proved)), facts)
    if spent.reply != Refused(Why.SECOND_FACTOR_WRONG):
        return spent
    counted = count_wrong_password(who.user, snapshot.now, snapshot.policy)
    is_last = counted.reply == Refused(Why.CURRENT_PASSWORD_WRONG_REPEATEDLY)
    return Decision(
        counted.reply if is_last else spent.reply,
        (*spent.changes, *counted.changes),
        (*spent.facts, *counted.facts[1:]),
    )


@_may_set_up
def begin(
    event: events.SecondFactorBegun, who: Person, stored: SecondFactor | None, snapshot: Snapshot
) -> Decision:
    """Offer a second factor to a user who entered the current password."""
    wrong = refuse_wrong_password(event, who, snapshot.now, snapshot.policy)
    return wrong or _offer(who.user, event.entropy, snapshot)


@_may_set_up
def confirm(
    event: events.SecondFactorConfirmed, who: Person, stored: SecondFactor | None, snapshot: Snapshot
) -> Decision:
    """Take the second factor that was offered into use, by a first code."""
    if stored is None:
        return refuse(Why.NOT_FOUND)
    if stored.confirmed_at is not None:
        return refuse(Why.SECOND_FACTOR_EXISTS)
    spent = _spend_of_owner(stored, event.code, snapshot)
    if isinstance(spent, Decision):
        return spent
    why = Why.SECOND_FACTOR_SET_UP
    changed = with_next_epoch(who.user, why, snapshot.now, has_second_factor=True)
    decision = end_other_sessions(who, why, changed, FactKind.SECOND_FACTOR_SET)
    return replace(decision, changes=(Update(stored, spent), *decision.changes))


@_may_use
def renew_recovery_codes(
    event: events.RecoveryCodesRenewed, who: Person, stored: SecondFactor | None, snapshot: Snapshot
) -> Decision:
    """Replace the recovery codes, by the current password and a code."""
    checked = _check_both(event, who, stored, snapshot)
    if isinstance(checked, Decision):
        return checked
    before, spent = checked
    codes = draw_recovery_codes(event.entropy)
    renewed = replace(spent, recovery_digests=_digests(who.user, codes))
    fact = own_change(FactKind.RECOVERY_CODES_RENEWED, who.user, who.user)
    return Decision(
        RecoveryCodesDrawn(codes), (Update(before, renewed),), (*_recovery_facts(before, spent), fact)
    )


@_may_use
def remove(
    event: events.SecondFactorRemoved, who: Person, stored: SecondFactor | None, snapshot: Snapshot
) -> Decision:
    """Remove the second factor, by the current password and a code."""
    checked = _check_both(event, who, stored, snapshot)
    if isinstance(checked, Decision):
        return checked
    before, spent = checked
    why = Why.SECOND_FACTOR_REMOVED
    changed = with_next_epoch(who.user, why, snapshot.now, has_second_factor=False)
    decision = end_other_sessions(who, why, changed, FactKind.SECOND_FACTOR_REMOVED)
    changes = decision.changes
    if requires_second_factor(who.user, snapshot):
        # The next sign-in sets another one up; until then nothing goes on without.
        changes = (Update(who.user, changed),)
    return Decision(Done(), (Delete(before), *changes), (*_recovery_facts(before, spent), *decision.facts))


def _check_both(
    event: events.RecoveryCodesRenewed | events.SecondFactorRemoved,
    who: Person,
    stored: SecondFactor | None,
    snapshot: Snapshot,
) -> tuple[SecondFactor, SecondFactor] | Decision:
    """Check the current password, then a code; return what is stored before and after, or the refusal."""
    if stored is None or stored.confirmed_at is None:
        return refuse(Why.NOT_FOUND)
    wrong = refuse_wrong_password(event, who, snapshot.now, snapshot.policy)
    if wrong is not None:
        return wrong
    spent = _spend_of_owner(stored, event.code, snapshot)
    return spent if isinstance(spent, Decision) else (stored, spent)


# --- shared


def _offer(user: User, entropy: Entropy, snapshot: Snapshot) -> Decision:
    """Draw a second factor that waits for its first code, in place of one that waits already."""
    if user.has_second_factor:
        return refuse(Why.SECOND_FACTOR_EXISTS)
    key, salt = snapshot.policy.second_factor_key, draw_bytes(entropy, "second factor salt")
    codes = draw_recovery_codes(entropy)
    drawn = SecondFactor(
        user_id=user.user_id, salt=salt, key_id=key_id_of(key), recovery_digests=_digests(user, codes)
    )
    stored = snapshot.second_factor(user.user_id)
    change: Change = Insert(drawn)
    if stored is not None:
        change = Update(stored, replace(drawn, revision=stored.revision + 1))
    return Decision(SecondFactorOffered(secret_text(derive_second_factor(key, salt)), codes), (change,))


def _spend_of_owner(stored: SecondFactor, code: Secret, snapshot: Snapshot) -> SecondFactor | Decision:
    """Return the second factor once the code of a signed-in user is used up, or the refusal."""
    wrong = Fact(kind=FactKind.SECOND_FACTOR_WRONG, user_id=stored.user_id)
    return _spend(stored, code, Why.SECOND_FACTOR_WRONG, wrong, snapshot)


def _spend(
    stored: SecondFactor, code: Secret, why: Why, wrong: Fact, snapshot: Snapshot
) -> SecondFactor | Decision:
    """Return the second factor once a right code is used up; for others the refusal, which counts them.

    A first right code confirms it. The fact `wrong` tells of one that is wrong.
    """
    now, policy = snapshot.now, snapshot.policy
    waits_until = code_waits_until(stored, snapshot)
    if waits_until is not None:
        return Decision(Refused(Why.SIGN_INS_TOO_FREQUENT, wait_seconds=seconds_until(waits_until - now)))
    entered = canonical_code(code.reveal())
    is_new = stored.confirmed_at is None
    if is_one_time_password(entered):
        if stored.key_id != key_id_of(policy.second_factor_key):
            return refuse(Why.SECOND_FACTOR_KEY_DIFFERENT)
        secret = derive_second_factor(policy.second_factor_key, stored.salt)
        step = find_step(secret, entered, now, stored.used_step)
        if step is not None:
            return revise(
                stored,
                used_step=step,
                wrong_codes_at=(),
                confirmed_at=now if is_new else stored.confirmed_at,
            )
    digest = digest_recovery_code(stored.user_id, entered)
    if digest in stored.recovery_digests and not is_new:
        left = tuple(each for each in stored.recovery_digests if each != digest)
        return revise(stored, recovery_digests=left, wrong_codes_at=())
    wrong_at = (*_recent_wrong_codes(stored, snapshot), now)
    return refuse(why, Update(stored, revise(stored, wrong_codes_at=wrong_at)), facts=(wrong,))


def code_waits_until(stored: SecondFactor, snapshot: Snapshot) -> Instant | None:
    """Return the instant before which no code of the user is taken; None if one is taken now."""
    wrong_at, policy = _recent_wrong_codes(stored, snapshot), snapshot.policy
    if len(wrong_at) < policy.wrong_codes_until_wait:
        return None
    return later(wrong_at[-policy.wrong_codes_until_wait], policy.wrong_password_window_seconds)


def count_recovery_codes(stored: SecondFactor | None) -> int | None:
    """Return how many recovery codes are left; None if no second factor is confirmed."""
    return None if stored is None or stored.confirmed_at is None else len(stored.recovery_digests)


def _recent_wrong_codes(stored: SecondFactor, snapshot: Snapshot) -> tuple[Instant, ...]:
    return within(snapshot.policy.wrong_password_window_seconds, stored.wrong_codes_at, snapshot.now)


def _recovery_facts(before: SecondFactor, after: SecondFactor) -> tuple[Fact, ...]:
    """Return the fact that a recovery code was used, if it was."""
    if before.recovery_digests == after.recovery_digests:
        return ()
    return (Fact(kind=FactKind.RECOVERY_CODE_USED, user_id=after.user_id),)


def _digests(user: User, codes: tuple[Secret, ...]) -> tuple[str, ...]:
    return tuple(digest_recovery_code(user.user_id, code.reveal()) for code in codes)
