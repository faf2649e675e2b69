"""`/api/iam/users`: the accounts, as an administrator handles them.

Passwords go no further than this module: they are checked, hashed off the event loop, and the hash alone is
in the event.
"""

from typing import Final

from quart import Response

from ostiary_core.events import (
    PasswordResetByAdministrator,
    SignedIn,
    UserChanged,
    UserDeleted,
    UserDisabled,
    UserEnabled,
    UserForcedOut,
    UserImported,
    UserRegistered,
    UserRequested,
)
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import User
from ostiary_core.model.reply import Reply, UserKnown
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import USERS
from ostiary_core.users.user_fields import LOCALES, new_password_faults
from ostiary_web.api.resources.fields import Column, Field, Kind, ListView, LocalizedText, as_they_are
from ostiary_web.api.resources.records import refuse_body
from ostiary_web.api.resources.resource import Fields, Permissions, Resource, Switch
from ostiary_web.api.resources.routes import blueprint_of
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission
from ostiary_web.http.zones import is_zone

_PATH: Final = "/api/iam/users"
_PASSWORD: Final = "password"

_FIELDS: Final[tuple[Field[User], ...]] = (
    Field(
        "id",
        Kind.TEXT,
        LocalizedText("Identifier", "编号"),
        lambda user: user.user_id,
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "username",
        Kind.TEXT,
        LocalizedText("User name", "用户名"),
        lambda user: user.username,
        listing_name="username",
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            "Required. A row with the name of a user who is there changes that user.",
            "必填；若该用户名已存在，则更新该用户。",
        ),
    ),
    Field(
        "name",
        Kind.TEXT,
        LocalizedText("Name", "姓名"),
        lambda user: user.name,
        listing_name="name",
        column=Column.IMPORT_EXPORT,
        note=LocalizedText("Required.", "必填。"),
    ),
    Field(
        "phone",
        Kind.TEXT,
        LocalizedText("Telephone", "手机号"),
        lambda user: user.phone,
        listing_name="phone",
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            "5 to 20 digits, with or without a leading plus. Another number ends what the user has open.",
            "5 到 20 位数字，可带前导加号。修改手机号会结束该用户的所有会话。",
        ),
    ),
    Field(
        _PASSWORD,
        Kind.TEXT,
        LocalizedText("Password", "密码"),
        lambda user: None,
        column=Column.IMPORT_ONLY,
        note=LocalizedText(
            "8 to 256 characters, for new users only. Without one nobody can sign in until it is reset.",
            "8 到 256 个字符，仅对新用户有效；留空则在重置密码前无法登录。",
        ),
    ),
    Field(
        "enabled",
        Kind.BOOLEAN,
        LocalizedText("Enabled", "启用"),
        lambda user: user.enabled,
        listing_name="enabled",
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            "For new users; yes where it is empty. One who is there is enabled and disabled elsewhere.",
            "仅对新用户有效，留空为启用；已存在的用户请在系统中启用或停用。",
        ),
    ),
    Field(
        "mustChangePassword",
        Kind.BOOLEAN,
        LocalizedText("Must change the password", "须修改密码"),
        lambda user: user.must_change_password,
        column=Column.IMPORT_EXPORT,
        note=LocalizedText("For new users yes where it is empty.", "新用户留空为是。"),
    ),
    Field(
        "roleIds",
        Kind.CODES,
        LocalizedText("Roles", "角色"),
        lambda user: user.role_ids,
        column=Column.IMPORT_EXPORT,
        note=LocalizedText("Codes of roles, one a line.", "角色代码，每行一个。"),
    ),
    Field(
        "locale",
        Kind.TEXT,
        LocalizedText("Language", "语言"),
        lambda user: user.locale,
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(f"{' or '.join(LOCALES)}, or empty.", f"{' 或 '.join(LOCALES)}，可留空。"),
    ),
    Field(
        "timezone",
        Kind.TEXT,
        LocalizedText("Time zone", "时区"),
        lambda user: user.timezone,
        column=Column.IMPORT_EXPORT,
        note=LocalizedText("As Asia/Shanghai, or empty.", "例如 Asia/Shanghai，可留空。"),
    ),
    Field(
        "avatarUrl",
        Kind.TEXT,
        LocalizedText("Picture", "头像"),
        lambda user: user.avatar_url,
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "createdAt",
        Kind.TIME,
        LocalizedText("Created at", "创建时间"),
        lambda user: user.created_at,
        listing_name="created_at",
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "updatedAt",
        Kind.TIME,
        LocalizedText("Updated at", "更新时间"),
        lambda user: user.updated_at,
        listing_name="updated_at",
        column=Column.EXPORT_ONLY,
    ),
)


# --- events


