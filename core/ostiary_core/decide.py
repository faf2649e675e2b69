"""The rules' one entrance: an event, what is stored and the time in; a decision out.

`decide` is pure and total. It reads nothing but its arguments, changes nothing, and for every event and
every snapshot that holds the event's keys it returns a decision; a refusal is a value, not an exception.
"""

from collections.abc import Iterable
from typing import assert_never

from ostiary_core import (
    account,
    client,
    client_secret,
    consent,
    first_administrator,
    lapsing,
    monitor,
    people,
    preferences,
    profile,
    role,
    telephone,
    token_service,
)
from ostiary_core import events as e
from ostiary_core.decision import BatchDone, BatchRefused, Decision, Refused
from ostiary_core.instant import Instant
from ostiary_core.policy import SPECIFICATION, Policy
from ostiary_core.snapshot import Snapshot

__all__ = ["decide", "take_turn"]


def take_turn(
    events: Iterable[e.Event], snapshot: Snapshot, now: Instant, policy: Policy = SPECIFICATION
) -> list[Decision]:
    """Decide many events in order over one snapshot, each seeing what the ones before it changed.

    An event that needs a consent and comes with an access token which a sign-in or a login refresh of the
    same turn makes raises `NotLoaded`: when the snapshot was loaded, nobody knew whose consent that is. No
    caller has a token before its turn is kept. Whoever foresees one, as a script with entropy of its own may,
    takes two turns.
    """
    standing = snapshot.after(())
    decisions = []
    for event in events:
        decision = decide(event, standing, now, policy)
        standing.apply(decision.changes)
        decisions.append(decision)
    return decisions


def decide(event: e.Event, snapshot: Snapshot, now: Instant, policy: Policy = SPECIFICATION) -> Decision:
    """What is answered, what changes and what is worth telling.

    `snapshot` must hold `keys(event)` and what they refer to, as `snapshot.load` does; a key that is
    missing raises `NotLoaded`, which is a fault of the program and not of the event.
    """
    match event:
        # What comes most comes first: each class that is tried takes its time.
        case e.IntrospectionRequested():
            return token_service.introspect(event, snapshot, now)
        case e.RefreshRequested():
            return token_service.refresh(event, snapshot, now, policy)
        case e.ClientCredentialsRequested():
            return token_service.issue_to_client(event, snapshot, now)
        case e.CodeRedeemed():
            return token_service.redeem(event, snapshot, now, policy)
        case e.GrantUnrecognised():
            return token_service.refuse_grant(event, snapshot, now)
        case e.RevocationRequested():
            return token_service.revoke(event, snapshot, now)
        case e.ProfileRequested():
            return profile.show(event, snapshot, now)
        case e.GraceLapsed():
            return monitor.lapse_grace(event, snapshot, now, policy)
        case e.RecordLapsed():
            return lapsing.lapse(event, snapshot, now, policy)
        case e.AuthorizationChecked():
            return consent.check(event, snapshot, now)
        case e.ConsentGiven():
            return consent.give(event, snapshot, now)
        case e.ConsentRecalled():
            return consent.recall(event, snapshot, now)
        case e.ConsentDenied():
            return consent.deny(event, snapshot, now)
        case e.ConsentWithdrawn():
            return consent.withdraw(event, snapshot, now)
        case e.PasswordHashRequested():
            return account.password_on_file(event, snapshot, now)
        case e.SignInAttempted():
            return account.sign_in(event, snapshot, now, policy)
        case e.LoginRefreshed():
            return account.refresh_login(event, snapshot, now, policy)
        case e.SignedOut():
            return account.sign_out(event, snapshot, now)
        case e.OwnSessionEnded():
            return account.end_own_session(event, snapshot, now)
        case e.AccountRequested():
            return account.known_account(event, snapshot, now)
        case e.PasswordChanged():
            return account.change_password(event, snapshot, now, policy)
        case e.LocaleChosen():
            return preferences.choose_locale(event, snapshot, now)
        case e.TimezoneChosen():
            return preferences.choose_timezone(event, snapshot, now)
        case e.AvatarChosen():
            return preferences.choose_avatar(event, snapshot, now)
        case e.TextCodeRequested():
            return telephone.request_text_code(event, snapshot, now, policy)
        case e.PhoneChanged():
            return telephone.change_phone(event, snapshot, now, policy)
        case e.PasswordResetByTextMessage():
            return telephone.reset_password_by_text_message(event, snapshot, now, policy)
        case e.PasswordResetByAdministrator():
            return people.reset_password(event, snapshot, now)
        case e.UserRequested():
            return people.show(event, snapshot, now)
        case e.UserRegistered():
            return people.register(event, snapshot, now)
        case e.UserChanged():
            return people.change(event, snapshot, now)
        case e.UserImported():
            return people.import_row(event, snapshot, now)
        case e.UserEnabled():
            return people.enable(event, snapshot, now)
        case e.UserDisabled():
            return people.disable(event, snapshot, now)
        case e.UserDeleted():
            return people.delete(event, snapshot, now)
        case e.UserForcedOut():
            return people.force_out(event, snapshot, now)
        case e.FirstAdministratorCreated():
            return first_administrator.create_first_administrator(event, snapshot, now)
        case e.RoleRequested():
            return role.show(event, snapshot, now)
        case e.RoleRegistered():
            return role.register(event, snapshot, now)
        case e.RoleChanged():
            return role.change(event, snapshot, now)
        case e.RoleImported():
            return role.import_row(event, snapshot, now)
        case e.RoleDeleted():
            return role.delete(event, snapshot, now)
        case e.ClientRequested():
            return client.show(event, snapshot, now)
        case e.ClientRegistered():
            return client.register(event, snapshot, now)
        case e.ClientChanged():
            return client.change(event, snapshot, now)
        case e.ClientImported():
            return client.import_row(event, snapshot, now)
        case e.ClientEnabled():
            return client.enable(event, snapshot, now)
        case e.ClientDisabled():
            return client.disable(event, snapshot, now)
        case e.ClientDeleted():
            return client.delete(event, snapshot, now)
        case e.ClientSecretReset():
            return client_secret.reset(event, snapshot, now)
        case e.OldSecretEnded():
            return client_secret.end_old(event, snapshot, now)
        case e.ClientSecretUsed():
            return client_secret.note_use(event, snapshot, now)
        case e.WrongSecretsCounted():
            return client_secret.add_wrong(event, snapshot, now)
        case e.SessionForcedOut():
            return monitor.force_out_session(event, snapshot, now)
        case e.AllOrNothing():
            return _all_or_nothing(event, snapshot, now, policy)
        case _:
            assert_never(event)


def _all_or_nothing(event: e.AllOrNothing, snapshot: Snapshot, now: Instant, policy: Policy) -> Decision:
    """A batch: done whole, or refused with every event of it that was refused."""
    standing = snapshot.after(())
    decisions = []
    for part in event.events:
        decision = decide(part, standing, now, policy)
        if not isinstance(decision.reply, Refused):
            standing.apply(decision.changes)
        decisions.append(decision)
    refusals = tuple(
        (place, decision.reply)
        for place, decision in enumerate(decisions)
        if isinstance(decision.reply, Refused)
    )
    if refusals:
        return Decision(BatchRefused(refusals))
    return Decision(
        BatchDone(tuple(decision.reply for decision in decisions)),
        tuple(change for decision in decisions for change in decision.changes),
        tuple(fact for decision in decisions for fact in decision.facts),
    )
