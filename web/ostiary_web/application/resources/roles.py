"""The resource of roles, and what each permission allows in words."""

from typing import Final

from ostiary_core.events import RoleChanged, RoleDeleted, RoleImported, RoleRegistered, RoleRequested
from ostiary_core.model.fields import Fields
from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.role import ROLE
from ostiary_core.storage.listing import ROLES
from ostiary_core.texts import Language
from ostiary_web.application.resources.fields import ListView, fields_of
from ostiary_web.application.resources.resource import Permissions, RecordContext, Resource


async def _make_registration(context: RecordContext, fields: Fields) -> RoleRegistered:
    return RoleRegistered(caller=context.caller, fields=fields)


async def _make_import(context: RecordContext, fields: Fields, replace: bool) -> RoleImported:
    return RoleImported(caller=context.caller, fields=fields, replace=replace)


RESOURCE: Final = Resource(
    path="/api/iam/roles",
    permissions=Permissions.of("iam.role"),
    list_view=ListView(name="roles", source=ROLES, fields=fields_of(ROLE)),
    record_type=ROLE,
    show=RoleRequested,
    register=_make_registration,
    change=lambda context, role_id, fields, shown: RoleChanged(
        caller=context.caller, role_id=role_id, fields=fields, shown=shown
    ),
    delete=RoleDeleted,
    import_row=_make_import,
)


def describe_permission(permission: Permission | TokenPower, language: Language) -> str:
    """Return what a permission allows."""
    return language.text(f"permission.{permission}")
