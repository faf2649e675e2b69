"""Roles: named sets of permissions, registered, changed and deleted by administrators.

Rules, all in this file (API, "People"):

- A role's identifier is its code, and a code stays what it is.
- The built-in role `super_admin` holds every permission and cannot be changed.
- A role that somebody holds cannot be deleted.
- Nobody puts more into a role than they hold themselves, nor changes one that allows more (READINGS 40). To
  delete one reaches nobody, as nobody holds it.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ostiary_core import events as e
from ostiary_core.events.event import RoleEvent
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.changes import RecordField, changes_between, find_row_changes, values_of
from ostiary_core.model.decision import Decision, Delete, Insert, Update, refuse
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldReader, FieldRule, merge_edits
from ostiary_core.model.identifiers import RESERVED
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import ALL_PERMISSIONS, SUPER_ADMINISTRATOR, Permission
from ostiary_core.model.records import Role, revise
from ostiary_core.model.reply import Done, Refused, RoleKnown
from ostiary_core.model.why import Why
from ostiary_core.oauth.authentication import (
    Actor,
    actor_id_of,
    check_permission,
    exceeds_permissions_of,
    require_permission,
)

_CODE: Final = re.compile(r"[a-z][a-z0-9._-]{0,63}", re.ASCII)
_LONGEST_NAME: Final = 100
_NEW_ROLE: Final = Role(role_id="", name="")
"""What stands in the fields of a new role that are not sent; empty ones are required."""


def permissions_in(role: Role) -> tuple[str, ...]:
    """The permissions of a role; the built-in role has all, also those that a later version added."""
    return ALL_PERMISSIONS if role.role_id == SUPER_ADMINISTRATOR else role.permissions


ROLE_FIELDS: Final[tuple[RecordField[Role], ...]] = (
    RecordField("name", lambda role: role.name),
    RecordField("permissions", permissions_in),
)
"""What is declared of a role and told of its changes."""
_KNOWN: Final = frozenset({"id", "code", "builtIn", *(field.name for field in ROLE_FIELDS)})


_SEEING: Final = (Permission.ROLE_LIST, Permission.ROLE_UPDATE, Permission.ROLE_DELETE)
"""Each of these is enough to see one: who may change or delete it sees what it is."""


def _find_role(event: RoleEvent, who: Actor, snapshot: Snapshot) -> Role | Why:
    return snapshot.role(event.role_id) or Why.NOT_FOUND


def _find_changeable(event: RoleEvent, who: Actor, snapshot: Snapshot) -> Role | Why:
    role = _find_role(event, who, snapshot)
    return Why.ROLE_PROTECTED if isinstance(role, Role) and role.built_in else role


@require_permission(*_SEEING, find=_find_role)
def show(event: e.RoleRequested, who: Actor, role: Role, snapshot: Snapshot, now: Instant) -> Decision:
    """Show one role."""
    return Decision(RoleKnown(role))


def register(event: e.RoleRegistered, snapshot: Snapshot, now: Instant) -> Decision:
    """Register a new role."""
    who = check_permission(event.caller, Permission.ROLE_CREATE, snapshot, now)
    if isinstance(who, Why):
        return refuse(who)
    role = _read(event.fields)
    if isinstance(role, tuple):
        return Decision(Refused(Why.FIELDS_INVALID, role))
    if exceeds_permissions_of((role,), who, snapshot):
        return refuse(Why.PERMISSION_MISSING)
    if role.role_id == SUPER_ADMINISTRATOR or snapshot.role(role.role_id) is not None:
        return Decision(Refused(Why.ALREADY_TAKEN, (FieldFault("code", Why.ALREADY_TAKEN),)))
    return Decision(RoleKnown(role), (Insert(role),), (_fact_of(FactKind.ROLE_REGISTERED, who, None, role),))


@require_permission(Permission.ROLE_UPDATE, find=_find_changeable)
def change(event: e.RoleChanged, who: Actor, role: Role, snapshot: Snapshot, now: Instant) -> Decision:
    """Change a role's name or permissions; its holders have them from their next request on."""
    stored = values_of(ROLE_FIELDS, role)
    asked = merge_edits(event.fields, event.shown, stored, lambda given: _read(given, role))
    if isinstance(asked, tuple):
        return Decision(Refused(Why.CHANGED_MEANWHILE, asked))
    read = _read(asked, role)
    if isinstance(read, tuple):
        return Decision(Refused(Why.FIELDS_INVALID, read))
    if exceeds_permissions_of((role, read), who, snapshot):
        return refuse(Why.PERMISSION_MISSING)
    if read == role:
        return Decision(RoleKnown(role))
    changed = revise(read)
    return Decision(
        RoleKnown(changed), (Update(role, changed),), (_fact_of(FactKind.ROLE_CHANGED, who, role, changed),)
    )


def import_row(event: e.RoleImported, snapshot: Snapshot, now: Instant) -> Decision:
    """Import one row of a sheet: register the role or, with `replace`, change the one of that code."""
    code = event.fields.get("code")
    stored = snapshot.role(code) if isinstance(code, str) else None
    if event.replace and stored is not None:
        as_shown = replace(stored, permissions=permissions_in(stored))
        own = {"code": stored.role_id, "id": stored.role_id, "builtIn": stored.built_in}
        asked = find_row_changes(ROLE_FIELDS, as_shown, event.fields, own)
        if asked and _read(asked, as_shown) != as_shown:
            changed = e.RoleChanged(caller=event.caller, role_id=stored.role_id, fields=asked)
            return change(changed, snapshot, now)
        # So a sheet can come back with what its bringer may not change, as long as it does not.
        who = check_permission(event.caller, Permission.ROLE_UPDATE, snapshot, now)
        return refuse(who) if isinstance(who, Why) else Decision(Done())
    return register(e.RoleRegistered(caller=event.caller, fields=event.fields), snapshot, now)


@require_permission(Permission.ROLE_DELETE, find=_find_changeable)
def delete(event: e.RoleDeleted, who: Actor, role: Role, snapshot: Snapshot, now: Instant) -> Decision:
    """Delete a role that nobody holds; its code is free again."""
    if role.holders > 0:
        return refuse(Why.STILL_REFERENCED)
    return Decision(Done(), (Delete(role),), (_fact_of(FactKind.ROLE_DELETED, who, role, None),))


def _read(fields: Mapping[str, object], stored: Role = _NEW_ROLE) -> Role | tuple[FieldFault, ...]:
    """Read the fields of a new role, or of `stored` with some replaced; else return every fault."""
    reader = FieldReader(fields, _KNOWN)
    code = reader.text("code", stored.role_id, 64)
    if stored is not _NEW_ROLE:
        reader.require_unchanged("code", stored.role_id)
    elif _CODE.fullmatch(code) is None:
        reader.fault("code", FieldRule.ROLE_CODE)
    elif code in RESERVED:
        reader.fault("code", FieldRule.RESERVED)
    name = reader.text("name", stored.name, _LONGEST_NAME)
    permissions = reader.texts("permissions", stored.permissions)
    for place, permission in enumerate(permissions):
        if permission not in ALL_PERMISSIONS:
            reader.fault(f"permissions.{place}", FieldRule.PERMISSION)
    return reader.faults or replace(stored, role_id=code, name=name, permissions=permissions)


def _fact_of(kind: FactKind, who: Actor, before: Role | None, after: Role | None) -> Fact:
    role = after or before
    assert role is not None
    return Fact(
        kind=kind,
        role_id=role.role_id,
        actor_id=actor_id_of(who),
        changes=changes_between(ROLE_FIELDS, before, after),
    )
