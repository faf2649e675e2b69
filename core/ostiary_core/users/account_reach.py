"""Finds the account that an administrator's event is about, if that administrator may act on it.

Nobody reaches above themselves (READINGS 40), and what proves who one is changes on one's own account alone
(READINGS 56).
"""

from ostiary_core import events
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.user import User
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import Actor, actor_id_of, has_more_permissions


def find_user(event: events.event.AccountEvent, who: Actor, snapshot: Snapshot) -> User | Why:
    """Find the account, which may be out of reach; one that was deleted is not found."""
    user = snapshot.user(event.user_id)
    return Why.NOT_FOUND if user is None or user.deleted_at is not None else user


def find_account(event: events.event.AccountEvent, who: Actor, snapshot: Snapshot) -> User | Why:
    """Find the account that the caller may act on; one with more permissions is out of reach."""
    user = find_user(event, who, snapshot)
    is_beyond = isinstance(user, User) and has_more_permissions(user, who, snapshot)
    return Why.PERMISSION_MISSING if is_beyond else user


def find_account_of_another(event: events.event.AccountEvent, who: Actor, snapshot: Snapshot) -> User | Why:
    """Find the account that the caller may act on, and that is not the caller's own."""
    user = find_account(event, who, snapshot)
    is_own = isinstance(user, User) and user.user_id == actor_id_of(who)
    return Why.OWN_ACCOUNT_ALONE if is_own else user