async def _registered(context: RequestContext, fields: Fields) -> UserRegistered:
    password_hash, faults = await _hashed(context, fields)
    return UserRegistered(
        caller=context.caller,
        fields=_without_password(fields),
        password_hash=password_hash,
        faults=(*_unless_given(password_hash, faults), *_zone_faults(fields)),
        entropy=context.entropy(),
    )


def _changed(who: SignedIn, user_id: str, fields: Fields, shown: Fields | None) -> UserChanged:
    faults = _zone_faults(fields)
    return UserChanged(caller=who, user_id=user_id, fields=fields, faults=faults, shown=shown)


async def _imported(context: RequestContext, fields: Fields, replace: bool) -> UserImported:
    password_hash, faults = await _hashed(context, fields)
    return UserImported(
        caller=context.caller,
        fields=_without_password(fields),
        replace=replace,
        password_hash=password_hash,
        faults=(*faults, *_zone_faults(fields)),
        entropy=context.entropy(),
    )


def _without_password(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if name != _PASSWORD}


async def _hashed(context: RequestContext, fields: Fields) -> tuple[str | None, tuple[FieldFault, ...]]:
    """The hash of the password among the fields, where there is one; what is wrong with it."""
    password = fields.get(_PASSWORD)
    if password is None or password == "":
        return None, ()
    if not isinstance(password, str) or "\x00" in password:
        return None, (FieldFault(_PASSWORD, FieldRule.STRING),)
    faults = new_password_faults(_PASSWORD, password)
    if faults:
        return None, faults
    return await context.backing.passwords.hash(password), ()


def _unless_given(password_hash: str | None, faults: tuple[FieldFault, ...]) -> tuple[FieldFault, ...]:
    """What is wrong with a password that there must be."""
    if password_hash is None and not faults:
        return (FieldFault(_PASSWORD, FieldRule.REQUIRED),)
    return faults


def _zone_faults(fields: Fields) -> tuple[FieldFault, ...]:
    """Which zones there are the rules do not know; what is no text at all, they see themselves."""
    zone = fields.get("timezone")
    if isinstance(zone, str) and zone and not is_zone(zone):
        return (FieldFault("timezone", FieldRule.TIMEZONE),)
    return ()


def _is_own(context: RequestContext, fields: Fields) -> bool:
    username, own = fields.get("username"), context.user.username
    return isinstance(username, str) and canonical_username(username) == canonical_username(own)


def _known(reply: Reply) -> User | None:
    return reply.user if isinstance(reply, UserKnown) else None


RESOURCE: Final = Resource(
    name="users",
    path=_PATH,
    title=LocalizedText("Users", "用户"),
    permissions=Permissions(
        list=Permission.USER_LIST,
        create=Permission.USER_CREATE,
        update=Permission.USER_UPDATE,
        delete=Permission.USER_DELETE,
    ),
    list_view=ListView(source=USERS, fields=_FIELDS, shown=as_they_are),
    label=lambda user: user.name,
    identify=lambda user: user.user_id,
    show=lambda who, user_id: UserRequested(caller=who, user_id=user_id),
    register=_registered,
    change=_changed,
    delete=lambda who, user_id: UserDeleted(caller=who, user_id=user_id),
    switch=Switch(
        enable=lambda who, user_id: UserEnabled(caller=who, user_id=user_id),
        disable=lambda who, user_id: UserDisabled(caller=who, user_id=user_id),
    ),
    import_row=_imported,
    is_own=_is_own,
    known=_known,
    revision=lambda user: user.revision,
)

users = blueprint_of(RESOURCE)


# --- actions


@users.put(f"{_PATH}/<user_id>/password", gate=require_permission(Permission.USER_UPDATE))
async def reset_password(context: RequestContext, user_id: str) -> Response:
    """`{password}`, which the user must change; ends all that the user has open."""
    content = await context.json_object()
    await context.decide(await password_reset(context, user_id, content))
    return context.success(None)


async def password_reset(
    context: RequestContext, user_id: str, fields: Fields
) -> PasswordResetByAdministrator:
    """The event that `{password}` stands for; raises `RequestRefused` with what is wrong with it."""
    password_hash, faults = await _hashed(context, fields)
    unknown = tuple(FieldFault(name, FieldRule.UNKNOWN) for name in fields if name != _PASSWORD)
    if password_hash is None or unknown:
        context.refuse(Why.FIELDS_INVALID, (*_unless_given(password_hash, faults), *unknown))
    return PasswordResetByAdministrator(
        caller=context.caller, user_id=user_id, new_password_hash=password_hash
    )


@users.post(f"{_PATH}/<user_id>/force-logout", gate=require_permission(Permission.USER_UPDATE))
async def force_out(context: RequestContext, user_id: str) -> Response:
    """All sessions and unredeemed codes of the user end."""
    refuse_body(context)
    await context.decide(UserForcedOut(caller=context.caller, user_id=user_id))
    return context.success(None)
