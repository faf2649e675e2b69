"""Invitations: links by which users set a password that nobody else has known.

Rules, all in this file (READINGS 60):

- An invitation is good once, for 72 hours. A user has one at a time: a newer one replaces the one before.
- It is made for the account as it is and dies with any ending of it (READINGS 48): a password that is set or
  reset, another telephone number, disabling, deleting, forcing out.
- Inviting is as much power as resetting a password, so who may do it to whom is the same (READINGS 40, 56
  and 57). It changes nothing yet: a password that the user has is good until the invitation is used.
- It sets a password and signs nobody in: the sign-in that follows asks for a second factor.
- What is wrong with an invitation is not told: an unknown, used, replaced and expired one get one refusal.
"""

import hmac

from ostiary_core.events import InvitationAccepted, InvitationMade, InvitationPresented
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Change, Decision, Insert, Update, refuse
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import Instant, later
from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.records import Invitation, User
from ostiary_core.model.reply import Done, InvitationIssued
from ostiary_core.model.secret import Secret, draw_invitation, user_of_invitation
from ostiary_core.model.user import USER
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import Actor, actor_id_of, refuse_power, require_record
from ostiary_core.oauth.inherited_endings import login_epochs_now
from ostiary_core.users.account_reach import find_account_of_another
from ostiary_core.users.own_account import set_password_once


@require_record(Permission.USER_UPDATE, find=find_account_of_another)
def invite(event: InvitationMade, who: Actor, user: User, snapshot: Snapshot) -> Decision:
    """Draw an invitation, which replaces the one before."""
    unproved = refuse_power(who, TokenPower.CREDENTIALS, snapshot)
    if unproved is not None:
        return refuse(unproved)
    token = draw_invitation(event.entropy, user.user_id)
    stored = snapshot.invitation(user.user_id)
    made = Invitation(
        user_id=user.user_id,
        digest=token.digest,
        epochs=login_epochs_now(user, snapshot),
        issued_at=snapshot.now,
        revision=1 if stored is None else stored.revision + 1,
    )
    change: Change = Insert(made) if stored is None else Update(stored, made)
    fact = USER.fact(FactKind.INVITATION_MADE, user, user, actor_id_of(who))
    expires_at = later(snapshot.now, snapshot.policy.invitation_seconds)
    return Decision(InvitationIssued(user, token, expires_at), (change,), (fact,))


def check(event: InvitationPresented, snapshot: Snapshot) -> Decision:
    """Say whether an invitation would be accepted; to ask uses nothing up."""
    is_good = _find_invited(event.token, snapshot) is not None
    return Decision(Done()) if is_good else refuse(Why.INVITATION_WRONG)


def accept(event: InvitationAccepted, snapshot: Snapshot) -> Decision:
    """Set the password of the user who was invited, once; everything of the user ends."""
    found = _find_invited(event.token, snapshot)
    if found is None:
        return refuse(Why.INVITATION_WRONG)
    user, stored = found
    why = Why.INVITATION_ACCEPTED
    return set_password_once(user, stored, event.new_password_hash, why, snapshot.now)


def _find_invited(token: Secret, snapshot: Snapshot) -> tuple[User, Invitation] | None:
    """Return the user whom a good invitation is for, and what is stored of it."""
    user_id = user_of_invitation(token)
    user, stored = snapshot.user(user_id), snapshot.invitation(user_id)
    if (
        user is None
        or stored is None
        or not hmac.compare_digest(stored.digest, token.digest)
        or open_until(stored, user, snapshot) is None
    ):
        return None
    return user, stored


def open_until(stored: Invitation, user: User, snapshot: Snapshot) -> Instant | None:
    """Return the instant until which an invitation is good; None if it is good no more."""
    if not user.enabled or stored.epochs != login_epochs_now(user, snapshot):
        return None
    until = later(stored.issued_at, snapshot.policy.invitation_seconds)
    return until if snapshot.now < until else None
