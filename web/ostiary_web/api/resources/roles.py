"""Serve `/api/iam/roles` and `/api/iam/permissions`: what users may do."""

from typing import Annotated, Final

from msgspec import Meta

from ostiary_core.events import RoleChanged, RoleDeleted, RoleImported, RoleRegistered, RoleRequested
from ostiary_core.model.fields import Fields
from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.role import ROLE
from ostiary_core.storage.listing import ROLES
from ostiary_core.texts import Language
from ostiary_web.api.answer_data import LOCALE_SCHEMA, AnswerData, one_of
from ostiary_web.api.resources.fields import ListView, fields_of
from ostiary_web.api.resources.resource import Permissions, RecordContext, Resource
from ostiary_web.api.resources.routes import make_routes
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission


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

roles = make_routes(RESOURCE)


class DescribedPermission(AnswerData):
    """A permission, with what it allows."""

    code: Annotated[str, one_of(Permission)]
    description: Annotated[
        dict[str, str], Meta(description="By language.", extra_json_schema={"propertyNames": LOCALE_SCHEMA})
    ]


@roles.get("/api/iam/permissions", gate=require_permission(Permission.ROLE_LIST))
async def list_permissions(context: RequestContext) -> list[DescribedPermission]:
    """List all permissions, each described in every language."""
    return [
        DescribedPermission(
            code=permission.value,
            description={
                language.tag: describe_permission(permission, language) for language in context.languages
            },
        )
        for permission in Permission
    ]


def describe_permission(permission: Permission | TokenPower, language: Language) -> str:
    """Return what a permission allows."""
    return language.text(f"permission.{permission}")
