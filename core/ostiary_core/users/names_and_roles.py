"""Records that follow an account: its names, and the roles that count their holders.

A name belongs to one account; a deleted account has none. There is always an enabled super administrator, so
a role counts its enabled holders.
"""

from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import names_of
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR
from ostiary_core.model.records import revise
from ostiary_core.model.user import User
from ostiary_core.oauth.callers import find_roles, roles_of


def check_roles(read: User | tuple[FieldFault, ...], snapshot: Snapshot) -> User | tuple[FieldFault, ...]:
    """Return what was read of an account, or the faults of roles that do not exist."""
    if isinstance(read, tuple):
        return read
    faults = tuple(
        FieldFault(f"roleIds.{place}", FieldRule.ROLE)
        for place, role_id in enumerate(read.role_ids)
        if snapshot.role(role_id) is None
    )
    return faults or read


def find_taken_names(before: User, after: User, snapshot: Snapshot) -> tuple[str, ...]:
    """Find the fields of `after` whose names belong to another user. A name that stays is not looked up."""
    kept = names_of(before)
    return tuple(
        name.kind.value
        for name in names_of(after)
        if name not in kept and snapshot.identifier(name.key) is not None
    )


def write_names(before: User, after: User) -> tuple[Change, ...]:
    """Write the records of names that an account gives up and of those it takes; a deleted one has none."""
    old, new = names_of(before), names_of(after) if after.deleted_at is None else ()
    return (
        *(Delete(name) for name in old if name not in new),
        *(Insert(name) for name in new if name not in old),
    )


def recount_holders(before: User, after: User, snapshot: Snapshot) -> tuple[Change, ...]:
    """Write the roles whose number of holders changes when `after` replaces `before`."""
    changes = []
    for role in find_roles(dict.fromkeys((*before.role_ids, *after.role_ids)), snapshot):
        held, holds = role.role_id in before.role_ids, role.role_id in after.role_ids
        counted = revise(
            role,
            holders=role.holders + holds - held,
            enabled_holders=role.enabled_holders + (holds and after.enabled) - (held and before.enabled),
        )
        if (counted.holders, counted.enabled_holders) != (role.holders, role.enabled_holders):
            changes.append(Update(role, counted))
    return tuple(changes)


def is_last_administrator(user: User, snapshot: Snapshot) -> bool:
    """Whether no other enabled user has every permission; a batch is judged at its end."""
    if snapshot.is_in_batch:
        return False
    return user.enabled and any(
        role.role_id == SUPER_ADMINISTRATOR and role.enabled_holders <= 1 for role in roles_of(user, snapshot)
    )
