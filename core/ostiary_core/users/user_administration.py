"""What administrators do with accounts: register, change, disable, delete, reset passwords, force out.

Rules ("Session and tokens", user-level row; READINGS 9); names and counts are in `names_and_roles.py`:

- Disabling, deleting, resetting the password, giving another telephone number and forcing out end every
  session and unredeemed code of the user, login sessions included; enabling brings none back.
- There is always an enabled super administrator: the role counts its enabled holders.
- No administrator reaches above themselves (READINGS 40): only one with the permissions of a role gives or
  takes it, and changes a user who has it. To end such a user's login session or token counts as forcing out;
  sessions of clients may be ended by every administrator who may end sessions.
- What proves who one is changes on one's own account alone (READINGS 56): no administrator resets their own
  password or second factor, gives themselves another telephone number or takes back their own waits, or a
  stolen session would do. The operator of the command line is nobody's session.
- Before power is given the caller's user has proved who they are within the last minutes (READINGS 57): to
  reset a password or second factor, to change a telephone number, to give roles. A personal access token
  needs the power by name; the operator is not asked.
- A deleted user's names are free again; the identifier is never used twice. The record stays, by which the
  audit trail is read, and keeps of the person no more than what they were called.
"""

from dataclasses import replace
from typing import Final

from ostiary_core import events
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import (
    Change,
    Decision,
    Delete,
    Insert,
    Update,
    refuse,
    refuse_fields,
    refuse_taken,
)
from ostiary_core.model.fact import FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import names_of
from ostiary_core.model.instant import NOT_YET
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR, Permission, TokenPower
from ostiary_core.model.records import SessionKind, is_of_client, revise
from ostiary_core.model.reply import Done, Refused, Reply, UserKnown
from ostiary_core.model.secret import draw_id
from ostiary_core.model.user import USER, User
from ostiary_core.model.why import Why
from ostiary_core.oauth import consent, session
from ostiary_core.oauth.callers import (
    Actor,
    actor_id_of,
    check_permission,
    exceeds_permissions_of,
    find_roles,
    has_more_permissions,
    is_super_administrator,
    refuse_power,
    require_permission,
    require_record,
)
from ostiary_core.oauth.inherited_endings import with_next_epoch
from ostiary_core.oauth.state_tables import SessionState
from ostiary_core.users.account_reach import find_account, find_account_of_another, find_user
from ostiary_core.users.invitation import open_until
from ostiary_core.users.names_and_roles import (
    check_roles,
    find_taken_names,
    is_last_administrator,
    recount_holders,
    write_names,
)
from ostiary_core.users.own_account import all_ended_fact, find_named_user
from ostiary_core.users.personal_token import end_token
from ostiary_core.users.second_factor import code_waits_until, count_recovery_codes

_SEEING: Final = (Permission.USER_LIST, Permission.USER_UPDATE, Permission.USER_DELETE)
"""Permissions that suffice to see an account: one who may change or delete it sees it."""

_ACTING: Final = (Permission.USER_UPDATE, Permission.USER_DELETE)
"""Permissions that nobody can use on an account with more permissions than their own."""


@require_record(*_SEEING, find=find_user)
def show(event: events.UserRequested, who: Actor, user: User, snapshot: Snapshot) -> Decision:
    """Show one account, with its second factor, its open invitation, and what is out of reach."""
    stored, invitation = snapshot.second_factor(user.user_id), snapshot.invitation(user.user_id)
    waits_until = None if stored is None else code_waits_until(stored, snapshot)
    return Decision(
        UserKnown(
            user,
            waits_until,
            count_recovery_codes(stored),
            _ACTING if has_more_permissions(user, who, snapshot) else (),
            None if invitation is None else open_until(invitation, user, snapshot),
        )
    )


