"""Roles: named sets of permissions, registered, changed and deleted by administrators.

Rules, all in this file (API, "People"):

- A role's identifier is its code, and a code stays what it is.
- The built-in role `super_admin` holds every permission and cannot be changed.
- A role that a user holds cannot be deleted.
- Administrators put into a role only permissions that they hold, and change no role that has others (READINGS
  40). They may delete such a role: no user holds it.
- What a role allows is changed after a proof of who the caller is (READINGS 57).
"""

from typing import Final

from ostiary_core import events
from ostiary_core.events.event import RoleEvent
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, Delete, Insert, Update, refuse, refuse_fields, refuse_taken
from ostiary_core.model.fact import FactKind
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR, Permission, TokenPower
from ostiary_core.model.records import revise
from ostiary_core.model.reply import Done, RoleKnown
from ostiary_core.model.role import ROLE, Role
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import (
    Actor,
    actor_id_of,
    check_permission,
    exceeds_permissions_of,
    refuse_power,
    require_permission,
    require_record,
)

_SEEING: Final = (Permission.ROLE_LIST, Permission.ROLE_UPDATE, Permission.ROLE_DELETE)
"""Permissions that suffice to see a role: one who may change or delete it sees it."""


def _find_role(event: RoleEvent, who: Actor, snapshot: Snapshot) -> Role | Why:
    return snapshot.role(event.role_id) or Why.NOT_FOUND


def _find_changeable(event: RoleEvent, who: Actor, snapshot: Snapshot) -> Role | Why:
    role = _find_role(event, who, snapshot)
    return Why.ROLE_PROTECTED if isinstance(role, Role) and role.built_in else role


@require_record(*_SEEING, find=_find_role)
def show(event: events.RoleRequested, who: Actor, role: Role, snapshot: Snapshot) -> Decision:
    """Show one role."""
    is_beyond = exceeds_permissions_of((role,), who, snapshot)
    return Decision(RoleKnown(role, (Permission.ROLE_UPDATE,) if is_beyond else ()))


@require_permission(Permission.ROLE_CREATE)
def register(event: events.RoleRegistered, who: Actor, snapshot: Snapshot) -> Decision:
    """Register a new role."""
    role = ROLE.read(event.fields)
    if isinstance(role, tuple):
        return refuse_fields(role)
    if exceeds_permissions_of((role,), who, snapshot):
        return refuse(Why.PERMISSION_MISSING)
    if role.role_id == SUPER_ADMINISTRATOR or snapshot.role(role.role_id) is not None:
        return refuse_taken("code")
    fact = ROLE.fact(FactKind.ROLE_REGISTERED, None, role, actor_id_of(who))
    return Decision(RoleKnown(role), (Insert(role),), (fact,))


@require_record(Permission.ROLE_UPDATE, find=_find_changeable)
def change(event: events.RoleChanged, who: Actor, role: Role, snapshot: Snapshot) -> Decision:
    """Change a role's name or permissions; its holders have them from their next request on."""
    edited = ROLE.edit(role, event.fields, event.shown)
    if isinstance(edited, tuple):
        return refuse_fields(edited)
    if exceeds_permissions_of((role, edited), who, snapshot):
        return refuse(Why.PERMISSION_MISSING)
    if edited == role:
        return Decision(RoleKnown(role))
    gives_power = set(edited.permissions) != set(role.permissions)
    unproved = refuse_power(who, TokenPower.ROLES, snapshot) if gives_power else None
    if unproved is not None:
        return refuse(unproved)
    changed = revise(edited)
    fact = ROLE.fact(FactKind.ROLE_CHANGED, role, changed, actor_id_of(who))
    return Decision(RoleKnown(changed), (Update(role, changed),), (fact,))


def import_row(event: events.RoleImported, snapshot: Snapshot) -> Decision:
    """Import one row of a sheet: register the role or, with `replace`, change the one of that code."""
    code = event.fields.get("code")
    stored = snapshot.role(code) if isinstance(code, str) else None
    if event.replace and stored is not None:
        edits = ROLE.find_row_edits(stored, event.fields)
        if edits:
            changed = events.RoleChanged(caller=event.caller, role_id=stored.role_id, fields=edits)
            return change(changed, snapshot)
        # So a sheet can come back with what its bringer may not change, as long as it does not.
        who = check_permission(event.caller, snapshot, Permission.ROLE_UPDATE)
        return refuse(who) if isinstance(who, Why) else Decision(Done())
    return register(events.RoleRegistered(caller=event.caller, fields=event.fields), snapshot)


@require_record(Permission.ROLE_DELETE, find=_find_changeable)
def delete(event: events.RoleDeleted, who: Actor, role: Role, snapshot: Snapshot) -> Decision:
    """Delete a role that no user holds; its code is free again."""
    if role.holders > 0:
        return refuse(Why.STILL_REFERENCED)
    return Decision(
        Done(), (Delete(role),), (ROLE.fact(FactKind.ROLE_DELETED, role, None, actor_id_of(who)),)
    )
