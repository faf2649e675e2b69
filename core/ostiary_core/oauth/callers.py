"""Callers of the backend's own interface: who they are, and what they may do."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ostiary_core.events import Caller, Operator, SignedIn
from ostiary_core.events.event import Event
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, refuse
from ostiary_core.model.fact import Acting
from ostiary_core.model.instant import Instant, later
from ostiary_core.model.permissions import ALL_PERMISSIONS, SUPER_ADMINISTRATOR, Permission, TokenPower
from ostiary_core.model.policy import SecondFactorFor
from ostiary_core.model.records import Client, Role, Session, SessionKind, User
from ostiary_core.model.reply import Refused
from ostiary_core.model.secret import fingerprint_of
from ostiary_core.model.why import Why
from ostiary_core.oauth.session import state_of
from ostiary_core.oauth.state_tables import SessionState


@dataclass(frozen=True, slots=True)
class Person:
    """A user with the login session of the request, or with the personal access token that it came with."""

    user: User
    session: Session

    @property
    def is_by_token(self) -> bool:
        """Whether a program acts by a personal access token."""
        return self.session.kind is SessionKind.PERSONAL_TOKEN


Actor = Person | Operator
"""Who acts on what is not their own: a signed-in user, or the operator on the command line."""


def find_person(caller: SignedIn, snapshot: Snapshot) -> Person | Why:
    """Return the user of a login session's access token; no other tokens are accepted here."""
    return find_holder(caller, snapshot, SessionKind.LOGIN)


def find_holder(caller: SignedIn, snapshot: Snapshot, *kinds: SessionKind) -> Person | Why:
    """Return the user of the access token of a session of one of these kinds."""
    snapshot = snapshot.of_callers
    session = snapshot.session_by_access_token(caller.access_token.digest)
    if session is None or session.kind not in kinds or session.user_id is None:
        return Why.NOT_SIGNED_IN
    if state_of(session, snapshot) is not SessionState.ACTIVE or snapshot.now >= session.access_expires_at:
        return Why.NOT_SIGNED_IN
    user = snapshot.user(session.user_id)
    return Why.NOT_SIGNED_IN if user is None else Person(user, session)


def find_person_with_own_password(caller: SignedIn, snapshot: Snapshot) -> Person | Why:
    """Return the signed-in user, unless a forced password change comes first."""
    who = find_person(caller, snapshot)
    return Why.PASSWORD_MUST_CHANGE if isinstance(who, Person) and who.user.must_change_password else who


def find_active_person(caller: SignedIn, snapshot: Snapshot) -> Person | Why:
    """Return the signed-in user, unless a new password or a second factor that they must have comes first."""
    return _refuse_before_set_up(find_person(caller, snapshot), snapshot)


def _refuse_before_set_up(who: Person | Why, snapshot: Snapshot) -> Person | Why:
    if isinstance(who, Why):
        return who
    if who.user.must_change_password:
        return Why.PASSWORD_MUST_CHANGE
    return Why.SECOND_FACTOR_REQUIRED if lacks_second_factor(who.user, snapshot.of_callers) else who


def lacks_second_factor(user: User, snapshot: Snapshot) -> bool:
    """Whether `user` must have a second factor and has none, however they signed in (READINGS 58)."""
    return not user.has_second_factor and requires_second_factor(user, snapshot)


def requires_second_factor(user: User, snapshot: Snapshot) -> bool:
    """Whether the policy wants `user` to have a second factor."""
    match snapshot.policy.require_second_factor:
        case SecondFactorFor.NOBODY:
            return False
        case SecondFactorFor.ADMINISTRATORS:
            return bool(permissions_of(user, snapshot))
        case SecondFactorFor.EVERYBODY:
            return True


def proof_ends_at(session: Session, snapshot: Snapshot) -> Instant:
    """Return until when the user of a login session counts as proved: by the sign-in, or a proof since."""
    return later(session.proved_at or session.started_at, snapshot.policy.proof_seconds)