@require_permission(Permission.USER_CREATE)
def register(event: events.UserRegistered, who: Actor, snapshot: Snapshot) -> Decision:
    """Register a new account."""
    read = check_roles(USER.read(event.fields, None, snapshot.policy, event.faults), snapshot)
    if isinstance(read, tuple):
        return refuse_fields(read)
    if exceeds_permissions_of(find_roles(read.role_ids, snapshot), who, snapshot):
        return refuse(Why.PERMISSION_MISSING)
    user = replace(
        read,
        user_id=draw_id(event.entropy, "user"),
        password_hash=event.password_hash,
        created_at=snapshot.now,
        updated_at=snapshot.now,
    )
    taken = find_taken_names(USER.blank, user, snapshot)
    if taken:
        return refuse_taken(*taken)
    unproved = refuse_power(who, TokenPower.ROLES, snapshot) if user.role_ids else None
    if unproved is not None:
        return refuse(unproved)
    return Decision(
        UserKnown(user),
        (
            Insert(user),
            *(Insert(name) for name in names_of(user)),
            *recount_holders(USER.blank, user, snapshot),
        ),
        (USER.fact(FactKind.USER_REGISTERED, None, user, actor_id_of(who)),),
    )


@require_record(Permission.USER_UPDATE, find=find_account)
def change(event: events.UserChanged, who: Actor, user: User, snapshot: Snapshot) -> Decision:
    """Change the fields of an account; another telephone number ends all sessions and codes of the user."""
    read = check_roles(USER.edit(user, event.fields, event.shown, snapshot.policy, event.faults), snapshot)
    if isinstance(read, tuple):
        return refuse_fields(read)
    # Values that are stored already change nothing.
    if read == user:
        return Decision(UserKnown(user, is_unchanged=True))
    moved = set(user.role_ids) ^ set(read.role_ids)
    if exceeds_permissions_of(find_roles(moved, snapshot), who, snapshot):
        return refuse(Why.PERMISSION_MISSING)
    if SUPER_ADMINISTRATOR in moved and is_last_administrator(user, snapshot):
        return refuse(Why.LAST_ADMINISTRATOR)
    if read.phone == user.phone:
        changed = revise(read, updated_at=snapshot.now)
    elif user.user_id == actor_id_of(who):
        return Decision(Refused(Why.OWN_ACCOUNT_ALONE, (FieldFault("phone", Why.OWN_ACCOUNT_ALONE),)))
    else:
        changed = with_next_epoch(read, Why.PHONE_CHANGED, snapshot.now)
    taken = find_taken_names(user, changed, snapshot)
    if taken:
        return refuse_taken(*taken)
    unproved = None
    if changed.phone != user.phone:
        unproved = refuse_power(who, TokenPower.CREDENTIALS, snapshot)
    if unproved is None and not set(changed.role_ids) <= set(user.role_ids):
        unproved = refuse_power(who, TokenPower.ROLES, snapshot)
    if unproved is not None:
        return refuse(unproved)
    return _decide_update(user, changed, FactKind.USER_CHANGED, who, snapshot)


def import_row(event: events.UserImported, snapshot: Snapshot) -> Decision:
    """Import one row of a sheet: register the account or, with `replace`, change the one of that name."""
    username = event.fields.get("username")
    user = find_named_user(username, snapshot) if isinstance(username, str) else None
    if event.replace and user is not None:
        who = check_permission(event.caller, snapshot, Permission.USER_UPDATE)
        if isinstance(who, Why):
            return refuse(who)
        # A password is not changed here. A hash, which only an import sets, is left as it is: so a file can
        # come once more when some people have signed in, and been given one of our own (READINGS 50).
        unfit = tuple(
            fault
            for fault in event.faults
            if fault.path == "password" or fault.rule is FieldRule.PASSWORD_TWICE
        )
        if event.password_hash not in (None, user.password_hash):
            unfit = (FieldFault("password", FieldRule.IMMUTABLE),)
        if unfit:
            return refuse_fields(unfit)
        edits = USER.find_row_edits(user, event.fields, snapshot.policy, event.faults)
        if not edits:
            # So a sheet can come back with accounts that its bringer may not change, as long as it does not.
            return Decision(Done())
        changed = events.UserChanged(
            caller=event.caller, user_id=user.user_id, fields=edits, faults=event.faults
        )
        return change(changed, snapshot)
    # A user who keeps their password from another system need not choose another one.
    brought = {} if event.foreign_hash is None else {"mustChangePassword": False}
    new = events.UserRegistered(
        caller=event.caller,
        fields={**brought, **event.fields},
        password_hash=event.password_hash or event.foreign_hash,
        faults=event.faults,
        entropy=event.entropy,
    )
    return register(new, snapshot)


