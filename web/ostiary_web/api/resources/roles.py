"""`/api/iam/roles` and `/api/iam/permissions`: what people may do."""

from typing import Annotated, Final

from msgspec import field
from quart import Response

from ostiary_core.events import RoleChanged, RoleDeleted, RoleImported, RoleRegistered, RoleRequested
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Role
from ostiary_core.model.reply import Reply, RoleKnown
from ostiary_core.storage.listing import ROLES
from ostiary_core.users.role import permissions_in
from ostiary_web.api.answer_data import AnswerData, one_of
from ostiary_web.api.resources.fields import Column, Field, Kind, ListView, LocalizedText, as_they_are
from ostiary_web.api.resources.permissions import DESCRIPTIONS
from ostiary_web.api.resources.resource import Fields, Permissions, Resource
from ostiary_web.api.resources.routes import blueprint_of
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission

_FIELDS: Final[tuple[Field[Role], ...]] = (
    Field("id", Kind.TEXT, LocalizedText("Identifier", "标识"), lambda role: role.role_id),
    Field(
        "code",
        Kind.TEXT,
        LocalizedText("Code", "角色代码"),
        lambda role: role.role_id,
        listing_name="role_id",
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            "Required. Never changes; a row with the code of a role that is there changes that role.",
            "必填，创建后不可修改；若该代码的角色已存在，则更新该角色。",
        ),
    ),
    Field(
        "name",
        Kind.TEXT,
        LocalizedText("Name", "名称"),
        lambda role: role.name,
        listing_name="name",
        column=Column.IMPORT_EXPORT,
        note=LocalizedText("Required.", "必填。"),
    ),
    Field(
        "permissions",
        Kind.CODES,
        LocalizedText("Permissions", "权限"),
        permissions_in,
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            f"One a line, any of: {', '.join(Permission)}.", f"每行一个，可选值：{', '.join(Permission)}。"
        ),
    ),
    Field(
        "builtIn",
        Kind.BOOLEAN,
        LocalizedText("Built in", "内置"),
        lambda role: role.built_in,
        listing_name="built_in",
        column=Column.EXPORT_ONLY,
    ),
)


async def _registered(context: RequestContext, fields: Fields) -> RoleRegistered:
    return RoleRegistered(caller=context.caller, fields=fields)


async def _imported(context: RequestContext, fields: Fields, replace: bool) -> RoleImported:
    return RoleImported(caller=context.caller, fields=fields, replace=replace)


def _known(reply: Reply) -> Role | None:
    return reply.role if isinstance(reply, RoleKnown) else None


RESOURCE: Final = Resource(
    name="roles",
    path="/api/iam/roles",
    title=LocalizedText("Roles", "角色"),
    permissions=Permissions(
        list=Permission.ROLE_LIST,
        create=Permission.ROLE_CREATE,
        update=Permission.ROLE_UPDATE,
        delete=Permission.ROLE_DELETE,
    ),
    list_view=ListView(source=ROLES, fields=_FIELDS, shown=as_they_are),
    label=lambda role: role.name,
    identify=lambda role: role.role_id,
    show=lambda who, role_id: RoleRequested(caller=who, role_id=role_id),
    register=_registered,
    change=lambda who, role_id, fields, shown: RoleChanged(
        caller=who, role_id=role_id, fields=fields, shown=shown
    ),
    delete=lambda who, role_id: RoleDeleted(caller=who, role_id=role_id),
    import_row=_imported,
    known=_known,
    revision=lambda role: role.revision,
)

roles = blueprint_of(RESOURCE)


class InBothLanguages(AnswerData):
    """One text in each language."""

    en: str = field(name="en-US")
    zh: str = field(name="zh-CN")


class DescribedPermission(AnswerData):
    """What a role can allow."""

    code: Annotated[str, one_of(Permission)]
    description: InBothLanguages


@roles.get("/api/iam/permissions", gate=require_permission(Permission.ROLE_LIST))
async def list_permissions(context: RequestContext) -> Response:
    """What a role can allow, each described in both languages."""
    return context.success(
        [
            DescribedPermission(code=permission.value, description=InBothLanguages(en=words.en, zh=words.zh))
            for permission, words in DESCRIPTIONS.items()
        ]
    )