def must_prove_identity(who: Person, snapshot: Snapshot) -> bool:
    """Whether the last proof of a login session's user is too old for giving power (READINGS 57)."""
    if who.is_by_token or snapshot.policy.proof_seconds == 0:
        return False
    return snapshot.now >= proof_ends_at(who.session, snapshot)


def refuse_power(who: Actor, power: TokenPower, snapshot: Snapshot) -> Why | None:
    """Return why `who` may not give power now, or None.

    A stolen login session cannot prove its user, and a token cannot prove anybody; the operator is asked for
    nothing.
    """
    if isinstance(who, Operator) or snapshot.policy.proof_seconds == 0:
        return None
    if who.is_by_token:
        return None if power.value in who.session.scopes else Why.TOKEN_POWER_MISSING
    return Why.PROOF_REQUIRED if must_prove_identity(who, snapshot) else None


def find_roles(role_ids: Iterable[str], snapshot: Snapshot) -> tuple[Role, ...]:
    """Return those of the named roles that exist."""
    found = (snapshot.role(role_id) for role_id in role_ids)
    return tuple(role for role in found if role is not None)


def roles_of(user: User, snapshot: Snapshot) -> tuple[Role, ...]:
    """Return the roles of `user` that exist."""
    return find_roles(user.role_ids, snapshot)