@require_record(Permission.USER_UPDATE, find=find_account)
def enable(event: events.UserEnabled, who: Actor, user: User, snapshot: Snapshot) -> Decision:
    """Enable an account: it may sign in again."""
    if user.enabled:
        return Decision(UserKnown(user, is_unchanged=True))
    enabled = revise(user, enabled=True, updated_at=snapshot.now)
    return _decide_update(user, enabled, FactKind.USER_ENABLED, who, snapshot)


@require_record(Permission.USER_UPDATE, find=find_account)
def disable(event: events.UserDisabled, who: Actor, user: User, snapshot: Snapshot) -> Decision:
    """Disable an account: it may no longer sign in, and all it had open ends."""
    if not user.enabled:
        return Decision(UserKnown(user, is_unchanged=True))
    if is_last_administrator(user, snapshot):
        return refuse(Why.LAST_ADMINISTRATOR)
    disabled = with_next_epoch(user, Why.USER_DISABLED, snapshot.now, enabled=False)
    return _decide_update(user, disabled, FactKind.USER_DISABLED, who, snapshot)


@require_record(Permission.USER_DELETE, find=find_account)
def delete(event: events.UserDeleted, who: Actor, user: User, snapshot: Snapshot) -> Decision:
    """Delete an account: its sessions and codes end; its record keeps the names, which others may take."""
    if is_last_administrator(user, snapshot):
        return refuse(Why.LAST_ADMINISTRATOR)
    deleted = with_next_epoch(
        user,
        Why.USER_DELETED,
        snapshot.now,
        enabled=False,
        deleted_at=snapshot.now,
        password_hash=None,
        phone=None,
        avatar_url=None,
        locale=None,
        timezone=None,
        text_codes_asked_at=(),
        token_expiries=(),
        has_second_factor=False,
        last_sign_in_at=NOT_YET,
    )
    decision = _decide_update(user, deleted, FactKind.USER_DELETED, who, snapshot, Done())
    return _without_second_factor(decision, user, snapshot)


@require_record(Permission.USER_UPDATE, find=find_account_of_another)
def reset_password(
    event: events.PasswordResetByAdministrator, who: Actor, user: User, snapshot: Snapshot
) -> Decision:
    """Set a password that must be changed at the next sign-in; all the user had open ends."""
    unproved = refuse_power(who, TokenPower.CREDENTIALS, snapshot)
    if unproved is not None:
        return refuse(unproved)
    why = Why.PASSWORD_RESET_BY_ADMINISTRATOR
    new_hash = event.new_password_hash
    reset = with_next_epoch(user, why, snapshot.now, password_hash=new_hash, must_change_password=True)
    return _decide_update(user, reset, FactKind.PASSWORD_SET, who, snapshot, Done(), why)


@require_record(Permission.USER_UPDATE, find=find_account_of_another)
def reset_second_factor(
    event: events.SecondFactorReset, who: Actor, user: User, snapshot: Snapshot
) -> Decision:
    """Take the second factor away from a user who lost it; all the user had open ends."""
    if not user.has_second_factor:
        return Decision(Done())
    unproved = refuse_power(who, TokenPower.CREDENTIALS, snapshot)
    if unproved is not None:
        return refuse(unproved)
    why = Why.SECOND_FACTOR_RESET_BY_ADMINISTRATOR
    reset = with_next_epoch(user, why, snapshot.now, has_second_factor=False)
    decision = _decide_update(user, reset, FactKind.SECOND_FACTOR_REMOVED, who, snapshot, Done(), why)
    return _without_second_factor(decision, user, snapshot)


