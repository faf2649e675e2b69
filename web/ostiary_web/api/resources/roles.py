"""`/api/iam/roles` and `/api/iam/permissions`: what people may do."""

from collections.abc import Mapping
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
from ostiary_web.api.resources.resource import Fields, Permissions, Resource
from ostiary_web.api.resources.routes import blueprint_of
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission

DESCRIPTIONS: Final[Mapping[Permission, LocalizedText]] = {
    Permission.CLIENT_LIST: LocalizedText("See clients and their sessions", "查看客户端及其会话"),
    Permission.CLIENT_CREATE: LocalizedText("Register clients", "注册客户端"),
    Permission.CLIENT_UPDATE: LocalizedText(
        "Change, enable and disable clients, and reset their secrets", "修改、启用、停用客户端及重置密钥"
    ),
    Permission.CLIENT_DELETE: LocalizedText("Delete clients", "删除客户端"),
    Permission.USER_LIST: LocalizedText("See users", "查看用户"),
    Permission.USER_CREATE: LocalizedText("Register users", "创建用户"),
    Permission.USER_UPDATE: LocalizedText(
        "Change, enable and disable users, reset their passwords, force them out",
        "修改、启用、停用用户，重置密码及强制下线",
    ),
    Permission.USER_DELETE: LocalizedText("Delete users", "删除用户"),
    Permission.ROLE_LIST: LocalizedText("See roles and permissions", "查看角色与权限"),
    Permission.ROLE_CREATE: LocalizedText("Create roles", "创建角色"),
    Permission.ROLE_UPDATE: LocalizedText("Change roles", "修改角色"),
    Permission.ROLE_DELETE: LocalizedText("Delete roles", "删除角色"),
    Permission.ONLINE_LIST: LocalizedText(
        "See who is signed in and which sessions run", "查看在线用户与会话"
    ),
    Permission.ONLINE_KILL: LocalizedText("End running sessions", "强制结束会话"),
    Permission.AUDIT_READ: LocalizedText("Read the audit trail", "查看审计记录"),
}
"""Every permission has a row; a test says so."""

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