def permissions_of(user: User, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the permissions of `user`; the super administrator has all of them."""
    if SUPER_ADMINISTRATOR in user.role_ids:
        return ALL_PERMISSIONS
    held = {permission for role in roles_of(user, snapshot) for permission in role.permissions}
    return tuple(permission for permission in ALL_PERMISSIONS if permission in held)


def permissions_held(who: Person, snapshot: Snapshot) -> tuple[str, ...]:
    """Return what a caller may do; with a personal access token, what was chosen and its holder may do."""
    held = permissions_of(who.user, snapshot.of_callers)
    if who.is_by_token:
        return tuple(permission for permission in held if permission in who.session.scopes)
    return held


def is_super_administrator(who: Actor) -> bool:
    """Whether `who` may act on super administrators and see sessions that represent no user."""
    return isinstance(who, Operator) or (SUPER_ADMINISTRATOR in who.user.role_ids and not who.is_by_token)


def actor_id_of(who: Actor) -> str:
    """Return the actor's identifier for the audit trail: a user's, or that of the command line."""
    return who.actor_id if isinstance(who, Operator) else who.user.user_id


def acting_of(who: Actor) -> Acting:
    """Return what acts, for the audit trail (READINGS 59)."""
    if isinstance(who, Operator):
        return Acting(name=who.name)
    token, fingerprint = None, None
    if who.is_by_token:
        token, fingerprint = who.session.label, fingerprint_of(who.session.access_digest)
    return Acting(who.session.session_id, who.user.username, token, fingerprint)


def tell_acting(decision: Decision, acting: Acting) -> Decision:
    """Return the decision with facts that tell what acted."""
    if not decision.facts:
        return decision
    return replace(decision, facts=tuple(replace(fact, acting=acting) for fact in decision.facts))


def permission_lacking(who: Person) -> Why:
    """Return why a caller may not: the user, or the token whatever its holder may, lacks the permission."""
    return Why.TOKEN_PERMISSION_MISSING if who.is_by_token else Why.PERMISSION_MISSING


def _tell(decision: Decision, who: Actor) -> Decision:
    """Return what a rule decided for `who`, which says what acted, and that a token lacks the permission."""
    if isinstance(who, Person) and decision.reply == Refused(Why.PERMISSION_MISSING):
        decision = replace(decision, reply=Refused(permission_lacking(who)))
    return tell_acting(decision, acting_of(who)) if decision.facts else decision


def exceeds_permissions_of(roles: tuple[Role, ...], who: Actor, snapshot: Snapshot) -> bool:
    """Whether any of `roles` has a permission that `who` lacks (READINGS 40)."""
    if isinstance(who, Operator) or is_super_administrator(who):
        return False
    return exceed_permissions(roles, permissions_held(who, snapshot))


def exceed_permissions(roles: Iterable[Role], held: Iterable[str]) -> bool:
    """Whether any of `roles` has a permission that is not `held`; the super administrator's always has."""
    own = set(held)
    return any(role.role_id == SUPER_ADMINISTRATOR or not set(role.permissions) <= own for role in roles)


def has_more_permissions(user: User, who: Actor, snapshot: Snapshot) -> bool:
    """Whether `user` has a permission that `who` lacks.

    An administrator who sets a user's password can sign in as that user (READINGS 40). So a personal access
    token does not act on its own holder, who can make others.
    """
    if isinstance(who, Person) and who.is_by_token and who.user.user_id == user.user_id:
        return True
    return exceeds_permissions_of(roles_of(user, snapshot), who, snapshot)


def check_permission(caller: Caller, snapshot: Snapshot, *permissions: Permission) -> Actor | Why:
    """Return the caller if past what must be set up first and with one of these permissions; else why not.

    This alone accepts personal access tokens.
    """
    if isinstance(caller, Operator):
        return caller
    who = _refuse_before_set_up(
        find_holder(caller, snapshot, SessionKind.LOGIN, SessionKind.PERSONAL_TOKEN), snapshot
    )
    if isinstance(who, Why):
        return who
    is_allowed = not {each.value for each in permissions}.isdisjoint(permissions_held(who, snapshot))
    return who if is_allowed else permission_lacking(who)


def check_super_administrator(caller: Caller, snapshot: Snapshot) -> Actor | Why:
    """Return the caller if it is the operator, or a super administrator who is free to act; else why not."""
    if isinstance(caller, Operator):
        return caller
    who = find_active_person(caller, snapshot)
    if isinstance(who, Why):
        return who
    return who if is_super_administrator(who) else Why.PERMISSION_MISSING


E = TypeVar("E", bound=Event)
W = TypeVar("W", Person, Actor)
R = TypeVar("R", User, Role, Client)
Handler = Callable[[E, Snapshot], Decision]
CallerHandler = Callable[[E, W, Snapshot], Decision]
RecordHandler = Callable[[E, Actor, R, Snapshot], Decision]


def require_actor(check: Callable[[Any, Snapshot], W | Why]) -> Callable[[CallerHandler[E, W]], Handler[E]]:
    """Refuse callers for whom `check` returns a reason; the rule is given what it returns for others.

    What the rule tells the audit trail says what acted.
    """

    def decorate(handler: CallerHandler[E, W]) -> Handler[E]:
        def decide(event: Any, snapshot: Snapshot, /) -> Decision:
            who = check(event.caller, snapshot)
            return refuse(who) if isinstance(who, Why) else _tell(handler(event, who, snapshot), who)

        return decide

    return decorate


def require_permission(*permissions: Permission) -> Callable[[CallerHandler[E, Actor]], Handler[E]]:
    """Refuse callers without one of `permissions`; the rule is given the actor."""

    def check(caller: Caller, snapshot: Snapshot) -> Actor | Why:
        return check_permission(caller, snapshot, *permissions)

    return require_actor(check)


def require_record(
    *permissions: Permission, find: Callable[[Any, Actor, Snapshot], R | Why]
) -> Callable[[RecordHandler[E, R]], Handler[E]]:
    """Refuse callers without one of `permissions`, then those for whom `find` finds no record.

    The rule is given the actor and the record. The permission is checked before any record is looked up.
    """

    def decorate(handler: RecordHandler[E, R]) -> Handler[E]:
        def decide(event: E, who: Actor, snapshot: Snapshot) -> Decision:
            found = find(event, who, snapshot)
            return refuse(found) if isinstance(found, Why) else handler(event, who, found, snapshot)

        return require_permission(*permissions)(decide)

    return decorate