def _without_second_factor(decision: Decision, user: User, snapshot: Snapshot) -> Decision:
    """Return `decision`, with which the record of a second factor goes, also of one never confirmed."""
    stored = snapshot.second_factor(user.user_id)
    return decision if stored is None else replace(decision, changes=(*decision.changes, Delete(stored)))


@require_record(Permission.USER_UPDATE, find=find_account)
def force_out(event: events.UserForcedOut, who: Actor, user: User, snapshot: Snapshot) -> Decision:
    """End all sessions and unredeemed codes of a user."""
    ended = with_next_epoch(user, Why.USER_FORCED_OUT, snapshot.now)
    return Decision(
        Done(), (Update(user, ended),), (all_ended_fact(user, Why.USER_FORCED_OUT, actor_id_of(who)),)
    )


@require_record(Permission.USER_UPDATE, find=find_account_of_another)
def unlock(event: events.UserUnlocked, who: Actor, user: User, snapshot: Snapshot) -> Decision:
    """Let a user try again at once: each process forgets failed sign-ins, and wrong codes count no more."""
    stored = snapshot.second_factor(user.user_id)
    forgiven: tuple[Change, ...] = ()
    if stored is not None and stored.wrong_codes_at:
        forgiven = (Update(stored, revise(stored, wrong_codes_at=())),)
    return Decision(Done(), forgiven, (USER.fact(FactKind.USER_UNLOCKED, user, user, actor_id_of(who)),))


@require_record(Permission.USER_UPDATE, find=find_account)
def withdraw_consent(
    event: events.ConsentWithdrawnByAdministrator, who: Actor, user: User, snapshot: Snapshot
) -> Decision:
    """Withdraw what a user lets a client do, as the user could."""
    return consent.withdraw_from(event.client_id, user, actor_id_of(who), snapshot)


@require_permission(Permission.ONLINE_KILL)
def force_out_session(event: events.SessionForcedOut, who: Actor, snapshot: Snapshot) -> Decision:
    """End one session ("Session (grant)"), if the caller may end one of its kind."""
    stored = snapshot.session(event.session_id)
    if stored is None or session.state_of(stored, snapshot) is not SessionState.ACTIVE:
        return refuse(Why.NOT_FOUND)
    if stored.user_id is None and not is_super_administrator(who):
        return refuse(Why.NOT_FOUND)
    if not is_of_client(stored.kind) and stored.user_id is not None:
        user = snapshot.user(stored.user_id)
        if user is not None and has_more_permissions(user, who, snapshot):
            return refuse(Why.PERMISSION_MISSING)
    if stored.kind is SessionKind.PERSONAL_TOKEN:
        return end_token(stored, Why.SESSION_FORCED_OUT, snapshot, actor_id_of(who))
    changes, fact = session.end(stored, Why.SESSION_FORCED_OUT, snapshot.now, actor_id=actor_id_of(who))
    return Decision(Done(), changes, (fact,))


# --- shared


def _decide_update(
    before: User,
    after: User,
    kind: FactKind,
    who: Actor,
    snapshot: Snapshot,
    reply: Reply | None = None,
    why: Why | None = None,
) -> Decision:
    """Decide what an administrator does with an account, with the names, roles and endings that follow.

    The reply has the account unless another is given.
    """
    is_deleted = after.deleted_at is not None
    facts = [USER.fact(kind, before, None if is_deleted else after, actor_id_of(who), why)]
    if after.epoch > before.epoch and isinstance(after.epoch_why, Why):
        facts.append(all_ended_fact(before, after.epoch_why, actor_id_of(who)))
    holder = USER.blank if is_deleted else after
    return Decision(
        reply or UserKnown(after),
        (Update(before, after), *write_names(before, after), *recount_holders(before, holder, snapshot)),
        tuple(facts),
    )
